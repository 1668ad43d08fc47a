import ast
import asyncio
import collections
import textwrap

import pytest

from code_env.harness.judge.asserting import RECORDER, case_sources, compile_suite
from code_env.harness.judge.cases import Cases, brief_error
from code_env.harness.judge.held_changes import Moment


def run(code, **names):
    """The records of a suite that ran as the judge runs it, and its exception if one ended it."""
    suite = compile_suite(textwrap.dedent(code), "<tests>")
    cases = Cases(suite.sources, lambda *_, **how: None)
    ended_by = None
    try:
        exec(suite.code, {"__name__": "tests", RECORDER: cases, **names})
    except BaseException as error:
        ended_by = error
    cases.finish(None if ended_by is None else brief_error(ended_by))
    return cases.records, ended_by


def passed(code, **names):
    return [record.ran and not record.message for record in run(code, **names)[0]]


def raises(error):
    def f(*args):
        raise error

    return f


# Python warns of this slip when it compiles the tests; what the harness makes of it is the matter here.
SLIP = pytest.mark.filterwarnings("ignore:assertion is always true:SyntaxWarning")


CASE_COUNTS = [
    ("one assert", "assert f(1) == 2", 1),
    ("several", "assert f(1) == 2\nassert f(2) == 3\nassert f(3)", 3),
    ("none", "f(1)", 1),
    ("empty", "", 1),
    ("only comments", "# nothing", 1),
    ("true", "assert True\nassert f(1)", 1),
    ("only true", "assert True", 1),
    ("false", "assert f(1)\nassert False", 1),
    ("number and text", "assert 1\nassert 'a'\nassert None\nassert ...\nassert f(1)", 1),
    ("not of a constant", "assert not False\nassert not not 1\nassert f(1)", 1),
    ("tuple slip", "assert (f(1) == 2, 'message')\nassert f(1)", 1),
    ("not of a tuple slip", "assert not (f(1), 'message')\nassert f(1)", 1),
    ("empty tuple", "assert ()", 1),
    ("not of a call", "assert not f(1)\nassert not f(2)", 2),
    ("in a function", "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3\n", 2),
    ("in a loop", "for i in range(10):\n    assert f(i)\nelse:\n    assert f(10)", 2),
    ("in a branch", "if f:\n    assert f(1)\nassert f(2)", 2),
    ("in all branches", "if f:\n    assert f(1)\nelif g:\n    assert f(2)\nelse:\n    assert f(3)", 1),
    ("in try", "try:\n    assert f(1)\nexcept E:\n    assert f(2)\nfinally:\n    assert f(3)", 2),
    ("in a class", "class T:\n    assert f(1)\n    def test(self):\n        assert f(2)", 2),
    ("in async", "async def t():\n    assert await f(1)\n    async with g() as x:\n        assert x", 2),
    ("in match", "match f(1):\n    case 1:\n        assert f(2)\n    case _:\n        assert f(3)", 1),
    ("in with", "with f(1) as x:\n    assert x", 1),
    ("in nested functions", "def a():\n    def b():\n        assert f(1)\n    b()\na()", 1),
    ("with messages", "assert f(1), 'one'\nassert f(2), f(3)", 2),
    ("on one line", "assert f(1); assert f(2)", 2),
]


@pytest.mark.parametrize(("code", "count"), [c[1:] for c in CASE_COUNTS], ids=[c[0] for c in CASE_COUNTS])
def test_each_assert_that_is_no_constant_is_a_case(code, count):
    assert len(case_sources(code)) == count


@SLIP
@pytest.mark.parametrize("code", [c[1] for c in CASE_COUNTS], ids=[c[0] for c in CASE_COUNTS])
def test_a_suite_has_as_many_records_as_were_counted(code):
    assert len(Cases(compile_suite(code, "<tests>").sources, lambda *_, **how: None).records) == len(case_sources(code))


@pytest.mark.parametrize("code", ["assert", "def f(:", "assert f(1) ==", "  assert f(1)"])
def test_what_does_not_parse_is_a_syntax_error(code):
    with pytest.raises(SyntaxError):
        case_sources(code)
    with pytest.raises(SyntaxError):
        compile_suite(code, "<tests>")


