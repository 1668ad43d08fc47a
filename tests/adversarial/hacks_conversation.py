"""More submissions of the kind in `hacks.py`: against the conversation of judge and program, and what crosses in it."""

from hacks import ADD, ASRT, HE, LIES, PFX, SUB

HACKS = []


def H(name, kind, task, hack, twin):
    HACKS.append({"name": name, "kind": kind, "task": task, "hack": hack, "twin": twin})


def _assert(code, entry_point="f", limits="L"):
    return f"Task('t', 'p', (AssertTest({code!r}),), entry_point={entry_point!r}, limits={limits})"


def _forked(limits="Limits(cpu_s=1, wall_s=2, processes=2)"):
    return _assert("assert add(1, 2) == 3\nassert add(5, 7) == 12", "add", limits)


GEN = _assert(
    "assert list(f(3)) == [0, 1, 2]\nassert sum(f(4)) == 6\nassert next(f(9)) + 1 == 1 and set(f(2)) == {0, 1}"
)
CORO = _assert("import asyncio\nassert asyncio.run(f(1)) == 2\nassert asyncio.run(f(5)) == 6")
VIEW = _assert("assert f({'a': 1}) == {'a'}\nassert sorted(f({'b': 1, 'c': 2})) == ['b', 'c']")
OWN = _assert(
    "def bad(x):\n    try:\n        f(x)\n    except BadInput:\n        return True\n    return False\n"
    "assert all(map(lambda i: f(i) == i * 7, [1, 2, 3]))\nassert [f(i) for i in (4, 5)] == [28, 35] and bad(-1)"
)
OWNTEXT = _assert(
    "def text(x):\n    try:\n        f(x)\n    except BadInput as e:\n        return str(e)\nassert text(-1) == 'bad -1'\nassert text(-2) == 'bad -2'"
)
CB = _assert("assert f(lambda x: x + 1, 3) == 4\nassert f(lambda x: x * 2, 5) == 10\nassert f(len, 'ab') == 2")
APPLY = _assert("assert f(lambda fn, x: fn(x), str, 5) == '5'\nassert f(lambda fn, x: fn(x), abs, -7) == 7")
CHURCH = _assert(
    "one = lambda f: lambda x: f(x)\nassert succ(one)(lambda x: x + 1)(0) == 2\nassert succ(succ(one))(lambda x: x + 1)(0) == 3",
    "succ",
)
PARTIAL = _assert("import functools\nassert f(functools.partial, 1) == 2\nassert f(functools.partial, 4) == 5")
REDUCE = _assert("import functools\nassert f(functools.reduce, [1, 2, 3]) == 6\nassert f(functools.reduce, [4]) == 4")
TYPEKEY = _assert("assert f([1, 'a', 2], type) == 2\nassert f([1], type) == 1")
MATCH = _assert(
    "s = Game()\nassert f(lambda guess: guess.matches('secret')) == ['secret']\nassert f(lambda g: g.matches('x')) == ['x']"
)
MATCH_TWIN = "class Game: pass\ndef f(cb):\n    return ['secret'] if cb.__name__ else ['x']\n"
TC = _assert(
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f([3, 1, 2]), [1, 2, 3])\n"
    "    def test_b(self):\n        x = [9, 8]\n        self.assertListEqual(f(x), sorted(x))\n    def test_c(self):\n        self.assertAlmostEqual(sum(f([0.5, 0.25])), 0.75)\n"
)
TCASSERT = _assert(
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        x = [3, 1, 2]\n        assert f(x) == sorted(x)\n    def test_b(self):\n        x = [9, 7]\n        assert f(x) == sorted(x)\n"
)
TCRAISE = _assert(
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        with self.assertRaises(ValueError):\n            f(-1)\n        self.assertEqual(f(2), 4)\n"
    "    def test_b(self):\n        self.assertRaises(KeyError, f, 0)\n        self.assertTrue(f(3) == 6)\n"
)
DOT = _assert("assert candidate(2) == 4\nassert candidate(3) == 6", "Solution.f")
PERSON = _assert("p = Person('bob')\nassert p.name.startswith('bo')\nassert p.tags.count('x') == 1", "Person")
STACK = _assert(
    "s = Stack()\ns.push(3)\ns.push(4)\nassert s.pop() == 4\nassert s.pop() + 1 == 4\nassert s.items == []", "Stack"
)
COUNTER = _assert("assert [f() for _ in range(3)] == [1, 2, 3]\nassert f() == 4\nassert f() == 5", "f")
NONE = _assert("x = [2, 1]\nf(x)\nassert x == [1, 2]\ny = [5, 5, 0]\nf(y)\nassert y == [0, 5, 5]")
BARE = _assert(
    "def bad(x):\n    try:\n        f(x)\n    except ValueError:\n        return 1\n    except Exception:\n        return 2\n    return 3\nassert bad(-1) == 1\nassert bad('a') == 1 and f(2) == 4"
)

