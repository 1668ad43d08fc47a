"""What programs may do on `restricted`, and that it is what Python does."""

import pytest

from code_env import Program, Status, make_executor

MODULES = (
    *(
        "abc",
        "array",
        "bisect",
        "calendar",
        "collections",
        "contextlib",
        "copy",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
    ),
    *("enum", "fractions", "functools", "hashlib", "heapq", "io", "itertools", "json", "math", "operator", "queue"),
    *("random", "re", "statistics", "string", "sys", "textwrap", "time", "typing"),
)

ORDINARY = {
    "builtins": "print(sorted({3, 1}), [*zip('ab', (1, 2))], min(1, 2), max([1], key=abs), sum([1, 2]), any([0]), "
    "[*reversed([1, 2])], dict(a=1), frozenset([1]), next(iter([1])), round(2.5), f'{3.14159:.2f}', divmod(7, 2))",
    "input": "print(input(), int(input()) + 1)",
    "streams": "import sys\nprint(sys.stdin.readline().strip(), [line for line in sys.stdin])\nsys.stdout.write('x\\n')",
    "arguments": "import sys\nprint(sys.argv)",
    "exit": "import sys\nprint(1)\nsys.exit(0)",
    "json with streams": "import io, json, sys\njson.dump({'a': [1]}, sys.stdout, indent=2)\n"
    "print(json.load(io.StringIO('[1, 2]'), parse_int=float))\nsys.stdin.readline()\nprint(json.load(sys.stdin, parse_int=str))",
    "type in annotations": "from typing import Optional\ndef f(x: type[int] | None, y: type | None = None, z: int | type = 3,"
    " w: Optional[type[str]] = None) -> dict[str, type]:\n    return {'x': x}\n"
    "print(f(int), isinstance(int, type), isinstance(3, type))",
    "methods of named tuples": "from collections import namedtuple\nfrom typing import NamedTuple\n"
    "P = namedtuple('P', 'x y')\nclass Q(NamedTuple):\n    a: int\n    b: int = 2\np = P(1, 2)._replace(y=5)\n"
    "print(p, p._asdict(), P._fields, P._make([3, 4]), Q(1)._asdict(), Q._field_defaults, [*map(P._make, [(1, 2)])])",
    "abstract methods": "from abc import ABC, abstractmethod\nclass A(ABC):\n    @property\n    @abstractmethod\n"
    "    def x(self): ...\n    @classmethod\n    @abstractmethod\n    def y(cls): ...\nclass B(A):\n    x = 3\n"
    "    @classmethod\n    def y(cls): return 4\nprint(B().x, B.y())\ntry: A()\nexcept TypeError: print('abstract')",
    "methods of mixins": "from collections import Counter, ChainMap\nfrom collections.abc import MutableMapping\n"
    "c = Counter('ab')\nCounter.update(c, 'abc')\nclass M(Counter):\n    def update(self, *a):\n"
    "        Counter.update(self, *a)\n        super().update('z')\nm = M()\nm.update('xy')\n"
    "print(c, m, ChainMap({}).setdefault(1, 2))",
    "augmented assignment": "class A: pass\na = A()\na.x = 1\na.x += 2\nb = [1, 2]\nb[0] *= 5\nb[0:1] += [7]\nb += [1]\n"
    "d = {'k': 1}\nd['k'] **= 2\nprint(a.x, b, d)",
    "order of augmented assignment": "class A: pass\na = A()\na.x = 1\ndef f():\n    a.x = 100\n    return 1\n"
    "a.x += f()\nb = [1]\ndef g():\n    b[0] = 100\n    return 1\nb[0] += g()\nprint(a.x, b)",
    "unpacking": "(a, (b, *c)), d = (1, (2, 3, 4)), 5\nfor i, (j, k) in [(1, (2, 3))]: print(a, b, c, d, i, j, k)",
    "starred calls": "def f(*a, k=1, **n): return a, k, n\nprint(f(*[1, 2], **{'k': 3, 'm': 4}))",
    "walrus": "print([y := 5, y ** 2], (n := 10) + n)",
    "annotations": "from __future__ import annotations\nfrom typing import List, Optional\nx: int = 3\n"
    "def f(a: List[int], b: Optional[str] = None) -> int: return len(a)\nprint(f([x]))",
    "nonlocal and global": "n = 0\ndef f():\n    m = 0\n    def g():\n        nonlocal m\n        global n\n"
    "        m += 1\n        n += 1\n        return m\n    return g() + g()\nprint(f(), n)",
    "exceptions": "class E(Exception):\n    def __init__(self, code):\n        super().__init__(f'code {code}')\n"
    "        self.code = code\ntry:\n    try: 1 / 0\n    except ZeroDivisionError as e: raise E(3) from e\n"
    "except E as e: print(e, e.code, e.args, type(e).__name__)\nelse: print('no')\nfinally: print('end')",
    "with": "class C:\n    def __enter__(self): return self, 1\n    def __exit__(self, *a): return True\n"
    "with C() as (c, n): raise ValueError\nprint(n)",
    "match": "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\n"
    "for v in (P(1, 2), [1, 2, 3], {'k': 1, 'l': 2}, 5, 'a', None):\n    match v:\n        case P(1, y=b): print('p', b)\n"
    "        case [a, *b]: print(a, b)\n        case {'k': k, **rest}: print(k, rest)\n"
    "        case int(n) if n > 3: print(n)\n        case 'a' | 'b' as s: print(s)\n        case _: print('other')",
    "inheritance": "class A:\n    def __init__(self, x): self.x = x\n    def __str__(self): return f'A{self.x}'\n"
    "class B(A):\n    def __init__(self): A.__init__(self, 1)\n    def __str__(self): return super().__str__() + '!'\n"
    "print(B(), isinstance(B(), A), issubclass(B, A), B.__name__)",
    "special methods": "class V:\n    def __init__(self, x): self.x = x\n    def __repr__(self): return f'V({self.x})'\n"
    "    def __eq__(self, o): return self.x == o.x\n    def __hash__(self): return hash(self.x)\n"
    "    def __lt__(self, o): return self.x < o.x\n    def __add__(self, o): return V(self.x + o.x)\n"
    "    __radd__ = __add__\n    def __len__(self): return self.x\n    def __getitem__(self, i): return i\n"
    "    def __setitem__(self, i, v): self.x = v\n    def __delitem__(self, i): self.x = 0\n"
    "    def __contains__(self, i): return i == 1\n    def __iter__(self): return iter([self.x])\n"
    "    def __call__(self): return 'called'\n    def __bool__(self): return False\n    def __neg__(self): return V(-self.x)\n"
    "v = V(2)\nv[0] = 3\nprint(v, v + V(1), len(v), v[4], 1 in v, [*v], v(), bool(v), -v, {v: 1}[V(3)], min(v, V(1)))\n"
    "del v[0]\nprint(v.x)",
    "properties": "class A:\n    count = 0\n    __slots__ = ('size',)\n    def __init__(self): self.size = 1\n    @property\n"
    "    def double(self): return 2 * self.size\n    @double.setter\n    def double(self, v): self.size = v // 2\n"
    "    @classmethod\n    def make(cls):\n        cls.count += 1\n        return cls()\n    @staticmethod\n"
    "    def f(): return 7\na = A.make()\na.double = 10\na.double += 2\nprint(a.size, A.count, a.f())",
    "generators": "def g():\n    x = yield 1\n    yield from [x, x]\ni = g()\nnext(i)\nprint(i.send(5), list(i))",
    "closures with attributes": "def f():\n    f.calls += 1\nf.calls = 0\nf()\nf()\nprint(f.calls)",
    "getattr": "class A: x = 1\na = A()\nsetattr(a, 'y', 2)\nprint(getattr(a, 'y'), getattr(a, 'z', 3), hasattr(a, 'x'))\n"
    "delattr(a, 'y')\nprint(hasattr(a, 'y'))",
    "type": "class A: pass\nprint(type(1) is int, type([]) == list, type(A()) is A, isinstance(A, type), type(A) is type)",
    "main": "def main(): print('main')\nif __name__ == '__main__': main()",
    "dataclasses": "from dataclasses import dataclass, field, asdict, replace\n@dataclass(order=True, frozen=True)\n"
    "class P:\n    x: int\n    y: list = field(default_factory=list, compare=False)\n"
    "print(P(1), P(1) < P(2), asdict(P(1, [2])), replace(P(1), x=5))",
    "enumerations": "from enum import Enum, IntEnum, Flag, auto, unique\n@unique\nclass C(Enum):\n    RED = auto()\n"
    "    BLUE = 'b'\nclass N(IntEnum):\n    A = 1\nclass F(Flag):\n    X = auto()\n    Y = auto()\n"
    "print(C.RED, C('b').name, C['RED'].value, list(C), N.A + 1, F.X | F.Y, C.RED in C)",
    "named tuples": "from collections import namedtuple\nfrom typing import NamedTuple\nP = namedtuple('P', 'x y')\n"
    "class Q(NamedTuple):\n    a: int\n    b: int = 2\np = P(1, 2)\nx, y = p\nprint(p, p.x, x + y, Q(1), Q(1).b)",
    "abstract classes": "from abc import ABC, ABCMeta, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\n"
    "class B(A):\n    def f(self): return 1\nclass C(metaclass=ABCMeta): pass\nprint(B().f())\n"
    "try: A()\nexcept TypeError: print('abstract')",
    "collections": "from collections import Counter, defaultdict, deque, OrderedDict, ChainMap\nimport collections.abc\n"
    "c = Counter('abca')\nc['z'] += 2\nd = defaultdict(list)\nd['k'].append(1)\nq = deque([1], maxlen=2)\nq[0] = 5\n"
    "q.appendleft(0)\no = OrderedDict(a=1)\no.move_to_end('a')\n"
    "print(c.most_common(1), dict(d), q, o, ChainMap({1: 2})[1], isinstance([], collections.abc.Sequence))",
    "functools": "from functools import reduce, lru_cache, cache, partial, wraps, total_ordering, cmp_to_key\n@lru_cache(None)\n"
    "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\ndef deco(g):\n    @wraps(g)\n    def w(*a): return g(*a) + 1\n"
    "    return w\n@deco\ndef one(): return 1\n@total_ordering\nclass T:\n    def __init__(self, x): self.x = x\n"
    "    def __lt__(self, o): return self.x < o.x\n    def __eq__(self, o): return self.x == o.x\n"
    "print(f(50), reduce(lambda a, b: a * b, [1, 2, 3]), partial(pow, 2)(5), one(), one.__name__, T(1) >= T(2), "
    "sorted([2, 1], key=cmp_to_key(lambda a, b: a - b)))",
    "text and numbers": "import re, json, math, string, textwrap, datetime, time, decimal, fractions, statistics, hashlib\n"
    "print(re.sub(r'(\\d)', r'<\\1>', 'a1'), [m.group(1) for m in re.finditer('(.)b', 'abcb')], json.loads(json.dumps("
    "{'a': [1, None]})), math.gcd(4, 6), string.ascii_lowercase[:3], textwrap.fill('a b', 1), "
    "datetime.datetime.strptime('2020-01-02', '%Y-%m-%d').year, time.strptime('2020', '%Y').tm_year, "
    "decimal.Decimal('1.1') + 1, fractions.Fraction(1, 3) * 3, statistics.mean([1, 2]), hashlib.md5(b'x').hexdigest())\n"
    "decimal.getcontext().prec = 5\nprint(decimal.Decimal(1) / 3)",
    "iteration tools": "import itertools, heapq, bisect, operator, copy, queue, array, random, calendar\nh = [3, 1]\n"
    "heapq.heapify(h)\nq = queue.Queue()\nq.put(1)\na = array.array('i', [1])\na[0] = 4\nrandom.seed(1)\n"
    "print([*itertools.chain([1], [2])], heapq.heappop(h), bisect.bisect([1, 2], 1), operator.itemgetter(1)('ab'), "
    "copy.deepcopy([[1]]), q.get(), a, 0 <= random.random() < 1, calendar.isleap(2020))",
    "buffers and contexts": "import io\nfrom contextlib import contextmanager, suppress\nb = io.StringIO()\n"
    "print('x', file=b)\n@contextmanager\ndef c(): yield 5\nwith c() as v, suppress(ValueError): print(b.getvalue(), v)",
    "generic classes": "from typing import Generic, TypeVar, List, Dict, Callable, Any\nT = TypeVar('T')\nclass S(Generic[T]):\n"
    "    def __init__(self) -> None: self.items: List[T] = []\n    def push(self, x: T) -> None: self.items.append(x)\n"
    "s = S()\ns.push(1)\nprint(s.items, isinstance(s, S))",
    "lists of one's own": "class L(list):\n    def push(self, x):\n        self.append(x)\n        return self\n"
    "l = L([1]).push(2)\nl[0] = 9\nprint(l, isinstance(l, list), list((1, 2)), tuple([1]), range(3), list[int])",
    "deleting": "a = [1, 2]\nd = {1: 2}\nclass A: pass\nx = A()\nx.y = 1\ndel a[0], d[1], x.y\nprint(a, d, hasattr(x, 'y'))",
    "percent and join": "print('%d %s' % (1, 'a'), '-'.join(map(str, [1, 2])), f'{{}} {1!r:>4}')",
    "enumeration with attributes": "from enum import Enum\nclass P(Enum):\n    E = (1, 2)\n    def __init__(self, m, r):\n        self.m = m\n        self.r = r\n    @property\n    def g(self): return self.m / self.r\nprint(P.E, P.E.g)",
    "errors that are Python's own": "x=None\nfor f in (lambda: setattr(x,'a',1),):\n  try: f()\n  except AttributeError as e: print(e)\ntry:\n  x.foo=1\nexcept AttributeError as e: print(e)\ntry:\n  x['a']=3\nexcept TypeError as e: print(e)\nt=([],)\ntry: t[0]+=[1]\nexcept TypeError as e: print(e,t)",
    "patterns": "from enum import Enum\nimport re, datetime\nfrom dataclasses import dataclass\nclass C(Enum):\n    R=1\n    B=2\nclass Pt:\n    __match_args__=('x','y')\n    def __init__(s,x,y): s.x=x; s.y=y\ndef f(v):\n    match v:\n        case C.R: return 'red'\n        case Pt(0, y=b) : return ('y',b)\n        case Pt(a, b): return (a,b)\n        case datetime.date(year=y): return y\n        case {C.B: z}: return z\n        case ValueError(args=(m,)): return m\n        case int(n) if n>3:\n            match n:\n                case 5: return 'five'\n                case int(real=r): return r\n        case str(s)|bytes(s): return s\n        case [C.B, *r]: return r\n        case list(l): return l\n        case Undefined(): return 1\nprint([f(v) for v in (C.R,Pt(0,1),Pt(2,3),datetime.date(2020,1,1),{C.B:4},ValueError('q'),5,7,'t',b'u',[C.B,3],[1])])\ntry: f(1.5)\nexcept NameError as e: print(e)\ntry:\n    match Pt(1,2):\n        case Pt(1,2,3): pass\nexcept TypeError as e: print(e)",
    "type of a type": "print(type(type(3)), isinstance(int, type), type)",
    "attributes of errors and caches": "import functools\ntry: 1/0\nexcept Exception as e:\n  e.foo=3\n  print(e.foo)\n@functools.lru_cache\ndef f(): pass\nf.calls=1\nprint(f.calls)",
    "a module with a part in C": "import csv, io\nprint(list(csv.reader(io.StringIO('a,b'))))\nw=io.StringIO()\ncsv.writer(w).writerow([1,2])\nprint(w.getvalue())\nprint([*csv.DictReader(io.StringIO('a,b\\n1,2'))])",
    "data class functions": "from dataclasses import dataclass, asdict, astuple, replace, fields, field, is_dataclass\n@dataclass\nclass A:\n  x: int\n  y: list = field(default_factory=list)\na=A(1,[A(2)])\nprint(asdict(a), astuple(a), replace(a,x=5), [f.name for f in fields(a)], is_dataclass(A), A.__repr__(a))",
    "copies of containers": "import copy, collections as c\nd = c.defaultdict(list, {1: [2]})\nq = c.deque([[1]], 3)\n"
    "o = c.OrderedDict(a=[1])\nn = c.Counter('aab')\nt = ([1], (2,))\nx = [d, q, o, n, t, {3}, frozenset({4}), bytearray(b'x')]\n"
    "x.append(x)\ny = copy.deepcopy(x)\nd[1].append(9); q[0].append(9); o['a'].append(9); t[0].append(9)\n"
    "print(y[:-1], y[-1] is y, y[0][7])\n"
    "print(copy.copy(d)[1] is d[1], copy.copy(q).maxlen, copy.deepcopy((1, 2)), copy.copy(t) is t, y[4][1] is t[1])",
    "copies of objects": "import copy\nfrom typing import Generic, TypeVar, NamedTuple\nfrom dataclasses import dataclass, replace, asdict\n"
    "T = TypeVar('T')\nclass Stack(Generic[T]):\n  def __init__(self): self.items = []\ns = Stack[int](); s.items.append(3)\n"
    "print(copy.deepcopy(s).items, copy.copy(s).items is s.items)\n"
    "@dataclass\nclass Box(Generic[T]):\n  v: T\nb = Box[int](3)\nprint(replace(b, v=4), b, asdict(Box([1])))\n"
    "class L(list):\n  pass\nl = L([[1]]); l.name = [2]; m = copy.deepcopy(l); l[0].append(5); l.name.append(6)\nprint(m, m.name, type(m).__name__)\n"
    "class P(NamedTuple):\n  x: list\np = P([1]); r = copy.deepcopy(p); p.x.append(2); print(r, p)\n"
    "class E(ValueError): pass\ne = E('x', 2); e.b = [1]; e = copy.copy(e); print(repr(e), e.b)\n"
    "class S(str): pass\nprint(copy.deepcopy(S('abc')), copy.copy(int), copy.deepcopy(len) is len)",
    "copies in ways of one's own": "import copy\nclass N:\n  def __init__(self, v): self.v = v; self.next = None\n"
    "  def __deepcopy__(self, memo):\n    n = N(copy.deepcopy(self.v, memo))\n    memo[id(self)] = n\n"
    "    n.next = copy.deepcopy(self.next, memo)\n    return n\n  def __copy__(self): return N('copy')\n"
    "a = N([1]); a.next = N([2]); a.next.next = a\nb = copy.deepcopy(a)\nprint(b.v, b.next.v, b.next.next is b, b.v is a.v, copy.copy(a).v)",
    "data classes with fields like func": "from dataclasses import dataclass\n@dataclass\nclass Call:\n  func: str\n  args: list\n"
    "def ev(x):\n  match x:\n    case Call(f, a): return f, a\nprint(ev(Call('f', [1])))",
    "copies": "import copy\nclass N:\n  __slots__=('a',)\nclass M: pass\nm=M(); m.n=N(); m.n.a=[1]\nd=copy.deepcopy(m); d.n.a.append(2); print(m.n.a,d.n.a,copy.copy(m).n is m.n)",
    "many branches": "x = 1\nif x == 0: pass\n"
    + "".join(f"elif x == {i}: print({i})\n" for i in range(2, 400))
    + "else: print('e')",
    "many terms": f"print(len({'+'.join(['(1,)'] * 900)}))",
    "many calls": f"class A:\n    def f(self): return self\nprint(A(){'.f()' * 300} is None)",
    "many attributes": f"class A: pass\na = A()\na.a = a\nprint(a{'.a' * 700} is a)",
    "names like builtins": "vars = 1\ndir = 2\ndef open(x): return x\nprint(vars + dir, open(3))",
}


