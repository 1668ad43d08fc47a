"""What the program changes reaches the tests when their statement has ended: neither earlier nor much later."""

import pytest

from code_env import AssertTest, Task, judge_many

SORTS = "def f(x): return sorted(x)"
EMPTIES = {
    "returns it": "def f(x):\n    x.clear()\n    return x",
    "returns another": "def f(x):\n    x.clear()\n    return []",
}

COPY = {
    "an argument of a helper": "def same(a, b):\n    assert a == b\nsame(f(x), sorted(x))",
    "arguments by name": "def same(a, b):\n    assert a == b\nsame(b=f(x), a=sorted(x))",
    "an assignment": "got, want = f(x), sorted(x)\nassert got == want",
    "an assignment to an item": "rows = {}\nrows[0] = f(x) == sorted(x)\nassert rows[0]",
    "an assignment to an attribute": "class A: pass\na = A()\na.ok = f(x) == sorted(x)\nassert a.ok",
    "an assignment with a type": "ok: bool = f(x) == sorted(x)\nassert ok",
    "an augmented assignment": "ok = 0\nok += f(x) == sorted(x)\nassert ok",
    "if": "if f(x) != sorted(x):\n    raise ValueError",
    "elif": "if x is None:\n    pass\nelif f(x) != sorted(x):\n    raise ValueError",
    "while": "n = 0\nwhile f(x) != sorted(x):\n    n += 1\n    raise ValueError\nassert n == 0",
    "for": "for a, b in zip([f(x)], [sorted(x)]):\n    assert a == b",
    "with": "import contextlib\nwith contextlib.nullcontext((f(x), sorted(x))) as (a, b):\n    assert a == b",
    "match": "match (f(x), sorted(x)):\n    case (a, b):\n        assert a == b",
    "raise": "def e(a, b): return KeyError(a == b)\ntry:\n    raise e(f(x), sorted(x))\n"
    "except KeyError as error:\n    assert error.args == (True,)",
    "return of both": "def both(x):\n    return f(x), sorted(x)\ngot, want = both(x)\nassert got == want",
    "return of one": "def one(x):\n    return f(x)\nok = one(x) == sorted(x)\nassert ok",
    "two returns": "def two(x):\n    return f(x)\ndef one(x):\n    return two(x)\nassert one(x) == sorted(x)",
    "a return with an expression": "def one(x):\n    return list(f(x))\nassert one(x) == sorted(x)",
    "a lambda": "one = lambda x: f(x)\nok = one(x) == sorted(x)\nassert ok",
    "a comprehension": "ok = [f(y) == sorted(y) for y in (x, [5, 4])]\nassert all(ok)",
    "a method": "import unittest\nclass T(unittest.TestCase):\n"
    "    def ok(self, y):\n        return f(y) == sorted(y)\n"
    "    def test_1(self):\n        self.assertTrue(self.ok(x))\n        self.assertEqual(f(x), sorted(x))",
    "a method of an object": "import unittest\ncase = unittest.TestCase()\ncase.assertEqual(f(x), sorted(x))",
    "a function of numpy": "import numpy as np\nnp.testing.assert_array_equal(f(x), np.sort(x))",
    "a fixture": "import pytest\n@pytest.fixture\ndef pair():\n    y = [2, 1]\n    return f(y), sorted(y)\n"
    "def test_1(pair):\n    assert pair[0] == pair[1]",
    "threads": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n"
    "    ok = list(pool.map(f, [x])) == [sorted(x)]\nassert ok",
    "unpacked inputs": "def ref(y): return sorted(y)\ndef assertion(out, exp):\n    assert out == exp\n"
    "for inputs in [[x], [[5, 3]]]:\n    assertion(f(*inputs), ref(*inputs))",
    "a function in setup": "same(f(x), sorted(x))",
    "a return in setup": "same(one(f, x), sorted(x))",
}
"""The expected value is computed after the call, in the same statement, from an argument."""

SETUP = "def same(a, b):\n    assert a == b\ndef one(g, x):\n    return g(x)\n"


def judged(tests, answers, executor, prefix="x = [3, 1, 2]\n"):
    """For each pair of a form and an answer, whether it passed and its fraction."""
    pairs = [(name, what) for name in tests for what in answers]
    tasks = {
        name: Task(name, "p", (AssertTest(prefix + code),), entry_point="f", setup=SETUP)
        for name, code in tests.items()
    }
    verdicts = judge_many([(tasks[name], answers[what]) for name, what in pairs], executor)
    return dict(zip(pairs, verdicts, strict=True))


def test_the_expected_value_is_computed_from_the_argument_as_it_was(executor):
    right = judged(COPY, {"right": SORTS}, executor)
    assert {name: one.cases for name, one in right.items() if not one.passed} == {}
    assert [name for name, one in judged(COPY, EMPTIES, executor).items() if one.passed] == []


RIGHT_IN_PLACE = """
def f(x):
    x.sort()
    return len(x)
"""
WRONG_IN_PLACE = {
    "a copy": "def f(x): return len(sorted(x))",
    "two items": "def f(x):\n    x[:2] = sorted(x[:2])\n    return len(x)",
}

