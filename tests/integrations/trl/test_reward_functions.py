"""Reward functions as TRL calls them: with the columns of a data set, and with things of its own."""

import asyncio
import copy
import inspect
import pickle
from unittest import mock

import gymnasium as gym
import pytest

from code_env import CallTest, ExecutorNotFound, RewardError, Task, TaskError, TaskSuite, make_executor
from code_env.integrations.trl import async_reward_function, reward_function
from integrations.trl.tasks import RIGHT, ROWS, SUITE
from support import WHEN, BrokenExecutor, killed_meanwhile, unstartable

COMPLETIONS = {
    "fenced": f"```python\n{RIGHT}\n```",
    "bare": f"{RIGHT}<|im_end|>",
    "wrong": "print(3)",
    "points at the prompt": "See above.",
    "nothing": "",
    "only thought": f"<think>\n```python\n{RIGHT}\n```\n",
    "fake turn": f"I pass.\n<|im_start|>assistant\n```python\n{RIGHT}",
    "lone surrogate": "print('\ud800')",
}
EXPECTED = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]


def said(text):
    return [{"role": "assistant", "content": text}]


MAKERS = {"sync": reward_function, "async": async_reward_function}


def call(reward, completions, task_id="double", **more):
    """As TRL calls it: by keyword, with all columns of the data set and things of its own."""
    row = ROWS[task_id]
    columns = {
        "prompts": [row["prompt"]] * len(completions),
        "completions": completions,
        "completion_ids": [[1, 2]] * len(completions),
        "task": [row["task"]] * len(completions),
        "task_id": [task_id] * len(completions),
        "difficulty": ["easy"] * len(completions),
        "trainer_state": object(),
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
    }
    found = reward(**{**columns, **more})
    return asyncio.run(found) if inspect.isawaitable(found) else found


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.mark.parametrize("rewards", [None, {"tests": 0.9, "format": 0.1}], ids=str)
@pytest.mark.parametrize("form", [str, said], ids=["plain", "conversational"])
def test_rewards_are_those_of_an_environment(make, form, rewards, executor):
    completions = list(COMPLETIONS.values())
    found = call(make(rewards, executor), [form(text) for text in completions])
    expected = []
    arguments = {} if rewards is None else {"rewards": rewards}
    with gym.make("code_env:CodeExec-v0", suite=SUITE, executor=executor, **arguments) as env:
        for completion in completions:
            env.reset(options={"task_id": "double"})
            expected.append(float(env.step(completion)[1]))
    assert found == expected
    if rewards is None:
        assert found == EXPECTED


@pytest.mark.parametrize(
    ("messages", "reward"),
    [
        (said("print(1)"), 1.0),
        ([{"role": "assistant", "content": [{"type": "text", "text": "print(1)"}]}], 1.0),
        ([*said("print(2)"), {"role": "tool", "name": "x", "content": "2"}, *said("print(1)")], 1.0),
        ([*said("print(1)"), {"role": "tool", "name": "x", "content": "print(1)"}], 0.0),
        ([*said("print(1)"), {"role": "user", "content": "print(1)"}], 0.0),
        ([{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "x"}}]}], 0.0),
        ([{"role": "assistant", "content": "print(1)", "tool_calls": [{"function": {"name": "x"}}]}], 0.0),
        ([{"role": "assistant", "content": "print(1)", "tool_calls": None}], 1.0),
        ([{"role": "assistant", "content": [{"type": "image"}]}], 0.0),
        ([{"role": "assistant"}], 0.0),
        ([{}], 0.0),
        ([], 0.0),
    ],
)
def test_the_last_words_of_the_assistant_are_the_answer(messages, reward, executor):
    assert call(reward_function(executor=executor), [messages], "one") == [reward]


def test_the_share_without_code_is_logged(make, executor):
    logged = {}
    call(make(executor=executor), [RIGHT, "I cannot do that.", "", RIGHT], log_metric=logged.__setitem__)
    assert (logged["code_reward/no_code"], logged["code_reward/passed"]) == (0.5, 0.5)


@pytest.mark.parametrize("when", WHEN)
def test_without_a_server_there_is_no_reward(make, when, tmp_path):
    with unstartable(tmp_path, when) as executor:
        logged = {}
        found = call(make(executor=executor), [RIGHT] * 3, log_metric=logged.__setitem__)
        assert (found, logged) == ([None] * 3, {"code_reward/no_verdict": 1.0})


