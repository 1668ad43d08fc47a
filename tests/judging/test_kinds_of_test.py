"""Every kind of test, in every mode, from the answer to the verdict."""

import pytest

from code_env import AssertTest, CallTest, CheckerTest, Limits, Outcome, Status, StdinTest, Task, judge, load_suite

UNITTEST = """
import unittest

class TestDouble(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.start = 1

    def setUp(self):
        self.values = [self.start, 2]

    def test_numbers(self):
        for value in self.values:
            with self.subTest(value=value):
                self.assertEqual(double(value), 2 * value)

    def test_text(self):
        self.assertEqual(double("ab"), "abab")

    def test_refuses_none(self):
        with self.assertRaises(TypeError):
            double(None)

    def helper(self):
        raise AssertionError("this is no test")
"""


def task(test, mode="blind", entry_point="double", **fields):
    return Task("t", "p", (test,), entry_point=entry_point, judge=mode, **fields)


def passed(verdict):
    return [case.passed for case in verdict.cases]


@pytest.mark.parametrize("mode", ["blind", "objects", "shared"])
def test_each_method_of_a_test_case_is_a_case(mode, executor):
    problem = task(AssertTest(UNITTEST), mode)
    verdict = judge(problem, "def double(x): return x + x", executor)
    assert (verdict.outcome, verdict.judge, len(verdict.cases)) == (Outcome.PASS, mode, 3)
    assert passed(judge(problem, "def double(x): return 2 * x if x != 2 else 5", executor)) == [False, True, True]
    assert passed(judge(problem, "def double(x): return x + x if x else 0", executor)) == [True, True, False]
    assert passed(judge(problem, "def double(x): return y", executor)) == [False, False, False]


@pytest.mark.parametrize("mode", ["blind", "shared"])
def test_a_method_that_does_not_come_to_its_end_has_failed(mode, executor):
    problem = task(AssertTest(UNITTEST), mode, limits=Limits(cpu_s=1, wall_s=2))
    for end in ("__import__('os')._exit(0)", "__import__('os').kill(__import__('os').getpid(), 9)"):
        verdict = judge(problem, f"def double(x):\n    if x == 'ab': {end}\n    return x + x", executor)
        # Methods run in the order of the text: numbers, text, None.
        assert passed(verdict) == [True, False, False], verdict.cases
    verdict = judge(problem, "def double(x):\n    while x == 'ab': pass\n    return x + x", executor)
    assert passed(verdict) == [True, False, False]
    assert verdict.cases[1].status is Status.TIMEOUT


@pytest.mark.parametrize("mode", ["blind", "shared"])
def test_skipped_and_broken_methods_have_not_passed(mode, executor):
    code = """
import unittest
class T(unittest.TestCase):
    @unittest.skip("no")
    def test_a(self): self.assertEqual(double(1), 2)
    def test_b(self): self.skipTest("no")
    def test_c(self): self.assertEqual(double(1), 2)
    @unittest.expectedFailure
    def test_d(self): self.assertEqual(double(1), 3)
    @unittest.expectedFailure
    def test_e(self): self.assertEqual(double(1), 2)
class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError("broken")
    def test_f(self): pass
"""
    verdict = judge(task(AssertTest(code), mode), "def double(x): return x + x", executor)
    assert passed(verdict) == [False, False, True, True, False, False]


def test_a_blind_test_method_does_not_see_what_became_of_an_argument_within_its_assertion(executor):
    code = """
import unittest
class T(unittest.TestCase):
    def test_sorted(self):
        x = [3, 1, 2]
        self.assertEqual(double(x), sorted(x))
"""
    problem = task(AssertTest(code))
    assert judge(problem, "def double(x):\n    x.clear()\n    return []", executor).fraction == 0.0
    assert judge(problem, "def double(x): return sorted(x)", executor).passed


