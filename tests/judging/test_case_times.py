"""The time that a test takes: what its case says of it, and that its limit is its own."""

import pytest

from code_env import AssertTest, CallTest, Limits, OutputTest, StdinTest, Task, judge, make_executor

BUSY = "def busy(n):\n    while n: n -= 1\n"
"""A loop whose CPU time can be told from that of a call that does nothing, on any machine."""

ASSERTS = AssertTest("assert f(1) == 1\nassert f(1) == 1")


@pytest.mark.parametrize("name", ["local", "subprocess"])
@pytest.mark.parametrize(
    ("tests", "code", "slow"),
    [
        ([CallTest((1,), expected=1), CallTest((2_000_000,), expected=1)], "def f(n):\n    busy(n)\n    return 1", {1}),
        ([CallTest((1,), expected=1)] * 2, "busy(2_000_000)\ndef f(n):\n    return 1", {0, 1}),
        ([CallTest((1,), expected=1)], "busy(2_000_000)\ndef f(n):\n    return object()", {0}),
        ([CallTest((1,), expected=1)], "busy(2_000_000)\ndef f(n):\n    raise ValueError", {0}),
        ([StdinTest("1", ""), StdinTest("2000000", "")], "busy(int(input()))", {1}),
        ([OutputTest("")], "busy(2_000_000)", {0}),
        ([ASSERTS], "busy(2_000_000)\ndef f(n):\n    return 1", {0, 1}),
        ([ASSERTS, CallTest((1,), expected=1)], "def f(n):\n    return 1", set()),
        ([ASSERTS, CallTest((1,), expected=1)], "busy(2_000_000)\ndef f(n):\n    return 1", {0, 1, 2}),
    ],
)
def test_a_case_has_the_times_of_its_test(name, tests, code, slow):
    with make_executor(name, workers=1) as runner:
        verdict = judge(Task("t", "p", tuple(tests), entry_point="f"), BUSY + code, runner)
    busy_s = 0.02
    for index, case in enumerate(verdict.cases):
        assert case.cpu_s is not None
        assert case.wall_s is not None
        if index in slow:
            assert case.cpu_s > busy_s
        elif slow:
            assert case.cpu_s < max(other.cpu_s for other in verdict.cases)


def test_times_take_no_part_in_comparison(executor):
    task = Task("t", "p", (StdinTest("", "1"),))
    first, second = (judge(task, "print(1)", executor) for _ in range(2))
    assert first.cases[0].cpu_s != second.cases[0].cpu_s or first.cases[0].wall_s != second.cases[0].wall_s
    assert first == second


def test_a_case_that_was_not_reached_has_none(executor):
    verdict = judge(Task("t", "p", (StdinTest("", "1"),)), "def", executor)
    assert [(case.cpu_s, case.wall_s) for case in verdict.cases] == [(None, None)]


@pytest.mark.parametrize("forged", ["float('nan')", "1e300", "-1.0", "'1'", "True", "None"])
def test_a_forged_time_is_none(executor, forged):
    """A `call` test's time comes from a process that ran the answer."""
    code = (
        "import sys\n"
        "Child = next(vars(m)['Child'] for m in list(sys.modules.values()) if 'Child' in vars(m))\n"
        f"Child.watch = lambda self, watch=Child.watch: watch(self) | {{'wall_s': {forged}}}\n"
        "def f(n):\n    return 1\n"
    )
    verdict = judge(Task("t", "p", (CallTest((1,), expected=1),), entry_point="f"), code, executor)
    assert verdict.passed
    assert verdict.cases[0].wall_s is None


@pytest.mark.parametrize("name", ["local", "subprocess"])
def test_each_call_has_the_whole_limit(name):
    """Five calls of 0.4 s, and loading of as much, each within a limit of 1 s."""
    wait = "while time.process_time() < 0.4: pass"
    code = f"import time\n{wait}\ndef f(x):\n    {wait}\n    return x"
    tests = tuple(CallTest((x,), expected=x) for x in range(5))
    with make_executor(name, workers=1) as runner:
        verdict = judge(Task("t", "p", tests, entry_point="f", limits=Limits(cpu_s=1, wall_s=60)), code, runner)
    assert [case.message for case in verdict.cases] == [""] * 5


def test_the_time_of_children_that_nobody_waited_for_is_the_tests(jail):
    """An orphan burns half a second and ends; the answer learns of that by a pipe and ends at once."""
    code = (
        "import os, time\nread, write = os.pipe()\nif os.fork() == 0:\n    if os.fork() == 0:\n"
        "        while time.process_time() < 0.5: pass\n    os._exit(0)\nos.close(write)\nos.wait()\n"
        "os.read(read, 1)\nprint('done')"
    )
    task = Task("t", "p", (StdinTest("", "done\n"),), limits=Limits(processes=4, wall_s=60))
    verdict = judge(task, code, jail)
    assert verdict.passed, verdict
    assert verdict.cases[0].cpu_s >= 0.5
