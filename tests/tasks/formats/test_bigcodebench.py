import json

import pytest

from code_env import load_suite
from code_env.errors import TaskError
from code_env.tasks import AssertTest
from code_env.tasks.formats import format_of_row
from code_env.tasks.formats.bigcodebench import LIMITS, task_from_row

PROMPT = "import csv\n\ndef task_func(x):\n    '''Add one.'''\n"
TEST = """
import unittest
class TestCases(unittest.TestCase):
    def test_a(self):
        self.assertEqual(task_func(1), 2)
"""
ORIGINAL = {
    "task_id": "BigCodeBench/0",
    "complete_prompt": PROMPT,
    "instruct_prompt": "Add one.",
    "canonical_solution": "    return x + 1\n",
    "test": TEST,
    "entry_point": "task_func",
    "libs": "['csv']",
}
FUSION = {
    "id": "BigCodeBench/0",
    "content": PROMPT,
    "canonical_solution": "    return x + 1\n",
    "test": TEST,
    "labels": json.dumps({"entry_point": "task_func"}),
}


@pytest.mark.parametrize("row", [ORIGINAL, FUSION], ids=["original", "sandbox-fusion"])
def test_a_row_becomes_its_task(row):
    assert format_of_row(row) == "bigcodebench"
    task = task_from_row(row)
    assert (task.id, task.prompt, task.prefix, task.entry_point) == ("BigCodeBench/0", PROMPT, PROMPT, "task_func")
    assert (task.tests, task.judge, task.limits) == ((AssertTest(TEST),), "shared", LIMITS)
    assert task.program(task.reference) == PROMPT + "    return x + 1\n"


def test_libraries_are_metadata():
    assert task_from_row(ORIGINAL).metadata == {"instruct_prompt": "Add one.", "libs": "['csv']"}


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        (ORIGINAL, {"task_id": 1}, "task_id: text was expected; got int"),
        (ORIGINAL, {"entry_point": None}, "entry_point: text was expected; got NoneType"),
        (ORIGINAL, {"test": "class"}, "code must be Python"),
        (FUSION, {"id": 1}, "id: text was expected; got int"),
        (FUSION, {"labels": "{}"}, "labels: entry_point: text was expected; got nothing"),
        (FUSION, {"canonical_solution": 1}, "canonical_solution: text was expected; got int"),
    ],
)
def test_a_malformed_row_is_refused(row, fields, message):
    with pytest.raises(TaskError) as caught:
        task_from_row({**row, **fields})
    assert str(caught.value).startswith(message)


def test_real_rows_load(data):
    suite = load_suite(data / "data_tasks" / "bigcodebench_sample.jsonl")
    assert [task.id for task in suite] == ["BigCodeBench/1001", "BigCodeBench/1009"]
    for task in suite:
        assert (task.judge, task.entry_point) == ("shared", "task_func")
        compile(task.program(task.reference), "<program>", "exec")