def test_a_failed_assert_does_not_stop_the_rest():
    code = """
        def check(candidate):
            assert candidate(1) == 2
            assert candidate(1) == 3
            assert candidate(2) == 3
        check(f)
        assert f(0) == 0
        assert f(0) == 1
    """
    assert passed(code, f=lambda x: x + 1) == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("assert f(1) == 3", "assert f(1) == 3: left is 2, right is 3"),
        ("assert f(1) != 2", "assert f(1) != 2: left is 2, right is 2"),
        ("assert 5 < f(1)", "assert 5 < f(1): left is 5, right is 2"),
        ("assert f(1) in [7, 8]", "assert f(1) in [7, 8]: left is 2, right is [7, 8]"),
        ("assert f(1) not in (2,)", "assert f(1) not in (2,): left is 2, right is (2,)"),
        ("assert f(1) is None", "assert f(1) is None: left is 2, right is None"),
        ("assert f(1) == 3, 'wrong'", "assert f(1) == 3: left is 2, right is 3 (wrong)"),
        ("assert f(1) == 3, [1]", "assert f(1) == 3: left is 2, right is 3 ([1])"),
        ("assert not f(1)", "assert not f(1)"),
        ("assert f(1) == 2 and f(2) == 5", "assert f(1) == 2 and f(2) == 5"),
        ("assert 2 < f(1) < 4", "assert 2 < f(1) < 4"),
        ("assert (y := f(1)) == 3", "assert (y := f(1)) == 3: left is 2, right is 3"),
        ("assert f(\n  1) == (\n  3)", "assert f(1) == 3: left is 2, right is 3"),
    ],
)
def test_a_failed_case_says_what_was_on_both_sides(code, message):
    (record,), ended_by = run(code, f=lambda x: x + 1)
    assert (record.message, record.ran, record.unfinished, ended_by) == (message, True, False, None)


def test_both_sides_are_evaluated_once_and_from_the_left():
    calls = []

    def f(x):
        calls.append(x)
        return x

    assert passed("assert f(1) == f(2)\nassert f(3) < f(4)", f=f) == [False, True]
    assert calls == [1, 2, 3, 4]


def test_the_message_is_evaluated_only_if_the_assert_fails():
    calls = []
    assert passed("assert True == x, f(1)\nassert False == x, f(2)", x=True, f=calls.append) == [True, False]
    assert calls == [2]


@pytest.mark.parametrize("name", ["int", "dict", "array", "instance"])
def test_a_value_whose_type_has_the_name_of_a_builtin_fails_like_any_other(name):
    value = collections.namedtuple(name, ["a"])(1)
    records, ended_by = run("assert f() == 5\nassert 1 == one", f=lambda: value, one=1)
    assert ended_by is None
    assert [record.ran and not record.message for record in records] == [False, True]


def test_the_sides_of_a_huge_comparison_are_shown_short():
    (record,), _ = run("assert f() == g", f=lambda: [10 ** (10**5)] * 10_000, g="a" * 10**7)
    assert len(record.message) < 1_000


def test_a_case_in_a_loop_passes_if_no_run_of_it_failed():
    assert passed("for i in range(5):\n    assert f(i) == i", f=lambda x: x) == [True]
    assert passed("for i in range(5):\n    assert f(i) == i", f=lambda x: x if x != 2 else 7) == [False]


def test_a_case_in_a_loop_keeps_the_message_of_its_first_failure():
    (record,), _ = run("for i in range(5):\n    assert f(i) == 0", f=lambda x: x)
    assert record.message.endswith("left is 1, right is 0")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        KeyError("k"),
        MemoryError(),
        RecursionError(),
        SystemExit(0),
        KeyboardInterrupt(),
        StopIteration(),
    ],
    ids=repr,
)
def test_another_exception_in_a_case_ends_the_tests(error):
    records, ended_by = run("assert 1 == one\nassert f(1) == 2\nassert 1 == one", one=1, f=raises(error))
    assert ended_by is error
    assert [(r.ran, r.unfinished) for r in records] == [(True, False), (True, True), (False, False)]
    assert records[0].message == ""
    assert records[1].message == f"assert f(1) == 2: {brief_error(error)}"
    assert records[2].message == f"not reached: the tests ended early: {brief_error(error)}"


