"""Honest answers, and wrong ones with what the verdict says of each, over all kinds of test."""

from code_env import AssertTest, CallTest, Limits, OutputTest, StdinTest, Task

FAST = Limits(cpu_s=1, wall_s=60)


def task(*tests, entry_point="f", **fields):
    return Task("t", "p", tests, entry_point=entry_point, **{"limits": FAST, **fields})


def asserts(code, **fields):
    return task(AssertTest(code), **fields)


HONEST = {
    "call": (task(CallTest((2,), {}, 4)), "def f(x): return x * x"),
    "call, keyword": (task(CallTest((2,), {"n": 3}, 8)), "def f(x, n=2): return x ** n"),
    "call, tuple for list": (task(CallTest((), {}, [1, [2]])), "def f(): return (1, (2,))"),
    "call, close": (task(CallTest((), {}, 0.3, compare="close")), "def f(): return 0.1 + 0.2"),
    "call, unordered": (task(CallTest((), {}, [1, 2], compare="unordered")), "def f(): return [2, 1]"),
    "call, big integer": (task(CallTest((5000,), {}, 7**5000)), "def f(n): return 7 ** n"),
    "call, surrogate": (task(CallTest((), {}, "\ud800")), "def f(): return chr(0xD800)"),
    "call, NaN": (task(CallTest((), {}, [float("nan")])), "def f(): return [float('nan')]"),
    "call, 4 MB": (task(CallTest((4_000_000,), {}, "é" * 4_000_000)), "def f(n): return 'é' * n"),
    "call, prints too": (task(CallTest((), {}, 1)), "print('noise')\ndef f():\n    print('more')\n    return 1"),
    "call, class": (task(CallTest((3,), {}, 3), entry_point="int"), "int = int"),
    "call, lambda": (task(CallTest((3,), {}, 9)), "f = lambda x: x * x"),
    "call, replaced builtins": (
        task(CallTest(([1, 2],), {}, 2)),
        "import builtins, json, os\nreal = len\nbuiltins.len = lambda x: real(x)\n"
        "json.dumps = json.loads = os.write = os.read = None\ndef f(x): return real(x)",
    ),
    "stdin": (task(StdinTest("2 3\n", "5")), "a, b = map(int, input().split())\nprint(a + b)"),
    "stdin, main block": (
        task(StdinTest("2", "4"), entry_point=None),
        "def main(): print(int(input()) * 2)\nif __name__ == '__main__': main()",
    ),
    "stdin, exit after printing": (task(StdinTest("", "x")), "import sys\nprint('x')\nsys.exit(0)"),
    "stdin, tokens": (task(StdinTest("", "1 2\n3", compare="tokens")), "print('1  2', 3)"),
    "stdin, numbers": (
        task(StdinTest("", "pi 3.14159", compare={"rule": "numbers", "abs": 1e-3})),
        "print('pi', 3.1417)",
    ),
    "stdin, 3 MB out": (task(StdinTest("", "x" * 3_000_000)), "print('x' * 3000000)"),
    "stdin, 3 MB in": (task(StdinTest("y" * 3_000_000, "3000000")), "print(len(input()))"),
    "output": (task(OutputTest("hello\n")), "print('hello')"),
    "output, line separators": (task(OutputTest("a\u2028b\x85c\x0cd")), "print('a\\u2028b\\x85c\\x0cd')"),
    "call, line separators": (task(CallTest((), {}, "a\u2028b\x85c")), "def f(): return 'a\\u2028b\\x85c'"),
    "assert, by name": (asserts("assert f(2) == 4"), "def f(x): return x * x"),
    "assert, candidate": (asserts("assert candidate(2) == 4"), "def f(x): return x * x"),
    "assert, check": (asserts("def check(candidate):\n    assert candidate(2) == 4"), "def f(x): return x * x"),
    "assert, check called": (
        asserts("def check(candidate):\n    assert candidate(2) == 4\ncheck(f)"),
        "def f(x): return x * x",
    ),
    "assert, setup": (asserts("assert f(2) == helper(2)", setup="def helper(x): return 4"), "def f(x): return x * x"),
    "assert, changed argument": (
        asserts("x = [3, 1, [2]]\nf(x)\nassert x == [1, [2], 3]"),
        "def f(x): x.sort(key=lambda v: v if isinstance(v, int) else 2)",
    ),
    "assert, changed in place within": (
        asserts("x = [[1], [2]]\ny = x[0]\nf(x)\nassert y == [9]"),
        "def f(x): x[0][0] = 9",
    ),
    "assert, changed in the assert": (asserts("x = [2, 1]\nassert f(x) is None and x == [1, 2]"), "def f(x): x.sort()"),
    "assert, changed keyword": (asserts("d = {}\nf(d=d)\nassert d == {1: 2}"), "def f(d): d[1] = 2"),
    "assert, builtin exception": (
        asserts("try:\n    f()\nexcept ValueError as e:\n    got = e.args\nassert got == ('no', 3)"),
        "def f(): raise ValueError('no', 3)",
    ),
    "assert, own exception": (
        asserts("try:\n    f()\n    got = 0\nexcept ValueError:\n    got = 1\nassert got == 1"),
        "class Mine(ValueError): pass\ndef f(): raise Mine('x')",
    ),
    "assert, plain types": (
        asserts(
            "import collections, decimal, fractions, datetime\n"
            "assert f(0) == collections.Counter('aab')\nassert f(1) == decimal.Decimal('1.10')\n"
            "assert f(2) == fractions.Fraction(1, 3)\nassert f(3) == datetime.date(2024, 2, 29)\n"
            "assert f(4).x == 1 and f(4) == (1, 2)\nassert isinstance(f(5), collections.deque)\n"
            "assert type(f(6)) is frozenset and f(7) == {(1, 2): {3}}\nassert f(8) == b'\\x00' and f(9) == 1 + 2j"
        ),
        "import collections, decimal, fractions, datetime\nP = collections.namedtuple('P', 'x y')\n"
        "def f(n): return [collections.Counter('aab'), decimal.Decimal('1.10'), fractions.Fraction(1, 3), "
        "datetime.date(2024, 2, 29), P(1, 2), collections.deque([1]), frozenset([1]), {(1, 2): {3}}, b'\\0', "
        "1 + 2j][n]",
    ),
    "assert, object's attributes and methods": (
        asserts("s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert s.items == [1]", entry_point="Stack"),
        "class Stack:\n    def __init__(self): self.items = []\n"
        "    def push(self, x): self.items.append(x)\n    def pop(self): return self.items.pop()",
    ),
    "assert, attributes set by the tests": (
        asserts("a = Node(1)\na.next = Node(2)\nassert f(a) == 2"),
        "class Node:\n    def __init__(self, v): self.v, self.next = v, None\n"
        "def f(n): return 0 if n is None else 1 + f(n.next)",
    ),
    "assert, function's own methods": (
        asserts("f(1)\nf.cache_clear()\nassert f.cache_info().hits == 0"),
        "import functools\nf = functools.lru_cache(lambda x: x)",
    ),
    "assert, dataclass in the tests": (
        asserts(
            "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\n"
            "assert f(P(3).x) == 3"
        ),
        "def f(x): return x",
    ),
    "assert, a local name of the tests is a name of the program": (
        asserts("def helper():\n    for g in range(2): pass\nhelper()\nassert f(1) == 1\nassert g(2) == 3"),
        "def f(x): return x\ndef g(x): return x + 1",
    ),
    "assert, returned function": (asserts("assert f(2)(3) == 5"), "def f(a): return lambda b: a + b"),
    "assert, further names": (asserts("assert f(2) == g(2)"), "def f(x): return x\ndef g(x): return x"),
    "assert, objects": (
        asserts(
            "assert f(1) + f(2) == f(3)\nassert len({f(1), f(1)}) == 1\nassert [x for x in f(3)] == [0, 1, 2]",
            judge="objects",
        ),
        "class N:\n    def __init__(self, n): self.n = n\n    def __add__(self, o): return N(self.n + o.n)\n"
        "    def __eq__(self, o): return self.n == o.n\n    def __hash__(self): return self.n\n"
        "    def __iter__(self): return iter(range(self.n))\nf = N",
    ),
    "assert, state within the suite": (
        asserts("f(1)\nassert f(2) == 2"),
        "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n",
    ),
    "assert, random tests repeat": (
        asserts("import random\nassert f(random.random()) == 0.8444218515250481"),
        "def f(x): return x",
    ),
    "assert, no assert at all": (asserts("if f(1) != 1: raise Exception('no')"), "def f(x): return x"),
}


