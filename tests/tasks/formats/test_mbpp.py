import pytest

from code_env import judge
from code_env.errors import TaskError
from code_env.tasks.formats import format_of_row
from code_env.tasks.formats.mbpp import task_from_row

FULL = {
    "task_id": 11,
    "text": "Write a python function to add.",
    "code": "import math\r\ndef helper(a):\r\n    return a\r\ndef add(a, b=1):\r\n    return helper(a) + b",
    "test_list": ["assert add(1, 2) == 3", "assert add(1) == 2"],
    "test_setup_code": "ONE = 1",
    "challenge_test_list": ["assert add(5, 5) == 10"],
}
SANITIZED = {
    "source_file": "here",
    "task_id": 12,
    "prompt": "Write a function to halve.",
    "code": "def half(x: float) -> float:\n    return x / 2",
    "test_imports": ["import math"],
    "test_list": ["assert math.isclose(half(3), 1.5)", "assert half(2) == 1"],
}


def test_a_full_row_becomes_its_task(executor):
    task = task_from_row(FULL)
    assert task.id == "11"
    assert task.prompt == "Write a python function to add.\n\nThe function's signature is:\n\ndef add(a, b=1):\n"
    assert (task.entry_point, task.setup, task.reference) == ("add", "ONE = 1", FULL["code"])
    assert task.tests[0].code == "assert add(1, 2) == 3\nassert add(1) == 2"
    assert task.metadata == {"challenge_test_list": FULL["challenge_test_list"]}
    assert judge(task, task.reference, executor).passed
    assert judge(task, "def add(a, b=1): return 3", executor).fraction == 0.5


def test_a_sanitized_row_becomes_its_task(executor):
    task = task_from_row(SANITIZED)
    assert task.prompt.endswith("\n\ndef half(x: float) -> float:\n")
    assert (task.entry_point, task.setup) == ("half", "import math")
    assert judge(task, task.reference, executor).passed


def test_the_tests_of_mbpp_plus_are_the_test(executor):
    test = "def assertion(out, exp):\n    assert out == exp\n\nfor x in range(9):\n    assertion(half(x), x / 2)\n"
    task = task_from_row({**SANITIZED, "test": test})
    assert task.tests[0].code == test
    assert judge(task, task.reference, executor).passed
    assert not judge(task, "def half(x): return 1", executor).passed


def test_the_prompt_shows_no_hidden_test():
    assert "assert" not in task_from_row(FULL).prompt


@pytest.mark.parametrize(
    "test",
    [
        "assert set(add(1, 2)) == set([3])",
        "assert math.isclose(add(1, 2), 3)",
        "assert abs(add(1, 2) - 3) < 0.1",
        "assert not add(1, -1)",
        "assert sorted(map(str, add(1, 2))) == []",
        "assert (add(1, 2), len([1])) == (3, 1)",
        "import math\nassert add(Fraction(1), 2) == 3",
    ],
)
def test_the_entry_point_is_found_behind_what_is_called_around_it(test):
    assert task_from_row({**FULL, "test_list": [test]}).entry_point == "add"


def test_a_row_is_known_by_its_fields():
    assert format_of_row(FULL) == format_of_row(SANITIZED) == "mbpp"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"test_list": []}, "test_list: at least one assert was expected; got none"),
        ({"test_list": "assert add(1) == 2"}, "test_list: a list of texts was expected; got 'assert"),
        ({"test_list": ["assert ("]}, "test_list[0]: Python was expected; got "),
        (
            {"test_list": ["assert sub(1) == 2"]},
            "test_list[0]: a call of a function that code defines (helper, add) was",
        ),
        ({"code": "print 1"}, "code: Python was expected; got "),
        ({"code": "x = 1"}, "test_list[0]: a call of a function that code defines (it defines none) was expected"),
        ({"code": None}, "code: text was expected; got NoneType"),
        ({"text": 1}, "text: text was expected; got int"),
        ({"test_setup_code": 1}, "test_setup_code: text was expected; got int"),
        ({"test_imports": "import math"}, "test_imports: a list of texts was expected"),
    ],
)
def test_a_malformed_row_is_refused(fields, message):
    with pytest.raises(TaskError) as caught:
        task_from_row({**FULL, **fields})
    assert str(caught.value).startswith(message)
