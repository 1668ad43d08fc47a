import pytest

from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.tasks import CallTest, StdinTest
from code_env.tasks.formats.contest import call_tests, limits_of, paired_tests, quantity


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (None, "seconds", None),
        ("", "bytes", None),
        ("nan", "seconds", None),
        (float("nan"), "seconds", None),
        ("2 seconds", "seconds", 2.0),
        ("1.0 second", "seconds", 1.0),
        ("0.5 - 1 seconds", "seconds", 1.0),
        ("0.5-1 seconds", "seconds", 1.0),
        ("1500 ms", "seconds", 1.5),
        ("1.5e3 ms", "seconds", 1.5),
        (0.25, "seconds", 0.25),
        (2e-5, "seconds", 2e-5),
        (2, "seconds", 2.0),
        ("256 megabytes", "bytes", 256 * 2**20),
        ("256.0 MB", "bytes", 256 * 2**20),
        ("1 GB", "bytes", 2**30),
        (1024, "bytes", 2**30),
        ("1000 bytes", "bytes", 1000),
    ],
)
def test_a_quantity_has_a_number_and_a_unit(value, unit, expected):
    assert quantity(value, unit) == expected


@pytest.mark.parametrize("value", ["soon", "2 hours", "0 seconds", -1, "-1 s", ["2"], "-"])
def test_what_is_no_quantity_is_refused(value):
    with pytest.raises(TaskError, match="a number above 0 with a unit"):
        quantity(value, "seconds")


def test_limits_have_defaults_for_what_is_not_stated():
    assert limits_of() == Limits()
    assert limits_of(2.0) == Limits(cpu_s=2.0, wall_s=6.0)
    assert limits_of(memory_bytes=2.0**20) == Limits(memory_bytes=2**20)


def test_input_and_output_may_be_text_or_lines():
    cases = {"inputs": ["1\n2\n", ["1", "2"], []], "outputs": ["3", ["3\n"], ""]}
    assert paired_tests(cases, "", None) == [StdinTest("1\n2\n", "3"), StdinTest("1\n2\n", "3\n"), StdinTest("", "")]


@pytest.mark.parametrize(
    ("inputs", "outputs", "tests"),
    [
        ([[1, [2]], [3, [4]]], [[5], [6]], [CallTest((1, [2]), expected=5), CallTest((3, [4]), expected=6)]),
        ([[1], [2]], [[5], [6, 7]], [CallTest((1,), expected=[5]), CallTest((2,), expected=[6, 7])]),
        ([[1], [2]], [5, [6]], [CallTest((1,), expected=5), CallTest((2,), expected=[6])]),
        (["1\n[2]"], ["[5]"], [CallTest((1, [2]), expected=[5])]),
        (['"a"'], ["null"], [CallTest(("a",), expected=None)]),
        ([["1"]], ["5"], [CallTest(("1",), expected="5")]),
        ([[]], [[[]]], [CallTest((), expected=[])]),
    ],
    ids=["all-wrapped", "lists-as-values", "some-wrapped", "text", "text-and-null", "texts-as-values", "nothing"],
)
def test_arguments_and_values_of_calls(inputs, outputs, tests):
    assert paired_tests({"inputs": inputs, "outputs": outputs}, "", "f") == tests


@pytest.mark.parametrize(
    ("cases", "function", "message"),
    [
        ({}, None, "inputs: a list was expected; got NoneType"),
        ({"inputs": []}, None, "outputs: a list was expected; got NoneType"),
        ({"inputs": ["1"], "outputs": []}, None, "as many inputs as outputs were expected; got 1 and 0"),
        ({"inputs": [], "outputs": []}, None, "inputs: at least one was expected"),
        ({"inputs": [1], "outputs": ["1"]}, None, "inputs[0]: text or a list of lines was expected; got int"),
        ({"inputs": ["1"], "outputs": [[1]]}, None, "outputs[0]: text or a list of lines was expected; got a list of"),
        ({"inputs": ["a"], "outputs": ["1"]}, "f", "inputs[0]: JSON text was expected; got 'a': "),
        ({"inputs": ["1"], "outputs": ["a"]}, "f", "outputs[0]: JSON text was expected; got 'a': "),
        ({"inputs": [1], "outputs": ["1"]}, "f", "inputs[0]: a list of arguments, or text with one JSON value a line"),
    ],
)
def test_malformed_cases_are_refused(cases, function, message):
    with pytest.raises(TaskError) as caught:
        paired_tests(cases, "", function)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("inputs", "outputs", "args", "expected"),
    [
        ([[{"1": 2, "-3": 4}]], [{"0": "a"}], ({1: 2, -3: 4},), {0: "a"}),
        ([[{"1": 2}]], [[{"10": []}]], ({1: 2},), {10: []}),
        ([[{"1": 2, "a": 4}]], [{"01": 1}], ({"1": 2, "a": 4},), {"01": 1}),
        ([[1, {"1": 2}]], [{}], (1, {"1": 2}), {}),
        (['{"1": 2}'], ['{"1": 2}'], ({"1": 2},), {"1": 2}),
    ],
    ids=["numbers", "wrapped", "others", "the second", "text"],
)
def test_keys_that_json_has_made_text_are_numbers_again(inputs, outputs, args, expected):
    (test,) = call_tests(inputs, outputs, "equal")
    assert (test.args, test.expected) == (args, expected)
