import json

import pytest

from code_env.environments import definitions
from code_env.environments.definitions import (
    EnvironmentDefinition,
    environment_names,
    environments_directory,
    load_definition,
)
from code_env.errors import SuiteNotFound, TaskError
from code_env.executors.limits import Limits
from code_env.tasks import OutputTest, Task, load_suite

TASK = Task("a", "Print 1.", (OutputTest("1"),))
ROW = {"id": "a", "prompt": "Print 1.", "tests": [{"kind": "output", "expected": "1"}]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Makes this the directory of all environments; returns how to add one."""

    def forget():
        environment_names.cache_clear()
        load_definition.cache_clear()

    def add(name, toml, *rows):
        (tmp_path / name).mkdir()
        (tmp_path / name / "env.toml").write_bytes(toml if isinstance(toml, bytes) else toml.encode())
        if rows:
            (tmp_path / name / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
        forget()
        return tmp_path / name / "env.toml"

    monkeypatch.setattr(definitions, "environments_directory", lambda: tmp_path)
    forget()
    yield add
    forget()


def test_the_directory_of_this_installation_holds_the_starter_environment():
    assert (environments_directory() / "starter" / "env.toml").is_file()
    assert "starter" in environment_names()


def test_the_starter_environment_is_defined():
    definition = load_definition("starter")
    assert definition.name == "starter"
    assert definition.suite_path.is_file()
    assert definition.rewards


def test_environments_are_folders_with_a_definition(folder, tmp_path):
    folder("zeta", "suite = 'tasks.jsonl'")
    folder("alpha", "suite = 'tasks.jsonl'")
    (tmp_path / "no-environment").mkdir()
    (tmp_path / "env.toml").write_text("")
    environment_names.cache_clear()
    assert environment_names() == ("alpha", "zeta")


def test_a_definition_has_what_its_file_says(folder, tmp_path):
    folder(
        "full",
        """
        suite = "data/tasks.jsonl.gz"
        format = "humaneval"
        executor = "subprocess"
        max_turns = 3
        [rewards]
        tests = 1.0
        similarity = { weight = 0.5, measure = "lines" }
        [limits]
        cpu_s = 2
        """,
    )
    assert load_definition("full") == EnvironmentDefinition(
        name="full",
        suite_path=tmp_path / "full" / "data" / "tasks.jsonl.gz",
        format="humaneval",
        executor="subprocess",
        max_turns=3,
        rewards={"tests": 1.0, "similarity": {"weight": 0.5, "measure": "lines"}},
        limits={"cpu_s": 2},
    )


def test_a_definition_has_defaults(folder, tmp_path):
    folder("least", "suite = 'tasks.jsonl'")
    assert load_definition("least") == EnvironmentDefinition("least", tmp_path / "least" / "tasks.jsonl")
    assert load_definition("least").max_turns == 1
    folder("with_a_session", "suite = 'tasks.jsonl'\nbase = 'CodeRepl-v0'")
    assert load_definition("with_a_session").max_turns == 8


def test_an_unknown_environment_is_an_error_that_lists_the_known_ones(folder):
    folder("one", "suite = 'tasks.jsonl'")
    folder("two", "suite = 'tasks.jsonl'")
    with pytest.raises(SuiteNotFound, match=r"^no environment is named 'three'; known are one, two$"):
        load_definition("three")


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        pytest.param("suite = ", "", id="no-toml"),
        pytest.param("suite = 'a'\nsuite = 'b'", "", id="a-key-twice"),
        pytest.param("# \xff".encode("latin-1"), "", id="not-utf8"),
        pytest.param("", "suite: the key is missing", id="empty"),
        pytest.param("max_turns = 2", "suite: the key is missing", id="no-suite"),
        pytest.param(
            "suite = 'a'\nturns = 2\nreward = 1",
            "unknown key 'turns'; known are base, executor, format",
            id="unknown-keys",
        ),
        pytest.param("suite = 5", "suite", id="suite-no-text"),
        pytest.param("suite = 'a'\nformat = 5", "format", id="format-no-text"),
        pytest.param("suite = 'a'\nexecutor = 5", "executor", id="executor-no-text"),
        pytest.param("suite = 'a'\nmax_turns = 'three'", "max_turns", id="turns-no-number"),
        pytest.param("suite = 'a'\nmax_turns = 0", "max_turns", id="no-turns"),
        pytest.param("suite = 'a'\nbase = 'CodeRepl'", "base must be one of CodeExec-v0, CodeRepl-v0", id="no-base"),
        pytest.param("suite = 'a'\nrewards = 5", "rewards", id="rewards-no-table"),
        pytest.param("suite = 'a'\nlimits = 5", "limits", id="limits-no-table"),
        pytest.param("suite = 'a'\nlimits = { cpu = 5 }", "limits", id="unknown-limit"),
        pytest.param("suite = 'a'\nlimits = { cpu_s = -5 }", "limits", id="limit-out-of-range"),
    ],
)
def test_a_malformed_definition_is_refused_with_its_file_and_key(folder, toml, problem):
    path = folder("bad", toml)
    with pytest.raises(TaskError) as caught:
        load_definition("bad")
    assert str(caught.value).startswith(f"{path}: {problem}")


def test_the_limits_of_a_definition_are_for_tasks_without_their_own():
    definition = EnvironmentDefinition("e", None, limits={"cpu_s": 2.0, "processes": 1})
    own = Task("b", "p", TASK.tests, limits=Limits(cpu_s=9.0))
    assert definition.complete(TASK).limits == Limits(cpu_s=2.0, processes=1)
    assert definition.complete(own) is own


def test_a_definition_without_limits_leaves_a_task_as_it_is():
    assert EnvironmentDefinition("e", None).complete(TASK) is TASK


def test_a_suite_is_loaded_by_the_name_of_its_environment(folder):
    folder("mine", "suite = 'tasks.jsonl'\nlimits = { cpu_s = 2.0 }", ROW, {**ROW, "id": "b", "limits": {"cpu_s": 1.0}})
    suite = load_suite("mine")
    assert suite.name == "mine"
    assert [(task.id, task.limits.cpu_s) for task in suite] == [("a", 2.0), ("b", 1.0)]


def test_a_malformed_task_of_an_environment_is_refused_with_its_file_and_line(folder, tmp_path):
    folder("mine", "suite = 'tasks.jsonl'", ROW, {**ROW, "id": 5})
    with pytest.raises(TaskError) as caught:
        load_suite("mine")
    assert str(caught.value).startswith(f"{tmp_path / 'mine' / 'tasks.jsonl'}:2: id must be text")


def test_tasks_that_are_not_there_are_told(folder, tmp_path):
    folder("mine", 'suite = "none.jsonl"')
    with pytest.raises(TaskError, match=rf"^{tmp_path}/mine/none.jsonl: there is no such file$"):
        load_suite("mine")


def test_an_unknown_suite_lists_the_environments(folder):
    folder("mine", "suite = 'tasks.jsonl'", ROW)
    with pytest.raises(SuiteNotFound, match="known suites are mine;"):
        load_suite("yours")