PATCHES = """
import unittest
from unittest.mock import patch
import math
class T(unittest.TestCase):
    @patch("math.sqrt")
    def test_patched(self, sqrt):
        sqrt.return_value = 7
        self.assertEqual(double(4), 7)
    def test_file(self):
        double(9)
        with open("out.txt") as file:
            self.assertEqual(file.read(), "3.0")
    def test_printed(self):
        import contextlib, io
        with contextlib.redirect_stdout(io.StringIO()) as out:
            double(16)
        self.assertEqual(out.getvalue(), "4.0\\n")
"""
ROOT_PROGRAM = """
import math
def double(x):
    r = math.sqrt(x)
    print(r)
    open("out.txt", "w").write(str(r))
    return r
"""


def test_tests_that_patch_capture_and_read_files_are_shared(executor):
    problem = task(AssertTest(PATCHES), "shared")
    verdict = judge(problem, ROOT_PROGRAM, executor)
    assert verdict.passed, verdict.cases
    assert verdict.judge == "shared"
    assert judge(task(AssertTest(PATCHES)), ROOT_PROGRAM, executor).fraction == 0.0


def test_a_shared_suite_with_asserts_and_set_up(executor):
    problem = task(
        AssertTest("assert double(ONE) == TWO\nassert helper(3) == 3\nassert double(2) == 4"),
        "shared",
        setup="ONE, TWO = 1, 2",
    )
    program = "def double(x): return 2 * x\ndef helper(x): return x"
    assert judge(problem, program, executor).passed
    verdict = judge(problem, "def double(x): return 2\ndef helper(x): return x", executor)
    assert passed(verdict) == [True, True, False]
    assert verdict.cases[2].message == "assert double(2) == 4: left is 2, right is 4"
    assert judge(problem, "double = 5", executor).outcome is Outcome.POLICY_ERROR
    assert judge(problem, "def double(", executor).outcome is Outcome.POLICY_ERROR


def test_a_record_without_the_seal_is_no_record(executor):
    problem = task(AssertTest("assert double(1) == 2"), "shared")
    forge = """
import sys
answer = sys._getframe(1).f_locals["channel"]
answer.send_json(77, {"n": 0, "error": None})
answer.send_json(77, {"n": 1, "callable": {"double": True}, "exceptions": {}})
answer.send_json(77, {"n": 2, "seal": "x", "case": 0, "ran": True, "message": "", "unfinished": False})
answer.send_json(77, {"n": 2, "seal": "x", "done": True})
answer.before_waiting()
while True: pass
"""
    problem = Task("t", "p", problem.tests, entry_point="double", judge="shared", limits=Limits(cpu_s=1, wall_s=2))
    assert judge(problem, forge, executor).fraction == 0.0


PERMUTATION = """
def check(stdin, stdout, answer):
    n = int(stdin)
    numbers = [int(word) for word in stdout.split()]
    assert sorted(numbers) == list(range(1, n + 1)), "not a permutation"
    return all(a != b + 1 for a, b in zip(numbers, numbers[1:]))
"""


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("n = int(input())\nprint(*range(1, n + 1))", None),
        ("n = int(input())\nprint(*range(2, n + 1), 1)", None),
        ("n = int(input())\nprint(*range(n, 0, -1))", "the checker does not accept it"),
        ("print(1, 1, 1)", "not a permutation"),
        ("print('x')", "the checker does not accept it: ValueError"),
        ("print('9' * 5000)", "the checker does not accept it: ValueError"),
        ("pass", "not a permutation"),
        ("n = int(input())\nprint(*range(1, n + 1))\nraise SystemExit(3)", "exit code 3"),
    ],
)
def test_a_checker_decides_where_many_answers_are_right(program, message, executor):
    problem = Task("t", "p", (CheckerTest(stdin="5", checker=PERMUTATION),))
    verdict = judge(problem, program, executor)
    if message is None:
        assert verdict.passed, verdict.cases
    else:
        assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.0)
        assert verdict.cases[0].message.startswith(message)


