"""New tests catch what the old ones let pass, and right answers still pass."""

import dataclasses

import pytest

from code_env import (
    AssertTest,
    CallTest,
    CheckerTest,
    OutputTest,
    StdinTest,
    Task,
    TaskError,
    TaskSuite,
    judge,
    row_from_task,
    validate,
)
from code_env.hardening import harden
from code_env.tasks.formats.code_env import task_from_row

LARGER = "def larger(a, b):\n    return a if a > b else b"
WEAK = Task("larger", "?", (CallTest((1, 2), expected=2), CallTest((2, 3), expected=3)), "larger", reference=LARGER)

MEAN = Task(
    "mean",
    "?",
    (AssertTest("assert abs(mean([1, 2]) - 1.5) < 1e-9\nassert mean([4]) == 4.0"),),
    "mean",
    reference="def mean(numbers):\n    return sum(numbers) / len(numbers)",
)

TOTAL = Task(
    "total",
    "?",
    (StdinTest("2\n1 2\n", "3\n"), StdinTest("3\n4 5 6\n", "15\n")),
    reference="input()\nprint(sum(map(int, input().split())))",
)

SUCCESSORS = Task(
    "successors",
    "?",
    tuple(CallTest((one,), expected=[n + 1 for n in one], compare="unordered") for one in ([3, 1, 2], [5])),
    "successors",
    reference="def successors(numbers):\n    return [n + 1 for n in numbers]",
)


def hardened(task, executor, **how):
    found = harden(TaskSuite("s", [task]), executor, **how)
    return found.suite[0], found.tasks[0]


def test_a_wrong_answer_that_passed_fails(executor):
    wrong = "def larger(a, b):\n    return b"
    assert judge(WEAK, wrong, executor).passed
    new, told = hardened(WEAK, executor)
    assert not judge(new, wrong, executor).passed
    assert told.added == len(new.tests) - 2 == 20
    assert told.killed_before < told.killed == told.mutants


SUM, OTHER_SUM, WRONG_SUM = "sum(numbers) / 7", "sum(n / 7 for n in numbers)", "(sum(numbers) + 1e-3) / 7"
READS = "numbers = [*map(int, input().split())]\nprint({})"


@pytest.mark.parametrize("shape", ["{}", "('a', [{}])", "{{'mean': {}}}"])
def test_a_returned_number_may_be_rounded_in_another_way(shape, executor):
    right, other, wrong = (f"def f(numbers):\n    return {shape.format(one)}" for one in (SUM, OTHER_SUM, WRONG_SUM))
    tests = tuple(CallTest(([n, 7],), expected=eval(shape.format((n + 7) / 7))) for n in (0, 7))
    new, told = hardened(Task("f", "?", tests, "f", reference=right), executor, inputs=8)
    assert told.added == 8
    assert judge(new, other, executor).passed
    assert not judge(new, wrong, executor).passed


def test_a_printed_number_may_be_rounded_in_another_way(executor):
    right, other, wrong = (READS.format(one) for one in (SUM, OTHER_SUM, WRONG_SUM))
    tests = tuple(StdinTest(f"{n} 7\n", f"{(n + 7) / 7}\n") for n in (0, 7))
    new, told = hardened(Task("f", "?", tests, reference=right), executor, inputs=8)
    assert told.added == 8
    assert judge(new, other, executor).passed
    assert not judge(new, wrong, executor).passed


@pytest.mark.parametrize("task", [WEAK, MEAN, TOTAL, SUCCESSORS], ids=lambda task: task.id)
def test_the_result_validates_and_can_be_saved(task, executor):
    new, told = hardened(task, executor, inputs=8)
    assert told.added == 8
    assert validate(TaskSuite("s", [new]), executor).sound
    assert task_from_row(row_from_task(new)) == new


def test_what_was_there_stays_and_the_new_is_hidden_and_marked(executor):
    visible = dataclasses.replace(
        WEAK, tests=(dataclasses.replace(WEAK.tests[0], hidden=False), WEAK.tests[1]), metadata={"source": "mine"}
    )
    new, _ = hardened(visible, executor, inputs=3, seed=5)
    assert new.tests[:2] == visible.tests
    assert all(test.hidden for test in new.tests[2:])
    assert new.metadata == {"source": "mine", "hardened": {"first_test": 2, "seed": 5}}


