"""Collections of trajectories: complete, durable, and gone on with after a kill."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import Future

import gymnasium as gym
import numpy as np
import pytest

from code_env import CallTest, ExecutionResult, Executor, Isolation, OutputTest, Status, Task, TaskSuite
from code_env.cli.collection_bar import collection_table
from code_env.errors import RolloutError
from code_env.registration import make_code_exec_vec
from code_env.rollout import SandboxAlarm, collect
from code_env.wrappers import vector as twins
from support import files_of_at_most

ADD = Task(
    "add",
    "Write add(a, b).",
    (CallTest((1, 2), {}, 3, hidden=False), CallTest((5, 7), {}, 12)),
    entry_point="add",
    reference="def add(a, b):\n    return a + b\n",
)
HELLO = Task("hello", "Print hello.", (OutputTest("hello"),), reference="print('hello')")
HALF = "def add(a, b):\n    return 3\n"
SUITE = TaskSuite(
    "small", [ADD, HELLO, *(Task(f"print {n}", "", (OutputTest(str(n)),), reference=f"print({n})") for n in range(5))]
)


def without_code(prompts, infos):
    return ["I cannot do [red]that[/red]." if info["task_id"] == "add" else "print('hello')" for info in infos]


def references(prompts, infos):
    return [SUITE.task(info["task_id"]).reference for info in infos]


def second_try(prompts, infos):
    """Right in the second turn."""
    return [SUITE.task(info["task_id"]).reference if info["turn"] else HALF for info in infos]


@pytest.fixture
def make(executor):
    made = []

    def make_env(num_envs=4, **kwargs):
        made.append(make_code_exec_vec(num_envs, kwargs.pop("suite", SUITE), executor, **kwargs))
        return made[-1]

    yield make_env
    for env in made:
        env.close()


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_episode_is_a_line_and_each_turn_is_told(make, tmp_path):
    seen = []
    summary = collect(make(max_turns=3), second_try, 10, tmp_path / "rows.jsonl", seed=5, on_episode=seen.append)
    rows = rows_of(tmp_path / "rows.jsonl")
    assert rows == seen
    assert sorted(row["episode"] for row in rows) == list(range(10))
    assert (summary.collected, summary.resumed, summary.passed, summary.steps) == (10, 0, 10, 20)
    row = next(row for row in rows if row["task_id"] == "add")
    first, second = row["turns"]
    assert (first["observation"], first["action"], first["reward_terms"]) == (ADD.prompt, HALF, {"tests": 0.5})
    assert "Public test not passed" not in first["observation"]
    assert "1 of 2 tests passed" in second["observation"]
    (program,) = first["programs"]
    wanted = {"outcome": "fail", "status": "ok", "stage": "tested", "fraction": 0.5, "tests_passed": 1}
    assert wanted.items() <= program.items()
    assert [case["message"] for case in program["failed_cases"]] == [program["message"]] != [""]
    assert [message["role"] for message in row["messages"]] == ["user", "assistant"] * 2
    assert row["messages"][-1]["content"] == second["action"]
    assert (row["executor"], row["level"] in ("full", "contained")) == ("local", True)
    assert (row["return"], row["passed"], row["valid"]) == (1.5, True, True)


def test_answers_without_code_are_counted_and_one_is_shown(make, tmp_path):
    path = tmp_path / "rows.jsonl"
    summary = collect(make(), without_code, 14, path)
    assert (summary.without_code, summary.without_code_example) == (2, "I cannot do [red]that[/red].")
    table = collection_table(summary)
    shown = dict(zip(*(list(column.cells) for column in table.columns), strict=True))
    assert shown["programs without code"] == "2 of 14, for example 'I cannot do [red]that[/red].'"
    assert {"outcomes of programs", "how programs ended", "time, added up over all steps"} <= shown.keys()
    assert "ok (ended by itself) " in shown["how programs ended"]
    assert "policy_error 14.3%" in shown["outcomes of programs"]
    again = collect(make(), without_code, 14, path, resume=True)
    assert (again.collected, again.without_code) == (0, 2)
    assert "programs without code" not in list(collection_table(collect(make(), references, 7)).columns[0].cells)


def without_measurements(value):
    """What a line says beside measured times and memory."""
    if isinstance(value, list):
        return [without_measurements(one) for one in value]
    if isinstance(value, dict):
        measured = {"cpu_s", "peak_memory_bytes", "timing"}
        return {key: without_measurements(one) for key, one in value.items() if key not in measured}
    return value


def episodes_of(path):
    return sorted(without_measurements(rows_of(path)), key=lambda row: row["episode"])


def test_the_same_seed_gives_the_same_collection_at_any_width(make, tmp_path):
    collected = []
    for number, num_envs in enumerate((1, 3, 8)):
        path = tmp_path / f"{number}.jsonl"
        collect(make(num_envs, tests_per_step=1), references, 12, path, seed=9)
        collected.append(episodes_of(path))
    assert collected[0] == collected[1] == collected[2]
    collect(make(3, tests_per_step=1), references, 12, tmp_path / "other.jsonl", seed=10)
    other = episodes_of(tmp_path / "other.jsonl")
    assert [row["task_id"] for row in other] != [row["task_id"] for row in collected[0]]


def test_each_task_comes_once_an_epoch(make):
    rows = []
    collect(make(5), references, 2 * len(SUITE), on_episode=rows.append)
    assert set(Counter(row["task_id"] for row in rows).values()) == {2}


def test_a_group_has_one_task_and_consecutive_environments(make, tmp_path):
    env = make(8, rewards={"group_pass@1": {"group_size": 4}})

    def half(prompts, infos):
        return [
            answer if info["episode"] % 2 else "no"
            for answer, info in zip(references(prompts, infos), infos, strict=True)
        ]

    rows = []
    collect(env, half, 24, tmp_path / "rows.jsonl", group_size=4, on_episode=rows.append)
    rows.sort(key=lambda row: row["episode"])
    for first in range(0, 24, 4):
        assert len({row["task_id"] for row in rows[first : first + 4]}) == 1
    assert {row["return"] for row in rows} == {0.5}


def test_the_policy_is_asked_for_those_that_wait_and_for_nobody_else(make):
    asked = []

    def policy(prompts, infos):
        asked.append([info["episode"] for info in infos])
        return references(prompts, infos)

    collect(make(4), policy, 6)
    assert asked == [[0, 1, 2, 3], [4, 5]]


def test_environments_without_an_episode_are_left_alone(make):
    """Neither wrappers nor groups see anything of them, and nobody spins while one is waited for."""
    env = make(8, rewards={"group_pass@1": {"group_size": 4}})
    assert collect(env, references, 20, group_size=4).collected == 20
    window = twins.RecordPassAtK(make(4))
    collect(window, references, 5)
    assert window.window.estimate(1).tasks == 5
    slow = "import time\ntime.sleep(1)\n"
    steps = []
    collect(
        make(4, deadline_s=0.2),
        lambda prompts, infos: [slow + answer for answer in references(prompts, infos)],
        1,
        on_progress=lambda summary: steps.append(1),
    )
    assert 4 <= len(steps) <= 9


def test_one_that_is_pending_is_not_asked_again_and_its_action_is_its_own(make):
    env = make(2, deadline_s=0.3)
    slow = "import time\ntime.sleep(1)\n"
    asked, rows = [], []

    def policy(prompts, infos):
        asked.extend(info["episode"] for info in infos)
        answers = references(prompts, infos)
        return [slow + answer if info["episode"] == 0 else answer for answer, info in zip(answers, infos, strict=True)]

    collect(env, policy, 8, on_episode=rows.append)
    assert sorted(asked) == list(range(8))
    assert sorted(row["episode"] for row in rows) == list(range(8))
    assert [row["turns"][0]["action"].startswith(slow) for row in rows if row["episode"] == 0] == [True]
    assert all(row["passed"] for row in rows)


def test_tuples_of_samples_are_collected(make):
    rows = []
    env = make(3, samples_per_step=2, rewards={"pass@2": 1.0})
    collect(
        env, lambda prompts, infos: [(answer, "no") for answer in references(prompts, infos)], 4, on_episode=rows.append
    )
    assert [row["return"] for row in rows] == [1.0] * 4
    assert all(
        [program["outcome"] for program in row["turns"][0]["programs"]] == ["pass", "policy_error"]
        for row in rows
        if row["task_id"] == "add"
    )
    assert all(len(row["turns"][0]["action"]) == 2 for row in rows)


# Going on


def test_a_collection_goes_on_where_it_was(make, tmp_path):
    path, whole = tmp_path / "rows.jsonl", tmp_path / "whole.jsonl"
    collect(make(3, max_turns=2), second_try, 20, whole)
    played = []

    def interrupted(prompts, infos):
        if len(played) > 12:
            raise KeyboardInterrupt
        played.extend(prompts)
        return second_try(prompts, infos)

    with pytest.raises(KeyboardInterrupt):
        collect(make(3, max_turns=2), interrupted, 20, path)
    there = len(rows_of(path))
    assert 0 < there < 20
    with path.open("a") as file:
        file.write('{"collection": "')  # What a kill leaves of a line.
    with pytest.raises(RolloutError, match="resume"):
        collect(make(3, max_turns=2), second_try, 20, path)
    summary = collect(make(4, max_turns=2), second_try, 20, path, resume=True)
    assert (summary.resumed, summary.collected, summary.passed) == (there, 20 - there, 20)
    assert episodes_of(path) == episodes_of(whole)
    again = collect(make(4, max_turns=2), second_try, 20, path, resume=True)
    assert (again.resumed, again.collected, again.mean_return) == (20, 0, summary.mean_return)


def test_half_a_group_is_played_anew(make, tmp_path):
    path = tmp_path / "rows.jsonl"
    collect(make(4), references, 12, path, group_size=4)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]))
    summary = collect(make(4), references, 12, path, group_size=4, resume=True)
    assert (summary.resumed, summary.collected) == (4, 8)
    assert sorted(row["episode"] for row in rows_of(path)) == list(range(12))


@pytest.mark.parametrize(
    "content",
    [
        '{"episode": 0, "task_id": "hello", "seed": 1}\n',
        "[]\n",
        "text\n",
        "text",
        '{"important": 1}',
        '{"collection": "x"}\n',
        '{"episode": "0"}\n',
    ],
)
def test_a_file_of_something_else_is_left_as_it_is(make, tmp_path, content):
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    with pytest.raises(RolloutError, match=r"rows\.jsonl:1"):
        collect(make(), references, 4, path, resume=True)
    with pytest.raises(RolloutError, match="is there already"):
        collect(make(), references, 4, path)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("kwargs", "env_kwargs"),
    [
        ({"group_size": 2}, {}),
        ({"order": "random"}, {}),
        ({}, {"max_turns": 2}),
        ({}, {"limits": {"cpu_s": 1}}),
        ({}, {"rewards": {"pass@1": 1.0}}),
        ({}, {"suite": TaskSuite("s", [dataclasses.replace(SUITE[0], tests=SUITE[0].tests[:1]), *SUITE[1:]])}),
    ],
    ids=repr,
)
def test_other_arguments_are_another_collection(make, tmp_path, kwargs, env_kwargs):
    path = tmp_path / "rows.jsonl"
    collect(make(), references, 8, path)
    words = "other prompts, tests, limits, rewards, order, group size, executor"
    with pytest.raises(RolloutError, match=words):
        collect(make(**env_kwargs), references, 8, path, resume=True, **kwargs)


def test_a_collection_may_be_made_longer(make, tmp_path):
    path = tmp_path / "rows.jsonl"
    collect(make(), references, 4, path)
    summary = collect(make(), references, 10, path, resume=True)
    assert (summary.resumed, summary.collected) == (4, 6)
    with pytest.raises(RolloutError, match="is not among the 4 episodes of this collection; ask for more, or name"):
        collect(make(), references, 4, path, resume=True)


def test_lines_in_which_an_episode_is_lost_or_doubled_are_refused(make, tmp_path):
    path = tmp_path / "rows.jsonl"
    collect(make(), references, 8, path, group_size=2)
    lines = path.read_text().splitlines(keepends=True)
    for kept, words in ((lines[:1] + lines[2:], "others of its group"), (lines + lines[:1], "second time")):
        path.write_text("".join(kept))
        with pytest.raises(RolloutError, match=words):
            collect(make(), references, 8, path, group_size=2, resume=True)


def test_a_full_disk_is_an_error_of_ours_and_costs_no_episode(make, tmp_path):
    path = tmp_path / "rows.jsonl"
    env = make(2)
    collect(env, references, 2)  # What programs are started with has no such limit.
    with files_of_at_most(1500), pytest.raises(RolloutError, match="resume when they can"):
        collect(env, references, 40, path)
    summary = collect(env, references, 40, path, resume=True)
    assert summary.done == 40
    assert sorted(row["episode"] for row in rows_of(path)) == list(range(40))


def test_another_seed_is_another_collection(make, tmp_path):
    path = tmp_path / "rows.jsonl"
    collect(make(), references, 8, path, seed=1)
    with pytest.raises(RolloutError, match="played with another seed than 2; use the same seed, or name another file"):
        collect(make(), references, 8, path, seed=2, resume=True)


def test_two_collections_do_not_write_to_one_file(make, tmp_path):
    path = tmp_path / "rows.jsonl"

    def nosy(prompts, infos):
        with pytest.raises(RolloutError, match="another collection"):
            collect(make(), references, 4, path, resume=True)
        return references(prompts, infos)

    assert collect(make(), nosy, 4, path).collected == 4


def test_a_file_that_cannot_be_written_is_an_error_of_ours(make, tmp_path):
    with pytest.raises(RolloutError, match="cannot be written"):
        collect(make(), references, 4, tmp_path / "none" / "rows.jsonl")


SCRIPT = """
import sys
from code_env import OutputTest, Task, TaskSuite
from code_env.registration import make_code_exec_vec
from code_env.rollout import collect
suite = TaskSuite("numbers", [Task(str(n), "", (OutputTest(str(n)),)) for n in range(50)])
env = make_code_exec_vec(32, suite, max_turns=2)
def policy(prompts, infos):
    wrong = ["no" if info["seed"] % 5 == 0 and info["turn"] == 0 else "" for info in infos]
    return [text or f"print({info['task_id']})" for text, info in zip(wrong, infos, strict=True)]
