"""What others' wrappers change between those of this package has an entry, so that the ledger adds up."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import ClipReward, NormalizeReward, TransformReward
from gymnasium.wrappers import vector as gym_vector

from code_env import CallTest, ExecutionReward, PassFractionReward, RewardError, Task, TaskSuite
from code_env.registration import make_code_exec, make_code_exec_vec
from code_env.wrappers import vector
from code_env.wrappers.ledger import OTHERS

ADD = Task("add", "Write add.", tuple(CallTest((n, 1), {}, n + 1) for n in range(2)), entry_point="add")
SUITE = TaskSuite("one", [ADD])
HALF = "def add(a, b): return 1"
FAILING = "1 / 0"


class Bonus(gym.Wrapper):
    """Adds something now and then; nothing tells that it does."""

    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, reward + (0.25 if action == HALF else 0.0), *rest


def twice(reward):
    return 2 * reward


SINGLE = {
    "transform": lambda env: TransformReward(env, twice),
    "clip": lambda env: ClipReward(env, 0.0, 0.5),
    "normalize": NormalizeReward,
    "any": Bonus,
}
MANY = {
    "transform": lambda env: gym_vector.TransformReward(env, twice),
    "one by one": lambda env: gym_vector.VectorizeTransformReward(env, TransformReward, func=twice),
    "clip": lambda env: gym_vector.ClipReward(env, 0.0, 0.5),
    "normalize": gym_vector.NormalizeReward,
}


@pytest.mark.parametrize("kind", SINGLE)
def test_the_ledger_of_one_environment_adds_up(executor, kind):
    env = PassFractionReward(SINGLE[kind](ExecutionReward(make_code_exec(SUITE, executor, {}))))
    for answer in (HALF, FAILING, HALF):
        env.reset(seed=0)
        _, reward, *_, info = env.step(answer)
        assert sum(info["reward_terms"].values()) == pytest.approx(reward, abs=1e-12)
        assert list(info["reward_terms"]) == list(info["reward_raw"])
        if kind != "any":
            assert list(info["reward_terms"]) == ["execution", OTHERS, "tests"]
    if kind == "transform":
        assert info["reward_terms"] == {"execution": 1.0, OTHERS: 1.0, "tests": 0.5}
        assert reward == 2.5


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
@pytest.mark.parametrize("kind", MANY)
def test_the_ledger_of_many_adds_up(executor, kind, mode):
    env = make_code_exec_vec(2, SUITE, executor, rewards={}, autoreset_mode=mode, max_turns=2)
    env = vector.PassFractionReward(MANY[kind](vector.ExecutionReward(env)))
    env.reset(seed=0)
    for _ in range(2):
        _, rewards, terminated, _, info = env.step((HALF, FAILING))
        terms = (info["final_info"] if terminated.any() and mode == "SameStep" else info)["reward_terms"]
        names = [name for name in terms if not name.startswith("_")]
        assert names == ["execution", OTHERS, "tests"]
        assert np.allclose(sum(terms[name] for name in names), rewards, atol=1e-12)
    env.close()


def test_several_in_between_share_the_entry(executor):
    env = TransformReward(make_code_exec(SUITE, executor, {}), lambda reward: reward - 1)
    env = PassFractionReward(TransformReward(ExecutionReward(env), twice))
    env.reset(seed=0)
    _, reward, *_, info = env.step(HALF)
    # -1, then 1 for running and the double of 0, then 0.5 for the tests.
    assert (reward, info["reward_terms"]) == (0.5, {OTHERS: -1.0, "execution": 1.0, "tests": 0.5})


def test_a_group_s_ledger_adds_up(executor):
    env = gym_vector.TransformReward(make_code_exec_vec(2, SUITE, executor, rewards={"tests": 1.0}), twice)
    env = vector.GroupPassAtKReward(env, k=1, group_size=2)
    env.reset(seed=[1, 1])
    _, rewards, *_, info = env.step((HALF, "def add(a, b): return a + b"))
    terms = info["final_info"]["reward_terms"]
    assert terms[OTHERS].tolist() == [0.5, 1.0]
    assert (terms["tests"] + terms[OTHERS] + terms[env.reward_name]).tolist() == rewards.tolist()
    env.close()


def test_without_such_a_wrapper_there_is_no_such_entry(executor):
    env = ExecutionReward(
        gym.make("CodeExec-v0", suite=SUITE, executor=executor, rewards={"tests": 0.1, "pass@1": 0.2})
    )
    env.reset(seed=0)
    assert list(env.step(HALF)[4]["reward_terms"]) == ["tests", "pass@1", "execution"]


def test_its_name_is_taken(executor):
    with pytest.raises(RewardError, match="give the reward another name"):
        ExecutionReward(make_code_exec(SUITE, executor, {}), name=OTHERS)
