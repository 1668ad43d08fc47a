"""The lines of a results file say enough to see why a sample failed."""

import pytest

from code_env import StdinTest, Task, TaskSuite
from code_env.evaluation import Sample, judge_samples, sample_row

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
