"""Within a statement, what reads an argument directly after a call finds it changed; what computes from it does not."""

import pytest

from code_env import AssertTest, Task, judge_many

CHANGES = "def f(x):\n    x.sort()\n    return list(x)"
RIGHT = "def f(x): return sorted(x)"

CHANGED = {
    "a tuple": "assert (f(x), x) == ([1, 2, 3], [3, 1, 2])",
    "a tuple that begins with the argument": "assert (x, f(x)) == ([3, 1, 2], [1, 2, 3])",
    "a tuple with what is expected": "assert (f(x), sorted(x), x) == ([1, 2, 3], [1, 2, 3], [3, 1, 2])",
    "a list": "assert [f(x), list(x)] == [[1, 2, 3], [3, 1, 2]]",
    "a dict": "assert {'got': f(x), 'left': x} == {'got': [1, 2, 3], 'left': [3, 1, 2]}",
    "a key": "assert {str(f(x)): 1, str(x): 2} == {'[1, 2, 3]': 1, '[3, 1, 2]': 2}",
    "an f-string": "assert f'{f(x)} {x}' == '[1, 2, 3] [3, 1, 2]'",
    "an operator": "assert f(x) + x == [1, 2, 3, 3, 1, 2]",
    "an operator that begins with the argument": "assert x + f(x) == [3, 1, 2, 1, 2, 3]",
    "an item": "assert x[f(x)[0]] == 1",
    "tuples in tuples": "assert ((f(x), 1), (x[:], 2)) == (([1, 2, 3], 1), ([3, 1, 2], 2))",
    "a part that compares": "assert (f(x) == [1, 2, 3], x == [3, 1, 2]) == (True, True)",
    "a part with an unpacking": "assert [*f(x), *x] == [1, 2, 3, 3, 1, 2]",
    "a name for the result": "assert ((y := f(x)), y, x) == ([1, 2, 3], [1, 2, 3], [3, 1, 2])",
    "what is computed on the other side": "assert (f(x), x) == (sorted(x), [3, 1, 2])",
    "a helper without arguments": "run = lambda: f(x)\nassert (run(), x) == ([1, 2, 3], [3, 1, 2])",
    "a lambda": "pair = lambda y: (f(y), y)\nassert pair(x) == ([1, 2, 3], [3, 1, 2])",
    "the parts of and in a lambda": "same = lambda y, b: f(y) == sorted(y) and y == b\nassert same(x, [3, 1, 2])",
    "a comprehension": "assert [(f(y), y[0]) for y in (x, [2, 1])] == [([1, 2, 3], 3), ([1, 2], 2)]",
    "a comprehension of dicts": "assert {y[0]: (f(y), y) for y in [x]} == {3: ([1, 2, 3], [3, 1, 2])}",
    "keys and values": "assert {str(f(y)): y for y in [x]} == {'[1, 2, 3]': [3, 1, 2]}",
    "the parts of and in a comprehension": "assert all(f(y) == sorted(y) and y[0] > y[1] for y in (x, [2, 1]))",
    "the parts of or in a comprehension": "assert not any(f(y) != sorted(y) or y[0] < y[1] for y in (x, [2, 1]))",
    "a condition of a comprehension": "assert [y for y in [x] if f(y) == sorted(y)] == [[3, 1, 2]]",
    "an element that is one list": "assert [f(y) == sorted(y) and y[0] for y in (x, x)] == [3, 3]",
    "the condition of a choice": "assert (x if f(x) == sorted(x) else 0) == [3, 1, 2]",
    "a length": "assert f(x)[0] == 1 and (f(x), len(x), x[0]) == ([1, 2, 3], 3, 3)",
    "arguments of a method": "import unittest\nunittest.TestCase().assertEqual((f(x), x), ([1, 2, 3], [3, 1, 2]))",
    "a return": "def pair(y):\n    return y, f(y)\nassert pair(x) == ([3, 1, 2], [1, 2, 3])",
    "a coroutine": "import asyncio\nasync def run(y):\n    return f(y)\nasync def main():\n"
    "    return [(await run(y), y) for y in [x]]\nassert asyncio.run(main()) == [([1, 2, 3], [3, 1, 2])]",
    "an assert that may fail": "try:\n    assert (f(x), x) == ([1, 2, 3], [3, 1, 2])\n"
    "except AssertionError:\n    assert (f(x), x) == ([1, 2, 3], [3, 2, 1])",
    "a function in setup": "assert pair(f, x) == ([1, 2, 3], [3, 1, 2])",
}
"""An answer that changes its argument fails, as in plain Python."""

EMPTIES = {
    "returns it": "def f(x):\n    x.clear()\n    return x",
    "returns another": "def f(x):\n    x.clear()\n    return []",
}

COMPUTED = {
    "a result or nothing": "assert (f(x) or []) == sorted(x)",
    "lists of results": "xs = [x, [5, 4]]\nassert [f(y) for y in xs] == [sorted(y) for y in xs]",
    "dicts of results": "xs = {1: x}\nassert {k: f(y) for k, y in xs.items()} == {k: sorted(y) for k, y in xs.items()}",
    "results with labels": "xs = [x, [5, 4]]\nassert [(y, f(y)) for y in xs] == [(y, sorted(y)) for y in xs]",
    "arguments with labels": "def same(a, b):\n    assert a == b\nsame((f(x), x), (sorted(x), x))",
    "a table": "assert all(got == want for y, got, want in [(y, f(y), sorted(y)) for y in [x]])",
    "a table with labels at its end": "assert all(got == want for got, want, y in [(f(y), sorted(y), y) for y in [x]])",
    "lengths": "assert len(f(x)) == len(x)",
    "an expected value with a helper": "def first(y): return [z for z in y if z.bit_length() < 9][:1]\n"
    "assert f(x)[:1] == sorted(first(x) + x[1:])[:1]",
    "a generator": "assert all(a == b for a, b in zip(f(x), sorted(x), strict=True))",
    "a map": "assert list(map(lambda y: f(y), [x])) == [sorted(x)]",
    "a sum with an element": "assert f(x) == [ref(y, len(x)) for y in sorted(x)]",
}
"""An answer that empties its argument does not change the expected value."""

