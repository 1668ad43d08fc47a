"""The lines of a results file say enough to see why a sample failed."""

import dataclasses
import os
import subprocess
import sys

import pytest

from code_env import Limits, StdinTest, Task, TaskSuite
from code_env.evaluation import Sample, is_row_of, judge_samples, sample_row

SUITE = TaskSuite("prints", [Task(name, "", (StdinTest("", name),)) for name in "ab"])
SAMPLES = [Sample("a", "print('a')"), Sample("a", "print('b')"), Sample("b", ""), Sample("b", "\ud800")]
ABOUT = {"executor": "local", "level": "full", "version": "0"}


@pytest.fixture(scope="module")
def rows(executor):
    judged = dict(judge_samples(SUITE, SAMPLES, executor))
    return [
        sample_row(number, sample, SUITE.task(sample.task_id), judged[number], ABOUT)
        for number, sample in enumerate(SAMPLES)
    ]


def test_a_line_says_why_each_case_failed(rows):
    right, wrong, empty, surrogate = rows
    assert (right["passed"], right["failed_cases"], right["code"]) == (True, [], "print('a')")
    case = wrong["failed_cases"][0]
    assert (case["expected"], case["actual"], case["status"], case["hidden"]) == ("a", "b\n", "ok", True)
    assert case["message"] == wrong["message"] != ""
    assert (empty["stage"], empty["message"]) == ("nothing", "NoProgram: the answer holds no code")
    assert surrogate["outcome"] == "policy_error"
    assert {*ABOUT.items()} <= {(name, right[name]) for name in ABOUT}
    assert right["timing"]["run_s"] > 0


def test_a_line_belongs_to_its_sample_tests_limits_and_executor(rows):
    sample, task = SAMPLES[0], SUITE.task("a")
    same = dataclasses.replace(task, metadata={"source": "x"}, reference="print('a')")
    assert is_row_of(rows[0], sample, task, ABOUT)
    assert is_row_of(rows[0], sample, same, ABOUT)
    for another in (
        dataclasses.replace(task, tests=(StdinTest("", "b"),)),
        dataclasses.replace(task, setup="x = 1"),
        dataclasses.replace(task, limits=Limits(cpu_s=1)),
        dataclasses.replace(task, prompt="Print a."),
    ):
        assert not is_row_of(rows[0], sample, another, ABOUT)
    assert not is_row_of(rows[0], SAMPLES[1], task, ABOUT)
    assert not is_row_of(rows[0], sample, task, ABOUT | {"level": "contained"})


def test_a_digest_is_the_same_in_each_process():
    code = "from code_env import *; from code_env.tasks.digests import task_digest\n"
    code += "words = {'a', 'b', 'c', ('d', frozenset('efg'))}\n"
    code += "print(task_digest(Task('t', '', (CallTest((words,), expected=words),), entry_point='f')))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "123"
    }
    assert len(told) == 1
