"""What many environments as one take: options and seeds of a reset, arguments, and actions."""

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from code_env import CodeExecVectorEnv, ExecutorClosed, TaskError, TaskNotFound, make_executor
from code_env.envs.episodes import Episodes
from code_env.registration import make_code_exec_vec
from envs.mixed_suite import SUITE


@pytest.fixture
def vec(executor):
    """Four environments over tasks of many kinds."""
    env = make_code_exec_vec(4, SUITE, executor, max_turns=2)
    yield env
    env.close()


# Resets


def test_options_choose_tasks_and_a_mask_leaves_others_alone(vec):
    prompts, info = vec.reset(seed=1, options={"task_ids": ["add", "hello", None, "twice"]})
    assert (info["task_id"][0], info["task_id"][1], info["task_id"][3]) == ("add", "hello", "twice")
    third = prompts[2]
    options = {"reset_mask": np.array([True, False, False, True]), "task_ids": ["twice", None, None, "add"]}
    prompts, info = vec.reset(options=options)
    assert info["_task_id"].tolist() == [True, False, False, True]
    assert (info["task_id"][0], prompts[1], prompts[2]) == ("twice", "Print hello.", third)
    assert "reset_mask" in options  # It is the caller's.
    _, info = vec.reset(options={"task_id": "hello"})
    assert set(info["task_id"]) == {"hello"}


def test_a_seed_for_some_leaves_the_others_generators_alone(vec):
    vec.reset(seed=[1, 2, 3, 4])
    before = vec.unwrapped.np_random
    vec.reset(seed=[9, None, None, None])
    assert vec.unwrapped.np_random_seed == (9, 2, 3, 4)
    assert [now is was for now, was in zip(vec.unwrapped.np_random, before, strict=True)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"tasks": ["add"]}, TaskError),
        ({"task_ids": ["add"]}, TaskError),
        ({"task_ids": "adda"}, TaskError),
        ({"task_ids": ["add"] * 4, "task_id": "add"}, TaskError),
        ({"task_ids": ["ad", "add", "add", "add"]}, TaskNotFound),
        ({"reset_mask": [True] * 4}, TaskError),
        ({"reset_mask": np.zeros(4, dtype=bool)}, TaskError),
        ({"reset_mask": np.ones(3, dtype=bool)}, TaskError),
    ],
)
def test_options_that_do_not_fit_are_refused(vec, options, error):
    with pytest.raises(error):
        vec.reset(options=options)


@pytest.mark.parametrize(
    ("seed", "error"),
    [
        ([1, 2], ValueError),
        ("1234", TypeError),
        (np.int64(3), TypeError),
        ([1, 2, 3, np.int64(4)], TypeError),
        (-1, ValueError),
    ],
)
def test_seeds_that_do_not_fit_are_refused(vec, seed, error):
    with pytest.raises(error):
        vec.reset(seed=seed)


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"num_envs": 0}, TaskError),
        ({"num_envs": 1025}, TaskError),
        ({"num_envs": True}, TaskError),
        ({"deadline_s": 0}, TaskError),
        ({"deadline_s": "1"}, TaskError),
        ({"tests_per_step": 0}, TaskError),
        ({"cache_size": -1}, TaskError),
        ({"cache_size": 5, "tests_per_step": 1}, TaskError),
        ({"until_failure": 1}, TaskError),
        ({"render_mode": "human"}, TaskError),
        ({"autoreset_mode": AutoresetMode.NEXT_STEP}, TaskError),
        ({"autoreset_mode": "disabled"}, TaskError),
    ],
)
def test_arguments_out_of_range_are_refused(kwargs, error):
    with pytest.raises(error):
        CodeExecVectorEnv(**{"num_envs": 2, **kwargs})


# Actions


@pytest.mark.parametrize(
    "actions", ["four", ("a", "b"), ("a", "b", "c", 4), (None,) * 3, None, [["a"]] * 4, ("a",) * 5]
)
def test_actions_that_do_not_fit_are_refused_and_nothing_is_lost(vec, actions):
    before = vec.reset(seed=1)
    with pytest.raises(TypeError, match="4"):
        vec.step(actions)
    assert vec.reset(seed=1)[0] == before[0]
    vec.step(("a",) * 4)


def test_lists_and_arrays_of_text_are_actions(vec):
    vec.reset(seed=1, options={"task_id": "hello"})
    for actions in (["print('hello')"] * 4, np.array(["print('hello')"] * 4), np.array(["x"] * 4, dtype=object)):
        vec.step(actions)


def test_none_leaves_an_environment_as_it_is(vec):
    shown, _ = vec.reset(seed=1, options={"task_id": "hello"})
    observations, rewards, terminated, _, info = vec.step(("print('hello')", None, "1", None))
    assert (rewards.tolist(), terminated.tolist()) == ([1.0, 0.0, 0.0, 0.0], [True, False, False, False])
    assert info["pending"].tolist() == [False, True, False, True]
    assert info["turn"].tolist() == [0, 0, 1, 0]
    assert (observations[1], observations[3]) == (shown[1], shown[3])
    assert vec.step((None,) * 4)[4]["pending"].all()


def test_a_step_that_was_interrupted_can_still_be_ended(vec, monkeypatch):
    vec.reset(seed=1, options={"task_id": "hello"})
    vec.step_async(("print('hello')",) * 4)
    wait = Episodes.wait
    calls = []

    def interrupted(self, until=None):
        calls.append(self)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return wait(self, until)

    with monkeypatch.context() as patch:
        patch.setattr(Episodes, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            vec.step_wait()
    assert vec.step_wait()[1].tolist() == [1.0] * 4


def test_a_reset_between_the_halves_of_a_step_leaves_the_others_to_be_ended(vec):
    vec.reset(seed=1, options={"task_id": "hello"})
    vec.step_async(("print('hello')",) * 4)
    vec.reset(options={"reset_mask": np.array([True, False, False, False])})
    _, rewards, _, _, info = vec.step_wait()
    assert (rewards.tolist(), info["pending"].tolist()) == ([0.0, 1.0, 1.0, 1.0], [True, False, False, False])


def test_an_executor_that_is_closed_is_said_each_time():
    with make_executor("local", workers=1) as executor:
        env = make_code_exec_vec(1, SUITE, executor)
        env.reset(seed=0)
    for _ in range(3):
        with pytest.raises(ExecutorClosed):
            env.step(("a",))
    env.reset()


def test_a_closed_environment_is_not_reset():
    env = make_code_exec_vec(2, SUITE, "subprocess")
    env.reset(seed=0)
    env.close()
    for call in (lambda: env.step(("a", "b")), env.reset):
        with pytest.raises(ExecutorClosed, match="this environment was closed"):
            call()


def test_a_step_needs_a_reset_and_a_wait_needs_a_step(vec):
    with pytest.raises(ResetNeeded):
        vec.step(("a",) * 4)
    vec.reset(seed=1)
    with pytest.raises(RuntimeError, match="step_async"):
        vec.step_wait()
    vec.step_async(("a",) * 4)
    with pytest.raises(RuntimeError, match="step_wait"):
        vec.step_async(("a",) * 4)
    _, _, _, _, info = vec.step_wait()
    assert info["turn"].tolist() == [1] * 4
