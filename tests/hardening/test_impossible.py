"""Nobody solves an impossible task, and whoever cheats a weak grader passes it."""

import dataclasses
import subprocess
import sys

import pytest

from code_env import (
    AssertTest,
    CallTest,
    CellTest,
    CheckerTest,
    FileTest,
    InsightTest,
    OutputTest,
    StdinTest,
    Task,
    TaskError,
    TaskSuite,
    judge,
    load_suite,
)
from code_env.hardening import impossible_suite

ECHO = "print(input())"
SAME = "def f(n): return n"

SOUND = Task("sound", "", (CallTest((1,), expected=1),), entry_point="f", reference=SAME)

UNITTESTS = """
import unittest
class Tests(unittest.TestCase):
    def test_small(self):
        self.assertEqual(f(1), 1)
    def test_large(self):
        self.assertTrue(f(100))
"""

NUMBERS = [0, 5, -1, 10**30, 0.5, -1.0, 1e308, float("inf"), True]
VALUES = [*NUMBERS, None, "", "a 7", [], [1, [2]], (1, 2), {}, {"a": 1}, {3}]


def copied(*tasks, executor, **more):
    return impossible_suite(TaskSuite("s", tasks), executor, **more)


@pytest.mark.parametrize("rule", ["equal", "close"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_kind_of_value_is_made_wrong(value, rule, executor):
    reference = f"from math import inf\ndef f(): return {value!r}"
    task = Task("t", "", (CallTest((), expected=value, compare=rule),), entry_point="f", reference=reference)
    found = copied(task, executor=executor)
    assert found.left_out == {}
    assert not judge(found.suite[0], reference, executor).passed


@pytest.mark.parametrize(
    "task",
    [
        Task("stdin", "", (StdinTest("3\n", "3\n"),), reference=ECHO),
        Task("words", "", (StdinTest("a b", "a b", compare="tokens"),), reference=ECHO),
        Task("numbers", "", (StdinTest("-1.5e3", "-1.5e3", compare="numbers"),), reference=ECHO),
        Task("cell", "", (CellTest("f(2)", "2"),), reference=SAME),
        Task("file", "", (FileTest("a.txt", "a 1\n"),), reference="open('a.txt', 'w').write('a 1\\n')"),
        Task("insight", "", (InsightTest("mean is 12.5"),), reference="print('The mean is 12.5.')"),
        Task("output", "", (OutputTest(""),), reference="pass"),
        Task("checker", "", (CheckerTest("1", "def check(stdin, stdout, answer): return True"),), reference=ECHO),
        Task("assert", "", (AssertTest("assert f(1) == 1\nassert f(2)"),), entry_point="f", reference=SAME),
        Task(
            "check",
            "",
            (AssertTest("def check(candidate):\n    for n in (1, 2):\n        assert candidate(n) == n"),),
            entry_point="f",
            reference=SAME,
        ),
        Task("unittest", "", (AssertTest(UNITTESTS),), entry_point="f", reference=SAME),
    ],
    ids=lambda task: task.id,
)
def test_every_kind_of_test_is_made_wrong(task, executor):
    assert judge(task, task.reference, executor).passed
    found = copied(task, executor=executor)
    assert found.left_out == {}
    assert found.suite[0].metadata["impossible_test"] == 0
    verdict = judge(found.suite[0], task.reference, executor)
    assert (verdict.valid, verdict.passed) == (True, False)


def test_a_hidden_test_is_chosen_where_there_is_one(executor):
    public = [CallTest((n,), expected=n, hidden=False) for n in (1, 3)]
    task = dataclasses.replace(SOUND, tests=(public[0], *SOUND.tests, public[1]))
    for seed in range(4):
        assert copied(task, executor=executor, seed=seed).suite[0].tests[::2] == tuple(public)


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (Task("t", "", (CallTest((1,), expected=1),), entry_point="f"), "it has no reference to try"),
        (Task("t", "", (FileTest("a"),), reference=ECHO), "no test whose expectation can be changed"),
    ],
)
def test_a_task_without_a_copy_says_why(task, reason, executor):
    other = dataclasses.replace(SOUND, id="other")
    found = copied(task, other, executor=executor)
    assert reason in found.left_out["t"]
    assert [copy.id for copy in found.suite] == ["other"]
    with pytest.raises(TaskError, match=f"no impossible copy of a task of suite 's': 't': .*{reason}"):
        copied(task, executor=executor)


def passes_an_ordinary_grader(task, answer):
    """Whether a process that runs the answer and its tests in one namespace ends with exit code 0."""
    program = "\n".join([answer, *(test.code for test in task.tests)])
    return subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def test_who_cheats_an_ordinary_grader_is_found_out(executor):
    suite = load_suite("functions")
    copies = impossible_suite(suite, executor).suite
    assert [task.id for task in copies] == [task.id for task in suite]
    cheat = "raise SystemExit(0)"
    for task in copies[:3]:
        assert not passes_an_ordinary_grader(task, task.reference)
        assert passes_an_ordinary_grader(task, cheat)
        assert not judge(task, cheat, executor).passed
