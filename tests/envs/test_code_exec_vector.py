"""Many environments as one: the same as many single ones, below Gymnasium's own wrappers and in long runs too."""

import gc
import os

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TransformObservation
from gymnasium.wrappers import vector as gym_vector
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_env import CodeExecVectorEnv, EncodingError, Program, make_executor
from code_env.registration import make_code_exec, make_code_exec_vec
from code_env.wrappers import TermReward
from code_env.wrappers import vector as twins
from envs.mixed_suite import SUITE
from envs.vector_comparison import same, same_step

ANSWERS = [
    "",
    "   ",
    "no code at all",
    "def add(a, b):\n    return a + b\n",
    "Voilà :\n```python\ndef add(a, b):\n    return 3\n```\n",
    "print('hello')",
    "print('λ→∞', input())",
    "print('λ→∞ 你')",
    "def twice(x):\n    return x * 2",
    "def twice(x):\n    return 4",
    "1 / 0",
    "def f(: pass",
    "\ud800",
    "import sys; sys.exit(3)",
]
EVERY_REWARD = {
    "tests": 1.0,
    "execution": {"weight": 0.1},
    "similarity": {"weight": 0.5, "measure": "lines"},
    "pass@1": 0.25,
    "format": 0.1,
    "length": {"most": 2.0},
    "potential": {"gamma": 0.9},
    "schedule": {"term": "tests", "start": 1.0, "end": 0.2, "steps": 5},
    "gate": {"term": "execution", "at_least": 0.5},
    "clip": {"low": -0.5, "high": 1.25},
}


# The same as single environments


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_native_sync_and_single_are_the_same(data, executor):
    count = data.draw(st.integers(1, 4), "num_envs")
    samples = data.draw(st.sampled_from([1, 1, 3]), "samples")
    kwargs = {
        "suite": SUITE,
        "executor": executor,
        "order": data.draw(st.sampled_from(["shuffle", "sequential", "random"]), "order"),
        "max_turns": 1 if samples > 1 else data.draw(st.integers(1, 3), "turns"),
        "samples_per_step": samples,
        "rewards": EVERY_REWARD if data.draw(st.booleans(), "rewards") else {},
        **data.draw(st.sampled_from([{}, {"tests_per_step": 1}, {"tests_per_step": 2}, {"cache_size": 9}]), "more"),
        "extract": data.draw(st.sampled_from(["fence", "raw"]), "extract"),
    }
    seed = data.draw(st.integers(0, 1000), "seed")
    native = make_code_exec_vec(count, **kwargs)
    sync = SyncVectorEnv([lambda: make_code_exec(**kwargs)] * count, autoreset_mode=AutoresetMode.SAME_STEP)
    singles = [make_code_exec(**kwargs) for _ in range(count)]
    assert native.single_action_space == sync.single_action_space
    assert native.action_space == sync.action_space
    assert native.observation_space == sync.observation_space
    same_step(native.reset(seed=seed), sync.reset(seed=seed))
    for number, single in enumerate(singles):
        single.reset(seed=seed + number)
    for _ in range(data.draw(st.integers(1, 5), "steps")):
        texts = st.lists(st.sampled_from(ANSWERS), min_size=count, max_size=count).map(tuple)
        actions = data.draw(texts if samples == 1 else st.tuples(*[texts] * samples), "actions")
        stepped = native.step(actions)
        same_step(stepped, sync.step(actions))
        _check_singles(singles, stepped, actions, samples)
    native.close()


def _check_singles(singles, stepped, actions, samples):
    observations, rewards, terminated, truncated, info = stepped
    for i, single in enumerate(singles):
        action = actions[i] if samples == 1 else tuple(row[i] for row in actions)
        observation, reward, ended, cut, alone = single.step(action)
        assert (rewards[i], terminated[i], truncated[i]) == (reward, ended, cut)
        where = info["final_info"] if ended or cut else info
        assert {key: where[key][i] for key in alone if not key.startswith("reward_")} == {
            key: value for key, value in alone.items() if not key.startswith("reward_")
        }
        for key in ("reward_terms", "reward_raw"):
            assert {name: where[key][name][i] for name in alone[key]} == alone[key]
        assert sum(alone["reward_terms"].values()) == pytest.approx(reward)
        if ended or cut:
            assert info["final_obs"][i] == observation
            observation, _ = single.reset()
        assert observations[i] == observation


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_native_and_sync_are_the_same_where_ended_episodes_stay_so(data, executor):
    count = data.draw(st.integers(1, 4), "num_envs")
    kwargs = {
        "suite": SUITE,
        "executor": executor,
        "max_turns": data.draw(st.integers(1, 3), "turns"),
        "rewards": EVERY_REWARD if data.draw(st.booleans(), "rewards") else {},
    }
    native = make_code_exec_vec(count, autoreset_mode="Disabled", **kwargs)
    sync = SyncVectorEnv([lambda: make_code_exec(**kwargs)] * count, autoreset_mode=AutoresetMode.DISABLED)
    assert native.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    same_step(native.reset(seed=3), sync.reset(seed=3))
    for _ in range(data.draw(st.integers(1, 5), "steps")):
        actions = data.draw(st.lists(st.sampled_from(ANSWERS), min_size=count, max_size=count).map(tuple), "actions")
        stepped = native.step(actions)
        same_step(stepped, sync.step(actions))
        assert "final_info" not in stepped[4]
        ended = stepped[2] | stepped[3]
        if ended.any():
            same_step(*(env.reset(options={"reset_mask": ended.copy()}) for env in (native, sync)))
    native.close()