def test_a_checker_gets_the_answer_and_must_say_true(executor):
    accepts = "def check(stdin, stdout, answer): return abs(float(stdout) - float(answer)) < 0.1"
    problem = Task("t", "p", (CheckerTest(stdin="", checker=accepts, answer="3.14"),))
    assert judge(problem, "print(3.1)", executor).passed
    assert judge(problem, "print('nan')", executor).fraction == 0.0
    truthy = Task("t", "p", (CheckerTest(stdin="", checker="def check(a, b, c): return b"),))
    assert judge(truthy, "print(1)", executor).fraction == 0.0


def test_a_checker_that_takes_too_long_is_a_failed_test(executor):
    slow = "def check(stdin, stdout, answer):\n    while stdout: pass\n    return True"
    problem = Task("t", "p", (CheckerTest(stdin="", checker=slow),), limits=Limits(cpu_s=1, wall_s=1))
    verdict = judge(problem, "print(1)", executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.FAIL, 0.0)


SOLUTION_CALLS = (CallTest(([2, 7, 11], 9), {}, [0, 1]), CallTest(([3, 3], 6), {}, [0, 1]))
METHOD = """
class Solution:
    def __init__(self): self.calls = 0
    def two_sum(self, nums, target):
        self.calls += 1
        assert self.calls == 1
        return next([i, j] for i in range(len(nums)) for j in range(i + 1, len(nums)) if nums[i] + nums[j] == target)
"""
FUNCTION = """
def two_sum(nums, target):
    return next([i, j] for i in range(len(nums)) for j in range(i + 1, len(nums)) if nums[i] + nums[j] == target)
"""


@pytest.mark.parametrize("program", [METHOD, FUNCTION], ids=["class Solution", "function"])
def test_methods_of_a_class_solution_are_called(program, executor):
    calls = Task("t", "p", SOLUTION_CALLS, entry_point="Solution.two_sum")
    assert judge(calls, program, executor).passed
    suite = Task(
        "t",
        "p",
        (AssertTest("assert candidate([2, 7], 9) == [0, 1]\nassert candidate([3, 3], 6) == [0, 1]"),),
        entry_point="Solution.two_sum",
    )
    assert judge(suite, program, executor).passed
    assert judge(calls, "class Solution: pass", executor).outcome is Outcome.POLICY_ERROR
    assert judge(calls, "class Solution:\n    def two_sum(self, a, b): return [1, 0]", executor).fraction == 0.0


