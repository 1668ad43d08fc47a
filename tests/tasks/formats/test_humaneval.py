import pytest

from code_env import judge, load_suite
from code_env.errors import TaskError
from code_env.tasks import AssertTest
from code_env.tasks.formats.humaneval import FIELDS, task_from_row

PROMPT = "def helper(x):\n    return x\n\n\ndef add_one(x: int) -> int:\n    '''Add one to x.'''\n"
TEST = "METADATA = {}\n\n\ndef check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3\n"
ROW = {
    "task_id": "HumanEval/0",
    "prompt": PROMPT,
    "canonical_solution": "    return helper(x) + 1\n",
    "test": TEST,
    "entry_point": "add_one",
}


def add_one(program):
    namespace = {}
    exec(compile(program, "<program>", "exec", dont_inherit=True), namespace)
    return namespace["add_one"](1)


def test_a_row_becomes_its_task():
    task = task_from_row(ROW)
    assert (task.id, task.prompt, task.entry_point) == ("HumanEval/0", PROMPT, "add_one")
    assert (task.reference, task.setup, task.prefix) == ("    return helper(x) + 1\n", PROMPT, PROMPT)
    assert task.tests == (AssertTest(TEST),)
    assert task.tests[0].cases == 2
    assert task.judge == "blind"


def test_fields_that_the_format_does_not_know_are_left_out():
    assert task_from_row({**ROW, "source": "here", "n": 1}) == task_from_row(ROW)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(("value", "got"), [(None, "NoneType"), (1, "int"), (["a"], "list")])
def test_a_field_that_is_no_text_is_refused(name, value, got):
    with pytest.raises(TaskError, match=f"^{name}: text was expected; got {got}$"):
        task_from_row({**ROW, name: value})


@pytest.mark.parametrize("name", FIELDS)
def test_a_missing_field_is_refused(name):
    with pytest.raises(TaskError, match=f"^{name}: text was expected; got nothing$"):
        task_from_row({key: value for key, value in ROW.items() if key != name})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("test", "def check(", "code must be Python"), ("task_id", "", "id"), ("prompt", "a" * 70_000, "prompt has")],
)
def test_a_field_that_makes_no_task_is_refused(field, value, message):
    with pytest.raises(TaskError, match=message):
        task_from_row({**ROW, field: value})


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("    return helper(x) + 1\n", id="body"),
        pytest.param("\n    return helper(x) + 1", id="body-after-a-newline"),
        pytest.param("def add_one(x):\n    return x + 1\n", id="function"),
        pytest.param(PROMPT + "    return helper(x) + 1\n", id="prompt-and-body"),
        pytest.param("import math\n\ndef add_one(x):\n    return math.floor(x) + 1", id="file"),
        pytest.param(
            "from __future__ import annotations\nimport math\n\ndef add_one(x: Unknown):\n    return x + 1",
            id="file-with-a-future-import",
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", ""], ids=["newline", "no-newline"])
def test_a_body_and_a_whole_function_both_make_the_program(answer, newline):
    task = task_from_row({**ROW, "prompt": PROMPT.rstrip("\n") + newline})
    assert add_one(task.program(answer)) == 2


@pytest.mark.parametrize(
    "prompt", ["def helper(x):\n    return x\n\ndef add_one(x):\n", "def helper(x): return x\ndef add_one(x):"]
)
def test_a_prompt_that_ends_with_a_signature_still_gives_its_helpers(prompt, executor):
    test = "def check(candidate):\n    assert candidate(1) == helper(2)\n"
    task = task_from_row({**ROW, "prompt": prompt, "test": test})
    assert judge(task, task.reference, executor).passed
    assert not judge(task, "    return 0\n\ndef helper(x): return 0", executor).passed


def test_the_toy_problem_of_the_original_repository_is_sound(executor, data):
    (task,) = load_suite(data / "humaneval" / "example_problem.jsonl")
    assert judge(task, task.reference, executor).passed


def test_the_reference_solves_the_task_by_its_own_tests():
    task = task_from_row(ROW)
    namespace = {}
    exec(task.program(task.reference), namespace)
    exec(task.tests[0].code, namespace)
    namespace["check"](namespace[task.entry_point])
