"""Groups that are spread over environments, and pass@k over windows of episodes."""

import math

import gymnasium as gym
import pytest

from code_env import CodeExecEnv, ExecutionResult, OutputTest, RecordPassAtK, RewardError, Status, Task, TaskSuite
from code_env.registration import make_code_exec_vec
from code_env.rewards import pass_at_k, pass_at_k_rewards
from code_env.wrappers import TokenActions
from code_env.wrappers.vector import ClipReward, GroupPassAtKReward
from code_env.wrappers.vector import RecordPassAtK as RecordPassAtKOfMany

HELLO = Task("hello", "", (OutputTest("hello"),))
OTHER = Task("other", "", (OutputTest("other"),))
SUITE = TaskSuite("two", [HELLO, OTHER])
RIGHT, WRONG = "print('hello')", "print(1)"


@pytest.fixture
def vec(executor):
    env = make_code_exec_vec(8, SUITE, executor, {})
    yield env
    env.close()


def test_each_sample_of_a_group_gets_pass_at_k_of_its_group(vec):
    env = GroupPassAtKReward(vec, k=2, group_size=4, weight=2.0)
    env.reset(seed=0, options={"task_ids": ["hello"] * 4 + ["other"] * 4})
    _, rewards, _, _, info = env.step((RIGHT, WRONG, WRONG, WRONG, "print('other')", "print('other')", WRONG, WRONG))
    first, second = 2 * pass_at_k(4, 1, 2), 2 * pass_at_k(4, 2, 2)
    assert rewards.tolist() == [first] * 4 + [second] * 4
    ended = info["final_info"]
    assert ended["reward_terms"]["group_pass@2"].tolist() == rewards.tolist()
    assert ended["reward_raw"]["group_pass@2"].tolist() == [first / 2] * 4 + [second / 2] * 4


def test_or_each_its_own_reward_in_training_for_it(vec):
    env = GroupPassAtKReward(vec, k=2, group_size=4, credit="sample")
    env.reset(seed=0, options={"task_id": "hello"})
    _, rewards, *_ = env.step((RIGHT, WRONG, WRONG, WRONG, RIGHT, RIGHT, WRONG, WRONG))
    expected = [
        4 * reward for passes in (1, 2) for reward in pass_at_k_rewards([True] * passes + [False] * (4 - passes), 2)
    ]
    assert rewards.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("credit", ["group", "sample"])
def test_samples_without_a_verdict_are_left_out(executor, monkeypatch, credit):
    from concurrent.futures import Future

    submit = type(executor).submit

    def fail_some(self, program):
        if "lost" not in program.code:
            return submit(self, program)
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR))
        return future

    monkeypatch.setattr(type(executor), "submit", fail_some)
    env = GroupPassAtKReward(make_code_exec_vec(4, SUITE, executor, {}), k=2, group_size=4, credit=credit)
    env.reset(seed=0, options={"task_id": "hello"})
    _, rewards, _, truncated, _ = env.step((RIGHT, "# lost", WRONG, WRONG))
    if credit == "group":
        value = pass_at_k(3, 1, 2)
        assert rewards.tolist() == [value, 0.0, value, value]
    else:
        own = [3 * reward for reward in pass_at_k_rewards([True, False, False], 2)]
        assert rewards.tolist() == pytest.approx([own[0], 0.0, own[1], own[2]])
    assert truncated.tolist() == [False, True, False, False]
    env.reset(options={"task_id": "hello"})
    _, rewards, *_ = env.step(("# lost",) * 4)
    assert rewards.tolist() == [0.0] * 4
    env.close()


def test_a_group_has_one_task(vec):
    env = GroupPassAtKReward(vec, k=1, group_size=4)
    env.reset(seed=0, options={"task_ids": ["hello", "other"] * 4})
    with pytest.raises(RewardError, match="same seed"):
        env.step((RIGHT,) * 8)


def test_a_group_waits_for_all(vec):
    env = GroupPassAtKReward(vec, k=1, group_size=4)
    env.reset(seed=0, options={"task_id": "hello"})
    env.step_async((RIGHT,) * 8)
    with pytest.raises(RewardError, match="must wait for all"):
        env.step_wait(deadline_s=1.0)
    assert env.step_wait()[1].tolist() == [1.0] * 8


def test_a_group_that_is_left_alone_gets_nothing(vec):
    env = GroupPassAtKReward(vec, k=1, group_size=4)
    env.reset(seed=0, options={"task_ids": ["hello"] * 4 + ["hello", "other"] * 2})
    _, rewards, _, _, info = env.step((RIGHT,) * 4 + (None,) * 4)
    assert rewards.tolist() == [1.0] * 4 + [0.0] * 4
    assert info["pending"].tolist() == [False] * 4 + [True] * 4


