import collections
import dataclasses
import math

import pytest

from code_env.errors import TaskError
from code_env.harness.judge.comparing import TEXT_RULES, VALUE_RULES
from code_env.tasks import AssertTest, CallTest, Comparison, OutputTest, StdinTest

MAKERS = {
    "stdin": lambda **kwargs: StdinTest(**{"stdin": "1", "stdout": "2", **kwargs}),
    "output": lambda **kwargs: OutputTest(**{"expected": "2", **kwargs}),
    "call": lambda **kwargs: CallTest(**{"args": (1,), "expected": 2, **kwargs}),
    "assert": lambda **kwargs: AssertTest(**{"code": "assert f(1) == 2", **kwargs}),
}
EVERY_KIND = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@EVERY_KIND
def test_a_test_is_hidden_and_weighs_one_unless_it_says_otherwise(make):
    assert (make().hidden, make().weight) == (True, 1.0)
    assert (make(hidden=False, weight=3).hidden, make(hidden=False, weight=3).weight) == (False, 3)


@EVERY_KIND
def test_a_test_is_equal_by_value_and_never_changed(make):
    assert make() == make()
    assert make() != make(weight=2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().weight = 2.0


@pytest.mark.parametrize("kind", MAKERS)
def test_a_test_knows_its_kind(kind):
    assert MAKERS[kind]().kind == kind


@EVERY_KIND
@pytest.mark.parametrize("weight", [0, -1, -0.0, math.nan, math.inf, True, None, "1", [1]], ids=repr)
def test_a_weight_that_is_no_number_above_zero_is_refused(make, weight):
    with pytest.raises(TaskError, match=r"^weight must be a (finite )?number above 0; got "):
        make(weight=weight)


@EVERY_KIND
@pytest.mark.parametrize("hidden", [0, 1, None, "false", []], ids=repr)
def test_hidden_that_is_not_true_or_false_is_refused(make, hidden):
    with pytest.raises(TaskError, match=r"^hidden must be true or false; got "):
        make(hidden=hidden)


@pytest.mark.parametrize(
    ("kind", "name"), [("stdin", "stdin"), ("stdin", "stdout"), ("output", "expected"), ("assert", "code")]
)
@pytest.mark.parametrize("value", [None, 1, b"1", ["1"]], ids=repr)
def test_a_text_field_that_is_no_text_is_refused(kind, name, value):
    with pytest.raises(TaskError, match=f"^{name} must be text; got {type(value).__name__}$"):
        MAKERS[kind](**{name: value})


TEXT_KINDS = ("stdin", "output")


@pytest.mark.parametrize(
    ("kind", "rule"),
    [*((kind, rule) for kind in TEXT_KINDS for rule in TEXT_RULES), *(("call", rule) for rule in VALUE_RULES)],
)
def test_a_rule_may_be_given_as_a_name_a_mapping_or_a_comparison(kind, rule):
    for compare in (rule, {"rule": rule}, Comparison(rule)):
        assert MAKERS[kind](compare=compare).compare == Comparison(rule)


def test_the_tolerances_of_a_mapping_are_kept():
    compare = {"rule": "close", "rel": 0.5, "abs": 0}
    assert MAKERS["call"](compare=compare).compare == Comparison("close", rel=0.5, abs=0)


@pytest.mark.parametrize(("kind", "rule"), [("stdin", "lines"), ("output", "lines"), ("call", "equal")])
def test_a_test_has_a_rule_by_default(kind, rule):
    assert MAKERS[kind]().compare == Comparison(rule)


@pytest.mark.parametrize(
    ("kind", "compare"),
    [
        ("stdin", "close"),
        ("stdin", "Lines"),
        ("output", "equal"),
        ("call", "lines"),
        ("call", "tokens"),
        ("call", ""),
        ("call", None),
        ("call", 1),
        ("call", ["equal"]),
        ("call", {"rule": ["equal"]}),
        ("call", {"rule": None}),
        ("call", Comparison("lines")),
    ],
    ids=repr,
)
def test_a_rule_of_another_kind_is_refused(kind, compare):
    rules = VALUE_RULES if kind == "call" else TEXT_RULES
    with pytest.raises(TaskError, match=f"^compare must be one of {', '.join(rules)}; got "):
        MAKERS[kind](compare=compare)


@pytest.mark.parametrize("compare", [{}, {"rel": 1}, {"rule": "close", "tolerance": 1}], ids=repr)
def test_a_comparison_with_other_fields_is_refused(compare):
    with pytest.raises(TaskError, match=r"^compare takes rule, rel and abs; got "):
        MAKERS["call"](compare=compare)


@pytest.mark.parametrize("name", ["rel", "abs"])
@pytest.mark.parametrize("value", [-1, -1e-9, math.nan, math.inf, True, None, "1"], ids=repr)
def test_a_tolerance_that_is_no_number_of_at_least_zero_is_refused(name, value):
    with pytest.raises(TaskError, match=rf"^compare\.{name} must be a (finite )?number of at least 0; got "):
        Comparison("close", **{name: value})


@pytest.mark.parametrize("args", [None, "ab", 1, {"a": 1}, {1}], ids=repr)
def test_args_that_are_no_list_are_refused(args):
    with pytest.raises(TaskError, match=f"^args must be a list; got {type(args).__name__}$"):
        CallTest(args, {}, 2)


@pytest.mark.parametrize("kwargs", [None, [], "a", {1: 2}, {"a": 1, None: 2}], ids=repr)
def test_kwargs_without_text_keys_are_refused(kwargs):
    with pytest.raises(TaskError, match=r"^kwargs must be an object with text keys$"):
        CallTest((1,), kwargs, 2)


def test_args_are_kept_as_a_tuple():
    assert CallTest([1, [2]], {}, 3).args == (1, [2])


@pytest.mark.parametrize(
    "value",
    [object(), print, type("Sub", (int,), {})(1), [{"a": iter([])}]],
    ids=["object", "function", "subclass", "nested-iterator"],
)
@pytest.mark.parametrize("name", ["args", "kwargs", "expected"])
def test_a_call_of_values_that_are_not_plain_is_refused(name, value):
    fields = {"args": (1,), "expected": 2, name: {"args": (value,), "kwargs": {"a": value}, "expected": value}[name]}
    with pytest.raises(TaskError, match=f"^{name} must be plain data, which .* is not$"):
        CallTest(**fields)


@pytest.mark.parametrize(
    "value", [None, (1, [2]), {(1,): {2}}, 10**400, math.nan, "\ud800", collections.Counter("ab")], ids=ascii
)
def test_a_call_takes_every_kind_of_plain_value(value):
    test = CallTest((value,), {"a": value}, value)
    assert test.args[0] is test.expected is test.kwargs["a"] is value


@pytest.mark.parametrize("code", ["assert", "def f(:", "assert f(1) ==\n", "a\0", "x = '\ud800'", "("], ids=ascii)
def test_test_code_that_is_no_python_is_refused(code):
    with pytest.raises(TaskError, match=r"^code must be Python: "):
        AssertTest(code)


@pytest.mark.parametrize("code", ["-" * 100_000 + "1", "(" * 10_000 + ")" * 10_000], ids=["signs", "brackets"])
def test_test_code_that_is_nested_too_deep_is_refused(code):
    with pytest.raises(TaskError, match=r"^code must be Python"):
        AssertTest(code)


@pytest.mark.parametrize(
    ("make", "cases"),
    [
        (MAKERS["stdin"], 1),
        (MAKERS["output"], 1),
        (MAKERS["call"], 1),
        (lambda: AssertTest("assert f(1) == 2\nassert f(2) == 3\nassert True"), 2),
        (lambda: AssertTest("f(1)"), 1),
    ],
    ids=["stdin", "output", "call", "two-asserts", "no-asserts"],
)
def test_a_test_knows_its_number_of_cases(make, cases):
    assert make().cases == cases
