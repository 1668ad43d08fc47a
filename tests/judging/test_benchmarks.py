"""The judge on real problems and real model completions."""

import json

import pytest

from code_env import Outcome, judge_many, load_suite

pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="module")
def suite(data):
    return load_suite(data / "humaneval" / "HumanEval.jsonl.gz")


def test_every_reference_passes_blind(suite, executor):
    verdicts = judge_many([(task, task.reference) for task in suite], executor)
    assert len(verdicts) == 164
    assert [v.execution for v in verdicts if v.outcome is not Outcome.PASS] == []
    assert {v.judge for v in verdicts} == {"blind"}


def test_whole_functions_pass_like_bodies(suite, executor):
    some = suite[:40]
    answers = [(task, "from __future__ import annotations\n" + task.prompt + task.reference) for task in some]
    assert all(verdict.passed for verdict in judge_many(answers, executor))


def test_no_empty_answer_passes_a_case(suite, executor):
    for answer in ("", "\n", "    \n\t"):
        verdicts = judge_many([(task, answer) for task in suite], executor)
        assert {(v.outcome, v.fraction) for v in verdicts} == {(Outcome.POLICY_ERROR, 0.0)}


def test_no_stub_passes(suite, executor):
    verdicts = judge_many([(task, "    pass\n") for task in suite], executor)
    assert not any(verdict.passed for verdict in verdicts)


def test_model_completions_get_the_recorded_verdicts(data, suite, executor):
    path = data / "llm_completions" / "humaneval.text-davinci-003.reflexion.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    verdicts = judge_many([(suite.task(row["task_id"]), row["completion"]) for row in rows], executor)
    assert sum(verdict.passed for verdict in verdicts) == 93
    # These three use a name that neither prompt nor completion defines; their recorder's runner leaked it.
    other = [row["task_id"] for row, v in zip(rows, verdicts, strict=True) if v.passed != row["recorded_passed"]]
    assert other == ["HumanEval/133", "HumanEval/143", "HumanEval/150"]


def test_the_formats_own_example_loads(data):
    assert len(load_suite(data / "humaneval" / "example_problem.jsonl")) == 1
