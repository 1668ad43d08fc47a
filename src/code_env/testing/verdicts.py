"""Checks of verdicts: they are the same on every executor, and a program cannot cheat to pass."""

from __future__ import annotations

from code_env.executors import Executor, Limits
from code_env.judging import Verdict, judge
from code_env.tasks import AssertTest, CallTest, CellTest, OutputTest, StdinTest, Task

from .contract import check, core_check, equal, expect, need_notebooks, need_peers

_SUM = Task("sum", "Print the sum of the numbers.", (StdinTest("1 2\n", "3\n"), StdinTest("5 -5\n", "0\n")))
_ADD_CALLS = (CallTest(args=(1, 2), expected=3), CallTest(args=(-1, 1), expected=0))
_ADD = Task("add", "Write add(a, b).", _ADD_CALLS, entry_point="add")
_ADD_SUITE = Task("add", "Write add(a, b).", (AssertTest("assert add(1, 2) == 3\nassert add(-1, 1) == 0"),))

_SHORT = Limits(cpu_s=0.5, wall_s=5)


def _judged(executor: Executor, task: Task, answer: str) -> Verdict:
    need_peers(executor)
    verdict = judge(task, answer, executor)
    expect(verdict.valid, f"there is no verdict: {verdict.execution.error}")
    return verdict


def _passes(executor: Executor, task: Task, answer: str, passed: list[bool]) -> None:
    verdict = _judged(executor, task, answer)
    messages = [case.message for case in verdict.cases]
    equal([case.passed for case in verdict.cases], passed, f"cases that passed ({messages})")
    equal(
        (verdict.fraction, verdict.passed), (sum(passed) / len(passed), all(passed)), "fraction, and whether it passed"
    )


@core_check
def stdin_tests_are_judged(executor: Executor) -> None:
    """Each `stdin` test is judged separately: a failed test does not change the results of the others."""
    _passes(executor, _SUM, "print(sum(map(int, input().split())))", [True, True])
    _passes(executor, _SUM, "print(sum(map(abs, map(int, input().split()))))", [True, False])


@core_check
def call_tests_are_judged(executor: Executor) -> None:
    """A `call` test is judged by the return value."""
    _passes(executor, _ADD, "def add(a, b): return a + b", [True, True])
    _passes(executor, _ADD, "def add(a, b): return abs(a) + b", [True, False])


@core_check
def assert_suites_are_judged(executor: Executor) -> None:
    """Each `assert` of a suite is a case."""
    _passes(executor, _ADD_SUITE, "def add(a, b): return a + b", [True, True])
    _passes(executor, _ADD_SUITE, "def add(a, b): return 3", [True, False])


@core_check
def output_tests_are_judged(executor: Executor) -> None:
    """An `output` test is judged by what the program prints."""
    task = Task("hello", "Print hello.", (OutputTest("hello\n"),))
    _passes(executor, task, "print('hello')", [True])
    _passes(executor, task, "print('goodbye')", [False])


@check
def cell_tests_are_judged(executor: Executor) -> None:
    """A `cell` test is judged by the result of a cell that runs after the program."""
    need_notebooks(executor)
    task = Task("cell", "Set x to 3.", (CellTest("x + 1", "4"),))
    _passes(executor, task, "x = 3", [True])
    _passes(executor, task, "x = 4", [False])


@core_check
def a_loop_in_one_test_leaves_the_others(executor: Executor) -> None:
    """A test that reaches its time limit fails, and the tests after it are still judged."""
    tests = (CallTest(args=(0,), expected=0), CallTest(args=(1,), expected=1))
    task = Task("same", "Write same(n).", tests, entry_point="same", limits=_SHORT)
    _passes(executor, task, "def same(n):\n    while n == 0: pass\n    return n", [False, True])


@check
def a_sleep_in_one_test_leaves_the_others(executor: Executor) -> None:
    """A test that sleeps until its wall time limit fails, and the tests after it are still judged."""
    tests = (CallTest(args=(0,), expected=0), CallTest(args=(1,), expected=1))
    task = Task("same", "Write same(n).", tests, entry_point="same", limits=Limits(wall_s=2))
    _passes(executor, task, "import time\ndef same(n):\n    if n == 0: time.sleep(60)\n    return n", [False, True])


@core_check
def an_early_exit_passes_nothing(executor: Executor) -> None:
    """A program that ends before it was tested has passed no test, with any exit code."""
    verdict = _judged(executor, _ADD_SUITE, "raise SystemExit(0)")
    equal((verdict.fraction, verdict.passed), (0.0, False), "fraction, and whether it passed")


@core_check
def printed_claims_pass_nothing(executor: Executor) -> None:
    """A program that prints that it has passed gets no better verdict: the text is only its output."""
    claims = "print('PASSED')\nprint('{\"passed\": true, \"fraction\": 1.0}')\ndef add(a, b): return None"
    for task in (_ADD, _ADD_SUITE):
        equal(_judged(executor, task, claims).fraction, 0.0, "fraction")


@core_check
def code_that_does_not_compile_is_a_policy_error(executor: Executor) -> None:
    """Code that does not compile gets the outcome `policy_error`, because the policy is at fault."""
    verdict = _judged(executor, _ADD, "def add(a, b: return a + b")
    equal((verdict.outcome, verdict.fraction), ("policy_error", 0.0), "outcome and fraction")


@core_check
def verdicts_repeat(executor: Executor) -> None:
    """The same answer gets the same verdict."""
    first, second = (_judged(executor, _ADD, "def add(a, b): return a * b") for _ in range(2))
    equal((first.cases, first.outcome), (second.cases, second.outcome), "second verdict")
