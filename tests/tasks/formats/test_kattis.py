import dataclasses
import json

import pytest

from code_env import judge, load_suite
from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.tasks import Comparison, StdinTest
from code_env.tasks.formats.kattis import read_settings, task_from_package

LEAST = {
    "problem.yaml": "name: Sum\n",
    "statement.txt": "Print the sum.",
    "data/secret/1.in": "1 2",
    "data/secret/1.ans": "3",
}


@pytest.fixture
def package(tmp_path):
    def package(files=(), **more):
        for name, content in {**LEAST, **dict(files)}.items():
            path = tmp_path / "sum" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "sum"

    return package


def test_a_package_becomes_its_task(package):
    settings = "# A comment.\nname: 'Sum' # of two\nauthor: A: B\nlicense: cc by-sa\n"
    settings += "limits:\n  memory: 1024\n  time_limit: 2.0\n"
    files = {
        "problem.yaml": settings,
        "data/sample/1.in": "5 5",
        "data/sample/1.ans": "10",
        "data/secret/group/2.in": "7 7",
        "data/secret/group/2.ans": "14",
    }
    task = task_from_package(package(files))
    assert (task.id, task.prompt) == ("sum", "Print the sum.")
    assert task.tests == (
        StdinTest("5 5", "10", compare="tokens", hidden=False),
        StdinTest("1 2", "3", compare="tokens"),
        StdinTest("7 7", "14", compare="tokens"),
    )
    assert task.limits == Limits(cpu_s=2.0, wall_s=6.0, memory_bytes=2**30)
    assert task.metadata == {"name": "Sum", "author": "A: B", "license": "cc by-sa"}


def test_samples_of_the_statement_are_public_and_count_once(package):
    files = {
        "data/sample/1.in": "5 5\n",
        "data/sample/1.ans": "10",
        "problem_statement/sum_sample_ts1_input.txt": "5 5",
        "problem_statement/sum_sample_ts1_output.txt": "10",
        "problem_statement/sum_sample_ts2_input.txt": "6 6",
        "problem_statement/sum_sample_ts2_output.txt": "12",
    }
    tests = task_from_package(package(files)).tests
    assert [(test.stdin, test.hidden) for test in tests] == [("5 5\n", False), ("6 6", False), ("1 2", True)]


@pytest.mark.parametrize(
    "files",
    [
        {"statement.txt": None, "problem_statement/problem.tex": "T"},
        {"statement.txt": None, "problem_statement/problem.en.md": "T", "problem_statement/problem.da.md": "x"},
        {"statement.txt": None, "statement/problem.html": "T", "statement/problem.pdf": b"\xff"},
        {"statement.txt": "T", "problem_statement/problem.tex": "x"},
    ],
)
def test_the_statement_is_found_where_packages_have_it(package, files):
    path = package(files)
    if files["statement.txt"] is None:
        (path / "statement.txt").unlink(missing_ok=True)
    assert task_from_package(path).prompt == "T"


