"""Which `assert` statements are cases, and which of them an answer must reach.

Each suite is given with what it is worth for answers that steer it one way or another: `x` is what the answer gives.
"""

import textwrap

import pytest

from code_env.harness.judge.asserting import RECORDER, case_sources, compile_suite
from code_env.harness.judge.cases import Cases, brief_error


def cases_of(code, x):
    """For each case of a suite, whether it passes where the answer gives `x`."""
    suite = compile_suite(textwrap.dedent(code), "<tests>")
    cases = Cases(suite.sources, lambda *_, **how: None)
    ended_by = None
    try:
        exec(suite.code, {"__name__": "tests", RECORDER: cases, "x": x})
    except Exception as error:
        ended_by = brief_error(error)
    cases.finish(ended_by)
    return [record.ran and not record.message for record in cases.records]


PLUS = """
def assertion(out, exp, atol):
    exact_match = out == exp
    if not exact_match and atol != 0:
        assert abs(out - exp) < atol
    else:
        assert exact_match
"""
KINDS = """
if isinstance(x, list):
    assert len(x) == 2
    for item in x:
        assert item > 0
elif isinstance(x, dict):
    assert x == {1: 2}
else:
    raise AssertionError("a list or a dict was expected")
"""
EITHER = """
try:
    assert x == 1, "no"
except AssertionError as error:
    assert x == 2
"""
THREE = """
try:
    assert x == 1
except (ValueError, AssertionError):
    try:
        assert x == 2
    except AssertionError:
        assert x == 3
"""
SEVERAL = """
failures = []
for y in x:
    try:
        try:
            assert 6 / y == 6
        except AssertionError:
            assert 6 / y == 3
    except Exception as error:
        failures.append(error)
"""
LATER = """
try:
    def look(): assert x == 1
    assert x < 3
except AssertionError:
    assert x == 4
look()
"""
COUNTED = """
failed = 0
try:
    assert x == 1
except AssertionError:
    failed += 1
"""
SUITES = [
    ("the helper of EvalPlus, met exactly", PLUS + "assertion(x, 3, 0)", {3: [True], 2: [False]}),
    ("the helper of EvalPlus, met nearly", PLUS + "assertion(x, 3, 1e-3)", {3: [True], 3.0001: [True], 2: [False]}),
    (
        "the helper of EvalPlus, called in a loop",
        PLUS + "for n in (3, 3.0001, 3): assertion(x, n, 1e-3)",
        {3: [True], 2: [False]},
    ),
    ("either of two results", EITHER, {1: [True], 2: [True], 3: [False], "y": [False]}),
    ("either, in a loop", f"for y in (1, 2):\n{textwrap.indent(EITHER, '    ')}", {1: [True], 2: [True], 3: [False]}),
    ("either of three", THREE, {1: [True], 2: [True], 3: [True], 4: [False]}),
    ("either, with the exception", EITHER.replace("x == 2", "x == 2, error"), {2: [True], 3: [False]}),
    ("either, and errors are only collected", SEVERAL, {(1,): [True], (1, 2, 1): [True], (1, 0, 2): [False]}),
    (
        "either, also after an error",
        SEVERAL.replace("AssertionError", "(ZeroDivisionError, AssertionError)").replace("6 / y == 3", "not y"),
        {(1, 0, 1): [True], (0,): [True], (1, 2): [False], (1, "a"): [False]},
    ),
    (
        "either, but an error is raised again",
        SEVERAL.replace("        except Ass", "        except ZeroDivisionError: raise\n        except Ass"),
        {(1, 2): [True], (1, 0, 1): [False]},
    ),
    (
        "either, or another assert for any error",
        SEVERAL.replace("    except Exception", "        except: assert y == 0\n    except Exception"),
        {(1, 2, 0): [True], (1, "a"): [False]},
    ),
    ("a function runs later", LATER, {1: [True], 2: [False], 4: [False]}),
    ("a failure that is only counted", COUNTED, {1: [True], 2: [False]}),
    ("a failure that any handler catches", EITHER.replace("Assertion", "").replace("Error", "Exception"), {2: [False]}),
    ("a failure that another handler may catch", COUNTED.replace("Assertion", "Type"), {1: [True], 2: [False]}),
    ("no branch is a way out", KINDS, {(): [False], ("l", 1, 2): [True], ("d",): [True]}),
    ("a branch must be run to its end", KINDS.replace("len(x) == 2", "len(x) == 0"), {("l",): [False]}),
    (
        "else is a way out",
        "if x > 1:\n    assert x == 2\nassert x",
        {2: [True, True], 3: [False, True], 1: [False, True]},
    ),
    (
        "an inner branch is a way out",
        "if x > 1:\n    assert x == 2\nelif x > 0:\n    if x == 1:\n        assert x",
        {2: [True, False], 1: [False, True], 0: [False, False]},
    ),
    (
        "a return is a way out",
        """
        def look():
            if x > 1:
                if x > 2: return
                assert x == 2
            else:
                assert x == 1
        look()
        """,
        {2: [True, False], 1: [False, True], 3: [False, False]},
    ),
    (
        "return after the assert is none",
        """
        def look():
            if x > 1:
                assert x == 2
                return
            else:
                assert x == 1
        look()
        """,
        {2: [True], 1: [True], 3: [False]},
    ),
    (
        "branches in branches",
        """
        if x > 1:
            if x > 2: assert x == 3
            else: assert x == 2
            assert x < 9
        else:
            assert x == 1
        """,
        {3: [True], 2: [True], 1: [True], 4: [False], 0: [False]},
    ),
    (
        "a match that takes all",
        "match x:\n    case int():\n        assert x == 1\n    case _:\n        assert x == 'a'",
        {1: [True], "a": [True], 2: [False], "b": [False]},
    ),
    (
        "a match that leaves some out",
        "match x:\n    case 1:\n        assert x\n    case 2 if x:\n        assert x",
        {1: [True, False], 3: [False, False]},
    ),
    (
        "an exception or none",
        """
        try: y = 1 / x
        except ZeroDivisionError: assert x == 0
        else: assert y == 1
        """,
        {1: [True], 0: [True], 2: [False]},
    ),
    (
        "an exception that must come",
        "try:\n    y = 1 / x\nexcept ZeroDivisionError as e:\n    assert 'zero' in str(e)",
        {0: [True], 1: [False]},
    ),
    (
        "finally is run each time",
        "try:\n    assert x\nfinally:\n    assert x < 2",
        {1: [True, True], 2: [True, False], 0: [False, True]},
    ),
    (
        "only the machine decides",
        "import sys\nif sys.version_info < (3,):\n    assert x == 'old'\nassert x == 'new'",
        {"new": [True], "old": [False]},
    ),
    (
        "only the machine decides, and nothing comes before or after",
        "import sys\nif sys.version_info < (3,):\n    assert x == 'old'",
        {"new": [False], "old": [False]},
    ),
    (
        "a name of the tests does not stand for the machine",
        "sys = x\nif sys > 1:\n    assert x == 2\nassert x",
        {2: [True, True], 1: [False, True]},
    ),
    (
        "a helper that nobody calls",
        "def near(a, b):\n    assert abs(a - b) < 1\nassert x == 1",
        {1: [True], 2: [False]},
    ),
    (
        "a helper that is called by name",
        "def near(a, b):\n    assert abs(a - b) < 1\nif x < 3: near(x, 1)\nassert x",
        {1: [True, True], 2: [False, True], 3: [False, True]},
    ),
    ("nothing but what nobody calls", "def near(a, b):\n    assert a == b", {1: [False]}),
    ("a test that nobody calls", "def test_one():\n    assert x == 1\nassert x", {1: [False, True]}),
]
SHAPES = {(): "text", ("l", 1, 2): [1, 2], ("d",): {1: 2}, ("l",): []}
"""What cannot be a key, by what stands for it."""


@pytest.mark.parametrize(("code", "worth"), [suite[1:] for suite in SUITES], ids=[suite[0] for suite in SUITES])
def test_what_a_suite_is_worth(code, worth):
    assert {key: cases_of(code, SHAPES.get(key, key)) for key in worth} == worth
    assert {len(cases) for cases in worth.values()} == {len(case_sources(textwrap.dedent(code)))}


def test_the_source_of_a_case_has_all_that_counts_together():
    assert case_sources("if f(1):\n    assert a\nelse:\n    assert b\nassert c") == ("assert a | assert b", "assert c")


def test_a_message_shows_what_failed():
    suite = compile_suite("if x:\n    assert x == 2\nelse:\n    assert x is None", "<tests>")
    cases = Cases(suite.sources, lambda *_, **how: None)
    exec(suite.code, {RECORDER: cases, "x": 0})
    cases.finish(None)
    assert [record.message for record in cases.records] == ["assert x is None: left is 0, right is None"]
