"""Shaping: each wrapper changes the reward by an entry of its own, and the ledger adds up."""

import math
from concurrent.futures import Future

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TransformReward
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from code_env import (
    CallTest,
    ClipReward,
    CodeExecEnv,
    ExecutionResult,
    ExecutionReward,
    GateReward,
    PassAtKReward,
    PassFractionReward,
    PotentialReward,
    RewardError,
    ScheduledReward,
    Status,
    Task,
    TaskSuite,
    TermReward,
)
from code_env.registration import make_code_exec, make_code_exec_vec
from code_env.wrappers import vector

ADD = Task("add", "Write add.", tuple(CallTest((n, 1), {}, n + 1) for n in range(4)), entry_point="add")
SUITE = TaskSuite("one", [ADD])


def passing(count):
    """An answer that passes so many of the four tests."""
    return f"def add(a, b): return a + b if a < {count} else None"


def shortness(task, verdict):
    return 1.0 if len(verdict.code) < 5 else 0.0


def failing_sandbox():
    future = Future()
    future.set_result(ExecutionResult(Status.SANDBOX_ERROR))
    return future


@pytest.fixture
def bare(executor):
    return CodeExecEnv(SUITE, executor, max_turns=4)


def play(env, *answers):
    """Rewards and infos of an episode."""
    env.reset(seed=0)
    steps = []
    for answer in answers:
        _, reward, _, _, info = env.step(answer)
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        steps.append((reward, info))
    return steps


def test_a_gate_takes_everything_unless_its_term_holds(bare):
    # The term's value counts, not the amount, which its weight halves.
    env = GateReward(ExecutionReward(PassFractionReward(bare, weight=0.5), weight=0.5), "tests", at_least=0.5)
    (low, info), (high, passed) = play(env, passing(1), passing(2))
    assert (low, high) == (0.0, 0.75)
    assert (info["reward_terms"]["gate"], info["reward_raw"]["gate"]) == (-0.625, 0.0)
    assert (passed["reward_terms"]["gate"], passed["reward_raw"]["gate"]) == (0.0, 1.0)


def test_a_gate_takes_a_function_or_where_one_is(bare):
    for term in (shortness, f"{__name__}:shortness"):
        ((reward, _),) = play(GateReward(ExecutionReward(bare), term), passing(4))
        assert reward == 0.0


def test_a_gate_finds_a_term_whatever_its_name(bare):
    env = GateReward(ScheduledReward(ExecutionReward(bare), "execution"), "execution:schedule", at_least=2.0)
    assert play(env, passing(4))[0][0] == 0.0


@pytest.mark.parametrize("value", [None, "1", math.nan, math.inf])
def test_a_term_gives_a_number(bare, value):
    for wrap in (TermReward, GateReward):
        with pytest.raises(RewardError, match="finite number"):
            play(wrap(ExecutionReward(bare), lambda task, verdict: value if value != "1" else [1]), passing(4))


def test_where_there_is_no_verdict_nothing_is_added(executor, monkeypatch):
    env = make_code_exec(SUITE, executor, {"tests": 1.0, "potential": {}, "clip": {"low": 0.5}}, max_turns=2)

    monkeypatch.setattr(type(executor), "submit", lambda self, program: failing_sandbox())
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(passing(1))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert set(info["reward_terms"].values()) == {0.0}


def test_what_was_promised_is_taken_back_where_there_is_no_verdict(executor, monkeypatch):
    env = make_code_exec(SUITE, executor, {"potential": {"weight": 2.0}}, max_turns=3)
    env.reset(seed=0)
    assert env.step(passing(2))[1] == 1.0
    monkeypatch.setattr(type(executor), "submit", lambda self, program: failing_sandbox())
    _, reward, terminated, truncated, info = env.step(passing(4))
    assert (reward, terminated, truncated, info["valid"]) == (-1.0, False, True, False)
    monkeypatch.undo()
    env.reset(seed=0)
    assert env.step(passing(2))[1] == 1.0


