"""The judge on real problems and real model completions."""

import json
import subprocess
import sys

import pytest

from code_env import Outcome, judge_many, load_suite
from code_env.validating.trivial import trivial_answers

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


@pytest.fixture(scope="module")
def rows(data):
    path = data / "llm_completions" / "humaneval.text-davinci-003.reflexion.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def busy_machine():
    """Eight processes that want all the time that there is."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    yield
    for process in busy:
        process.kill()
        process.wait()


def completions(suite, rows, executor):
    return judge_many([(suite.task(row["task_id"]), row["completion"]) for row in rows], executor)


def test_model_completions_get_the_recorded_verdicts(rows, suite, executor):
    verdicts = completions(suite, rows, executor)
    assert sum(verdict.passed for verdict in verdicts) == 93
    # These three use a name that neither prompt nor completion defines; their recorder's runner leaked it.
    other = [row["task_id"] for row, v in zip(rows, verdicts, strict=True) if v.passed != row["recorded_passed"]]
    assert other == ["HumanEval/133", "HumanEval/143", "HumanEval/150"]


def changes(first, again):
    """What has become other than it was, verdict by verdict."""
    pairs = zip(first, again, strict=True)
    return [
        {name: (value, new) for name, value in vars(was).items() if (new := getattr(now, name)) != value}
        for was, now in pairs
        if was != now
    ]


def test_verdicts_are_the_same_each_time_and_on_a_busy_machine(rows, suite, executor, request):
    first = completions(suite, rows, executor)
    assert [changes(first, completions(suite, rows, executor)) for _ in range(2)] == [[]] * 2
    request.getfixturevalue("busy_machine")
    assert [changes(first, completions(suite, rows, executor)) for _ in range(2)] == [[]] * 2


def test_the_formats_own_example_loads(data):
    assert len(load_suite(data / "humaneval" / "example_problem.jsonl")) == 1


PLUS = {
    "humaneval_plus_originfmt.12rows.jsonl": ["HumanEval/32"],  # Its own test raises TypeError.
    "mbpp_plus_originfmt.12rows.jsonl": [],
}


@pytest.mark.parametrize("name", PLUS)
def test_references_pass_the_original_format_of_evalplus_and_trivial_answers_earn_nothing(name, data, executor):
    suite = load_suite(data / "plus_sample" / name)
    verdicts = judge_many([(task, task.reference) for task in suite], executor)
    assert [task.id for task, v in zip(suite, verdicts, strict=True) if not v.passed] == PLUS[name]
    trivial = [(task, what, code) for task in suite[::6] for what, code in trivial_answers(task).items()]
    verdicts = judge_many([(task, code) for task, _, code in trivial], executor)
    assert {(t.id, what): v.fraction for (t, what, _), v in zip(trivial, verdicts, strict=True) if v.fraction} == {}
