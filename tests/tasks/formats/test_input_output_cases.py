import decimal

import pytest

from code_env import AssertTest, StdinTest, Task, TaskError, judge, judge_many
from code_env.tasks.formats.input_output_cases import as_tests


def test_cases_of_standard_input_and_output():
    assert as_tests([{"input": "1", "expected_output": "2"}, {"expected_output": "x"}], None) == (
        StdinTest("1", "2"),
        StdinTest("", "x"),
    )


@pytest.mark.parametrize(
    ("given", "expected", "call"),
    [
        ("", "1", "f() in (1, '1')"),
        ("3", "9", "f(3) in (9, '9')"),
        ("NaN", "-Infinity", "f(float('nan')) in (float('-inf'), '-Infinity')"),
        ("[1, Infinity]", "1", "f([1, float('inf')]) in (1, '1')"),
        ('{"a": true}', "true", "f({'a': True}) in (True, 'true')"),
        ("{'a': None}", "None", "f({'a': None}) in (None, 'None')"),
        ("1, 2", "3", "f(1, 2) in (3, '3')"),
        ("(1, 2)", "3", "f((1, 2)) in (3, '3')"),
        ("1 2.5 'x y'", "abc", "f(1, 2.5, 'x y') in ('abc',)"),
        ('"5"', "5", "f('5') in (5, '5')"),
        ("word", "word", "f('word') in ('word',)"),
        ("it's", "x", "f(\"it's\") in ('x',)"),
    ],
)
def test_cases_of_a_function(given, expected, call):
    assert as_tests([{"input": given, "expected_output": expected}], "f") == (AssertTest(f"assert {call}"),)


RIGHT = {
    "[2, 1]": ["[2, 1]", "(2, 1)", "'[2, 1]'"],
    "[[1, 2], [3]]": ["[[1, 2], [3]]", "[(1, 2), (3,)]", "([1, 2], (3,))"],
    '{"a": [1]}': ["{'a': [1]}", "{'a': (1,)}"],
    "(1, [2])": ["(1, [2])", "[1, (2,)]"],
    "NaN": ["float('nan')", "-float('nan')", "'NaN'"],
    "[NaN, Infinity]": ["[float('nan'), float('inf')]"],
    "Infinity": ["float('inf')", "'Infinity'"],
}
WRONG = {
    "[2, 1]": ["[1, 2]", "{2, 1}", "[2, 1, 0]", "[[2, 1]]", "iter([2, 1])", "type('L', (list,), {})([2, 2])"],
    "[[1, 2], [3]]": ["[[1, 2], 3]", "[1, 2, 3]"],
    '{"a": [1]}': ["{'a': 1}", "{'a': [2]}"],
    "(1, [2])": ["(1, 2)"],
    "NaN": ["0.0", "float('inf')", "None"],
    "[NaN, Infinity]": ["['NaN', float('inf')]", "[float('nan'), float('-inf')]", "[0, float('inf')]"],
    "Infinity": ["float('-inf')", "float('nan')", "10**400"],
}


def test_what_json_has_one_form_for_is_right_in_each_and_nothing_else_is(executor):
    def results(programs):
        made = [
            (Task("t", "", as_tests([{"input": "", "expected_output": expected}], "f")), f"def f(): return {value}")
            for expected, values in programs.items()
            for value in values
        ]
        verdicts = judge_many(made, executor)
        return {(task.tests[0].code, code): v.passed for (task, code), v in zip(made, verdicts, strict=True)}

    assert [case for case, passed in results(RIGHT).items() if not passed] == []
    assert [case for case, passed in results(WRONG).items() if passed] == []


@pytest.mark.parametrize("returned", ["1010", "'1010'"])
def test_a_number_and_its_text_are_both_right(executor, returned):
    tests = as_tests([{"input": "10", "expected_output": "1010"}], "f")
    assert judge(Task("t", "", tests), f"def f(n): return {returned}", executor).passed


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("x", r"ground_truth\[0\] must be an object"),
        ({"input": 1, "expected_output": "1"}, r"ground_truth\[0\]: input must be text; got int"),
        ({"input": "1"}, r"ground_truth\[0\] lacks expected_output; it has input"),
        ({"input": "1", "expected_output": object()}, "cannot be written as a Python literal"),
        ({"input": "1", "expected_output": decimal.Decimal(1)}, "cannot be written as a Python literal"),
    ],
    ids=["text", "input", "lacks", "object", "decimal"],
)
def test_a_malformed_case_is_named(case, message):
    with pytest.raises(TaskError, match=message):
        as_tests([case], "f")


def test_what_is_no_name_is_not_called():
    with pytest.raises(TaskError, match="must be the name of a function; got 'f\\(\\)'"):
        as_tests([{"input": "1", "expected_output": "1"}], "f()")