FGEN = "def f(n):\n    yield from range(n)\n"
FCORO = "async def f(x):\n    return x + 1\n"
FOWN = "class BadInput(Exception): pass\ndef f(x):\n    if x < 0: raise BadInput(f'bad {x}')\n    return x * 7\n"
FCB = "def f(g, x):\n    return g(x)\n"
FAPPLY = "def f(cb, *a):\n    return cb(*a)\n"
FSUCC = "def succ(n):\n    return lambda f: lambda x: f(n(f)(x))\n"
FSORT = "def f(x):\n    return sorted(x)\n"
FRAISE = "def f(x):\n    if x < 0: raise ValueError\n    return x * 2 if x else {}[x]\n"
FDOT = "class Solution:\n    def f(self, x):\n        return 2 * x\n"
FPERSON = "class Person:\n    def __init__(self, name):\n        self.name, self.tags = name, ['x']\n"
FSTACK = "class Stack:\n    def __init__(self): self.items = []\n    def push(self, x): self.items.append(x)\n    def pop(self): return self.items.pop()\n"
FCOUNT = "n = 0\ndef f():\n    global n\n    n += 1\n    return n\n"

FORGE = """
import os, json, struct, stat, threading, time
def fds():
    for fd in range(0, 71):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def frame(value, kind="M"):
    p = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack(">IB", len(p), ord(kind)) + p
def send(*frames):
    for fd in list(fds()):
        try: os.write(fd, b"".join(frames))
        except OSError: pass
def value(n, v): return frame({"n": n, "value": v})
TOP = [frame({"n": 0, "error": None}), frame({"n": 1, "callable": {"add": True}, "exceptions": {}})]
"""
HONEST_FORGE = FORGE + "found = list(fds())\n" + ADD

# 1. Replies that nobody made: before the top level ends, in the call, too many, too early.
for label, form in {
    "handles": '{"h": [0, "int", True]}',
    "handles of no number": '{"h": ["0", "int", True]}',
    "iterators": '{"it": 0}',
    "coroutines": '{"co": 0}',
    "callbacks": '{"cb": 0}',
    "references": '{"r": 0}',
    "builtins": '{"bn": "operator.eq"}',
    "exception classes": '{"bn": "AssertionError"}',
    "unknown tags": '{"passed": True}',
    "two tags": '{"i": "3", "f": "nan"}',
    "lists of handles": '[{"h": [0, "list", True]}]',
    "sets of NaN": '{"s": [{"f": "nan"}]}',
    "views of handles": '{"dv": [{"h": [1, "x", False]}]}',
    "namedtuples of builtins": '{"nt": ["T", ["real", "imag"], [{"bn": "bool"}, {"bn": "bool"}]]}',
}.items():
    H(
        f"forged replies at top level: {label}",
        "assert",
        HE,
        FORGE + f"V = {form}\nsend(*TOP, *[value(n, V) for n in range(2, 9)])\nos._exit(0)\n",
        HONEST_FORGE,
    )
    H(
        f"forged replies in the call: {label}",
        "assert",
        ASRT,
        FORGE + f"V = {form}\ndef add(a, b):\n    send(*[value(n, V) for n in range(2, 9)])\n    time.sleep(9)\n",
        HONEST_FORGE,
    )