def test_another_exception_between_cases_marks_the_rest_as_not_reached():
    records, ended_by = run(
        "assert 1 == one\nf(1)\nassert 1 == one\nassert 1 == one", one=1, f=raises(ValueError("no"))
    )
    assert isinstance(ended_by, ValueError)
    assert [r.message for r in records] == ["", *["not reached: the tests ended early: ValueError: no"] * 2]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("assert 1 == one\nf(1)", id="after-the-last-case"),
        pytest.param("assert 1 == one\nassert False", id="constant-assert"),
        pytest.param("assert 1 == one\nassert not (one, 'slip')", id="constant-tuple"),
        pytest.param("f(1)\nassert 1 == one", id="before-the-first-case"),
        pytest.param("for i in range(3):\n    assert 1 == one\n    if i:\n        f(1)", id="within-a-loop"),
        pytest.param("if one:\n    raise SystemExit(0)\nf(1)", id="exit-without-asserts"),
        pytest.param("assert 1 == one\nraise SystemExit\nf(1)", id="exit-without-a-code"),
        pytest.param("import sys\nassert 1 == one\nsys.exit(one)", id="exit-with-failure"),
        pytest.param("import sys\nassert 1 == one\nsys.exit(0.0)", id="exit-with-a-float"),
        pytest.param("import sys\nassert 1 == one\nsys.exit('failed')", id="exit-with-a-text"),
        pytest.param("import sys\ntry: f(1)\nexcept ValueError: sys.exit(0)", id="exit-in-a-handler"),
        pytest.param("assert 1 == one\nraise KeyboardInterrupt", id="interrupt"),
        pytest.param("assert 1 == one\nraise type('', (Exception,), {})", id="exception-without-a-name"),
        pytest.param("f(1)", id="no-asserts"),
    ],
)
def test_an_early_end_never_leaves_everything_passed(code):
    records, ended_by = run(code, one=1, f=raises(ValueError("no")))
    assert ended_by is not None
    assert not all(record.ran and not record.message for record in records)


@pytest.mark.parametrize(
    "end",
    [
        "sys.exit()",
        "sys.exit(0)",
        "exit(False)",
        "raise SystemExit",
        "raise SystemExit(None)",
        "sys.exit(0 if one == 1 else 1)",
        "if one:\n    sys.exit(0)\nelse:\n    sys.exit(1)",
        "def main():\n    assert one == 1\n    return 0\nsys.exit(main())",
        "def main():\n    assert one == 1\n    sys.exit(0)\nif __name__ == '__main__':\n    main()",
    ],
)
def test_an_exit_with_success_that_is_the_last_statement_is_the_end(end):
    records, ended_by = run(f"import sys\nassert 1 == one\n{end}", one=1)
    assert ended_by is None
    assert all(record.ran and not record.message for record in records)


@pytest.mark.parametrize("reason", ["", "a timeout"])
def test_an_end_without_a_reason_never_leaves_everything_passed(reason):
    cases = Cases(compile_suite("assert f(1)", "<tests>").sources, lambda *_, **how: None)
    with cases.case(0, 0):
        pass
    cases.finish(reason)
    assert cases.records[0].message


def test_an_assertion_error_of_the_program_fails_the_case_and_the_tests_go_on():
    records, ended_by = run("assert f(1) == 2\nassert 1 == one", one=1, f=raises(AssertionError("mine")))
    assert ended_by is None
    assert [r.message for r in records] == ["assert f(1) == 2: mine", ""]


def test_a_case_that_no_branch_reaches_has_failed():
    records, ended_by = run("if one != 1:\n    assert one == 2\nassert one == 1", one=1)
    assert ended_by is None
    assert [r.message for r in records] == ["not reached", ""]


def test_a_suite_without_asserts_passes_if_it_runs_through():
    assert passed("f(1)", f=lambda x: x) == [True]


@SLIP
def test_a_suite_with_only_constant_asserts_passes_if_it_runs_through():
    assert passed("assert True\nassert (f(1) == 2, 'slip')", f=lambda x: x) == [True]


def test_a_constant_assert_that_is_not_reached_costs_nothing():
    code = """
        try:
            f(1)
            assert False
        except ValueError:
            pass
        assert one == 1
    """
    assert passed(code, one=1, f=raises(ValueError())) == [True]


def test_a_constant_assert_that_is_reached_ends_the_tests():
    records, ended_by = run("f(1)\nassert False, 'no error'\nassert one == 1", one=1, f=lambda x: x)
    assert isinstance(ended_by, AssertionError)
    assert records[0].message == "not reached: the tests ended early: AssertionError: no error"


def test_asserts_in_functions_classes_generators_and_coroutines_are_cases():
    code = """
        def outer():
            def inner(x):
                assert f(x) == x
            inner(1)
        class T:
            assert f(2) == 2
            def method(self):
                assert f(3) == 0
        def numbers():
            for i in range(2):
                assert f(i) == i
                yield i
        async def task():
            assert await g(4) == 4
            assert await g(4) == 5
        outer(); T().method(); list(numbers()); asyncio.run(task())
    """

    async def g(x):
        return x

    assert passed(code, f=lambda x: x, g=g, asyncio=asyncio) == [True, True, False, True, True, False]


def test_a_failed_assert_within_a_helper_does_not_stop_the_outer_one():
    code = """
        def helper(x):
            assert x == 1
            return True
        assert helper(2)
        assert helper(1)
    """
    assert passed(code) == [False, True, True]


