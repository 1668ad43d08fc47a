"""`validate` warns where tests look at data after the call that took or gave it."""

import pytest

from code_env import AssertTest, FindingKind, Task, TaskSuite, judge, validate
from code_env.validating.copies import looks_at_copies


def task(tests, **fields):
    return Task("t", "Write it.", (AssertTest(tests),), **fields)


LOOKS = {
    "a default that lives on": "a = f()\na.append(1)\nassert f() == []",
    "what an object keeps": "b = Bag([1, 2])\nb.items().append(3)\nassert b.items() == [1, 2]",
    "what an object was given": "xs = [1]\nb = Bag(xs)\nxs.append(2)\nassert b.items() == [1]",
    "what a cache gives out": "a = f(1)\na['x'] = 2\nassert f(1) == {}",
    "two results": "assert f(1) is not f(1)",
    "two results by name": "a = f(1)\nb = f(1)\nassert a is not b",
    "in a method": (
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        a = f()\n        a[0] = 1\n"
        "        self.assertEqual(f(), [0])\n    def test_two(self):\n        self.assertIsNot(f(), f())"
    ),
    "in a check": "def check(candidate):\n    a = candidate(1)\n    del a[0]\n    assert candidate(1) == [1]",
}

DOES_NOT = {
    "within one call": "a = [1]\nb = f(a)\nassert b is not a\nb.append(2)\nassert a == [1]",
    "handed over again": "a = [3]\nf(a)\na.append(1)\nassert f(a) == 2",
    "another function": "a = f(1)\na.append(1)\nassert g(a) == 2",
    "an object's own method": "s = Stack()\ns.append(1)\nassert s.pop() == 1\ns.append(2)\nassert s.pop() == 2",
    "the tests' own data": "seen = []\nfor x in (1, 2):\n    seen.append(f(x))\nassert seen == [1, 2]",
    "None": "assert f(1) is not None\nassert f(2) is not None",
}


@pytest.mark.parametrize("name", LOOKS)
def test_it_is_found(name):
    assert [number for number, _ in looks_at_copies(task(LOOKS[name]))] == [0]
    assert looks_at_copies(task(LOOKS[name], judge="shared")) == []


@pytest.mark.parametrize("name", DOES_NOT)
def test_other_tests_are_left_alone(name):
    assert looks_at_copies(task(DOES_NOT[name])) == []


def test_a_wrong_answer_passes_blind_and_fails_beside_its_tests(executor):
    wrong = "def f(a=[]): return a"
    tests = LOOKS["a default that lives on"]
    assert judge(task(tests, entry_point="f"), wrong, executor).passed
    assert not judge(task(tests, entry_point="f", judge="shared"), wrong, executor).passed


def test_validate_warns(executor):
    suite = TaskSuite("s", [task(LOOKS["a default that lives on"], entry_point="f", reference="def f(): return []")])
    found = validate(suite, executor, repetitions=1)
    copies = [finding for finding in found.warnings if finding.kind is FindingKind.COPIES]
    assert [finding.problem for finding in copies] == [
        "test 0 looks at data after the call that took or gave it (a.append(1)); what crosses is a copy, so a wrong "
        'answer may pass: judge="shared" shows it'
    ]