def test_an_episode_that_has_ended_stays_so_until_a_reset(executor):
    env = make_code_exec_vec(
        2, SUITE, executor, rewards={"tests": 1.0}, autoreset_mode=AutoresetMode.DISABLED, render_mode="ansi"
    )
    env.reset(seed=0, options={"task_id": "hello"})
    _, rewards, terminated, _, info = env.step(("print('hello')", None))
    assert (rewards.tolist(), terminated.tolist()) == ([1.0, 0.0], [True, False])
    assert (info["passed"].tolist(), info["reward_terms"]["tests"].tolist()) == ([True, False], [1.0, 0.0])
    assert "print('hello')" in env.render()[0]
    with pytest.raises(ResetNeeded, match=r"environments \[0\] are over, and autoreset_mode is DISABLED"):
        env.step(("print('hello')", "print('hello')"))
    assert env.step((None, "print('hello')"))[1].tolist() == [0.0, 1.0]
    env.reset(options={"reset_mask": np.array([True, False]), "task_id": "hello"})
    assert env.step(("print('hello')", None))[1].tolist() == [1.0, 0.0]
    with pytest.raises(EncodingError, match="SAME_STEP"):
        twins.CandidateActions(env, ["print('hello')"])
    env.close()


def test_the_mode_survives_the_json_of_a_spec():
    env = gym.make_vec("CodeExec-v0", num_envs=2, autoreset_mode="Disabled")
    again = gym.make_vec(EnvSpec.from_json(env.spec.to_json()))
    assert again.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    env.close()
    again.close()


def test_make_vec_gives_the_native_env_with_its_rewards():
    env = gym.make_vec("CodeExec-v0", num_envs=3, rewards={"tests": 1.0, "pass@1": {"weight": 0.5}})
    try:
        assert isinstance(env.unwrapped, CodeExecVectorEnv)
        assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        _, info = env.reset(seed=[5, 5, 5])
        assert len(set(info["task_id"])) == 1
        reference = env.unwrapped.suite.task(info["task_id"][0]).reference
        _, rewards, terminated, _, info = env.step((reference, "no", reference))
        assert rewards.tolist() == [1.5, 0.0, 1.5]
        assert terminated.all()
        assert info["final_info"]["reward_terms"]["pass@1"].tolist() == [0.5, 0.0, 0.5]
        assert env.spec.kwargs["num_envs"] == 3
    finally:
        env.close()


def test_every_environment_has_a_native_twin():
    for name in ("CodeRepair-v0", "code_env/Starter-v0"):
        env = gym.make_vec(name, num_envs=2)
        assert isinstance(env.unwrapped, CodeExecVectorEnv)
        env.close()


def test_repair_gives_feedback_until_it_passes_and_rewards_that_alone():
    env = gym.make_vec("CodeRepair-v0", num_envs=2)
    try:
        _, info = env.reset(seed=3, options={"task_id": "starter/xor-seal"})
        observations, rewards, terminated, _, info = env.step(("def xor_seal(*args): pass", "1 / 0"))
        assert rewards.tolist() == [0.0, 0.0]
        assert not terminated.any()
        assert ["tests passed" in observations[0], "ZeroDivisionError" in observations[1]] == [True, True]
        reference = env.unwrapped.suite.task("starter/xor-seal").reference
        _, rewards, terminated, _, info = env.step((reference, "still wrong"))
        assert rewards.tolist() == [1.0, 0.0]
        assert terminated.tolist() == [True, False]
        assert (info["final_info"]["turn"][0], info["turns_left"][1]) == (2, 2)
    finally:
        env.close()


# Rendering and closing


def test_render_draws_every_env(executor):
    env = make_code_exec_vec(2, SUITE, executor, render_mode="ansi")
    env.reset(seed=0, options={"task_ids": ["hello", "add"]})
    assert ["Print hello." in env.render()[0], "Write add" in env.render()[1]] == [True, True]
    env.close()


def test_closing_twice_is_harmless_and_leaves_a_borrowed_executor_open(executor):
    env = make_code_exec_vec(1, SUITE, executor)
    env.close()
    env.close()
    assert executor.run(Program("print(1)")).stdout == "1\n"