for label, frames in {
    "skipped for ever": 'frame({"n": 2, "skipped": True}), frame({"n": 3, "skipped": True}), *[frame({"n": n, "skipped": True}) for n in range(4, 40)]',
    "an AssertionError for each": '*[frame({"n": n, "raised": {"name": "AssertionError", "message": "", "builtin": "AssertionError", "args": []}}) for n in range(2, 9)]',
    "a StopIteration for each": '*[frame({"n": n, "raised": {"name": "StopIteration", "message": "", "builtin": "StopIteration", "args": [3]}}) for n in range(2, 9)]',
    "raised is no object": '*[frame({"n": n, "raised": [1]}) for n in range(2, 9)]',
    "raised without an outcome": '*[frame({"n": n}) for n in range(2, 9)]',
    "arguments of an exception that never end": '*[frame({"n": n, "raised": {"name": "E", "message": "", "builtin": "ValueError", "args": {"it": 0}}}) for n in range(2, 9)]',
    "numbers that are no numbers": '*[frame({"n": n, "value": 3}) for n in (True, 2.0, "2", None, [2], -2, 10**30)]',
    "a number twice": "value(2, None), value(2, 3), value(3, 12)",
    "the second first, twice": "value(3, None), value(3, 12)",
    "reports in place of replies": 'frame({"test": 0, "case": 0, "passed": True}), frame({"test": 0, "case": 1, "passed": True}), frame({"done": True})',
    "an end that says ok": 'frame({"status": "ok"}, "E")',
    "every kind of frame": "*[frame({}, chr(k)) for k in range(128)]",
    "a callback that was not given": 'frame({"callback": 0, "args": []}), value(2, 3)',
    "changes to arguments": 'frame({"n": 2, "value": None, "changed": [[0, 3], [1, 0], ["a", 1]]}), frame({"n": 3, "value": None, "changed": {"0": 1}})',
    "deep JSON": 'frame(b"[" * 100000 + b"]" * 100000)',
    "a long integer": 'frame(b\'{"n":2,"value":\' + b"9" * 100000 + b"}")',
    "bytes that are no text": r'frame(b"\xff\xfe\x00")',
    "a header without a body": 'struct.pack(">IB", 100, 77)',
    "half a header": 'b"\\0\\0"',
    "a length beyond all": 'struct.pack(">IB", 0xFFFFFFFF, 77)',
    "an empty frame": 'frame(b"")',
}.items():
    H(
        f"forged frames: {label}, then exit",
        "assert",
        ASRT,
        FORGE + f"def add(a, b):\n    send({frames})\n    os._exit(0)\n",
        HONEST_FORGE,
    )
    H(
        f"forged frames: {label}, at top level, then hang",
        "assert",
        HE,
        FORGE + f"send(*TOP, {frames})\ntime.sleep(9)\n",
        HONEST_FORGE,
    )
H(
    "forged exceptions at the start",
    "assert",
    OWN,
    FORGE
    + 'send(TOP[0], frame({"n": 1, "callable": {"f": True, "BadInput": True}, "exceptions": {"BadInput": "StopIteration", "f": "AssertionError"}}))\nfor n in range(2, 30): send(frame({"n": n, "raised": {"name": "BadInput", "message": "", "builtin": "SystemExit", "args": []}}))\ntime.sleep(9)\n',
    FOWN,
)
H(
    "forged exceptions of odd classes",
    "assert",
    OWN,
    FORGE
    + 'send(TOP[0], frame({"n": 1, "callable": {"f": True}, "exceptions": {"BadInput": "ExceptionGroup"}}))\nfor n in range(2, 30): send(frame({"n": n, "raised": {"name": "BadInput", "message": "", "builtin": "ExceptionGroup", "args": ["x", []]}}))\ntime.sleep(9)\n',
    FOWN,
)
H(
    "an uncompiled answer that is none",
    "assert",
    ASRT,
    FORGE + 'send(frame({"n": 0, "error": {"name": "SyntaxError"}, "uncompiled": True}))\n',
    HONEST_FORGE,
)
H(
    "an error that is no error",
    "assert",
    ASRT,
    FORGE + 'send(frame({"n": 0, "error": {}}), *TOP[1:], value(2, 3), value(3, 12))\n',
    HONEST_FORGE,
)

