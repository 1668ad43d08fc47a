import json

import pytest

from code_env import judge, load_suite
from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.tasks import Comparison, StdinTest
from code_env.tasks.formats import format_of_row
from code_env.tasks.formats.code_contests import task_from_row

ORIGINAL = {
    "name": "1_A. Sum",
    "description": "Print the sum.",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": ["3 4\n"], "output": ["7\n"]},
    "generated_tests": {"input": [], "output": []},
    "source": 2,
    "difficulty": 7,
    "time_limit": {"seconds": 1, "nanos": 500_000_000},
    "memory_limit_bytes": 256_000_000,
    "input_file": "",
    "output_file": "",
    "solutions": {"language": [2, 1, 3, 3], "solution": ["int main()", "print 3", "print(3)", "print(7)"]},
}
FUSION = {
    "id": 4,
    "content": "Print the sum.",
    "labels": json.dumps({"name": "sum", "difficulty": "A", "source": "HERE"}),
    "test": json.dumps([{"input": {"stdin": "1 2"}, "output": {"stdout": "3"}}]),
    "__internal_uuid__": "x",
}


def test_an_original_row_becomes_its_task():
    task = task_from_row(ORIGINAL)
    assert (task.id, task.prompt) == ("1_A. Sum", "Print the sum.")
    assert task.tests == (
        StdinTest("1 2\n", "3\n", compare="tokens", hidden=False),
        StdinTest("3 4\n", "7\n", compare="tokens"),
    )
    assert task.limits == Limits(cpu_s=1.5, wall_s=4.5, memory_bytes=256_000_000)
    assert task.reference == "print(3)"
    assert task.metadata["solutions"] == ["print(3)", "print(7)"]


@pytest.mark.parametrize(
    ("time", "limits"),
    [(2, Limits(cpu_s=2.0, wall_s=6.0)), (None, Limits()), (0, Limits()), ({"seconds": 0, "nanos": 0}, Limits())],
)
def test_a_time_limit_may_be_a_number_or_unknown(time, limits):
    assert task_from_row({**ORIGINAL, "time_limit": time, "memory_limit_bytes": 0}).limits == limits


def test_languages_may_be_named():
    solutions = {"language": ["CPP", "PYTHON3"], "solution": ["a", "b"]}
    assert task_from_row({**ORIGINAL, "solutions": solutions}).reference == "b"
    assert task_from_row({**ORIGINAL, "solutions": None}).reference is None


def test_a_row_of_sandbox_fusion_becomes_its_task():
    task = task_from_row(FUSION)
    assert (task.id, task.prompt) == ("4", "Print the sum.")
    assert task.tests == (StdinTest("1 2", "3", compare="tokens"),)
    assert task.metadata == {"name": "sum", "difficulty": "A", "source": "HERE"}


def test_rows_are_known_by_their_fields():
    assert format_of_row(ORIGINAL) == format_of_row(FUSION) == "code_contests"


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        (ORIGINAL, {"description": 1}, "description: text was expected; got int"),
        (ORIGINAL, {"public_tests": []}, "public_tests: an object with input and output was expected; got a list"),
        (ORIGINAL, {"private_tests": {"input": [1]}}, "private_tests: input: a list of texts was expected"),
        (ORIGINAL, {"private_tests": {"input": ["1"]}}, "private_tests: as many inputs as outputs were expected"),
        (ORIGINAL, {"public_tests": {}, "private_tests": None}, "tests must not be empty"),
        (ORIGINAL, {"time_limit": "1 s"}, "time_limit: seconds, or an object with seconds and nanos, were expected"),
        (ORIGINAL, {"memory_limit_bytes": "1"}, "memory_limit_bytes: a number of bytes was expected; got str"),
        (
            ORIGINAL,
            {"input_file": "in.txt"},
            "input_file: a problem of standard input and output was expected; got 'in",
        ),
        (ORIGINAL, {"solutions": []}, None),
        (ORIGINAL, {"solutions": ["a"]}, "solutions: an object with language and solution was expected"),
        (ORIGINAL, {"solutions": {"language": [3]}}, "solutions: as many languages as solutions were expected"),
        (FUSION, {"labels": "["}, "labels: JSON text was expected; got '['"),
        (FUSION, {"test": "{}"}, "test: a list, or JSON text of one, was expected; got dict"),
        (FUSION, {"test": [1]}, "test[0]: an object was expected; got int"),
        (FUSION, {"test": [{"input": {}, "output": {}}]}, "test[0]: input: stdin: text was expected; got nothing"),
        (
            FUSION,
            {"test": [{"input": {"stdin": ""}}]},
            "test[0]: output: an object with stdout was expected; got nothing",
        ),
        (FUSION, {"test": []}, "tests must not be empty"),
    ],
)
def test_a_malformed_row_is_refused(row, fields, message):
    if message is None:
        assert task_from_row({**row, **fields}).reference is None
        return
    with pytest.raises(TaskError) as caught:
        task_from_row({**row, **fields})
    assert str(caught.value).startswith(message)


@pytest.fixture(scope="module")
def problems(data):
    return load_suite(data / "stdin_stdout" / "code_contests_sample.jsonl")


@pytest.fixture(scope="module")
def references(data):
    rows = map(json.loads, (data / "stdin_stdout" / "reference_solutions.jsonl").read_text().splitlines())
    return {row["problem"].rpartition(":")[2]: row for row in rows}


def test_only_the_problem_that_grants_an_error_has_a_tolerance(problems):
    rules = {task.id: task.tests[0].compare for task in problems}
    assert rules == dict.fromkeys(rules, Comparison("tokens")) | {"5": Comparison("numbers", rel=1e-4, abs=1e-4)}


@pytest.mark.parametrize("problem", ["2", "3", "5", "9", "12", "17"])
def test_the_reference_of_a_real_problem_passes_in_full(problems, references, executor, problem):
    task = problems.task(problem)
    assert len(task.tests) == references[problem]["tests_total"]
    verdict = judge(task, references[problem]["code"], executor)
    assert (verdict.outcome, verdict.fraction) == ("pass", 1.0)
