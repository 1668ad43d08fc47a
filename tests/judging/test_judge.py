"""What passes, what does not, and what the verdict says: table-driven, over all kinds of test."""

import asyncio
from concurrent.futures import Future

import pytest

import code_env
from code_env import (
    AssertTest,
    CallTest,
    ExecutionResult,
    Limits,
    Outcome,
    OutputTest,
    Program,
    Status,
    StdinTest,
    Task,
    ajudge,
    ajudge_many,
    judge,
    judge_many,
)

FAST = Limits(cpu_s=1, wall_s=5)


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


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_answer_passes_in_full(name, executor):
    problem, answer = HONEST[name]
    verdict = judge(problem, answer, executor)
    assert verdict.outcome is Outcome.PASS, (verdict.cases, verdict.execution)
    assert verdict.fraction == 1.0
    assert verdict.execution.status is Status.OK
    assert verdict.judge == problem.judge


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
        "its text cannot be had",
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
        "its text cannot be had",
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
        "its text cannot be had",
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


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_gets_what_it_deserves_and_is_told_why(name, executor):
    problem, answer, fraction, outcome, status, words = WRONG[name]
    verdict = judge(problem, answer, executor)
    first = next(case for case in verdict.cases if not case.passed)
    got = (verdict.fraction, verdict.outcome, verdict.execution.status)
    assert got == (pytest.approx(fraction), outcome, status), (verdict.cases, verdict.execution)
    assert words in first.message
    assert len(verdict.cases) == sum(test.cases for test in problem.tests)


def test_all_kinds_of_test_go_into_one_verdict(executor):
    problem = task(
        CallTest((1,), {}, 1), StdinTest("3", "3"), AssertTest("assert f(1) == 1\nassert f(2) == 5"),
        CallTest((2,), {}, 2), OutputTest("never", weight=4),
    )  # fmt: skip
    answer = "def f(x): return x\nif __name__ == '__main__': print(f(input()))"
    verdict = judge(problem, answer, executor)
    assert [(c.test, c.case, c.passed) for c in verdict.cases] == [
        (0, 0, True), (1, 0, True), (2, 0, True), (2, 1, False), (3, 0, True), (4, 0, False),
    ]  # fmt: skip
    assert verdict.fraction == (1 + 1 + 0.5 + 1) / 8
    assert (verdict.tests_passed, verdict.tests_total) == (4, 6)
    # The first test with a fault is the last one: no input, so input() raised.
    assert verdict.execution.status is Status.ERROR
    assert verdict.execution.error.name == "EOFError"


def test_many_answers_keep_their_order_also_awaited(executor):
    answers = [(task(CallTest((n,), {}, n * n)), "def f(x): return x * x" if n % 2 else "") for n in range(6)]
    expected = [n % 2 == 1 for n in range(6)]
    assert [v.passed for v in judge_many(answers, executor)] == expected
    assert [v.passed for v in asyncio.run(ajudge_many(answers, executor))] == expected
    assert asyncio.run(ajudge(*answers[1], executor, response="said")).response == "said"


def test_the_same_answer_gets_an_equal_verdict(executor):
    for problem, answer in (HONEST["call"], WRONG["stdin, value"][:2], WRONG["assert, raises in the second"][:2]):
        assert judge(problem, answer, executor) == judge(problem, answer, executor)


def test_responses_must_match_the_answers(executor):
    with pytest.raises(ValueError, match="2 responses"):
        judge_many([(ADD, "x")], executor, responses=["a", "b"])
    with pytest.raises(TypeError, match="an answer is text"):
        judge(ADD, None, executor)


class Flaky(code_env.Executor):
    """Fails a number of times, as a provider does, then works."""

    def __init__(self, inner, failures):
        self._inner, self._left = inner, failures

    def submit(self, program):
        if self._left == 0:
            return self._inner.submit(program)
        self._left -= 1
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR, error=code_env.ErrorInfo("SandboxError", "no luck")))
        return future

    def describe(self):
        return self._inner.describe()

    def close(self):
        pass


def test_a_failing_sandbox_is_tried_again_and_is_then_no_verdict(executor):
    problem, answer = HONEST["call"]
    assert judge(problem, answer, Flaky(executor, 2)).passed
    verdict = judge(problem, answer, Flaky(executor, 3))
    assert (verdict.outcome, verdict.fraction, verdict.cases, verdict.valid) == (Outcome.NO_VERDICT, None, (), False)
    assert verdict.execution.error.message == "no luck"
    assert asyncio.run(ajudge(problem, answer, Flaky(executor, 3))).outcome is Outcome.NO_VERDICT