def test_the_same_seed_gives_a_group_one_task_again_and_again(executor):
    env = gym.make_vec("CodeExec-v0", num_envs=4, rewards={"group_pass@1": {"group_size": 2}}, executor=executor)
    env.reset(seed=[1, 1, 2, 2])
    for _ in range(5):
        env.step(("no",) * 4)
    env.close()


@pytest.mark.parametrize(
    ("kwargs", "env_kwargs"),
    [
        ({"group_size": 3}, {}),
        ({"group_size": 2, "k": 3}, {}),
        ({"group_size": 2.0}, {}),
        ({"k": 0}, {}),
        ({"k": 0, "name": "g"}, {}),
        ({"k": "4", "name": "g"}, {}),
        ({"name": "_g"}, {}),
        ({"credit": "all"}, {}),
        ({}, {"max_turns": 2}),
        ({}, {"samples_per_step": 2}),
        ({}, {"deadline_s": 1.0}),
    ],
    ids=repr,
)
def test_what_does_not_fit_is_refused(executor, kwargs, env_kwargs):
    env = make_code_exec_vec(8, SUITE, executor, {}, **env_kwargs)
    with pytest.raises(RewardError):
        GroupPassAtKReward(env, **kwargs)
    env.close()


def test_other_wrappers_go_around_a_group(vec):
    env = ClipReward(GroupPassAtKReward(vec, k=1, group_size=4, weight=5.0), high=1.0)
    env.reset(seed=0, options={"task_id": "hello"})
    env.step_async((RIGHT,) * 8)
    assert env.step_wait()[1].tolist() == [1.0] * 8


# Windows


def test_a_window_takes_samples_of_a_task_together_and_forgets_the_oldest(executor):
    env = RecordPassAtK(CodeExecEnv(SUITE, executor), k=[1, 2], buffer_length=3)
    seen = []
    for answer, task_id in [(RIGHT, "hello"), (WRONG, "hello"), (WRONG, "other"), (WRONG, "hello")]:
        env.reset(seed=0, options={"task_id": task_id})
        *_, info = env.step(answer)
        seen.append(info["pass_at_k"])
    assert [row["pass@1"] for row in seen] == [1.0, 0.5, 0.25, 0.0]
    assert math.isnan(seen[0]["pass@2"])
    assert [row["pass@2"] for row in seen[1:]] == [1.0, 1.0, 0.0]
    assert env.window.estimate(1).tasks == 2
    assert env.window.estimate(5) is None


def test_a_window_over_many_environments(vec):
    env = RecordPassAtKOfMany(vec, k=[1, 4])
    env.reset(seed=0, options={"task_ids": ["hello"] * 4 + ["other"] * 4})
    *_, info = env.step((RIGHT, WRONG, WRONG, WRONG, WRONG, WRONG, WRONG, WRONG))
    assert info["_pass_at_k"].all()
    assert info["pass_at_k"]["pass@1"].tolist() == [0.125] * 8
    assert info["pass_at_k"]["pass@4"].tolist() == [0.5] * 8
    estimate = env.window.estimate(1)
    assert (estimate.tasks, estimate.standard_error) == (2, 0.125)


def test_a_window_counts_an_episode_for_the_task_that_it_had(vec):
    env = RecordPassAtKOfMany(vec)
    env.reset(seed=0, options={"task_id": "hello"})
    *_, info = env.step((WRONG,) * 8)
    assert set(info["task_id"]) == {"hello", "other"}  # Those of the next episodes.
    assert env.window.estimate(1).tasks == 1


@pytest.mark.parametrize("kwargs", [{"k": 0}, {"k": []}, {"buffer_length": 0}, {"k": [1, 2.0]}, {"k": 2.0}, {"k": "2"}])
def test_a_window_has_numbers_that_fit(vec, executor, kwargs):
    with pytest.raises(RewardError):
        RecordPassAtKOfMany(vec, **kwargs)
    with pytest.raises(RewardError):
        RecordPassAtK(CodeExecEnv(SUITE, executor), **kwargs)


def test_an_episode_that_is_cut_off_in_the_middle_of_an_answer_has_no_sample(executor):
    env = TokenActions(CodeExecEnv("functions", executor), "functions", observe_prompt=False)
    env = RecordPassAtK(gym.wrappers.TimeLimit(env, 2))
    env.reset(seed=0)
    for _ in range(2):
        _, _, _, truncated, info = env.step(int(env.get_wrapper_attr("action_masks")().argmax()))
    assert truncated
    assert "verdicts" not in info
    assert env.window.estimate(1) is None or env.window.estimate(1).tasks == 0
    env.close()
