import json

import pytest

from code_env import judge
from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.tasks import CallTest, Comparison, StdinTest
from code_env.tasks.formats import format_of_row
from code_env.tasks.formats.apps import task_from_row

APPS = {
    "problem_id": 0,
    "question": "Print the sum.",
    "solutions": json.dumps(["print(int(input()) + int(input()))", "print(sum(int(input()) for _ in 'ab'))"]),
    "input_output": json.dumps({"inputs": ["1\n2\n", ["3", "4"]], "outputs": ["3\n", ["7"]]}),
    "difficulty": "interview",
    "url": "https://example.org/1",
    "starter_code": "",
}
STARTER = "class Solution:\n    def add(self, a: int, b: int) -> int:\n        "
CALLED = {
    **APPS,
    "input_output": json.dumps({"fn_name": "add", "inputs": [[1, 2], [3, 4]], "outputs": [[3], [7]]}),
    "starter_code": STARTER,
    "solutions": "",
}
TACO = {**APPS, "time_limit": "2 seconds", "memory_limit": "256.0 megabytes", "raw_tags": "[]"}


def test_a_row_becomes_its_task(executor):
    task = task_from_row(APPS)
    assert (task.id, task.prompt, task.entry_point) == ("0", "Print the sum.", None)
    assert task.tests == (StdinTest("1\n2\n", "3\n"), StdinTest("3\n4\n", "7\n"))
    assert task.tests[0].compare == Comparison("lines")
    assert all(test.hidden for test in task.tests)
    solutions = json.loads(APPS["solutions"])
    assert task.reference == solutions[0]
    assert task.metadata == {"difficulty": "interview", "url": "https://example.org/1", "solutions": solutions}
    for solution in solutions:
        assert judge(task, solution, executor).passed


def test_a_row_with_a_function_calls_it():
    task = task_from_row(CALLED)
    assert task.tests == (CallTest((1, 2), expected=3), CallTest((3, 4), expected=7))
    assert (task.entry_point, task.reference) == ("Solution.add", None)
    assert task.prompt == f"Print the sum.\n\nStart from this code:\n\n```python\n{STARTER.strip()}\n```\n"
    plain = task_from_row({**CALLED, "starter_code": "def add(a, b):"})
    assert plain.entry_point == "add"


def test_a_plain_function_is_judged(executor):
    task = task_from_row({**CALLED, "starter_code": None})
    assert judge(task, "def add(a, b): return a + b", executor).passed


def test_limits_of_taco():
    task = task_from_row(TACO)
    assert task.limits == Limits(cpu_s=2.0, wall_s=6.0, memory_bytes=256 * 2**20)
    assert task_from_row({**TACO, "time_limit": None, "memory_limit": ""}).limits == Limits()


def test_a_stated_error_is_granted():
    statement = "The absolute or relative error must not exceed 10^{-6}."
    assert task_from_row({**APPS, "question": statement}).tests[0].compare.rule == "numbers"
    assert task_from_row({**CALLED, "question": statement}).tests[0].compare.rule == "close"


def test_rows_are_known_by_their_fields():
    assert format_of_row(APPS) == "apps"
    assert format_of_row(TACO) == "taco"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"question": None}, "question: text was expected; got NoneType"),
        ({"input_output": ""}, "input_output: tests were expected; got none: leave out rows without tests"),
        ({"input_output": "[]"}, "input_output: an object, or JSON text of one, was expected; got a list of nothing"),
        ({"input_output": {"inputs": ["1"], "outputs": []}}, "input_output: as many inputs as outputs were expected"),
        ({"input_output": {"inputs": [], "outputs": []}}, "input_output: inputs: at least one was expected"),
        ({"input_output": {"fn_name": 1}}, "input_output: fn_name: text was expected; got int"),
        ({"solutions": "{}"}, "solutions: a list of texts, or JSON text of one, was expected; got dict"),
        ({"solutions": "["}, "solutions: JSON text was expected; got '['"),
        ({"starter_code": 1}, "starter_code: text was expected; got int"),
        ({"time_limit": "soon"}, "time_limit: a number above 0 with a unit"),
        ({"memory_limit": "1 floppy"}, "memory_limit: a number above 0 with a unit"),
    ],
)
def test_a_malformed_row_is_refused(fields, message):
    with pytest.raises(TaskError) as caught:
        task_from_row({**APPS, **fields})
    assert str(caught.value).startswith(message)