def test_a_masked_reset_forgets_what_was_in_those_alone(executor):
    """Whatever is between: some of Gymnasium's wrappers take the mask out of the options."""
    many = RecordEpisodeStatistics(make_code_exec_vec(2, SUITE, executor, {}, max_turns=4))
    env = vector.PotentialReward(many)
    env.reset(seed=0)
    assert env.step((passing(2), passing(2)))[1].tolist() == [0.5, 0.5]
    env.reset(options={"reset_mask": np.array([True, False])})
    assert env.step((passing(2), passing(2)))[1].tolist() == [0.5, 0.0]
    env.close()


def test_what_is_drawn_of_many_environments_has_the_ledger(executor):
    env = make_code_exec_vec(2, SUITE, executor, REWARDS, max_turns=2, render_mode="ansi")
    env.reset(seed=0)
    env.step((passing(2), passing(4)))
    going_on, begun = env.render()
    assert "potential" in going_on
    assert "potential" not in begun
    env.close()


def test_a_potential_tells_progress_from_turn_to_turn_and_cancels_over_an_episode(bare):
    env = PotentialReward(bare, weight=2.0)
    rewards = [reward for reward, _ in play(env, passing(1), passing(3), passing(2), passing(0))]
    assert rewards == pytest.approx([0.5, 1.0, -0.5, -1.0])
    assert sum(rewards) == pytest.approx(0.0)
    again = [reward for reward, _ in play(env, passing(2), passing(4))]
    assert again == pytest.approx([1.0, -1.0])


def test_a_discounted_potential_cancels_in_the_discounted_return(bare):
    env = PotentialReward(bare, gamma=0.5)
    rewards = [reward for reward, _ in play(env, passing(1), passing(3), passing(2), passing(0))]
    assert math.fsum(0.5**turn * reward for turn, reward in enumerate(rewards)) == pytest.approx(0.0)


def test_a_potential_leaves_one_turn_alone(executor):
    env = PotentialReward(CodeExecEnv(SUITE, executor))
    assert [reward for reward, _ in play(env, passing(3))] == [0.0]


def test_a_schedule_changes_a_terms_weight_over_all_episodes(bare):
    env = ScheduledReward(ExecutionReward(PassFractionReward(bare)), "execution", start=1.0, end=0.0, steps=4)
    seen = [info["reward_raw"]["execution:schedule"] for _ in range(3) for _, info in play(env, passing(4))]
    seen += [info["reward_raw"]["execution:schedule"] for _, info in play(env, *[passing(1)] * 3)]
    assert seen == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    assert play(env, passing(4))[0][0] == 1.0


def test_a_clip_keeps_within_bounds_and_says_what_it_took(bare):
    env = ClipReward(PassFractionReward(bare, weight=4.0), low=1.5, high=2.5)
    (low, first), (kept, second), (high, third) = play(env, passing(1), passing(2), passing(3))
    assert (low, kept, high) == (1.5, 2.0, 2.5)
    assert [info["reward_terms"]["clip"] for info in (first, second, third)] == [0.5, 0.0, -0.5]


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_a_clip_refuses_what_is_no_number(bare, reward):
    env = ClipReward(TransformReward(PassFractionReward(bare), lambda _: reward))
    with pytest.raises(RewardError, match=f"reward 'clip': a wrapper further in gave {reward}"):
        play(env, passing(1))


def test_pass_at_k_of_the_answers_of_a_step(executor):
    env = PassAtKReward(CodeExecEnv(SUITE, executor, samples_per_step=4), k=2, weight=3.0)
    ((reward, info),) = play(env, (passing(4), passing(1), passing(0), "def f(:"))
    assert info["reward_raw"] == {"pass@2": 0.5}
    assert reward == 1.5


