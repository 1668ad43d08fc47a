"""Which statements allow several answers."""

import pytest

from code_env import AssertTest, CallTest, OutputTest, StdinTest, Task
from code_env.validating.phrases import PHRASES, denied_answers, several_answers

SEVERAL = {
    "any order": [
        "You can return the answer in any order.",
        "Print the names in any order.",
        "Output all\nprimes,\nin an arbitrary order.",
        "Any order is accepted.",
        "The order of the output does not matter.",
    ],
    "an error": [
        "Your answer is correct if its absolute or relative error does not exceed 10^{-6}.",
        "The relative error must be small.",
        "Answers within 10^-5 of the actual value will be accepted.",
    ],
    "any of several answers": [
        "If there are multiple answers, print any of them.",
        "If there are several optimal solutions, you may choose either.",
        "If there is more than one solution, output any.",
        "You may print any valid answer.",
        "Print any such permutation.",
        "Find any two of them.",
        "If there exist many ways, write one.",
        "Any of the solutions will be accepted.",
        "All correct answers are accepted.",
        "The answer may not be unique.",
    ],
}

ONE = [
    "",
    "Print the sum.",
    "The numbers are given in any order. Print the largest.",
    "The input may come in any order.",
    "If there are several solutions, print the lexicographically smallest.",
    "If there are multiple ways, output the one with the smallest first number.",
    "Do not print any extra spaces.",
    "You should not output any of them.",
    "Print no error. Do not return any more.",
    "Does any of the words begin with a vowel?",
    "Return True if there are several zeros.",
    "Print the absolute value of x.",
    "For any two numbers a and b, print their sum.",
    "Print x modulo 10^9 + 7.",
]


@pytest.mark.parametrize(("name", "statement"), [(name, text) for name, texts in SEVERAL.items() for text in texts])
def test_a_statement_that_allows_several(name, statement):
    found = [phrase.name for phrase, _ in several_answers(statement)]
    assert found == [name]
    for written in (statement.upper(), statement.replace(" ", "\n"), "Do this. " + statement + " Then that."):
        assert [phrase.name for phrase, _ in several_answers(written)] == found


@pytest.mark.parametrize("statement", ONE)
def test_a_statement_that_allows_one(statement):
    assert list(several_answers(statement)) == []


def test_each_phrase_has_examples():
    assert {phrase.name for phrase in PHRASES} == set(SEVERAL)


@pytest.mark.parametrize(
    ("statement", "granting", "denying"),
    [
        ("Print the words in any order.", StdinTest("", "a\nb", compare="unordered"), StdinTest("", "a\nb")),
        ("Return the words in any order.", CallTest(expected=[1], compare="multiset"), CallTest(expected=[1])),
        ("Relative error is allowed.", OutputTest("1.5", compare="numbers"), OutputTest("1.5", compare="tokens")),
        ("Relative error is allowed.", CallTest(expected=1.5, compare="close"), CallTest(expected=1.5)),
        ("Print any of them.", AssertTest("assert f()"), StdinTest("", "1", compare="numbers")),
    ],
)
def test_tests_deny_what_their_rule_does_not_grant(statement, granting, denying):
    task = Task("t", statement, (granting, denying, granting), entry_point="f")
    assert [tests for _, _, tests in denied_answers(task)] == [[1]]


def test_a_long_statement_takes_no_time():
    for text in ("print any " * 6000, "return " * 9000, "if there are several " * 3000, "answers within " * 4000):
        list(several_answers(text[:65_536]))