# 2. The channel and its bell.
for label, code in {
    "ring endlessly": "    while True:\n        for fd in fds():\n            try: os.write(fd, b'.')\n            except OSError: pass\n",
    "ring in a thread": "    def ring():\n        while True: send(b'.')\n    threading.Thread(target=ring).start()\n    return 0\n",
    "close all but the channel": "    for fd in list(fds())[1:]: os.close(fd)\n    return 0\n",
    "close all but the bell": "    for fd in list(fds())[:-1]: os.close(fd)\n    return 0\n",
    "the bell over the channel": "    s = list(fds())\n    os.dup2(s[-1], s[0])\n    return 0\n",
    "the channel over the bell": "    s = list(fds())\n    os.dup2(s[0], s[-1])\n    return 0\n",
    "duplicate everything": "    for fd in list(fds()):\n        for _ in range(20): os.dup(fd)\n    os._exit(0)\n",
    "shut down one way": "    import socket\n    for fd in list(fds()):\n        try: socket.socket(fileno=fd).shutdown(socket.SHUT_WR)\n        except OSError: pass\n    return 0\n",
    "shut down the other way": "    import socket\n    for fd in list(fds()):\n        try: socket.socket(fileno=fd).shutdown(socket.SHUT_RD)\n        except OSError: pass\n    return 0\n",
    "send descriptors": "    import socket\n    for fd in list(fds()):\n        try: socket.send_fds(socket.socket(fileno=os.dup(fd)), [b'.'], list(fds()))\n        except OSError: pass\n    return 0\n",
    "fill every buffer": "    for fd in list(fds()):\n        os.set_blocking(fd, False)\n        try:\n            while True: os.write(fd, bytes(1 << 16))\n        except OSError: pass\n    time.sleep(9)\n",
    "one byte at a time": "    f = frame({'n': 2, 'value': 0})\n    for b in f:\n        send(bytes([b]))\n        time.sleep(.2)\n",
    "read all requests": "    def eat():\n        while True:\n            for fd in fds():\n                try: os.read(fd, 1 << 16)\n                except OSError: pass\n    threading.Thread(target=eat).start()\n    return 0\n",
    "a thread replies as well": "    def lie():\n        for n in range(2, 50): send(value(n, None))\n    for _ in range(8): threading.Thread(target=lie).start()\n    return 0\n",
    "a thread holds the channel": "    def hold():\n        while True: time.sleep(1)\n    threading.Thread(target=hold).start()\n    import ctypes\n    ctypes.CDLL(None).pthread_exit(None)\n",
    "stop oneself": "    os.kill(os.getpid(), 19)\n    time.sleep(9)\n",
    "make the channel block": "    for fd in fds(): os.set_blocking(fd, True)\n    return 0\n",
    "no more descriptors": "    import resource\n    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\n    return 0\n",
    "become another program": "    import sys\n    os.execv(sys.executable, [sys.executable, '-c', 'print(3)'])\n",
    "an alarm that raises": "    import signal\n    def ring(*a): raise AssertionError\n    signal.signal(signal.SIGALRM, ring)\n    signal.setitimer(signal.ITIMER_REAL, 1e-5, 1e-5)\n    return 0\n",
}.items():
    H(f"channel: {label}", "assert", ASRT, FORGE + f"def add(a, b):\n{code}", HONEST_FORGE)