ADD = asserts("assert f(1) == 1\nassert f(2) == 4\nassert f(3) == 9")

# name: task, answer, fraction, outcome, status, words in the first failed case's message
WRONG = {
    "call, value": (task(CallTest((2,), {}, 4)), "def f(x): return 5", 0.0, "fail", "ok", "expected 4, got 5"),
    "call, half": (
        task(CallTest((1,), {}, 1), CallTest((2,), {}, 4)),
        "def f(x): return 1",
        0.5,
        "fail",
        "ok",
        "expected 4",
    ),
    "call, weights": (
        task(CallTest((1,), {}, 1, weight=3), CallTest((2,), {}, 4)),
        "def f(x): return 1",
        0.75,
        "fail",
        "ok",
        "expected 4",
    ),
    "call, True for 1 is equal, but not exactly": (
        task(CallTest((), {}, 1, compare="exact")),
        "def f(): return True",
        0.0,
        "fail",
        "ok",
        "got True",
    ),
    "call, raises": (task(CallTest((), {}, 1)), "def f(): return 1 / 0", 0.0, "fail", "error", "ZeroDivisionError"),
    "call, loops": (
        task(CallTest((0,), {}, 0), CallTest((1,), {}, 1)),
        "def f(x):\n    while x: pass\n    return 0",
        0.5,
        "fail",
        "timeout",
        "time limit",
    ),
    "call, memory": (
        task(CallTest((), {}, 1)),
        "def f(): return bytearray(1 << 42)",
        0.0,
        "fail",
        "memory",
        "MemoryError",
    ),
    "call, exits": (task(CallTest((), {}, 1)), "import os\ndef f(): os._exit(0)", 0.0, "fail", "error", "ended early"),
    "call, SystemExit": (task(CallTest((), {}, 1)), "def f(): raise SystemExit(0)", 0.0, "fail", "error", "SystemExit"),
    "call, dies": (task(CallTest((), {}, 1)), "import os\ndef f(): os.abort()", 0.0, "fail", "signal", "signal 6"),
    "call, object": (task(CallTest((), {}, 1)), "class C: pass\ndef f(): return C()", 0.0, "fail", "ok", "C"),
    "call, cyclic": (
        task(CallTest((), {}, [1])),
        "def f():\n    x = []\n    x.append(x)\n    return x",
        0.0,
        "fail",
        "ok",
        "itself",
    ),
    "call, missing": (
        task(CallTest((), {}, 1)),
        "def g(): return 1",
        0.0,
        "policy_error",
        "error",
        "no function or class 'f'",
    ),
    "call, syntax": (task(CallTest((), {}, 1)), "def f(: return 1", 0.0, "policy_error", "error", "SyntaxError"),
    "call, dies at the top": (
        task(CallTest((), {}, 1)),
        "import os\nos._exit(0)",
        0.0,
        "policy_error",
        "error",
        "ended early",
    ),
    "call, exits at the top": (
        task(CallTest((), {}, 1)),
        "def f(): return 1\nraise SystemExit",
        0.0,
        "policy_error",
        "error",
        "SystemExit",
    ),
    "call, loops at the top": (
        task(CallTest((), {}, 1)),
        "while True: pass",
        0.0,
        "policy_error",
        "timeout",
        "time limit",
    ),
    "call, state of another test": (
        task(CallTest((), {}, 1), CallTest((), {}, 2)),
        "n = 0\ndef f():\n    global n\n    n += 1\n    return n",
        0.5,
        "fail",
        "ok",
        "got 1",
    ),
    "stdin, value": (task(StdinTest("", "a\nb")), "print('a\\nc')", 0.0, "fail", "ok", "line 2: expected 'b', got 'c'"),
    "stdin, less": (task(StdinTest("", "a\nb")), "print('a')", 0.0, "fail", "ok", "line 2: 'b' is missing"),
    "stdin, more": (task(StdinTest("", "a")), "print('a\\nb')", 0.0, "fail", "ok", "line 2: 'b' is too much"),
    "stdin, right but fails": (
        task(StdinTest("", "a")),
        "print('a', flush=True)\n1/0",
        0.0,
        "fail",
        "error",
        "ZeroDivision",
    ),
    "stdin, exit code": (
        task(StdinTest("", "a")),
        "print('a')\nraise SystemExit(3)",
        0.0,
        "fail",
        "error",
        "exit code 3",
    ),
    "stdin, loops": (task(StdinTest("", "a")), "while True: pass", 0.0, "fail", "timeout", "time limit"),
    "stdin, floods": (
        task(StdinTest("", "a")),
        "while True: print('a' * 9999)",
        0.0,
        "fail",
        "output_limit",
        "too much output",
    ),
    "stdin, nothing expected, nothing run": (task(StdinTest("", "")), "1/0", 0.0, "fail", "error", "ZeroDivisionError"),
    "stdin, state of another test": (
        task(StdinTest("1", "1"), StdinTest("2", "1")),
        "seen = globals().get('seen', 0) + 1\nprint(seen)\nif input() == '2': print(3)",
        0.5,
        "fail",
        "ok",
        "line 2",
    ),
    "assert, one of three": (ADD, "def f(x): return x", 1 / 3, "fail", "ok", "assert f(2) == 4: left is 2, right is 4"),
    "assert, raises in the second": (
        ADD,
        "def f(x): return 1 if x == 1 else 1 / 0",
        1 / 3,
        "fail",
        "error",
        "ZeroDivisionError",
    ),
    "assert, own AssertionError": (
        ADD,
        "def f(x):\n    assert x != 2\n    return x * x",
        2 / 3,
        "fail",
        "ok",
        "assert f(2) == 4",
    ),
    "assert, exits in the second": (
        ADD,
        "import os\ndef f(x): return os._exit(0) if x == 2 else x * x",
        1 / 3,
        "fail",
        "error",
        "ended",
    ),
    "assert, loops in the second": (
        ADD,
        "def f(x):\n    while x == 2: pass\n    return x * x",
        1 / 3,
        "fail",
        "timeout",
        "time limit",
    ),
    "assert, not reached": (
        asserts("for x in f(0): assert x == 1"),
        "def f(x): return []",
        0.0,
        "fail",
        "ok",
        "not reached",
    ),
    "assert, the end is reached by an exception": (
        asserts("assert f(1) == 1\nassert False, 'unless it raised'"),
        "def f(x): return x",
        0.0,
        "fail",
        "ok",
        "the tests ended",
    ),
    "assert, object compared": (
        asserts("assert f() == 1"),
        "class C:\n    def __eq__(self, o): return True\ndef f(): return C()",
        0.0,
        "fail",
        "ok",
        "eq on <the program's C>",
    ),
    "assert, shadowed helper": (
        asserts("assert f(2) == helper(2)", setup="def helper(x): return 4"),
        "def helper(x): return 0\ndef f(x): return 0",
        0.0,
        "fail",
        "ok",
        "left is 0, right is 4",
    ),
    "assert, result compared with a spoilt argument": (
        asserts("x = [3, 1]\nassert f(x) == sorted(x)"),
        "def f(x):\n    x.clear()\n    return []",
        0.0,
        "fail",
        "ok",
        "right is [1, 3]",
    ),
    "assert, exception without a text": (
        asserts("assert f(1) == 1\nassert f(2) == 2"),
        "def f(x): raise ValueError(10 ** 5000)",
        0.0,
        "fail",
        "error",
        "its text cannot be read",
    ),
    "assert, assertion without a text": (
        asserts(
            "for x in range(3):\n  try:\n    assert f(x) == x + 77\n  except ValueError: pass\n"
            "try:\n  assert f(9) == 86\nexcept Exception: pass"
        ),
        "def f(x): raise AssertionError(10 ** 5000)",
        0.0,
        "fail",
        "ok",
        "its text cannot be read",
    ),
    "assert, exception without a text within try": (
        asserts(
            "for x in range(3):\n  try:\n    assert f(x) == x + 77\n  except ValueError: pass\n"
            "try:\n  assert f(9) == 86\nexcept Exception: pass"
        ),
        "def f(x): raise ValueError(10 ** 5000)",
        0.0,
        "fail",
        "ok",
        "its text cannot be read",
    ),
    "assert, argument of another shape": (
        asserts(
            "import numpy as np\nfor x in range(3):\n  a = np.zeros(1)\n  assert f(a, x) == x\nassert f(a, 10) == 10"
        ),
        "import sys, numpy as np\ndef f(a, x):\n    if x == 0: return 0\n    frame = sys._getframe(1)\n"
        "    while frame is not None:\n        if 'given' in frame.f_locals and 'self' in frame.f_locals:\n"
        "            frame.f_locals['given'][0] = np.array(['zz'])\n            break\n        frame = frame.f_back\n"
        "    return 99",
        0.0,
        "fail",
        "ok",
        "left is 99",
    ),
    "assert, chained result that decides": (
        asserts("s = Solution()\nassert s.greet('a').startswith('hello')", entry_point="Solution"),
        "class Solution:\n    def greet(self, x): return self\n    def startswith(self, p): return True",
        0.0,
        "fail",
        "ok",
        "would decide the test",
    ),
    "assert, spoilt argument under an assert within": (
        asserts(
            "def run(x):\n  r = f(x)\n  assert isinstance(r, list)\n  return r\n"
            "x = [3, 1, 2]\nassert run(x) == sorted(x)"
        ),
        "def f(x):\n    x.clear()\n    return []",
        0.5,
        "fail",
        "ok",
        "right is [1, 2, 3]",
    ),
    "assert, helper of the prefix redefined": (
        asserts("assert abs(poly(candidate(1))) < 1e-4", prefix="def poly(x): return x - 5\n"),
        "def poly(x): return 0\ndef f(x): return 1",
        0.0,
        "fail",
        "ok",
        "left is 4",
    ),
    "blank": (task(StdinTest("", "")), " \n", 0.0, "policy_error", "error", "holds no code"),
}