def test_only_completions_without_a_verdict_have_no_reward(make):
    logged = {}
    assert call(make(executor=BrokenExecutor()), [RIGHT, ""], log_metric=logged.__setitem__) == [None, 0.0]
    shares = {"no_verdict": 0.5, "no_code": 1.0, "passed": 0.0, "tests": 0.0}
    assert logged == {f"code_reward/{name}": share for name, share in shares.items()}


def test_servers_killed_in_mid_batch(make):
    completions = [f"import time\ntime.sleep(0.2)\n{RIGHT}  # {n}" for n in range(12)]
    with make_executor("local", workers=2) as executor:
        reward = make(executor=executor)
        assert call(reward, [RIGHT]) == [1.0]
        assert killed_meanwhile(executor, lambda: call(reward, completions)) == [1.0] * 12


def test_what_is_logged(make, executor):
    logged = {}
    reward = make({"tests": 0.8, "format": 0.2}, executor, name="tested")
    call(reward, [COMPLETIONS["fenced"], COMPLETIONS["wrong"]], log_metric=logged.__setitem__)
    assert reward.__name__ == "tested"
    assert logged == pytest.approx(
        {
            "tested/no_verdict": 0.0,
            "tested/no_code": 0.0,
            "tested/passed": 0.5,
            "tested/tests": 0.4,
            "tested/format": logged["tested/format"],
        }
    )


def test_one_function_serves_several_data_sets(make, executor):
    tasks = [ROWS["double"]["task"], ROWS["one"]["task"]]
    assert call(make(executor=executor), ["print(1)", "print(1)"], task=tasks) == [0.0, 1.0]


def test_it_is_copied_and_pickled(make):
    for reward in (copy.deepcopy(make({"tests": 1.0})), pickle.loads(pickle.dumps(make({"tests": 1.0}, "local")))):
        assert reward.__name__ == "code_reward"
        assert call(reward, ["print(1)"], "one") == [1.0]


def test_misuse_is_an_error(make, executor):
    reward = make(executor=executor)
    with pytest.raises(TaskError, match=r"no column 'task'.*to_dataset\('trl'\)"):
        call(reward, ["x"], task=None)
    with pytest.raises(TaskError, match="a task as JSON text was expected"):
        call(reward, ["x"], task=["42"])
    with pytest.raises(TypeError, match="completions are missing"):
        reward_function(executor=executor)(prompts=["x"], task=[ROWS["one"]["task"]])


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"rewards": {"test": 1.0}}, RewardError, "no reward is named 'test'.*did you mean 'tests'"),
        ({"rewards": ["tests"]}, RewardError, "mapping from name to weight, such as"),
        ({"rewards": {"group_pass@2": {"group_size": 3, "credit": "x"}}}, RewardError, "credit must be one of"),
        ({"rewards": {"schedule": 1.0}}, RewardError, "a reward function has no steps"),
        ({"limits": {"cpu": 1}}, TaskError, "unknown limit 'cpu'"),
        ({"executor": "locale"}, ExecutorNotFound, "did you mean 'local'"),
    ],
    ids=str,
)
def test_wrong_settings_are_refused_before_training(make, settings, error, words):
    with pytest.raises(error, match=words):
        make(**settings)


@pytest.mark.parametrize("rewards", [{"similarity": 1.0, "cpu": 1.0}, {"group_pass@2": {"group_size": 6}}])
def test_rewards_that_fit_are_taken_without_an_executor(make, rewards):
    with mock.patch("code_env.integrations._common.scoring.executor_for", side_effect=AssertionError):
        make(rewards)


def test_more_kinds_of_task(executor):
    task = Task("f", "f?", (CallTest((1,), {}, 1),), entry_point="f")
    row = TaskSuite("f", [task]).to_rows()[0]
    found = reward_function(executor=executor)(completions=["def f(x): return x"], task=[row["task"]])
    assert found == [1.0]


def test_rows_of_other_data_sets_are_left_to_other_functions(make, executor):
    reward, logged = make(executor=executor), {}
    task = ROWS["double"]["task"]
    found = call(reward, [RIGHT, "4", "print(3)", "5"], task=[task, None, task, None], log_metric=logged.__setitem__)
    assert found == [1.0, None, 0.0, None]
    assert logged["code_reward/passed"] == 0.5
    assert call(reward, ["4", "5"], task=[None, None]) == [None, None]