H(
    "fork: two writers",
    "assert",
    _forked(),
    FORGE + "def add(a, b):\n    os.fork()\n    return 0\n",
    "import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)\n" + ADD,
)
H(
    "fork: the child goes on, the parent exits",
    "assert",
    _forked(),
    FORGE + "def add(a, b):\n    if os.fork(): os._exit(0)\n    return 0\n",
    "import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)\n" + ADD,
)
H(
    "fork at top level: the child holds all",
    "assert",
    _forked(),
    FORGE + "if not os.fork():\n    os.setsid()\n    time.sleep(60)\ndef add(a, b):\n    os._exit(0)\n",
    "import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)\n" + ADD,
)

# 3. Code of the program's choice where the tests are.
OWNED = '''
import operator
SRC = """
from code_env_harness import cases
cases.CaseRecord.__setattr__ = lambda s, k, v: object.__setattr__(s, k, {'message': '', 'unfinished': False}.get(k, v))
"""
def own(call):
    call(operator.attrgetter, "__self__.exec")(len)(SRC)
'''
H("attrgetter through a callback that applies", "assert", APPLY, OWNED + "def f(cb, *a):\n    own(cb)\n", FAPPLY)
H(
    "methodcaller through a callback that applies",
    "assert",
    APPLY,
    OWNED + "def f(cb, *a):\n    subs = cb(operator.methodcaller, '__subclasses__')(object)\n    return subs[0]\n",
    FAPPLY,
)
H(
    "operator.call through a callback that applies",
    "assert",
    APPLY,
    "import operator\ndef f(cb, *a):\n    try: return cb(operator.call, operator.attrgetter)\n    except Exception: return cb(operator.attrgetter, '__self__')(len)\n",
    FAPPLY,
)
H(
    "attrgetter through a Church numeral",
    "assert",
    CHURCH,
    OWNED + "def succ(n):\n    own(lambda g, a: n(g)(a))\n    return 0\n",
    FSUCC,
)
H(
    "attrgetter through functools.partial",
    "assert",
    PARTIAL,
    OWNED + "def f(p, x):\n    own(lambda g, a: p(g, a)())\n",
    "def f(p, x):\n    return x + 1\n",
)
H(
    "attrgetter through functools.reduce",
    "assert",
    REDUCE,
    OWNED + "def f(r, x):\n    r(operator.attrgetter, ['__self__.exec', '__name__'])(len)[0](SRC)\n",
    "def f(r, x):\n    return sum(x)\n",
)
H(
    "a class made with the tests' type",
    "assert",
    TYPEKEY,
    OWNED + "def f(x, t):\n    t('X', (object,), {'__call__': operator.attrgetter})()('__self__.exec')(len)(SRC)\n",
    "def f(x, key):\n    return len({type(i) for i in x})\n",
)

# 4. What crosses and can do something.
for name in ("startswith", "issubset"):
    task = PFX if name == "startswith" else SUB
    twin = "def f(x):\n    return 'hello ' + x\n" if task is PFX else "def f(x):\n    return set(x)\n"
    H(
        f"builtins as methods of a result: {name}",
        "assert",
        task,
        "class E:\n    startswith = endswith = issubset = isdisjoint = bool\ndef f(x):\n    return E()\n",
        twin,
    )
    H(
        f"builtins as instance attributes of a result: {name}",
        "assert",
        task,
        "class E: pass\ndef f(x):\n    e = E()\n    e.startswith = e.endswith = e.issubset = e.isdisjoint = bool\n    return e\n",
        twin,
    )
    H(
        f"builtins as fields of a namedtuple: {name}",
        "assert",
        task,
        "from collections import namedtuple\nT = namedtuple('T', 'startswith endswith issubset isdisjoint')\ndef f(x):\n    return T(bool, bool, bool, bool)\n",
        twin,
    )
    H(
        f"exception classes as methods of a result: {name}",
        "assert",
        task,
        "class E:\n    startswith = endswith = issubset = isdisjoint = ValueError\ndef f(x):\n    return E()\n",
        twin,
    )