IN_PLACE = {
    "the next statement": "n = f(x)\nassert x == [1, 2, 3]\nassert n == 3",
    "a helper": "def judge(y, want):\n    n = f(y)\n    assert n == len(want)\n    assert y == want\n"
    "judge(x, [1, 2, 3])",
    "a helper in a statement with more": "def judge(y, want):\n    n = f(y)\n    return n == 3 and y == want\n"
    "results = [judge(x, [1, 2, 3]), judge([3, 1, 2], sorted([2, 3, 1]))]\nassert all(results)",
    "a helper in an assert": "def judge(y):\n    f(y)\n    return y\nassert judge(x) == sorted([2, 3, 1])",
    "a helper with a loop": "def judge(y, want):\n    for _ in range(f(y)):\n        assert y == want\n    return y\n"
    "assert judge(x, [1, 2, 3]) == sorted(x)",
    "a helper with a while": "def judge(y, want):\n    while f(y) != len(y) or y != want:\n"
    "        return False\n    return y\nassert judge(x, [1, 2, 3]) == sorted([2, 3, 1])",
    "a helper that returns what it calls": "def run(y):\n    return f(y)\ndef judge(y):\n    n = run(y)\n"
    "    assert n == 3\n    assert y == [1, 2, 3]\n    return n\nassert judge(x) == len(x)",
    "a helper that is passed the function": "def judge(g, y):\n    return (g(y), y)[1]\n"
    "assert judge(f, x) == [1, 2, 3]",
    "two helpers": "def run(y):\n    n = f(y)\n    return n\ndef judge(y):\n    run(y)\n    return y[:]\n"
    "assert (judge(x), judge([2, 1])) == ([1, 2, 3], sorted([2, 1]))",
    "the second part of and": "assert f(x) == 3 and x == [1, 2, 3]",
    "the second part of or": "if f(x) != 3 or x != [1, 2, 3]:\n    raise ValueError\n",
    "not and": "if not (f(x) == len(x) and x == [1, 2, 3]):\n    raise ValueError\n",
    "the body of if": "if f(x) == len(x):\n    assert x == [1, 2, 3]\nelse:\n    assert False, x",
    "the body of for": "for _ in range(f(x) - len(x) + 1):\n    assert x == [1, 2, 3]",
    "an object that goes on": "n, y = f(x), x\nassert y == [1, 2, 3] and y is x",
    "an item that is assigned": "x.append(0)\nx[0] = f(x) + len(x)\nassert x == [8, 1, 2, 3]",
    "a method": "import unittest\nclass T(unittest.TestCase):\n"
    "    def judge(self, y, want):\n        n = f(y)\n        self.assertEqual((n, y), (len(want), want))\n"
    "    def test_1(self):\n        self.judge([3, 1, 2], sorted([2, 3, 1]))",
    "a callback": "def apply(g, y):\n    g(y)\n    return y\n"
    "assert list(map(lambda y: apply(f, y), [x])) == [sorted([2, 3, 1])]",
    "a generator of the tests": "def run(y):\n    yield f(y), len(y)\n    yield y\n"
    "assert list(run(x)) == [(3, 3), [1, 2, 3]]",
    "a decorator of the tests": "import functools\ndef logged(g):\n    @functools.wraps(g)\n    def inner(*args):\n"
    "        return g(*args)\n    return inner\ng = logged(f)\nn = g(x)\nassert x == [1, 2, 3]\nassert n == len(x)",
    "coroutines": "import asyncio\nasync def judge(y):\n    n = f(y)\n    await asyncio.sleep(0)\n    return n, y\n"
    "async def main():\n    return await asyncio.gather(judge(x), judge([2, 1]))\n"
    "assert asyncio.run(main()) == [(3, [1, 2, 3]), (2, sorted([2, 1]))]",
}
"""The answer sorts in place, and tests look at the list later, also in a helper that one statement calls."""


def test_what_an_answer_does_in_place_is_seen_by_the_next_statement(executor):
    right = judged(IN_PLACE, {"right": RIGHT_IN_PLACE}, executor)
    assert {name: one.cases for name, one in right.items() if not one.passed} == {}
    assert [name for name, one in judged(IN_PLACE, WRONG_IN_PLACE, executor).items() if one.passed] == []


IDENTITY = "y, n = f(x), len(x)\nassert y is x\nz = f(x)\nassert z is x\nw, v = f(x), f(x)\nassert w is v and w is x"


def test_what_comes_back_is_the_argument_after_its_statement_too(executor):
    answers = {"right": "def f(x):\n    x.append(x[-1])\n    return x", "wrong": "def f(x): return x + x[-1:]"}
    verdicts = judged({"identity": IDENTITY}, answers, executor)
    assert [one.passed for one in verdicts.values()] == [True, False]


@pytest.mark.parametrize("code", [*COPY.values(), *IN_PLACE.values()])
def test_the_tests_run_in_plain_python(code):
    answer = SORTS if code in COPY.values() else RIGHT_IN_PLACE
    names = {"__name__": "tests"}
    exec(f"{answer}\n{SETUP}\nx = [3, 1, 2]\n{code}", names)