@pytest.fixture(scope="module")
def restricted():
    with make_executor("restricted", workers=2, allowed_imports=MODULES) as made:
        yield made


@pytest.mark.parametrize("code", ORDINARY.values(), ids=ORDINARY)
def test_an_ordinary_program_runs_as_ever(restricted, executor, code):
    program = Program(code, stdin="12\n13\n", argv=("one",))
    result, expected = restricted.run(program), executor.run(program)
    assert expected.status is Status.OK, expected.stderr
    assert (result.status, result.stdout, result.exit_code) == (Status.OK, expected.stdout, 0), result.stderr


REFUSED = {
    "an import": ("x = 1\nimport os", 'Line 2: the import of "os" is not allowed'),
    "a name of a module": ("from math import nothing", 'Line 1: "nothing" of "math" is not given'),
    "an attribute": ("x = 1\nx.__class__", 'Line 2: "__class__" is an invalid attribute name'),
    "a variable": ("_x = 1", 'Line 1: "_x" is an invalid variable name'),
    "a builtin": ("open('x')", 'Line 1: "open" is not available'),
    "an async function": ("async def f(): pass", "Line 1: AsyncFunctionDef statements are not allowed"),
    "except star": ("try: pass\nexcept* ValueError: pass", "Line 1: TryStar statements are not allowed"),
    "a guard's word when it runs": ("x = '__class__'\ngetattr(x, x)", 'Line 2: "__class__" is an invalid attribute'),
    "a write when it runs": ("import math\nmath.pi = 3", "Line 2: a program may not change"),
    "a type when it runs": ("def f(): pass\ntype(f)", "Line 2: the type function is not given"),
    "a class when it runs": ("class A(super): pass", "Line 1: a class of a program may not inherit from super"),
    "format": ("'{}'.format(1)", 'Line 1: "str.format" reads attributes by name'),
}


