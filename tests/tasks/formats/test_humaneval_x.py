import json

import pytest

from code_env import judge_many, load_suite
from code_env.errors import TaskError
from code_env.tasks.formats.humaneval_x import FIELDS, task_from_row
from code_env.validating.trivial import trivial_answers

SCRIPT = {
    "task_id": "JavaScript/0",
    "prompt": "/* Add. */\nconst one = () => {\n  return 1;\n}\nconst add = (a, b) => {\n",
    "declaration": "\nconst one = () => {\n  return 1;\n}\nconst add = (a, b) => {\n",
    "canonical_solution": "  return a + b * one();\n}\n\n",
    "test": "const test = () => {\n  console.assert(add(1, 2) === 3)\n  console.assert(add(2, 2) === 4)\n}\ntest()\n",
    "example_test": "console.assert(add(1, 2) === 3)\n",
}
PYTHON = {
    "task_id": "Python/0",
    "prompt": "def one():\n    return 1\n\ndef add(a, b):\n    '''Add.'''\n",
    "declaration": "def one():\n    return 1\n\ndef add(a, b):\n",
    "canonical_solution": "    return a + b * one()\n",
    "test": "def check(add):\n    assert add(1, 2) == 3\n    assert add(2, 2) == 4\n\ncheck(add)\n",
    "example_test": "assert add(1, 2) == 3\n",
}


@pytest.mark.parametrize(
    ("row", "right"),
    [
        (SCRIPT, SCRIPT["canonical_solution"]),
        (SCRIPT, "const add = (a, b) => {\n  return b + a * one();\n}"),
        (SCRIPT, "function add(a, b) { return a + b; }"),
        (SCRIPT, "const two = 2;\nvar add = function(a, b) { return a + b; }\n"),
        (PYTHON, PYTHON["canonical_solution"]),
        (PYTHON, "def add(a, b):\n    return a + b\n"),
    ],
)
def test_bodies_and_whole_functions_are_judged(row, right, executor):
    task = task_from_row(row)
    assert task.entry_point == "add"
    wrong = right.replace(" + ", " - ")
    assert [verdict.fraction for verdict in judge_many([(task, right), (task, wrong)], executor)] == [1.0, 0.0]


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_is_no_text_is_refused(name):
    with pytest.raises(TaskError, match=f"^{name}: text was expected; got int$"):
        task_from_row({**SCRIPT, name: 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task_id": "Rust/0"}, "^task_id: Python/... or JavaScript/... was expected; got 'Rust/0'$"),
        ({"declaration": "x"}, "^declaration: the opening line of a function was expected; got 'x'$"),
    ],
)
def test_a_row_that_makes_no_task_is_refused(change, message):
    with pytest.raises(TaskError, match=message):
        task_from_row({**SCRIPT, **change})


@pytest.mark.shared_data
def test_references_pass_and_trivial_answers_do_not(data, executor, tmp_path):
    suite = load_suite(data / "plus_sample" / "humaneval_x_js.10rows.jsonl")
    assert len(suite) == 10
    verdicts = judge_many([(task, task.reference) for task in suite], executor)
    assert [(task.id, v.cases) for task, v in zip(suite, verdicts, strict=True) if not v.passed] == []
    trivial = [(task, code) for task in suite[::3] for code in ["", *trivial_answers(task).values()]]
    assert not any(verdict.passed for verdict in judge_many(trivial, executor))


def test_a_file_of_rows_loads_without_naming_the_format(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, (SCRIPT, PYTHON))))
    assert [task.language for task in load_suite(file)] == ["javascript", "python"]
