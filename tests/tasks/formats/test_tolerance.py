import pytest

from code_env.tasks import Comparison
from code_env.tasks.formats.tolerance import stated_tolerance, text_rule, value_rule

BOTH = [
    (
        "Your answers will be considered correct if their absolute or relative error does not exceed 10^{-4}.",
        1e-4,
    ),
    ("A solution is correct if it is within an absolute or relative error of 10^-6 of the correct answer.", 1e-6),
    ("The absolute or relative error of your answer should not be more than 1e-4.", 1e-4),
    ("Your answer is accepted if its relative or absolute error doesn't exceed 10 - 9.", 1e-9),
    ("its absolute or relative error does not exceed 10^{ - 6}", 1e-6),
    ("The answer is checked with absolute or relative error $$$10^{-6}$$$.", 1e-6),
    ("The answer is checked with absolute or relative error 10<sup>-6</sup>.", 1e-6),
    ("absolute or relative error must be at most 10**-7", 1e-7),
    ("absolute or relative error must be at most 10−7", 1e-7),
    ("an absolute or relative\nerror of at most 0.000001.", 1e-6),
    ("Answers within 10^-5 of the actual answer will be accepted.", 1e-5),
    ("Answers within 10-5 of the actual value are accepted.", 1e-5),
    ("Print the length with an error of at most 1e-3.", 1e-3),
    ("The error must not exceed 0.01.", 0.01),
    ("Print it with precision of 1e-9.", 1e-9),
    ("It must be accurate to within 10e-6.", 1e-5),
    (
        "Your answer will be considered correct when the absolute or relative error from the judge's output is at most "
        "10^{-6}.",
        1e-6,
    ),
    ("The absolute or relative error of each number must not exceed 1e-6.", 1e-6),
    ("If the error is less than 10^(-8), your answer is correct.", 1e-8),
    (
        "Print x. If there are many, print any. The absolute or relative error must not exceed 2.5e-7. Good luck!",
        2.5e-7,
    ),
]


@pytest.mark.parametrize(("statement", "bound"), BOTH)
def test_a_stated_error_is_found(statement, bound):
    assert stated_tolerance(statement) == Comparison("numbers", rel=bound, abs=bound)


def test_an_error_may_be_absolute_or_relative_only():
    sentence = "The absolute difference between your answer and the jury's must not exceed 1e-6."
    assert stated_tolerance(sentence) == Comparison("numbers", rel=0.0, abs=1e-6)
    assert stated_tolerance("The absolute error must not exceed 1e-6.") == Comparison("numbers", rel=0.0, abs=1e-6)
    assert stated_tolerance("The relative error must not exceed 1e-6.") == Comparison("numbers", rel=1e-6, abs=0.0)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "Print the answer modulo 10^9 + 7.",
        "0 ≤ N ≤ 10^6.",
        "The values are between 10^-6 and 10^6.",
        "Each probability is a multiple of 0.01.",
        "Find the absolute difference of a and b.",
        "The absolute error is the distance of two numbers. Each is at least 10^-3.",
        "The error must not exceed 3.",
        "The absolute error must not exceed 10^6.",
        "Print the answer with 6 digits after the point.",
        "Within 10 - 6 = 4 days, print 1e-6.",
        "If there is an error in the program, print 0.5.",
        "It is guaranteed that the difference between any two heights is at most 0.1.",
        "The absolute difference between any two sums is at least 0.01.",
        "The measurement error of each sensor is less than 0.05.",
        "It is guaranteed that the answer is within 0.001 of the nearest integer value.",
    ],
)
def test_a_statement_without_one_grants_none(statement):
    assert stated_tolerance(statement) is None
    assert text_rule(statement, "tokens") == Comparison("tokens")
    assert value_rule(statement) == Comparison("equal")


def test_the_rule_follows_the_statement():
    statement = "The absolute error must not exceed 1e-6."
    assert text_rule(statement, "lines") == Comparison("numbers", rel=0.0, abs=1e-6)
    assert value_rule(statement) == Comparison("close", rel=0.0, abs=1e-6)
