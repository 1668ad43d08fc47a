"""Inputs resemble those of the tests, and the reference answers on each."""

import ast

from code_env import AssertTest, CallTest, OutputTest, StdinTest, Task
from code_env.hardening.inputs import inputs_of

ROOT = "def root(n):\n    if n < 0: raise ValueError\n    return int(n ** 0.5)"


def texts(task, executor, **more):
    return [one.text for one in inputs_of(task, executor, **more)]


def test_calls_are_varied_within_their_domain(executor):
    task = Task("t", "", tuple(CallTest((n,), expected=0) for n in (4, 9, 30)), entry_point="root", reference=ROOT)
    found = inputs_of(task, executor, count=40)
    numbers = [ast.literal_eval(text)[0][0] for text, *_ in found]
    assert [outcome.text for _, outcome, _ in found] == [str(int(n**0.5)) for n in numbers]
    assert numbers[:3] == [4, 9, 30]
    assert len(set(numbers)) == len(numbers) > 50
    near, larger = numbers[:40], numbers[40:]
    assert 0 < min(near) < 4
    assert 30 < max(near) <= 70
    assert max(larger) > 1000


def test_one_argument_of_a_larger_input_is_larger(executor):
    tests = (CallTest(([3, 1], "ab"), expected=0), CallTest(([2], "b"), expected=0))
    task = Task("t", "", tests, entry_point="f", reference="def f(a, b): return len(a)")
    larger = [ast.literal_eval(text)[0] for text in texts(task, executor, count=10)[10:]]
    assert len(larger) == 20
    assert all((len(a) > 2) != (len(b) > 2) for a, b in larger)


def test_calls_that_assert_tests_make_are_found(executor):
    code = (
        "def check(candidate):\n    for n in (4, 9): assert candidate(n, up=[n]) == n\n    assert candidate(3) is None"
    )
    reference = "def f(n, up=None):\n    return n if up else None"
    task = Task("t", "", (AssertTest(code),), entry_point="f", reference=reference)
    assert texts(task, executor, count=3)[:3] == ["((4,), {'up': [4]})", "((9,), {'up': [9]})", "((3,), {})"]


def test_the_numbers_of_a_programs_input_are_varied(executor):
    tests = (StdinTest("2 3\n", "5"), StdinTest("10 4\n", "14"))
    task = Task("t", "", tests, reference="print(sum(map(int, input().split())))")
    found = inputs_of(task, executor, count=20)
    assert len(found) == 20
    assert all(outcome.text == str(sum(map(int, text.split()))) for text, outcome, _ in found)


def test_a_program_that_reads_nothing_has_one_input(executor):
    task = Task("t", "", (OutputTest("6"),), reference="print(6)")
    assert [(text, outcome.text) for text, outcome, _ in inputs_of(task, executor)] == [("", "6")]


def test_what_a_reference_does_not_answer_alike_is_left_out(executor):
    tests = (CallTest((5,), expected=0), CallTest((6,), expected=0), CallTest((0,), expected=0))
    raises = Task("t", "", tests, entry_point="f", reference="def f(n): return 1 // n")
    assert "((0,), {})" not in texts(raises, executor, count=10)
    draws = Task("t", "", tests, entry_point="f", reference="import os\ndef f(n): return os.urandom(8)")
    assert texts(draws, executor, count=10) == []


def test_the_same_seed_gives_the_same_inputs(executor):
    tests = (CallTest(([3, 1], "ab"), expected=0), CallTest(([2], "b"), expected=0))
    task = Task("t", "", tests, entry_point="f", reference="def f(a, b): return len(a)")
    some = texts(task, executor, seed=1, count=30)
    assert some == texts(task, executor, seed=1, count=30) != texts(task, executor, seed=2, count=30)


def test_sets_are_varied_alike_whatever_their_hashes(executor):
    tests = tuple(CallTest((names,), expected=0) for names in ({"a", "b", "c"}, {"b", "d"}, {"a", "c", "e", "f"}))
    task = Task("t", "", tests, entry_point="f", reference="def f(names): return len(names)")
    found = texts(task, executor, count=20)
    assert len(found) == 20
    for text in found[3:]:
        (names,), _ = ast.literal_eval(text)
        assert text == f"(({{{', '.join(map(repr, sorted(names)))}}},), {{}})"


def test_numbers_too_long_to_read_stay_text(executor):
    tests = (StdinTest("9" * 5000, "5000"), StdinTest("8" * 5000, "5000"))
    task = Task("t", "", tests, reference="print(len(input()))")
    assert {len(text) for text in texts(task, executor, count=5)} >= {5000}