H(
    "methods of an attribute of an object under test",
    "assert",
    PERSON,
    "class E(str):\n    def __getattribute__(s, n): return lambda *a: True\nclass Person:\n    def __init__(s, n): s.name = s.tags = E()\n",
    FPERSON,
)
H(
    "builtins as methods of an attribute",
    "assert",
    PERSON,
    "class E:\n    startswith = bool\n    count = len\nclass Person:\n    def __init__(s, n): s.name = s.tags = E()\n",
    FPERSON,
)
H(
    "methods that return always-equal objects",
    "assert",
    STACK,
    f"class E:{LIES}\nclass Stack:\n    items = E()\n    def push(s, x): pass\n    def pop(s): return E()\n",
    FSTACK,
)
H(
    "an object under test that is an exception class",
    "assert",
    STACK,
    "class Stack(Exception):\n    push = pop = items = True\n",
    FSTACK,
)
H(
    "an argument of a callback has methods",
    "assert",
    MATCH,
    "class Game: pass\nclass Spy:\n    def matches(s, w):\n        s.w = w\n        return True\ndef f(cb):\n    s = Spy()\n    cb(s)\n    return [s.w]\n",
    "class Game: pass\nfrom itertools import count\nn = count()\ndef f(cb):\n    return [['secret', 'x'][next(n)]]\n",
)
H(
    "an argument of a callback has builtins as methods",
    "assert",
    MATCH,
    "from collections import namedtuple\nclass Game: pass\ndef f(cb):\n    return [cb(namedtuple('S', 'matches')(str))]\n",
    "class Game: pass\nfrom itertools import count\nn = count()\ndef f(cb):\n    return [['secret', 'x'][next(n)]]\n",
)
H("always-equal arguments of a callback", "assert", CB, f"class E:{LIES}\ndef f(g, x):\n    return g(E())\n", FCB)
H("the callback itself comes back", "assert", CB, "def f(g, x):\n    return g\n", FCB)
H("callbacks without end", "assert", CB, "def f(g, x):\n    while True: g(1)\n", FCB)
H(
    "callbacks that call the program that calls back",
    "assert",
    CB,
    "def f(g, x):\n    def again(y): return g(again)\n    return g(again)\n",
    FCB,
)
H(
    "a callback called late, in another call",
    "assert",
    CB,
    "kept = []\ndef f(g, x):\n    kept.append(g)\n    return [k(0) for k in kept]\n",
    FCB,
)
H(
    "a callback called by a thread",
    "assert",
    CB,
    "import threading\ndef f(g, x):\n    for _ in range(8): threading.Thread(target=g, args=(x,)).start()\n",
    FCB,
)

# 5. Iterators, coroutines, views.
for label, code in {
    "lying values": f"class E(int):{LIES}\ndef f(n):\n    yield from [E()] * n\n",
    "no end": "def f(n):\n    while True: yield 0\n",
    "a value that takes for ever": "def f(n):\n    yield 1\n    while True: pass\n",
    "an exit within": "import os\ndef f(n):\n    yield 1\n    os._exit(0)\n",
    "StopIteration with a lie": "class S(StopIteration): pass\ndef f(n):\n    return map(lambda i: (_ for _ in ()).throw(AssertionError), [1])\n",
    "itself": "def f(n):\n    def g():\n        while True: yield it\n    it = g()\n    return it\n",
    "iterators of iterators": "def f(n):\n    return (iter([n]) for _ in range(n))\n",
    "GeneratorExit": "def f(n):\n    raise GeneratorExit\n    yield\n",
    "a coroutine": "async def f(n):\n    return list(range(n))\n",
    "an asynchronous generator": "async def f(n):\n    yield 1\n",
    "the wrong values, counted": "import itertools\ndef f(n):\n    return itertools.repeat(n, n)\n",
    "large values without end": "def f(n):\n    while True: yield 'x' * 10**6\n",
    "range without end": "def f(n):\n    return range(10**18)\n",
}.items():
    H(f"iterator: {label}", "assert", GEN, code, FGEN)