# What crosses between a program and its tests: test code, an answer that passes, one that does not.
CROSSINGS = {
    "generator": ("assert list(f(3)) == [0, 1, 2]", "def f(n):\n    yield from range(n)", "def f(n): yield n"),
    "endless generator": (
        "import itertools\nassert list(itertools.islice(f(), 3)) == [0, 1, 2]",
        "import itertools\ndef f(): return itertools.count()",
        "import itertools\ndef f(): return itertools.repeat(0)",
    ),
    "generator that raises": (
        "g = f()\nassert next(g) == 1\ntry:\n    next(g)\nexcept ValueError as e:\n    assert str(e) == 'x'",
        "def f():\n    yield 1\n    raise ValueError('x')",
        "def f():\n    yield 1\n    raise ValueError('y')",
    ),
    "map": ("assert list(f([1, 2])) == ['1', '2']", "def f(x): return map(str, x)", "def f(x): return map(int, x)"),
    "zip": ("assert sorted(f([1], [2])) == [(1, 2)]", "def f(a, b): return zip(a, b)", "def f(a, b): return zip(b, a)"),
    "dict views": (
        "d = f()\nassert set(d[0]) == {1}\nassert sorted(d[1]) == [2]\nassert (1, 2) in d[2]",
        "def f():\n    d = {1: 2}\n    return d.keys(), d.values(), d.items()",
        "def f():\n    d = {1: 3}\n    return d.keys(), d.keys(), d.values()",
    ),
    "coroutine": (
        "import asyncio\nassert asyncio.run(f(2)) == 4",
        "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return 2 * x",
        "async def f(x): return 2",
    ),
    "function as argument": (
        "assert f(lambda x: x + 1, [1, 2]) == [2, 3]",
        "def f(g, xs): return [g(x) for x in xs]",
        "def f(g, xs): return [g(x) - 1 for x in xs]",
    ),
    "function as argument that calls back": (
        "assert f(lambda x: x if x == 0 else f(lambda y: y, x - 1) + 1, 3) == 3",
        "def f(g, x): return g(x)",
        "def f(g, x): return g(x) + 1",
    ),
    "function that raises": (
        "def bad(x): raise KeyError('k')\nassert f(bad) == 'caught'",
        "def f(g):\n    try: g(1)\n    except KeyError: return 'caught'",
        "def f(g):\n    try: g(1)\n    except ValueError: return 'caught'",
    ),
    "builtin type as argument": (
        "assert f(int, '3') == 3\nassert f(len, 'abc') == 3",
        "def f(kind, x): return kind(x)",
        "def f(kind, x): return x",
    ),
    "generator as argument": (
        "assert f(x * x for x in (1, 2, 3)) == 14",
        "def f(xs): return sum(xs)",
        "def f(xs): return len(list(xs))",
    ),
    "own exception class": (
        "try:\n    f(-1)\n    assert False\nexcept TooSmall as e:\n    assert e.args == ('no',)",
        "class TooSmall(Exception): pass\ndef f(x): raise TooSmall('no')",
        "class TooSmall(Exception): pass\ndef f(x): raise ValueError('no')",
    ),
    "exception of a subclass with attributes": (
        "try:\n    f(-1)\nexcept BankError as e:\n    assert e.code == 7\n    assert str(e) == 'code 7'",
        "class BankError(Exception):\n    def __init__(self, code): self.code = code\n"
        "    def __str__(self): return f'code {self.code}'\n"
        "class Broke(BankError): pass\ndef f(x): raise Broke(7)",
        "class BankError(Exception):\n    code = 8\ndef f(x): raise BankError('code 7')",
    ),
    "builtin exception": (
        "try:\n    f(-1)\n    assert False\nexcept ValueError as e:\n    assert 'neg' in str(e)",
        "def f(x): raise ValueError('negative')",
        "def f(x): raise TypeError('negative')",
    ),
    "changed argument": (
        "x = [3, 1]\nf(x)\nassert x == [1, 3]",
        "def f(x): x.sort()",
        "def f(x): return sorted(x)",
    ),
    "class under test": (
        "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert s.size == 1",
        "class Stack:\n    def __init__(self): self.x = []\n    def push(self, v): self.x.append(v)\n"
        "    def pop(self): return self.x.pop()\n    size = property(lambda self: len(self.x))",
        "class Stack:\n    def __init__(self): self.x = []\n    def push(self, v): self.x.append(v)\n"
        "    def pop(self): return self.x.pop(0)\n    size = property(lambda self: len(self.x))",
    ),
    "array": (
        "import numpy as np\nassert np.allclose(f([1.0, 3.0]), np.array([0.25, 0.75]))",
        "import numpy as np\ndef f(x): return np.array(x) / np.sum(x)",
        "import numpy as np\ndef f(x): return np.array(x) / np.max(x)",
    ),
}


@pytest.mark.parametrize("name", CROSSINGS)
def test_what_crosses_between_a_program_and_blind_tests(name, executor):
    code, right, wrong = CROSSINGS[name]
    problem = task(AssertTest(code), entry_point="Stack" if "Stack" in code else "f")
    verdict = judge(problem, right, executor)
    assert (verdict.outcome, verdict.judge) == (Outcome.PASS, "blind"), verdict.cases
    assert not judge(problem, wrong, executor).passed


FRAME = "import pandas as pd\ndef f(rows): return pd.DataFrame(rows, columns=['a', 'b'])"
FRAME_TESTS = (
    "df = f([[1, 2], [3, 4]])\nassert list(df.columns) == ['a', 'b']\nassert df['b'].sum() == 6\nassert len(df) == 2"
)