FLAGS = {"problem.yaml": "name: x\noutput_validator_flags: float_tolerance 1e-6"}
POINT = {"data/secret/1.ans": "Case #1: 3.50"}


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({}, Comparison("tokens")),
        (FLAGS, Comparison("tokens")),
        (POINT, Comparison("tokens")),
        ({**FLAGS, **POINT}, Comparison("numbers", rel=1e-6, abs=1e-6)),
        ({**FLAGS, "data/secret/1.ans": "1e-7"}, Comparison("numbers", rel=1e-6, abs=1e-6)),
        ({**FLAGS, "data/secret/1.ans": "v1.2 a.b 3. x1e5"}, Comparison("numbers", rel=1e-6, abs=1e-6)),
        ({**FLAGS, "data/secret/1.ans": "v1.2 a.b x1e5 1.2.3"}, Comparison("tokens")),
        ({**FLAGS, "statement.txt": "The absolute error is at most 1e-3."}, Comparison("numbers", rel=1e-6, abs=1e-6)),
        ({"statement.txt": "The absolute error is at most 1e-3."}, Comparison("numbers", rel=0.0, abs=1e-3)),
        (
            {"problem.yaml": "validator_flags: float_absolute_tolerance 1e-3 float_relative_tolerance 1e-4", **POINT},
            Comparison("numbers", rel=1e-4, abs=1e-3),
        ),
        (
            {"data/testdata.yaml": "output_validator_flags: float_tolerance 1e-2", **POINT},
            Comparison("numbers", 1e-2, 1e-2),
        ),
        (
            {"data/secret/test_group.yaml": "output_validator_args: [float_tolerance, 1e-2]", **POINT},
            Comparison("numbers", 1e-2, 1e-2),
        ),
        ({"problem.yaml": "validator_flags: space_change_sensitive"}, Comparison("exact")),
    ],
)
def test_a_tolerance_comes_from_flags_and_statement(package, files, rule):
    assert task_from_package(package(files)).tests[0].compare == rule


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"problem.yaml": "nothing here"}, "problem.yaml: lines of the form `key: value` were expected; got none"),
        ({"problem.yaml": b"name: \xff"}, "problem.yaml: text in UTF-8 was expected"),
        ({"output_validator/validate.py": ""}, "problem.yaml: validation: no checker was expected"),
        ({"problem.yaml": "validation: custom"}, "problem.yaml: validation: default was expected"),
        (
            {"problem.yaml": "type: interactive"},
            "problem.yaml: type: pass-fail or scoring was expected; got 'interactive'",
        ),
        ({"problem.yaml": "limits: 5"}, "problem.yaml: limits: keys below it were expected; got '5'"),
        ({"problem.yaml": "limits:\n  memory: much"}, "problem.yaml: limits: memory: a number above 0 with a unit"),
        ({"problem.yaml": "validator_flags: float_tolerance x"}, "float_tolerance: a number was expected; got 'x'"),
        ({"data/secret/2.in": "1"}, "data/secret/2.in: 2.ans is missing"),
        ({"data/sample/2.in": "1"}, "data/sample/2.in: 2.ans is missing"),
        ({"data/secret/1.ans": b"\xff"}, "data/secret/1.in: 1.ans: text in UTF-8 was expected"),
        ({"problem_statement/a_input.txt": "1"}, "problem_statement: a_output.txt is missing"),
        ({"statement.txt": "a" * 70_000}, "prompt has 70000 characters"),
    ],
)
def test_a_malformed_package_is_refused(package, files, message):
    path = package(files)
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("data/secret/1.in", "data: tests (data/secret/*.in with *.ans) were expected"),
        ("statement.txt", "statement.txt, or"),
    ],
)
def test_a_package_without_tests_or_statement_is_refused(package, missing, message):
    path = package()
    (path / missing).unlink()
    with pytest.raises(TaskError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_package_and_a_directory_of_packages_are_suites(package, tmp_path):
    path = package()
    assert load_suite(path).name == "sum"
    (tmp_path / "other").mkdir()
    assert [task.id for task in load_suite(tmp_path)] == ["sum"]


def test_settings_are_keys_with_text_or_more_keys():
    yaml = "a: 1\nb:\n  c: \"x # y\"\n  d:\n    e: f\n  g: h\nkeywords:\n- one\n- two\ni:\n'j k': l\nm: n: o\n"
    assert read_settings(yaml) == {
        "a": "1",
        "b": {"c": '"x', "d": {"e": "f"}, "g": "h"},
        "keywords": "",
        "i": "",
        "m": "n: o",
    }


CONTESTS = (
    "counting_sheep",
    "nesting_depth",
    "plates",
    "punched_cards",
    "reversort",
    "sherlock_and_parentheses",
    "steed_2_cruise_control",
    "tidy_numbers",
)


@pytest.fixture(scope="module")
def contests(data):
    return load_suite(data / "stdin_stdout" / "coding-competitions-archive")


@pytest.fixture(scope="module")
def references(data):
    rows = map(json.loads, (data / "stdin_stdout" / "reference_solutions.jsonl").read_text().splitlines())
    return {row["problem"].rpartition("/")[2]: row for row in rows}


def test_the_archive_is_a_suite(contests):
    assert tuple(task.id for task in contests) == CONTESTS
    assert contests.task("steed_2_cruise_control").metadata["name"] == "Steed 2: Cruise Control"
    assert all(sum(not test.hidden for test in task.tests) == 1 for task in contests)


def test_only_the_problem_with_real_numbers_has_a_tolerance(contests):
    rules = {task.id: task.tests[0].compare for task in contests}
    exact = dict.fromkeys(CONTESTS, Comparison("tokens"))
    assert rules == exact | {"steed_2_cruise_control": Comparison("numbers", rel=1e-6, abs=1e-6)}


@pytest.mark.parametrize("problem", CONTESTS)
def test_the_reference_of_a_real_problem_passes_in_full(contests, references, executor, problem):
    task = contests.task(problem)
    assert len(task.tests) == references[problem]["tests_total"]
    # One of them takes seconds, on a slow machine more than the default limits: they are not what is tested.
    patient = dataclasses.replace(task, limits=task.limits.with_values({"cpu_s": 60, "wall_s": 300}))
    verdict = judge(patient, references[problem]["code"], executor)
    assert (verdict.outcome, verdict.fraction) == ("pass", 1.0)