def test_recursion_through_a_case_keeps_its_sides_apart():
    code = """
        def down(n):
            assert n == (down(n - 1) + 1 if n else 0)
            return n
        down(5)
    """
    assert passed(code) == [True]


def test_each_run_of_a_case_is_announced_with_its_begin_and_end():
    seen = []
    suite = compile_suite("for i in range(2):\n    assert f(i) == 0", "<tests>")
    cases = Cases(suite.sources, seen.append)
    exec(suite.code, {RECORDER: cases, "f": lambda x: x})
    assert seen == [Moment.BEGIN, Moment.END] * 2


def test_a_traceback_shows_the_line_of_the_test():
    suite = compile_suite("\n\nassert f(1) == 2\n", "<tests>")
    with pytest.raises(ZeroDivisionError) as caught:
        exec(suite.code, {RECORDER: Cases(suite.sources, lambda *_, **how: None), "f": lambda x: 1 // 0})
    assert [(e.path, e.lineno + 1) for e in caught.traceback if str(e.path) == "<tests>"] == [("<tests>", 3)]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("assert f(1) == 2", {"f"}),
        ("x = f\nassert x(1) == 2", {"f"}),
        ("def check(candidate):\n    assert candidate(1) == helper(1)", {"helper"}),
        ("import math, os.path as p\nfrom re import sub as s\nmath, p, s, sub", {"sub"}),
        ("import os.path\nos", set()),
        ("for i, (j, *k) in f():\n    i, j, k", {"f"}),
        ("[i + n for i in f()]", {"n", "f"}),
        ("lambda a, *b, c=d, **e: (a, b, c, e)", {"d"}),
        ("class T(Base):\n    pass\nT()", {"Base"}),
        ("async def t(x): return x\nt", set()),
        ("try:\n    f()\nexcept E as e:\n    e", {"f", "E"}),
        ("with f() as x:\n    x", {"f"}),
        ("(y := f())\ny", {"f"}),
        ("def check(c: Type) -> Other: pass", {"Type", "Other"}),
        ("@decorated\ndef g(): pass", {"decorated"}),
        ("f.attribute", {"f"}),
        ("match f():\n    case [x, *y]:\n        x, y\n    case {'a': z, **rest}:\n        z, rest", {"f"}),
        ("", set()),
    ],
)
def test_the_free_names_are_those_that_the_tests_read_and_do_not_bind(code, names):
    assert compile_suite(code, "<tests>").free_names == names


@pytest.mark.parametrize(
    ("code", "uncalled"),
    [
        ("def check(candidate):\n    assert candidate(1) == 2", True),
        ("METADATA = {}\n\ndef check(candidate):\n    assert candidate(1)\n", True),
        ("def check(candidate):\n    assert candidate(1) == 2\ncheck(f)", False),
        ("def check(candidate):\n    assert candidate(1) == 2\nif f:\n    check(f)", False),
        ("def check(candidate):\n    assert candidate(1) == 2\nfor g in [f]:\n    check(g)", False),
        ("def check(candidate):\n    assert candidate(1) == 2\nassert check(f) is None", False),
        ("def check(candidate):\n    return check(candidate)", True),
        ("def check(candidate):\n    pass\ndef test():\n    check(f)", True),
        ("def check(candidate):\n    pass\nclass T:\n    def t(self):\n        check(f)", True),
        ("assert f(1) == 2", False),
        ("class T:\n    def check(self): pass", False),
        ("def outer():\n    def check(candidate): pass", False),
        ("check = print", False),
    ],
)
def test_check_is_left_to_the_harness_if_it_is_defined_and_not_called(code, uncalled):
    assert compile_suite(code, "<tests>").leaves_check_uncalled is uncalled


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (ValueError("  "), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (ValueError("a\nb"), "ValueError: a b"),
    ],
    ids=repr,
)
def test_an_exception_is_put_on_one_line(error, text):
    assert brief_error(error) == text


def test_a_long_exception_is_cut():
    assert len(brief_error(ValueError("a" * 10**6))) < 600


def test_the_long_text_of_an_assertion_error_is_cut_too():
    (record,), _ = run("assert f(1) == 2", f=raises(AssertionError("a\n" * 10**6)))
    assert len(record.message) <= 2_000


def test_the_source_of_a_case_is_on_one_line():
    sources = compile_suite('assert f("""a\nb""") == [\n 1,\n 2]', "<tests>").sources
    assert len(sources) == 1
    assert ast.dump(ast.parse(sources[0])) == ast.dump(ast.parse("assert f('a\\nb') == [1, 2]"))
