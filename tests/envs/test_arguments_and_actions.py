"""What an environment is made, reset and stepped with: what is wrong is refused, and what is odd is judged."""

import traceback
import warnings

import gymnasium as gym
import numpy as np
import pytest

import code_env
from code_env import (
    CodeEnvError,
    CodeExecEnv,
    CodeExecVectorEnv,
    ExecutorError,
    SuiteNotFound,
    TaskError,
    make_executor,
)
from envs.small_suite import GOOD, SUITE


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"suite": "startre"}, SuiteNotFound, "known suites are data_analysis, files, "),
        ({"suite": "/"}, SuiteNotFound, "a directory"),
        ({"executor": "lokal"}, code_env.ExecutorNotFound, "known are"),
        ({"executor_kwargs": {"workers": 0}}, code_env.ExecutorError, "at least 1"),
        ({"max_turns": 0}, TaskError, "max_turns"),
        ({"max_turns": 1.0}, TaskError, "max_turns"),
        ({"samples_per_step": True}, TaskError, "samples_per_step"),
        ({"samples_per_step": 2, "max_turns": 2}, TaskError, "samples_per_step"),
        ({"order": "sorted"}, TaskError, "shuffle"),
        ({"extract": "json"}, TaskError, "fence"),
        pytest.param(
            {"render_mode": "rgb_array"},
            TaskError,
            "None or 'human' or 'ansi'",
            marks=pytest.mark.filterwarnings("ignore:.*not in the possible render_modes"),
        ),
        ({"format": "csv"}, TaskError, "humaneval"),
        ({"rewards": {"test": 1.0}}, code_env.RewardError, "known are"),
        ({"rewards": {"tests": "1"}}, code_env.RewardError, "number"),
        ({"rewards": {"tests": float("nan")}}, code_env.RewardError, "number"),
        ({"rewards": {"tests": {"wieght": 1.0}}}, code_env.RewardError, "no argument 'wieght'.*mean 'weight'"),
        ({"rewards": ["tests"]}, code_env.RewardError, "a mapping .*such as {'tests': 1.0}; got list"),
        ({"rewards": {"pass@k": 1.0}}, code_env.RewardError, "must say what k is: 'pass@4', or 'pass@k': {'k': 4}"),
        ({"executor_kwargs": ["workers"]}, ExecutorError, "a mapping from argument to value.* got list"),
        ({"executor_kwargs": {"worker": 1}}, TypeError, "executor 'local' has no argument 'worker'.*mean 'workers'"),
        ({"executer": "subprocess"}, TypeError, "executer"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
@pytest.mark.filterwarnings("ignore:.*render_mode='human'.*")
def test_a_wrong_argument_gets_a_clear_error(kwargs, error, words):
    with pytest.raises(error, match=words):
        gym.make("CodeExec-v0", **kwargs)


@pytest.mark.parametrize("action", [None, 3, b"print()", ["print()"], np.zeros(3), {"code": "x"}])
def test_an_action_that_is_no_text_is_our_users_mistake_and_costs_no_turn(env, action):
    with pytest.raises(TypeError, match="text"):
        env.step(action)
    assert env.step(GOOD)[4]["passed"]


@pytest.mark.parametrize("action", ["x", ("a",), ("a", "b", 3), [None, None, None]])
def test_a_group_action_of_the_wrong_shape_is_refused(executor, action):
    with CodeExecEnv(SUITE, executor, samples_per_step=3) as env:
        env.reset(options={"task_id": "add"})
        with pytest.raises(TypeError, match="tuple of 3 texts"):
            env.step(action)


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("", "policy_error"),
        ("   \n\t", "policy_error"),
        ("def add(a, b): return a + b\0", "policy_error"),
        ("def add(a, b): return a + b #\ud800", "policy_error"),
        ("#" + "x" * 10_000_000, "policy_error"),
        ("<think>" + "x" * 10_000_000 + "</think>\n" + GOOD, "pass"),
        (np.str_(GOOD), "pass"),
        ("\ufeff" + GOOD, "pass"),
        (GOOD.replace("\n", "\r\n"), "pass"),
        ("```python\n" + GOOD, "pass"),
    ],
    ids=["empty", "blank", "NUL", "surrogate", "10 MB", "10 MB of thought", "np.str_", "BOM", "CRLF", "open fence"],
)
def test_an_odd_action_gets_an_ordinary_verdict(env, action, outcome):
    _, _, _, truncated, info = env.step(action)
    assert (info["outcome"], truncated) == (outcome, False)


@pytest.mark.parametrize(
    ("options", "words"), [({"task": "add"}, "did you mean 'task_id'"), ({"task_id": "ad"}, "did you mean 'add'")]
)
def test_an_unknown_option_or_task_is_refused_and_the_episode_goes_on(env, options, words):
    with pytest.raises(CodeEnvError, match=words):
        env.reset(options=options)
    assert env.step(GOOD)[4]["passed"]


class TestKeys:
    """E2B's key is in nothing that an environment is logged by."""

    KEY = "e2b_SECRET"

    @pytest.mark.parametrize("more", [{}, {"render_mode": "none"}, {"no_such_argument": 1}, {"suite": "no such"}])
    @pytest.mark.parametrize("make", [gym.make, gym.make_vec])
    @pytest.mark.filterwarnings("ignore:.*is not in the possible render_modes")
    def test_one_among_the_arguments_of_an_executor_is_refused(self, make, more):
        with pytest.raises(ExecutorError, match="environment variable E2B_API_KEY") as refused:
            make("CodeExec-v0", executor="e2b", executor_kwargs={"api_key": self.KEY}, **more)
        assert self.KEY not in "".join(traceback.format_exception(refused.value))

    @pytest.mark.parametrize("make", [CodeExecEnv, CodeExecVectorEnv])
    def test_so_it_is_by_the_classes(self, make):
        with pytest.raises(ExecutorError, match="environment variable E2B_API_KEY"):
            make(executor="e2b", executor_kwargs={"api_key": self.KEY})

    def test_an_executor_made_with_one_is_taken_and_does_not_show_it(self, cloud):
        with make_executor("e2b", api_key=cloud.api_key) as executor:
            env = gym.make("CodeExec-v0", suite="starter", executor=executor, rewards={})
            with env, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # With such an executor there is no spec of the wrapped env.
                texts = [repr(env), repr(env.spec), repr(env.unwrapped.spec), repr(executor)]
            assert not [text for text in texts if cloud.api_key in text]