def test_pass_at_1_is_a_pass(bare):
    assert [reward for reward, _ in play(PassAtKReward(bare), passing(3), passing(4))] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("wrap", "message"),
    [
        (lambda env: GateReward(env, "tests"), "no reward named 'tests'"),
        (lambda env: ScheduledReward(env, "tests"), "no reward named 'tests'"),
        (lambda env: GateReward(env, "math:nothing"), "no function at"),
        (lambda env: GateReward(env, "execution", at_least="much"), "at_least"),
        (lambda env: ClipReward(env, low=2.0, high=1.0), "low must not be above high"),
        (lambda env: ClipReward(env, low=float("nan")), "low"),
        (lambda env: PotentialReward(env, gamma=1.5), "gamma"),
        (lambda env: PotentialReward(env, potential=3), "function"),
        (lambda env: ScheduledReward(ExecutionReward(env), "execution", steps=0), "steps"),
        (lambda env: PassAtKReward(env, k=2), "samples_per_step=2"),
        (lambda env: PassAtKReward(env, k=0), "k must be"),
        (lambda env: ClipReward(ClipReward(env)), "named 'clip' is there already"),
        (lambda env: ClipReward(env, name=""), "name of a reward"),
        (lambda env: ClipReward(env, name="_clip"), "does not begin with _"),
    ],
)
def test_what_does_not_fit_is_refused_when_it_is_wrapped(bare, wrap, message):
    with pytest.raises(RewardError, match=message):
        wrap(bare)


REWARDS = {
    "tests": 1.0,
    "execution": 0.1,
    "pass@1": {"weight": 2.0},
    "potential": {"gamma": 0.9},
    "schedule": {"term": "execution", "steps": 10},
    "gate": {"term": "tests", "at_least": 0.25},
    "clip": {"low": -1.0, "high": 3.0},
}


def test_every_wrapper_survives_json_and_the_checker():
    with gym.make("CodeExec-v0", rewards=REWARDS, max_turns=3) as env:
        text = env.spec.to_json()
        check_env(env.unwrapped)
    with gym.make(EnvSpec.from_json(text)) as again:
        assert again.spec.to_json() == text
        names = [wrapper.name for wrapper in again.spec.additional_wrappers]
        assert names == [
            "PassFractionReward",
            "ExecutionReward",
            "PassAtKReward",
            "PotentialReward",
            "ScheduledReward",
            "GateReward",
            "ClipReward",
        ]


def test_twins_have_the_same_names_and_arguments():
    import inspect

    import code_env.wrappers as single

    names = {name for name, value in vars(single).items() if inspect.isclass(value)}
    assert names == set(vector.__all__) - {"GroupPassAtKReward"}
    for name in names:
        of_one, of_many = getattr(single, name), getattr(vector, name)
        assert (
            inspect.signature(of_one.__init__).parameters.keys()
            == inspect.signature(of_many.__init__).parameters.keys()
        )
        assert [p.default for p in inspect.signature(of_one.__init__).parameters.values()] == [
            p.default for p in inspect.signature(of_many.__init__).parameters.values()
        ]


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ({"clip": 1.0}, "clip"),
        ({"passes": 1.0}, "no reward is named 'passes'"),
        ({"pass@0": 1.0}, "k must be"),
        ({"pass@2": {"k": 3}}, "leave one out"),
        ({"group_pass@2": 1.0}, "make_vec"),
        ({3: 1.0}, "no reward is named 3"),
        ({"tests": {"wait": 1.0}}, "wait"),
        ([("tests", 1.0)], "mapping"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(executor, rewards, message):
    with pytest.raises(RewardError, match=message):
        make_code_exec(SUITE, executor, rewards)


def test_the_rewards_of_many_environments_are_those_of_one(executor):
    """With different answers in each, and every wrapper, over several episodes."""
    many = make_code_exec_vec(3, SUITE, executor, REWARDS, max_turns=2)
    alone = [make_code_exec(SUITE, executor, REWARDS, max_turns=2) for _ in range(3)]
    many.reset(seed=0)
    for number, env in enumerate(alone):
        env.reset(seed=number)
    for step in range(6):
        answers = [passing((step * (number + 1)) % 5) for number in range(3)]
        _, rewards, terminated, _, _ = many.step(tuple(answers))
        for number, env in enumerate(alone):
            _, reward, ended, _, _ = env.step(answers[number])
            assert (rewards[number], terminated[number]) == (reward, ended)
            if ended:
                env.reset()
    many.close()
