"""Benchmarks whose tasks are not shipped: from a file, or from a data set as the hub has it."""

import json
import sys

import pytest

from code_env import judge, load_suite, validate
from code_env.environments.definitions import load_definition
from code_env.errors import SuiteNotFound, TaskError
from code_env.tasks.sources import Source

MBPP = {
    "task_id": 11,
    "text": "Write a python function to remove the first and last occurrence of a character.",
    "code": "def remove_Occ(s, ch):\n    s = s.replace(ch, '', 1)\n    return s[::-1].replace(ch, '', 1)[::-1]",
    "test_list": ['assert remove_Occ("hello", "l") == "heo"', 'assert remove_Occ("abcda", "a") == "bcd"'],
    "test_setup_code": "",
    "challenge_test_list": [],
}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("CODE_ENV_HUMANEVAL", "CODE_ENV_MBPP"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def on_the_hub(tmp_path, monkeypatch):
    """A directory that has what the hub would, read by the real library."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "mbpp"
    directory.mkdir()
    (directory / "train.jsonl").write_text(json.dumps(MBPP) + "\n")
    return directory


@pytest.mark.shared_data
def test_humaneval_comes_from_the_file_that_a_variable_names(data, monkeypatch, executor):
    monkeypatch.setenv("CODE_ENV_HUMANEVAL", str(data / "humaneval" / "HumanEval.jsonl.gz"))
    suite = load_suite("humaneval")
    assert (suite.name, len(suite), suite[0].limits.cpu_s) == ("humaneval", 164, 5.0)
    assert validate(suite[::16], executor, repetitions=1).errors == ()


def test_mbpp_comes_from_the_file_that_a_variable_names(tmp_path, monkeypatch, executor):
    path = tmp_path / "mbpp.jsonl"
    path.write_text(json.dumps(MBPP))
    monkeypatch.setenv("CODE_ENV_MBPP", str(path))
    task = load_suite("mbpp")[0]
    assert judge(task, task.reference, executor).passed
    monkeypatch.setenv("CODE_ENV_MBPP", str(tmp_path / "missing"))
    with pytest.raises(TaskError, match="missing: there is no such file"):
        load_suite("mbpp")


def test_rows_come_from_a_data_set(on_the_hub):
    source = Source("CODE_ENV_MBPP", str(on_the_hub), "train")
    rows = list(source.rows())
    assert [number for number, _ in rows] == [1]
    assert rows[0][1]["code"] == MBPP["code"]


def test_what_cannot_be_had_is_told_with_the_way_to_have_it(on_the_hub):
    with pytest.raises(SuiteNotFound, match=r"cannot be downloaded from the hub .*; set CODE_ENV_MBPP to the path"):
        list(Source("CODE_ENV_MBPP", str(on_the_hub), "nowhere").rows())


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_without_the_library_the_extra_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    variable = load_definition(name).source.variable
    with pytest.raises(SuiteNotFound, match=rf"not shipped: set {variable} to .* install code-exec-env\[hf\]"):
        load_suite(name)
