"""Responses as models write them (`shapes.toml`), and wrong ones that look like them (`wrong.toml`)."""

import re
import tomllib
from pathlib import Path

import pytest

from code_env import CallTest, OutputTest, StdinTest, Task, judge_many
from code_env.extract import extract_code

HERE = Path(__file__).parent
ROWS = {name: tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8")) for name in ("shapes", "wrong")}
PROGRAMS = ROWS["shapes"]["programs"]
SHAPES, WRONG = ROWS["shapes"]["shapes"], ROWS["wrong"]["shapes"]
ANSWERED = {name: row for name, row in SHAPES.items() if "refused" not in row}

TESTS = {
    "add": (CallTest(args=(1, 2), expected=3), CallTest(args=(5, -7), expected=-2)),
    "sum": (StdinTest("1 2", "3"), StdinTest("5 -7", "-2")),
}


def task_of(row, tests=None):
    name = row.get("task", "add")
    entry_point = "add" if name == "add" else None
    return Task(name, "", tests or TESTS[name], entry_point=entry_point, language=row.get("language", "python"))


def program(row, name):
    return PROGRAMS[row.get("language", "python")][row.get("task", "add")][name].strip("\n")


def response_of(row):
    """The response, its programs filled in."""

    def filled(found):
        prefix, code = found[1], program(row, found[2])
        repeated = "" if prefix.strip(" >") else prefix
        return prefix + code.replace("\n", f"\n{repeated}")

    return re.sub(r"^(.*)@(code|wrong|usage)\b", filled, row["response"], flags=re.MULTILINE)


def code_in(row):
    task = task_of(row)
    return extract_code(response_of(row), task.language, entry_point=task.entry_point)


@pytest.mark.parametrize("row", SHAPES.values(), ids=SHAPES)
def test_the_answer_is_found(row):
    assert code_in(row).strip("\n") == row.get("code", program(row, "code")).strip("\n")


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG)
def test_nothing_else_is_found(row):
    assert code_in(row).strip("\n") == row.get("code", "").strip("\n")


def test_what_is_found_is_right(executor):
    answers = [(task_of(row), code_in(row)) for row in ANSWERED.values()]
    verdicts = zip(ANSWERED, judge_many(answers, executor), strict=True)
    assert {name: verdict.execution.error for name, verdict in verdicts if not verdict.passed} == {}


def test_what_is_wrong_earns_nothing(executor):
    alone = {name: row for name, row in WRONG.items() if row.get("alone")}
    answers = [(task_of(row), code_in(row)) for row in WRONG.values()]
    answers += [(task_of(row | {"task": "sum"}, (OutputTest(""),)), code_in(row)) for row in alone.values()]
    verdicts = zip([*WRONG, *alone], judge_many(answers, executor), strict=True)
    assert [name for name, verdict in verdicts if verdict.fraction] == []


def test_there_are_many_shapes_in_each_language():
    assert len(ANSWERED) >= 80
    assert len(WRONG) >= 20
    languages = [row.get("language", "python") for row in ANSWERED.values()]
    assert min(languages.count(name) for name in PROGRAMS) >= 6


def test_what_is_refused_is_documented():
    document = (HERE.parents[1] / "docs" / "answers.md").read_text(encoding="utf-8")
    refused = [row["refused"] for row in SHAPES.values() if "refused" in row]
    assert [reason for reason in refused if reason not in " ".join(document.split())] == []