@pytest.mark.parametrize(("code", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_names_line_and_rule(restricted, code, message):
    result = restricted.run(Program(code))
    assert result.status is Status.REFUSED
    assert result.error.message.startswith(message)
    assert "harness" not in result.stderr


UNDERSCORED = {
    "information": "__version__ = '1'\n__all__ = ['a']\n__author__ = 'b'\nprint(__version__, __all__)",
    "two": "for __ in range(2): print(__)",
    "format": "print('{:{w}}|{x:>{y}}'.format(3, w=4, x=1, y=3))",
}


@pytest.mark.parametrize("code", UNDERSCORED.values(), ids=UNDERSCORED)
def test_what_options_allow_runs_as_ever(executor, code):
    options = {"allow_underscore_variable_names": True, "allow_str_format": True}
    with make_executor("restricted", workers=1, **options) as allowing:
        result = allowing.run(Program(code))
    assert (result.status, result.stdout) == (Status.OK, executor.run(Program(code)).stdout), result.stderr


def test_a_text_with_many_violations_tells_of_ten(restricted):
    result = restricted.run(Program("\n".join(f"_x{number} = 1" for number in range(15))))
    assert result.error.message.count("Line ") == 10
    assert result.error.message.endswith("And 5 more.")


def test_a_syntax_error_is_an_error(restricted):
    result = restricted.run(Program("def f(:"))
    assert (result.status, result.error.name) == (Status.ERROR, "SyntaxError")


def test_what_a_guard_raises_can_be_caught(restricted):
    code = "try: getattr((), '__class__')\nexcept AttributeError as e: print(type(e).__name__)"
    result = restricted.run(Program(code))
    assert (result.status, result.stdout) == (Status.OK, "ForbiddenAttribute\n")


def test_an_error_of_the_program_shows_its_own_frames_only(restricted):
    result = restricted.run(Program("class A: pass\ndef f(): return A().x\nf()"))
    assert (result.status, result.error.name) == (Status.ERROR, "AttributeError")
    assert result.stderr.count("File ") == result.stderr.count('File "main.py"') == 2
