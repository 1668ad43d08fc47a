"""What crosses between a program and its tests crosses faithfully, and no more than that: honest and wrong twins."""

import pytest

from code_env import Outcome, Program, Status, judge_many
from judging.crossings import crossings, read
from tiers import sample

CROSSINGS = crossings()


def judged(answers, executor):
    """Verdicts on (crossing, title, code) by the name of the crossing and the title."""
    verdicts = judge_many([(one.task, code) for one, _, code in answers], executor)
    return {f"{one.name}: {title}": v for (one, title, _), v in zip(answers, verdicts, strict=True)}


RIGHT = [(one, "right", one.right) for one in CROSSINGS]
WRONG = [(one, title, code) for one in CROSSINGS for title, code in one.wrong.items()]


def test_there_are_enough_of_them():
    assert len(RIGHT) >= 60
    assert len(WRONG) >= 60


def test_a_right_answer_passes_blind(executor):
    verdicts = judged(RIGHT, executor)
    assert {
        name: [case.message for case in v.cases if not case.passed]
        for name, v in verdicts.items()
        if (v.outcome, v.judge, v.fraction) != (Outcome.PASS, "blind", 1.0)
    } == {}


def test_a_wrong_answer_does_not_pass(executor):
    verdicts = judged(WRONG, executor)
    assert {name: v.outcome for name, v in verdicts.items() if v.outcome is not Outcome.FAIL} == {}


def test_it_is_the_same_on_other_executors(other):
    right, wrong = (sample(answers, 16, lambda answer: answer[0].name) for answers in (RIGHT, WRONG))
    assert [name for name, v in judged(right, other).items() if not v.passed] == []
    assert [name for name, v in judged(wrong, other).items() if v.outcome is not Outcome.FAIL] == []


def test_in_one_file_with_its_tests_a_right_answer_passes_in_plain_python(executor):
    results = executor.run_many([Program(f"{code}\n{one.tests}") for one, _, code in RIGHT])
    failed = {one.name: r.stderr for (one, *_), r in zip(RIGHT, results, strict=True) if r.status is not Status.OK}
    assert failed == {}


MALFORMED = ["x\n#### a\n", "#### a\nassert f()\n==== wrong: b\n1\n", "#### a\n==== right\n==== b\n"]


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_file_is_an_error(text, tmp_path):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match=r"a\.txt"):
        read(tmp_path / "a.txt")