IN_PLACE = """
def f(x):
    x[:] = dict.fromkeys(x)
    return len(x)
"""
WRONG_IN_PLACE = "def f(x): return len(set(x))"

READ = {
    "a slice": "assert x[:f(x)] == [1, 2]",
    "a tuple": "assert (f(x), x) == (2, [1, 2])",
    "the length": "assert f(x) == len(x) and x == [1, 2]",
    "the length as an argument": "import unittest\nunittest.TestCase().assertEqual(f(x), len(x))",
    "the lengths": "assert all(f(y) == len(y) for y in (x, [3, 3]))",
    "lengths before": "assert [(len(y), f(y)) for y in (x, x)] == [(3, 2), (2, 2)]",
    "what passes a condition": "assert [len(y) for y in (x, [3, 3]) if f(y)] == [2, 1]",
    "the last item": "y = [1, 2, 1]\nassert f(y) == y[-1]",
    "an f-string": "assert f'{f(x)} {x}' == '2 [1, 2]'",
    "a sum": "assert f(x) + len(x) == 4",
    "a list that grows": "assert [len(x), f(x), len(x)] == [3, 2, 2]",
    "a choice": "assert (x if f(x) else None) == [1, 2]",
    "a lambda": "assert (lambda y: (f(y), y))(x) == (2, [1, 2])",
    "a copy": "import copy\nassert (f(x), copy.copy(x), x.copy(), tuple(x)) == (2, [1, 2], [1, 2], (1, 2))",
    "an object that goes on": "n, y = f(x), x\ny.append(3)\nassert y is x and x == [1, 2, 3] and n == 2",
    "a condition of while": "while f(x) == len(x) and x != [1, 2]:\n    pass\nassert x == [1, 2]",
}
"""The answer removes what is twice in its argument, in place, and returns the new length."""

SETUP = "def pair(g, y):\n    return g(y), y\ndef ref(y, n):\n    return y.__abs__()\n"


def failed(tests, answers, executor, x):
    """The pairs of a test and an answer that did not pass, with the cases of the verdict."""
    tasks = {n: Task(n, "p", (AssertTest(f"x = {x}\n{c}"),), entry_point="f", setup=SETUP) for n, c in tests.items()}
    pairs = [(name, what) for name in tests for what in answers]
    verdicts = judge_many([(tasks[name], answers[what]) for name, what in pairs], executor)
    return {pair: one.cases for pair, one in zip(pairs, verdicts, strict=True) if not one.passed}


def test_what_reads_an_argument_after_a_call_finds_it_changed(executor):
    found = failed(CHANGED, {"right": RIGHT, "changes": CHANGES}, executor, [3, 1, 2])
    assert {pair: cases for pair, cases in found.items() if pair[1] == "right"} == {}
    assert {name for name, _ in found} == CHANGED.keys()


def test_what_computes_from_an_argument_after_a_call_finds_it_as_it_was(executor):
    found = failed(COMPUTED, {"right": RIGHT, **EMPTIES}, executor, [3, 1, 2])
    assert {pair: cases for pair, cases in found.items() if pair[1] == "right"} == {}
    assert found.keys() == {(name, what) for name in COMPUTED for what in EMPTIES}


def test_an_answer_that_is_to_change_its_argument_is_seen_to(executor):
    found = failed(READ, {"right": IN_PLACE, "wrong": WRONG_IN_PLACE}, executor, [1, 1, 2])
    assert {pair: cases for pair, cases in found.items() if pair[1] == "right"} == {}
    assert {name for name, _ in found} == READ.keys()


@pytest.mark.parametrize("tests", [CHANGED, COMPUTED, READ], ids=["changed", "computed", "read"])
def test_plain_python_agrees(tests):
    answer, x = (IN_PLACE, [1, 1, 2]) if tests is READ else (RIGHT, [3, 1, 2])
    for code in tests.values():
        exec(f"{answer}\n{SETUP}\nx = {x}\n{code}", {"__name__": "tests"})
        if tests is CHANGED:
            with pytest.raises(AssertionError):
                exec(f"{CHANGES}\n{SETUP}\nx = {x}\n{code}", {"__name__": "tests"})


def test_a_part_that_an_exception_ends_holds_nothing_back_after_its_statement(executor):
    code = """
import unittest
raises = unittest.TestCase().assertRaises
x = [3, 1]
told = raises(ValueError, lambda: (f(x), x)), f(x), sorted(x)
assert x == [0, 1, 3] and told == (None, 3, [0, 1, 3])
assert (f(x), x) == (3, [0, 1, 3])
"""
    answer = (
        "def f(x):\n    x.sort()\n    if len(x) == 2:\n        x.append(0)\n        raise ValueError\n    return len(x)"
    )
    verdict = judge_many([(Task("t", "p", (AssertTest(code),), entry_point="f"), answer)], executor)[0]
    assert verdict.passed, verdict.cases