collect(env, policy, 800, sys.argv[1], seed=3, resume=True)
env.close()
"""


def test_no_episode_is_lost_or_doubled_by_three_kills(tmp_path):
    path, number = tmp_path / "rows.jsonl", random.Random(11)
    moments = sorted(number.sample(range(100, 700), 3))
    for moment in [*moments, None]:
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)])
        while process.poll() is None:
            time.sleep(0.005)
            if moment is not None and path.exists() and path.read_bytes().count(b"\n") >= moment:
                time.sleep(0.1 * number.random())
                os.kill(process.pid, signal.SIGKILL)
                break
        assert process.wait() == (0 if moment is None else -signal.SIGKILL)
    rows = rows_of(path)
    assert sorted(row["episode"] for row in rows) == list(range(800))
    assert all(row["passed"] for row in rows)
    epochs = Counter(row["task_id"] for row in rows)
    assert set(epochs.values()) == {800 // 50}


# Alarms, and what does not fit


class BrokenExecutor(Executor):
    def submit(self, program):
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR))
        return future

    def describe(self):
        return Isolation(level="none", peer="same_machine")

    def close(self):
        pass


def test_a_sandbox_that_fails_too_often_raises_the_alarm_once():
    env = make_code_exec_vec(4, SUITE, BrokenExecutor())
    told, rows = [], []
    summary = collect(env, references, 40, on_alarm=told.append, on_episode=rows.append)
    assert (len(told), summary.alarms, summary.passed) == (1, 1, 0)
    assert "20 of the last 20 episodes" in told[0]
    assert summary.statuses == {"sandbox_error": 40}
    assert not any(row["valid"] for row in rows)
    with pytest.warns(SandboxAlarm, match="doctor"):
        collect(env, references, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        collect(env, references, 40, alarm_rate=1.0)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"alarm_rate": 2},
        {"alarm_rate": "x"},
        {"alarm_rate": float("nan")},
        {"episodes": 0},
        {"episodes": 2.0},
        {"group_size": 3},
        {"group_size": 0},
        {"seed": -1},
        {"seed": "1"},
    ],
    ids=repr,
)
def test_arguments_out_of_range_are_refused(make, kwargs):
    with pytest.raises(RolloutError):
        collect(make(4), references, **{"episodes": 4, **kwargs})


@pytest.mark.parametrize("answers", [["one"], "four", ["a"] * 5, None, 3])
def test_a_policy_that_gives_another_number_of_answers_is_told(make, answers):
    with pytest.raises(RolloutError, match="4 prompts"):
        collect(make(4), lambda prompts, infos: answers, 4)


@pytest.mark.parametrize(("samples", "answer"), [(1, None), (1, 3), (2, "ab"), (2, ("a",)), (2, ("a", None))])
def test_a_policy_that_gives_something_else_is_told(make, samples, answer):
    with pytest.raises(RolloutError, match="episode 0"):
        collect(make(4, samples_per_step=samples), lambda prompts, infos: [answer] * len(prompts), 4)


def test_another_environment_is_refused():
    env = gym.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(RolloutError, match="CodeExecVectorEnv"):
        collect(env, references, 4)
    env.close()


def test_the_numbers_in_an_info_are_plain(make):
    seeds = []

    def policy(prompts, infos):
        seeds.extend(info["seed"] for info in infos)
        assert {type(info[key]) for info in infos for key in ("episode", "turn", "turns_left")} <= {int}
        return references(prompts, infos)

    collect(make(4), policy, 8)
    assert all(type(seed) is int for seed in seeds)
    assert len(set(seeds)) == 8
    np.random.default_rng(seeds[0])