def test_frames_need_objects(executor):
    limits = Limits(cpu_s=20, wall_s=60)
    blind = judge(task(AssertTest(FRAME_TESTS), entry_point="f", limits=limits), FRAME, executor)
    assert "only plain data" in blind.cases[1].message
    verdict = judge(task(AssertTest(FRAME_TESTS), "objects", entry_point="f", limits=limits), FRAME, executor)
    assert (verdict.outcome, verdict.judge) == (Outcome.PASS, "objects"), verdict.cases


# Programs that see in which order, and how often, they are called.
STATEFUL = {
    "counter": "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n",
    "mutable default": "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)",
}


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.parametrize(
    "code",
    [
        "assert f(1) == 1\nassert f(1) == 2\nassert f(5) == 3",
        "def check(f):\n    assert f(1) == 1\n    x = 7\n    assert f(x) == 2\n    assert f(9) == 3",
        "def check(g):\n    for i in range(1, 4):\n        assert g(i) == i\n    assert g(0) == 4",
        "assert f(1) == 1\nassert [f(2), f(3)] == [2, 3]\nassert f(4) == 4 and f(5) == 5\nassert f(6) == 6",
        "y = f(0)\nassert y == 1\nassert f(2) == 2\ndef check(candidate):\n    assert candidate(3) == 3",
    ],
)
def test_calls_are_made_in_the_order_of_the_text(name, code, executor):
    assert judge(task(AssertTest(code), entry_point="f"), STATEFUL[name], executor).passed


def test_one_judge_serves_many_answers_and_keeps_nothing(executor):
    setup = "import random, collections\nseen = []\ncache = collections.Counter()"
    code = """
seen.append(1)
cache[1] += 1
assert len(seen) == f(1)
assert cache[1] == f(1)
assert random.random() == f(2)
"""
    import random

    random.seed(0)
    problem = task(AssertTest(code), entry_point="f", setup=setup)
    right = f"def f(x): return 1 if x == 1 else {random.random()!r}"
    verdicts = [judge(problem, f"{right}\n# {n}", executor) for n in range(4)]
    assert [verdict.fraction for verdict in verdicts] == [1.0] * 4
    assert judge(problem, "def f(x): return 0", executor).fraction == 0.0
    assert judge(problem, right, executor) == judge(problem, right, executor)


@pytest.mark.parametrize(
    ("setup", "drawn", "first"),
    [
        ("import random", "random.random()", 0.8444218515250481),
        ("from random import *", "random()", 0.8444218515250481),
        ("def draw():\n    import random\n    return random.random()", "draw()", 0.8444218515250481),
        ("import numpy", "float(numpy.random.rand())", 0.5488135039273248),
        ("", "float(np.random.rand())", 0.5488135039273248),
    ],
)
def test_what_tests_draw_is_the_same_each_time(setup, drawn, first, executor):
    problem = task(AssertTest(f"assert f({drawn}) == {first}"), entry_point="f", setup=setup)
    assert judge(problem, "def f(x): return x", executor).passed


def test_mixed_kinds_with_every_mode_of_test(executor):
    problem = Task(
        "t",
        "p",
        (
            AssertTest("assert f(1) == 1", hidden=False),
            StdinTest(stdin="3", stdout="9"),
            CheckerTest(stdin="3", checker="def check(i, o, a): return int(o) == int(i) ** 2"),
            CallTest((4,), {}, 16),
            AssertTest(UNITTEST.replace("double", "twice")),
        ),
        entry_point="f",
    )
    program = "def f(x): return x * x\ndef twice(x): return x + x\nif __name__ == '__main__': print(f(int(input())))"
    verdict = judge(problem, program, executor)
    assert verdict.passed, verdict.cases


@pytest.mark.shared_data
def test_bigcodebench_tasks_pass_with_their_references(data, executor):
    """With the packages of the interpreter; `tests/packages` has those that `prepare` installs."""
    suite = load_suite(data / "data_tasks" / "bigcodebench_sample.jsonl").with_packages([])
    for problem in suite:
        verdict = judge(problem, problem.reference, executor)
        assert (verdict.outcome, verdict.judge) == (Outcome.PASS, "shared"), verdict.cases
        assert judge(problem, "    pass\n", executor).fraction < 1.0
