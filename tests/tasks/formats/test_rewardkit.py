import gymnasium as gym
import pytest

from code_env import TaskError, judge_many, load_suite
from code_env.tasks import CellTest, OutputTest, StdinTest
from code_env.tasks.formats import format_of_row
from code_env.tasks.formats.rewardkit import task_from_row

ADD = "def add(a, b): return a + b"
ROWS = {
    "output": {"prompt": "Print 42.", "expected_output": "42"},
    "cells": {"prompt": "Write add.", "test_cases": [{"code": "result = add(2, 3)", "expected": "5"}]},
    "messages": {
        "messages": [{"role": "user", "content": "Print 15."}, {"role": "assistant", "content": "print(15)"}],
        "ground_truth": "15",
    },
    "input": {"prompt": "Double it.", "ground_truth": [{"input": "2", "expected_output": "4"}]},
    "calls": {
        "prompt": "Write add.",
        "ground_truth": [{"input": "2 3", "expected_output": "5"}],
        "function_to_call": "add",
    },
    "nulls": {"prompt": "Print 1.", "messages": None, "expected_output": "1", "test_cases": None, "ground_truth": None},
}
ANSWERS = {
    "output": ("print(6 * 7)", "print(41)"),
    "cells": (ADD, "result = 5"),
    "messages": ("print(sum(range(6)))", "print(16)"),
    "input": ("print(2 * int(input()))", "print(input())"),
    "calls": (ADD, "def add(a, b): return a * b"),
    "nulls": ("print(1)", ""),
}


def test_the_rows_of_the_guides_are_recognized_and_judged(executor):
    assert {format_of_row(row) for row in ROWS.values()} == {"rewardkit"}
    tasks = {name: task_from_row(row) for name, row in ROWS.items()}
    assert tasks["output"].tests == (OutputTest("42"),)
    assert tasks["cells"].tests == (CellTest("result = add(2, 3)", "5"),)
    assert (tasks["messages"].prompt, tasks["messages"].tests) == ("Print 15.", (OutputTest("15"),))
    assert tasks["input"].tests == (StdinTest("2", "4"),)
    assert tasks["calls"].entry_point == "add"
    pairs = [(tasks[name], code) for name, codes in ANSWERS.items() for code in codes]
    assert [verdict.passed for verdict in judge_many(pairs, executor)] == [True, False] * len(ANSWERS)


def test_they_can_be_played(executor):
    env = gym.make("CodeExec-v0", suite=list(ROWS.values()), executor=executor, order="sequential")
    prompt, _ = env.reset(seed=0)
    assert (prompt, env.step("print(42)")[1]) == ("Print 42.", 1.0)


def test_the_language_may_be_named():
    assert task_from_row({**ROWS["output"], "language": "JS"}).language == "javascript"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt": "p", "expected_output": 5}, "expected_output: text was expected; got int"),
        ({"prompt": "p", "ground_truth": {}}, "ground_truth: text or a list of cases was expected; got dict"),
        ({"prompt": "p", "ground_truth": []}, "ground_truth: at least one case was expected"),
        ({"prompt": "p", "test_cases": []}, "test_cases: at least one case was expected"),
        ({"prompt": "p", "test_cases": "x"}, "test_cases: a list of cases was expected; got str"),
        ({"prompt": "p", "test_cases": [{"code": "1"}]}, r"test_cases\[0\]: expected: text was expected; got nothing"),
        ({"prompt": "p", "test_cases": ["1"]}, r"test_cases\[0\]: an object with code and expected was expected"),
        ({"prompt": "p", "ground_truth": [{"input": "1"}]}, r"ground_truth\[0\] lacks expected_output"),
        ({"prompt": "p", "expected_output": None}, "one of expected_output, test_cases, .* was expected; got none"),
        ({"prompt": "p", "expected_output": "1", "ground_truth": "2"}, "got expected_output and ground_truth"),
        ({"messages": [], "ground_truth": "1"}, "messages: text or a list of chat messages was expected"),
    ],
)
def test_a_malformed_row_is_refused(row, message):
    assert format_of_row(row) == "rewardkit"
    with pytest.raises(TaskError, match=message):
        load_suite([row])


@pytest.mark.parametrize("more", ["expected_output", "ground_truth"])
def test_a_row_of_our_own_with_a_field_too_many_keeps_its_tests(more):
    row = {"id": "a", "prompt": "p", "tests": [{"kind": "output", "expected": "1"}], more: "2"}
    with pytest.raises(TaskError, match=f"{more}: a row has no such field"):
        load_suite([row])
