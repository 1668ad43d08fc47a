"""Answers that solve nothing are there for every kind of task."""

import pytest

from code_env import AssertTest, CallTest, StdinTest, Task, judge
from code_env.validating.trivial import trivial_answers

VALUES = {
    "returns None": None,
    "returns its first argument": 5,
    "returns 0": 0,
    "returns ''": "",
    "returns []": [],
    "returns True": True,
    "returns False": False,
}
ENDS = {"raises", "exits at once"}
CALL = CallTest((5,), expected=1)


@pytest.mark.parametrize(
    ("entry_point", "call"), [("f", "f(5)"), ("Solution.f", "Solution().f(5)"), ("Solution.f", "Solution(1, x=2).f(5)")]
)
@pytest.mark.parametrize("test", [CALL, AssertTest("assert f(5) == 1")], ids=["call", "assert"])
def test_a_function_or_method_returns_a_value_that_solves_nothing(test, entry_point, call):
    answers = trivial_answers(Task("t", "", (test,), entry_point=entry_point))
    assert set(answers) == {*VALUES, *ENDS}
    returned = {}
    for what in VALUES:
        names = {}
        exec(answers[what], names)
        returned[what] = eval(call, names)
    assert returned == VALUES


@pytest.mark.parametrize(
    ("code", "passes"),
    [
        ("import numpy\nassert numpy.allclose(f(5), [1, 2])", True),
        ("assert (np.abs(f(5) - np.array([1.0, 2.0])) < 1e-6).all()", True),
        ("np.testing.assert_allclose(f(5), [1, 2])\nassert f(5).shape == (2,)", False),
    ],
)
def test_an_array_without_elements_shows_that_shapes_are_not_compared(code, passes, executor):
    task = Task("t", "", (AssertTest(code),), entry_point="f")
    verdict = judge(task, trivial_answers(task)["returns an empty array"], executor)
    assert verdict.passed is passes, verdict


def test_a_program_prints_what_solves_nothing():
    programs = trivial_answers(Task("t", "", (StdinTest("1", "2"),)))
    assert set(programs) >= {"does nothing", "echoes its input", "prints 0", *ENDS}
    both = trivial_answers(Task("t", "", (StdinTest("1", "2"), CALL), entry_point="f"))
    assert set(both) == {*VALUES, *ENDS, *(programs.keys() - ENDS), *(f"{what} as a program" for what in ENDS)}


def test_what_no_function_can_be_named_after_gets_programs():
    assert "prints 0" in trivial_answers(Task("t", "", (AssertTest("assert a.b.c(1) == 2"),), entry_point="a.b.c"))


def test_javascript_has_its_own():
    answers = trivial_answers(Task("t", "", (CALL,), entry_point="f", language="javascript"))
    assert "function f" in answers["returns 0"]
    assert trivial_answers(Task("t", "", (StdinTest("1", "2"),), language="cobol")) == {}
