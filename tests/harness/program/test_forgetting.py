"""Some answers have functions that keep nothing from one call to the next; the harness finds out which."""

import contextlib
import types

import pytest

from code_env.harness.program.forgetting import Kept, Memory

FORGETS = {
    "a function": "def f(x): return x + 1",
    "helpers and recursion": "def g(x): return 1 if x < 2 else x * g(x - 1)\ndef f(x): return g(x)",
    "listed modules": "import math\nfrom collections import Counter, defaultdict\nimport heapq as h\n"
    "def f(x):\n    q = [x]\n    h.heappush(q, math.floor(2.5))\n    return Counter(q) or defaultdict(int)",
    "an import on the way": "def f(x):\n    import re\n    from itertools import chain\n"
    "    return list(chain(re.findall('a', 'aa')))",
    "other modules for the top level": "import sys, os\nfrom typing import List\nsys.setrecursionlimit(2000)\n"
    "def f(x: List[int]) -> int: return x",
    "tables that are read": "TABLE = {'a': 1, 'b': [2]}\nVOWELS = set('aeiou')\n"
    "def f(x): return TABLE.get(x) or x in VOWELS",
    "default values": "def f(x, seen=None, pair=(1, 2), memo={}): return memo.get(x, pair)",
    "a compiled pattern": "import re\nWORD = re.compile('a+')\ndef f(x): return WORD.findall(x)",
    "a class of methods": "class Solution:\n    '''Doc.'''\n    LIMIT = 10\n    @staticmethod\n"
    "    def g(x): return x\n    def f(self, x): return self.g(x) + self.LIMIT",
    "an error of its own": "class Wrong(ValueError):\n    pass\nclass Worse(Wrong):\n    pass\n"
    "def f(x): raise Worse('no')",
    "inner functions": "def f(x):\n    total = 0\n    def add(n):\n        nonlocal total\n        total += n\n"
    "    add(x)\n    return total",
    "an inner cache": "from functools import lru_cache\n"
    "def f(x):\n    @lru_cache(None)\n    def g(n): return n\n    return g(x)",
    "a cache": "from functools import cache\n@cache\ndef f(x): return [x]",
    "a main block": "def f(x): return x\nif __name__ == '__main__':\n    print(open('a').read())",
    "generators and lambdas": "def g(n):\n    yield from range(n)\ndef f(x): return sorted(g(x), key=lambda i: -i)",
    "prints": "def f(x):\n    print(x)\n    return x",
}

KEEPS = {
    "a global name": "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n",
    "an attribute of a function": "def f(x):\n    f.n = getattr(f, 'n', 0) + 1",
    "an attribute of a class": "class A: n = 0\ndef f(x):\n    A.n += 1",
    "an attribute of an object": "class A:\n    def __init__(self): self.n = 0\na = A()\ndef f(x): return a.n",
    "a closure": "def make():\n    n = 0\n    def f(x):\n        nonlocal n\n        n += 1\n        return n\n"
    "    return f\nf = make()",
    "an iterator": "numbers = iter(range(9))\ndef f(x): return next(numbers)",
    "an iterator as a default value": "def f(x, numbers=iter(range(9))): return next(numbers)",
    "a counter of itertools": "import itertools\nnumbers = itertools.count()\ndef f(x): return next(numbers)",
    "a deque": "from collections import deque\nd = deque()\ndef f(x):\n    d.append(x)\n    return len(d)",
    "a list of objects": "class A: pass\nthings = [A()]\ndef f(x): return things",
    "a bound method": "seen = []\nadd = seen.append\ndef f(x): return add(x)",
    "a partial": "from functools import partial\ndef g(seen, x): seen.append(x)\nf = partial(g, [])",
    "a module that keeps something": "import random\ndef f(x): return random.random()",
    "such a module, by another name": "import decimal as math\ndef f(x): return math.getcontext()",
    "a function of such a module": "from random import random as floor\ndef f(x): return floor()",
    "a module found on the way": "def f(x):\n    import sys\n    return sys.modules",
    "a file": "def f(x): return open('n', 'a').tell()",
    "the names themselves": "def f(x): return globals().setdefault('n', [])",
    "an executed text": "def f(x): exec('global n; n = 1')",
    "setattr": "def f(x): setattr(f, 'n', 1)",
    "a namespace of a function": "def f(x): return f.__dict__",
    "default values by name": "def f(x, n=[0]): return f.__defaults__",
    "a method that sets": "class A:\n    def __setattr__(self, k, v): pass\ndef f(x): object.__setattr__(f, 'n', 1)",
    "a class's registry": "import collections.abc\nclass A: pass\ndef f(x): collections.abc.Sized.register(A)",
    "what a cache has counted": "from functools import cache\n@cache\ndef g(x): return x\n"
    "def f(x): return g.cache_info()",
    "a cache that the top level has filled": "from functools import cache\n@cache\ndef f(x): return [x]\nf(1)",
    "an address": "def f(x): return id(x)",
    "a coroutine": "async def f(x): return x",
    "an asynchronous generator": "async def g():\n    yield 1\ndef f(x): return g()",
    "a name that is not there": "def f(x): return nowhere(x)",
    "an enumeration": "import enum\nclass A(enum.Enum):\n    B = 1\ndef f(x): return A.B",
    "a large table": "TABLE = list(range(5000))\ndef f(x): return TABLE[x]",
    "standard input": "def f(x): return input()",
}

CHANGES = {
    "a list": "seen = []\ndef f(x): seen.append(x)",
    "a default value": "def f(x, seen=[]): seen.append(x)",
    "a default value by name": "def f(x, *, seen={}): seen[x] = x",
    "a list in a tuple": "seen = ([], 1)\ndef f(x): seen[0].append(x)",
    "an attribute of a class": "class Solution:\n    seen = []\n    def f(self, x): self.seen.append(x)",
    "a default value of a cached function": "from functools import cache\n@cache\ndef f(x, seen=set()): seen.add(x)",
    "what was plain": "seen = []\ndef f(x): seen.append(f)",
}


def loaded(text):
    code = compile(text, "main.py", "exec")
    names = types.ModuleType("solution").__dict__
    exec(code, names)
    return code, names


def call(names, x):
    function = names["f"] if "f" in names else names["Solution"]().f
    return function(x)


@pytest.mark.parametrize("text", FORGETS.values(), ids=FORGETS)
def test_what_keeps_nothing_is_found(text):
    code, names = loaded(text)
    memory = Memory(code, names, "f")
    for _ in range(2):
        assert memory.forget()
        with contextlib.suppress(ValueError, TypeError):
            call(names, 1)
    assert memory.forget()


@pytest.mark.parametrize("text", KEEPS.values(), ids=KEEPS)
def test_what_may_keep_something_is_told(text):
    with pytest.raises(Kept):
        Memory(*loaded(text), "f")


@pytest.mark.parametrize("text", CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(text):
    code, names = loaded(text)
    memory = Memory(code, names, "f")
    assert memory.forget()
    call(names, 1)
    assert not memory.forget()


def test_caches_are_emptied():
    code, names = loaded(FORGETS["a cache"])
    memory = Memory(code, names, "f")
    names["f"](1).append(2)
    assert names["f"](1) == [1, 2]
    assert memory.forget()
    assert names["f"](1) == [1]