@pytest.mark.parametrize(
    ("setup", "code"), [("import no_such_module", "assert f(1) == 1"), ("1 / 0", "assert f(1) == 1")]
)
def test_tests_that_fail_by_themselves_are_no_verdict(setup, code, executor):
    verdict = judge(asserts(code, setup=setup), "def f(x): return x", executor)
    assert verdict.outcome is Outcome.NO_VERDICT
    assert verdict.execution.error.name in ("ModuleNotFoundError", "ZeroDivisionError")


def test_the_interpreter_that_is_missing_is_no_verdict():
    with code_env.make_executor("subprocess", python="/bin/false") as broken:
        assert judge(*HONEST["call"], broken).outcome is Outcome.NO_VERDICT
        assert broken.run(Program("print(1)")).status is Status.SANDBOX_ERROR


# A program that makes its judge fail, after it was heard, has failed itself.
SABOTAGE = {
    "a value that takes for ever to compare": (
        asserts("assert sorted(f()) == []"), "def f(): return [str(i % 7) * 50 for i in range(400000)][::-1] * 4"
    ),
    "a huge exponent": (
        asserts("assert int(f()) == 1"), "import decimal\ndef f(): return decimal.Decimal('1E+999999999')"
    ),
    "memory": (asserts("assert len(str(f()) * 4000) == 1"), "def f(): return 'x' * 5000000"),
    "frames on every descriptor": (
        ADD,
        "import os, struct\nframe = struct.pack('>IB', 2, ord('M')) + b'{}'\n"
        "for fd in range(3, 60):\n    try: os.write(fd, frame * 3)\n    except OSError: pass\ndef f(x): return x",
    ),
    "every descriptor closed": (ADD, "import os\nos.closerange(0, 60)\ndef f(x): return x"),
    "every descriptor flooded": (
        ADD,
        "import os\nfor fd in range(3, 60):\n    try:\n        os.set_blocking(fd, False)\n"
        "        while os.write(fd, b'\\xff' * 65536): pass\n    except OSError: pass\ndef f(x): return x",
    ),
    "replies to nobody": (
        ADD,
        "import gc\nfrom code_env_harness.wire.channel import Channel, Kind\n"
        "for c in gc.get_objects():\n    if type(c) is Channel:\n        for n in range(9):\n"
        "            c.send_json(Kind.MESSAGE, {'n': n, 'value': 1})\ndef f(x): return x",
    ),
    "frames that are not its to send": (
        ADD,
        "import gc\nfrom code_env_harness.wire.channel import Channel, Kind\n"
        "for c in gc.get_objects():\n    if type(c) is Channel:\n"
        "        c.send_json(Kind.ENDED, {'status': 'ok'})\ndef f(x): return x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SABOTAGE)
def test_sabotage_of_the_judge_buys_nothing(name, executor):
    problem, answer = SABOTAGE[name]
    verdict = judge(problem, answer, executor)
    assert verdict.outcome in (Outcome.FAIL, Outcome.POLICY_ERROR)
    # `f(1) == 1` is right where the answer still answers.
    assert verdict.fraction <= 1 / 3


FORGE = """
import os, sys
channel = sys._getframe(1).f_locals["channel"]
from code_env_harness.wire.channel import Kind
channel.send_json(Kind.MESSAGE, {"n": 0, "error": None})
channel.send_json(Kind.MESSAGE, {"n": 1, "callable": {"f": True}, "exceptions": {}})
channel.send_json(Kind.MESSAGE, {"n": 2, "ended": ENDED, "reply": None})
os._exit(0)
"""


@pytest.mark.parametrize(
    "ended",
    [
        {"status": "error", "error": "x"},
        {"status": "error", "error": {"name": "a", "message": "b", "zzz": 1}},
        {"status": "error", "error": {"name": [], "message": {}}, "stderr": [1], "exit_code": "x", "signal": []},
        {"status": "perfect"},
        {"status": ["ok"]},
        7,
    ],
    ids=str,
)
def test_a_forged_end_of_a_call_is_a_failed_test(ended, executor):
    from code_env.envs.feedback import feedback

    problem = task(CallTest((1,), {}, 1))
    verdict = judge(problem, FORGE.replace("ENDED", repr(ended)), executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.0)
    assert isinstance(verdict.execution.stderr, str)
    assert feedback(problem, verdict)


def test_tests_that_take_long_to_set_up_hear_of_code_that_does_not_compile(executor):
    problem = asserts("assert f(1) == 1", setup="import time\ntime.sleep(1.5)")
    assert judge(problem, "def f(:", executor).outcome is Outcome.POLICY_ERROR


def test_public_tests_run_before_the_program_has_seen_a_hidden_input(executor):
    spy = "import sys\ndef f(x):\n    frame = sys._getframe()\n    while 'request' not in frame.f_locals:\n"
    spy += "        frame = frame.f_back\n    return frame.f_locals['request']['inputs']"
    verdict = judge(task(CallTest((51234,), {}, 1), CallTest((2,), {}, 1, hidden=False)), spy, executor)
    assert verdict.cases[1].actual == "[[[2], {}]]"
    keeps = "import os\ngiven = input()\nprint(open('/proc/self/cwd/../seen').read() if given == '2' else '')\n"
    keeps += "open('../seen', 'a').write(given)"
    verdict = judge(task(StdinTest("51234", "x"), StdinTest("2", "x", hidden=False)), keeps, executor)
    assert "51234" not in verdict.cases[1].actual


def test_each_test_has_a_directory_of_its_own(executor):
    answer = "import os\ndef f(x):\n    os.mkdir('d')\n    return sorted(os.listdir())"
    listing = ["d", "given", "main.py"]
    problem = task(CallTest((1,), {}, listing), CallTest((2,), {}, listing), files={"given": b""})
    assert judge(problem, answer, executor).passed
    answer = "import os\nos.mkdir('d')\nprint(os.path.samefile(os.environ['HOME'], '.'), open('given').read())"
    problem = task(StdinTest("", "True x"), StdinTest("1", "True x"), files={"given": b"x"})
    assert judge(problem, answer, executor).passed


def test_each_test_has_what_the_task_gives_whatever_kind_came_before(executor):
    code = "import os\ndef f(x):\n    open('data', 'w').write('changed')\n    return x\n"
    code += "if __name__ == '__main__': print(open('data').read(), sorted(os.listdir('.')))"
    fresh = "first ['data', 'main.py']"
    mixed = (
        code_env.StdinTest("", fresh),
        code_env.CallTest((1,), expected=1),
        code_env.OutputTest(fresh),
        code_env.AssertTest("assert f(2) == 2"),
        code_env.StdinTest("", fresh),
    )
    answered = code_env.judge(
        code_env.Task(id="t", prompt="", entry_point="f", files={"data": b"first"}, tests=mixed), code, executor
    )
    assert answered.passed, answered


def test_an_answer_that_kills_what_serves_it_was_tested(executor):
    verdict = judge(task(StdinTest("", "x")), "import os\nos.kill(os.getppid(), 9)", executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.0)


def test_many_long_outputs_fit_into_one_report(executor):
    problem = task(*[StdinTest(str(n), "é" * 9000 + "\n") for n in range(150)])
    assert judge(problem, "print('é' * 9000)", executor).passed
    assert judge(problem, "print('é' * 9001)", executor).tests_total == 150


def test_an_object_costs_its_own_test_only(executor):
    problem = task(CallTest((0,), {}, [1, 2]), CallTest((1,), {}, 1), CallTest((2,), {}, 2))
    answer = "import numpy\nclass C: pass\ndef f(i): return [numpy.array([1, 2]), C(), 2][i]"
    assert [case.passed for case in judge(problem, answer, executor).cases] == [True, False, True]


@pytest.mark.parametrize("limits", [{"memory_bytes": 1 << 50}, {"cpu_s": 1e6, "wall_s": 1e6}, {"file_bytes": 1 << 50}])
def test_the_largest_limits_work(limits, executor):
    assert judge(task(OutputTest("1"), limits=Limits(**limits)), "print(1)", executor).passed


def test_answers_are_judged_one_after_another_and_the_rest_is_cancelled(executor):
    slow = (task(OutputTest("x")), "import time; time.sleep(60)")
    verdicts = code_env.judge_each([(*HONEST["call"],), slow, slow, slow], executor)
    assert next(verdicts).passed
    verdicts.close()
    assert judge(*HONEST["call"], executor).passed