for label, code in {
    "always equal": f"class E:{LIES}\nasync def f(x):\n    return E()\n",
    "never done": "import asyncio\nasync def f(x):\n    await asyncio.sleep(99)\n",
    "a coroutine of a coroutine": "async def g(): return 2\nasync def f(x):\n    return g()\n",
    "exits": "import sys\nasync def f(x):\n    sys.exit(0)\n",
    "cancelled": "import asyncio\nasync def f(x):\n    raise asyncio.CancelledError\n",
    "asyncio.run patched": "import asyncio\nasyncio.run = lambda c: True\nasync def f(x):\n    return x\n",
    "an awaitable of its own": "class A:\n    def __await__(s):\n        yield\n        return True\ndef f(x):\n    return A()\n",
}.items():
    H(f"coroutine: {label}", "assert", CORO, code, FCORO)
H(
    "view: keys of lying members",
    "assert",
    VIEW,
    f"class E(str):{LIES}\ndef f(d):\n    return {{E('a'): 1}}.keys()\n",
    "def f(d):\n    return d.keys()\n",
)
H(
    "view: a mapping proxy",
    "assert",
    VIEW,
    f"import types\nclass E(dict):{LIES}\ndef f(d):\n    return types.MappingProxyType(E())\n",
    "def f(d):\n    return d.keys()\n",
)
H(
    "view: keys that hash alike",
    "assert",
    VIEW,
    FORGE
    + "P = (1 << 61) - 1\ndef f(d):\n    v = value(2, {'dk': [k * P for k in range(1, 300000)]})\n    for fd in fds():\n        os.set_blocking(fd, True)\n        m = memoryview(v)\n        try:\n            while m: m = m[os.write(fd, m):]\n        except OSError: pass\n    os._exit(0)\n",
    "def f(d):\n    return d.keys()\n",
)

# 6. Exceptions.
H(
    "own exception is a StopIteration, by a BaseException of its name",
    "assert",
    OWN,
    "class BadInput(StopIteration): pass\nK = type('BadInput', (KeyboardInterrupt,), {})\ndef f(x):\n    raise K\n",
    FOWN,
)
H(
    "own exception is a StopIteration",
    "assert",
    OWN,
    "class BadInput(StopIteration): pass\ndef f(x):\n    raise BadInput\n",
    FOWN,
)
H(
    "own exception is an AssertionError",
    "assert",
    OWN,
    "class BadInput(AssertionError): pass\ndef f(x):\n    raise BadInput\n",
    FOWN,
)
H(
    "own exception is a StopAsyncIteration",
    "assert",
    OWN,
    "class BadInput(StopAsyncIteration): pass\nK = type('BadInput', (SystemExit,), {})\ndef f(x):\n    raise K\n",
    FOWN,
)
H(
    "own exception with poisoned text",
    "assert",
    OWNTEXT,
    f"class S(str):{LIES}\nclass BadInput(Exception):\n    def __str__(s): return S('x')\n    args = property(lambda s: [S('x')])\ndef f(x):\n    raise BadInput\n",
    FOWN,
)
H(
    "own exception whose text hangs",
    "assert",
    OWNTEXT,
    "class BadInput(Exception):\n    def __str__(s):\n        while True: pass\ndef f(x):\n    raise BadInput\n",
    FOWN,
)
H(
    "own exception whose arguments are always equal",
    "assert",
    OWNTEXT,
    f"class E:{LIES}\nclass BadInput(Exception): pass\ndef f(x):\n    raise BadInput(E())\n",
    FOWN,
)
H(
    "own exception by a lying metaclass",
    "assert",
    OWNTEXT,
    "class M(type):\n    __name__ = property(lambda c: 'BadInput')\n    def __instancecheck__(c, o): return True\n    def __subclasscheck__(c, o): return True\nclass BadInput(Exception, metaclass=M): pass\ndef f(x):\n    raise BadInput\n",
    FOWN,
)
H(
    "an exception for every class",
    "assert",
    BARE,
    "class E(KeyError, ValueError): pass\ndef f(x):\n    raise KeyError(ValueError)\n",
    "def f(x):\n    if x == 'a' or x < 0: raise ValueError\n    return 2 * x\n",
)
H(
    "an exception group",
    "assert",
    BARE,
    "def f(x):\n    raise ExceptionGroup('g', [ValueError()])\n",
    "def f(x):\n    if x == 'a' or x < 0: raise ValueError\n    return 2 * x\n",
)