@pytest.mark.parametrize(
    ("task", "right"),
    [
        (WEAK, "larger = max"),
        (MEAN, "import statistics\ndef mean(numbers):\n    return statistics.fmean(numbers)"),
        (TOTAL, "import sys\nn, *rest = map(int, sys.stdin.read().split())\nassert n == len(rest)\nprint(sum(rest))"),
        (SUCCESSORS, "def successors(numbers):\n    return sorted(n + 1 for n in numbers)"),
    ],
    ids=lambda value: getattr(value, "id", ""),
)
def test_other_right_answers_pass(task, right, executor):
    """A sum that rounds otherwise, another order where the rule allows it, a program that trusts the first number."""
    new, _ = hardened(task, executor)
    verdict = judge(new, right, executor)
    assert verdict.passed, [case for case in verdict.cases if not case.passed]


def test_the_same_seed_gives_the_same_tests(executor):
    first, second, third = (hardened(WEAK, executor, inputs=5, seed=seed)[0] for seed in (1, 1, 2))
    assert first == second != third


def test_a_stated_domain_replaces_what_is_learnt(executor):
    """Without it no input is negative, as none of the tests' is."""
    learnt, _ = hardened(WEAK, executor)
    assert all(test.args[0] >= 0 for test in learnt.tests)
    stated, told = hardened(dataclasses.replace(WEAK, metadata={"requires": "a < 0 and b != a"}), executor, inputs=10)
    assert told.added
    assert all(test.args[0] < 0 and test.args[0] != test.args[1] for test in stated.tests[2:])


@pytest.mark.parametrize("requires", ["a >", "return a", 3, ["a > 1"], "n > 1"])
def test_a_stated_domain_that_is_no_condition_is_an_error(requires, executor):
    with pytest.raises(TaskError, match=r"metadata\['requires'\] is a condition on the parameters of .*larger"):
        hardened(dataclasses.replace(WEAK, metadata={"requires": requires}), executor)


def test_inputs_on_which_answers_contradict_the_reference_are_not_used(executor):
    """The reference takes 1 for a prime number, as one of HumanEval does."""
    reference = "def is_prime(n):\n    return all(n % d for d in range(2, n))"
    tests = tuple(CallTest((n,), expected=n in (2, 3, 5)) for n in (2, 3, 4, 5, 9))
    task = Task("prime", "?", tests, "is_prime", reference=reference)
    answers = [
        "def is_prime(n):\n    return n > 1 and all(n % d for d in range(2, n))",
        "def is_prime(n):\n    return n != 1 and all(n % d for d in range(2, n))",
    ]
    alone, _ = hardened(task, executor)
    assert not judge(alone, answers[0], executor).passed
    new, told = hardened(task, executor, passing={"prime": answers})
    assert all(judge(new, answer, executor).passed for answer in answers)
    assert told.doubtful_count >= 1
    assert any("is_prime(1) the reference gives True, and 2 of 2" in problem for problem in told.doubtful), told


LEFT = {
    "its reference fails": dataclasses.replace(WEAK, reference="def larger(a, b):\n    return a"),
    "no reference": dataclasses.replace(WEAK, reference=None),
    "several answers": Task(
        "c", "?", (CheckerTest("", "def check(stdin, stdout, answer):\n    return True"),), reference="print(1)"
    ),
    "no new input": Task("o", "?", (OutputTest("1"),), reference="print(1)"),
    "no new input ": Task(
        "r",
        "?",
        (AssertTest("assert f(2) < 2"),),
        "f",
        reference="import random\ndef f(n):\n    return random.random()",
    ),
}


@pytest.mark.parametrize("reason", LEFT)
def test_a_task_that_cannot_be_hardened_stays_as_it_is(reason, executor):
    new, told = hardened(LEFT[reason], executor)
    assert new is LEFT[reason]
    assert told.added == 0
    assert reason.strip() in told.left_out


def test_at_least_one_input_is_asked_for(executor):
    with pytest.raises(ValueError, match="inputs"):
        harden(TaskSuite("s", [WEAK]), executor, inputs=0)
