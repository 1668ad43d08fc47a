"""Executors cross to other processes by their arguments, and so do environments and reward functions."""

import multiprocessing
import pickle

import gymnasium as gym
import pytest

from code_env import ExecutorError, Program, load_suite, make_executor
from code_env.executors.remote import RemoteExecutor
from code_env.integrations.trl import reward_function
from support import RESTRICTED

KEY = "e2b_0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("local", {"workers": 1}), ("subprocess", {"workers": 1}), ("restricted", {**RESTRICTED, "workers": 1})],
)
def test_the_copy_is_new_and_made_alike(name, arguments):
    with make_executor(name, **arguments) as executor:
        executor.run(Program("print(1)"))
        copy = pickle.loads(pickle.dumps(executor))
    with copy:  # The first one is closed, and this one is not.
        assert type(copy) is type(executor)
        assert copy.describe() == make_executor(name, **arguments).describe()
        assert copy.run(Program("print(2)")).stdout == "2\n"


def test_keys_stay_here(cloud, monkeypatch):
    for variable, value in cloud.environment.items():
        monkeypatch.setenv(variable, value)
    with make_executor("e2b", api_key=KEY, max_concurrency=3) as executor:
        told = pickle.dumps(executor)
    assert KEY.encode() not in told
    with pickle.loads(told) as copy:
        assert copy.run(Program("print(2)")).stdout == "2\n"
    with RemoteExecutor("http://127.0.0.1:1", token="secret", mixed_levels=True) as executor:
        told = pickle.dumps(executor)
    assert b"secret" not in told
    assert b"mixed_levels" in told
    with pytest.raises(ExecutorError, match="the address of a server holds no token"):
        RemoteExecutor("http://any:secret@127.0.0.1:1")


def play(env):
    _, info = env.reset(seed=3)
    answer = env.get_wrapper_attr("suite").task(info["task_id"]).reference
    return info["task_id"], *env.step(answer)[1:4]


def test_an_environment_plays_the_same_in_another_process():
    env = gym.make("CodeExec-v0", suite="starter", rewards={"tests": 1.0, "execution": 0.5})
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(play, (env,)) == play(env)
    env.close()


def test_a_reward_function_gives_the_same_in_another_process():
    suite = load_suite("starter")
    asked = {"completions": [suite[0].reference, "print(42)"], "task": [suite.to_rows("trl")[0]["task"]] * 2}
    function = reward_function({"tests": 1.0})
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(function, kwds=asked) == function(**asked) == [1.0, 0.0]