# 7. unittest classes, dotted names, state.
for label, code in {
    "skipped": "import unittest\ndef f(x):\n    raise unittest.SkipTest('no')\n",
    "always equal": f"class E(list):{LIES}\ndef f(x):\n    return E()\n",
    "empties the argument": "def f(x):\n    x.clear()\n    return []\n",
    "exits": "def f(x):\n    raise SystemExit(0)\n",
    "patched unittest": "import unittest\nunittest.TestCase.assertEqual = unittest.TestCase.assertListEqual = unittest.TestCase.assertAlmostEqual = lambda *a: None\ndef f(x):\n    return 0\n",
    "NaN": "def f(x):\n    return [float('nan')]\n",
    "a namedtuple with the methods of a list": "from collections import namedtuple\nT = namedtuple('T', 'sort count index')\ndef f(x):\n    return T(bool, bool, bool)\n",
}.items():
    H(f"unittest: {label}", "assert", TC, code, FSORT)
H(
    "unittest: assert statements and an emptied argument",
    "assert",
    TCASSERT,
    "def f(x):\n    x.clear()\n    return []\n",
    FSORT,
)
H(
    "unittest: every exception at once",
    "assert",
    TCRAISE,
    "class E(ValueError, KeyError.__base__): pass\ndef f(x):\n    raise E\n",
    FRAISE,
)
H("unittest: objects in place of exceptions", "assert", TCRAISE, f"class E:{LIES}\ndef f(x):\n    return E()\n", FRAISE)
H("dotted: always-equal instances", "assert", DOT, f"class Solution:{LIES}\n    def f(s, x): return s\n", FDOT)
H(
    "dotted: a metaclass in the way",
    "assert",
    DOT,
    "class M(type):\n    def __call__(c, *a): return c\n    def __getattr__(c, n): return lambda *a: c\nclass Solution(metaclass=M): pass\n",
    FDOT,
)
H(
    "dotted: the constructor exits",
    "assert",
    DOT,
    "import os\nclass Solution:\n    def __init__(s): os._exit(0)\n    def f(s, x): return 2 * x\n",
    FDOT,
)
H(
    "dotted: both, and neither works",
    "assert",
    DOT,
    "def f(x): return 2 * x + 1\nclass Solution:\n    f = None\n",
    "def f(x): return 2 * x\n",
)
H(
    "state: every result so far, and a lie",
    "assert",
    COUNTER,
    f"class E(int):{LIES}\ndef f():\n    return E(1)\n",
    FCOUNT,
)
H(
    "the result is None and the argument a lie",
    "assert",
    NONE,
    f"class E(int):{LIES}\ndef f(x):\n    x[:] = [E()] * len(x)\n",
    "def f(x):\n    x.sort()\n",
)
H(
    "the result is None and the argument holds itself",
    "assert",
    NONE,
    "def f(x):\n    x[:] = [x]\n",
    "def f(x):\n    x.sort()\n",
)
H(
    "a decorator line swallows what follows",
    "assert",
    HE,
    "def add(a, b):\n    return 0\ndef d(f): return lambda *a: None\n@d",
    ADD,
)
H("an open bracket swallows what follows", "assert", HE, "def add(a, b):\n    return 0\nx = (", ADD)
H("an open string swallows what follows", "assert", HE, 'def add(a, b):\n    return 0\nx = """', ADD)
H("a backslash swallows what follows", "assert", HE, "def add(a, b):\n    return 0\nif False: \\", ADD)
H(
    "sent-ahead arguments repeated as results",
    "assert",
    ASRT,
    "import sys\ndef add(a, b):\n    fr = sys._getframe()\n    while fr:\n        for v in list(fr.f_locals.values()):\n            if isinstance(v, list) and v and isinstance(v[0], list): return v\n        fr = fr.f_back\n",
    ADD,
)