# Gymnasium's own wrappers, and long runs


def test_gymnasiums_vector_wrappers_work_over_it(executor):
    env = make_code_exec_vec(3, SUITE, executor, max_turns=2)
    env = gym_vector.RecordEpisodeStatistics(env)
    env = gym_vector.TransformReward(env, lambda reward: 2 * reward)
    env = gym_vector.ClipReward(env, 0.0, 1.5)
    env = gym_vector.DictInfoToList(env)
    env.reset(seed=0, options={"task_ids": ["hello"] * 3})
    _, rewards, terminated, _, _ = env.step(("print('hello')", "1", "1"))
    assert (rewards.tolist(), terminated.tolist()) == ([1.5, 0.0, 0.0], [True, False, False])
    _, _, _, _, infos = env.step(("1", "print('hello')", "2"))
    assert [info.get("episode", {}).get("l") for info in infos] == [None, 2, 2]
    assert [info.get("episode", {}).get("r") for info in infos] == [None, 1.0, 0.0]
    env.close()


def test_gymnasiums_observation_wrappers_work_where_ended_episodes_stay_so(executor):
    env = make_code_exec_vec(2, SUITE, executor, autoreset_mode="Disabled")
    env = gym_vector.TransformObservation(env, lambda texts: tuple(f"System.\n{text}" for text in texts))
    env = gym_vector.VectorizeTransformObservation(env, TransformObservation, func=str.upper, observation_space=None)
    texts, _ = env.reset(seed=0, options={"task_ids": ["hello", "add"]})
    assert texts == ("SYSTEM.\nPRINT HELLO.", "SYSTEM.\nWRITE ADD(A, B).")
    assert texts in env.observation_space
    texts, rewards, terminated, *_ = env.step(("print('hello')", "1"))
    assert (texts[0], rewards.tolist(), terminated.tolist()) == ("SYSTEM.\nPRINT HELLO.", [1.0, 0.0], [True, True])
    env.close()


def test_gymnasiums_reward_normalization_works_over_it(executor):
    env = gym_vector.NormalizeReward(make_code_exec_vec(3, SUITE, executor))
    env.reset(seed=0, options={"task_id": "hello"})
    _, rewards, *_ = env.step(("print('hello')", "1", "1"))
    assert rewards[0] > 0.0
    assert rewards[1] == rewards[2] == 0.0
    env.close()


def test_gymnasiums_other_modes_are_there_still(executor):
    actions = ("print('hello')", "1")
    for mode, vector_kwargs in (("sync", {}), ("async", {"shared_memory": False})):
        env = gym.make_vec("CodeExec-v0", num_envs=2, vectorization_mode=mode, vector_kwargs=vector_kwargs)
        env.reset(seed=0, options={"task_id": "starter/print-sixes"})
        assert len(env.step(actions)[1]) == 2
        env.close()


def test_statistics_of_a_masked_reset_are_those_of_the_others(executor):
    env = gym_vector.RecordEpisodeStatistics(make_code_exec_vec(2, SUITE, executor, max_turns=3))
    env.reset(seed=0, options={"task_id": "hello"})
    env.step(("1", "1"))
    env.reset(options={"reset_mask": np.array([True, False]), "task_id": "hello"})
    *_, info = env.step(("print('hello')", "print('hello')"))
    assert info["episode"]["l"].tolist() == [1, 2]
    env.close()


def test_thousands_of_steps_keep_memory_and_descriptors_flat():
    with make_executor("local", workers=2) as executor:
        env = make_code_exec_vec(4, SUITE, executor, rewards=EVERY_REWARD, max_turns=2, cache_size=50)
        env = twins.RecordPassAtK(env, k=[1, 2])
        env.reset(seed=0)
        held = []
        for number in range(2_001):
            # One step in forty has programs, so that it takes seconds.
            runs = number % 40 == 0
            env.step(
                tuple(f"{ANSWERS[(number // 40 + i) % len(ANSWERS)]}\n# {number}" if runs else "" for i in range(4))
            )
            if number % 750 == 500:
                gc.collect()
                held.append((len(os.listdir("/proc/self/fd")), resident_bytes()))
        env.close()
    descriptors, memory = zip(*held, strict=True)
    # Each of the two workers may keep a judge for its last task, of four descriptors, or not. On a busy machine there
    # is now and then another worker, in place of one whose program waits.
    assert min(descriptors[1:]) <= descriptors[0] + 8, descriptors
    assert memory[-1] - memory[0] < 8 << 20, memory


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_wrapper_of_the_other_kind_says_which_to_take(executor):
    env = make_code_exec_vec(1, SUITE, executor)
    with pytest.raises(Exception, match=r"code_env\.wrappers\.vector"):
        TermReward(env, len)
    env.close()


def test_same_finds_what_differs():
    with pytest.raises(AssertionError, match="turn"):
        same({"turn": np.array([1])}, {"turn": np.array([1.0])})
