"""Stable-Baselines3 over encoded environments: its own checker, its vector environments, ours, and what is logged."""

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import code_env
from code_env import CandidateActions, EncodedObservation, EncodingError, TemplateActions, TokenActions
from code_env.wrappers import vector
from support import WHEN, BrokenExecutor, ImportedLate, examples_hold, killed_meanwhile, unstartable

stable_baselines3 = ImportedLate("stable_baselines3")
env_checker = ImportedLate("stable_baselines3.common.env_checker")
env_util = ImportedLate("stable_baselines3.common.env_util")
logger = ImportedLate("stable_baselines3.common.logger")
vec_env = ImportedLate("stable_baselines3.common.vec_env")
sb3_contrib = ImportedLate("sb3_contrib")
masking = ImportedLate("sb3_contrib.common.maskable.utils")
event_accumulator = ImportedLate("tensorboard.backend.event_processing.event_accumulator")
sb3 = ImportedLate("code_env.integrations.sb3")

TEMPLATE = ("def f(a, b):\n    return a $op $x", {"op": ["+", "-", "*"], "x": ["a", "b", "1"]})
CANDIDATES = ["def f(a, b): return a", "def f(a, b): return max(a, b)", "def f(a, b):"]

pytestmark = [
    # It warns of bytes that are no picture, and of actions that are numbers of choices and not of a scale.
    pytest.mark.filterwarnings("ignore::UserWarning:stable_baselines3"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]


def make_tokens(**kwargs):
    return TokenActions(
        gym.make("code_env/Functions-v0", cache_size=1000, **kwargs), "functions", max_tokens=22, observe_prompt=False
    )


def make_tokens_and_bytes():
    env = EncodedObservation(gym.make("code_env/Functions-v0"), 300)
    return TokenActions(env, "functions", max_tokens=22)


def make_template():
    return TemplateActions(EncodedObservation(gym.make("code_env/Functions-v0"), 300), *TEMPLATE)


def make_candidates():
    return CandidateActions(EncodedObservation(gym.make("code_env/Functions-v0"), 300), CANDIDATES)


def many(count, **kwargs):
    env = gym.make_vec("code_env/Functions-v0", num_envs=count, **{"cache_size": 1000, **kwargs})
    return sb3.CodeVecEnv(vector.TokenActions(env, "functions", max_tokens=22, observe_prompt=False))


def random_actions(env, draw):
    return np.array([draw.choice(np.flatnonzero(mask)) for mask in env.env_method("action_masks")])


def first_end(env):
    """The rewards of the step in which an episode ends first, and the info of that episode."""
    env.seed(0)
    env.reset()
    draw = np.random.default_rng(0)
    dones = np.zeros(env.num_envs)
    while not dones.any():
        _, rewards, dones, infos = env.step(random_actions(env, draw))
    return rewards, infos[int(np.argmax(dones))]


@pytest.mark.parametrize("make", [make_tokens, make_tokens_and_bytes, make_template, make_candidates])
def test_it_passes_its_check(make):
    env = make()
    env_checker.check_env(env, warn=True)
    env.close()


@pytest.mark.parametrize("start_method", ["fork", "forkserver", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_in_processes_of_its_own(start_method):
    """The same episodes as in one process, whichever way the processes begin."""
    apart = vec_env.SubprocVecEnv([make_tokens, make_tokens], start_method=start_method)
    together = vec_env.DummyVecEnv([make_tokens, make_tokens])
    try:
        assert masking.is_masking_supported(apart)
        for env in (apart, together):
            env.seed(7)
        assert (apart.reset() == together.reset()).all()
        draw = np.random.default_rng(0)
        ended = 0
        for _ in range(40):
            masks = masking.get_action_masks(apart)
            assert (masks == masking.get_action_masks(together)).all()
            actions = np.array([draw.choice(np.flatnonzero(mask)) for mask in masks])
            (seen, rewards, dones, infos), expected = apart.step(actions), together.step(actions)
            assert (seen == expected[0]).all()
            assert rewards.astype(np.float32).tolist() == expected[1].tolist()
            assert dones.tolist() == expected[2].tolist()
            for info, other in zip(infos, expected[3], strict=True):
                assert info.get("verdicts") == other.get("verdicts")
            ended += int(dones.sum())
        assert ended > 2
    finally:
        apart.close()
        together.close()


def test_many_are_the_same_as_single_ones():
    ours, theirs = many(3), vec_env.DummyVecEnv([make_tokens] * 3)
    for env in (ours, theirs):
        env.seed(11)
    assert (ours.reset() == theirs.reset()).all()
    assert [info["task_id"] for info in ours.reset_infos] == [info["task_id"] for info in theirs.reset_infos]
    draw = np.random.default_rng(1)
    ended = 0
    for _ in range(80):
        actions = random_actions(ours, draw)
        (seen, rewards, dones, infos), expected = ours.step(actions), theirs.step(actions)
        assert (seen == expected[0]).all()
        assert (rewards.dtype, rewards.tolist()) == (np.float32, expected[1].tolist())
        assert dones.tolist() == expected[2].tolist()
        for index in range(3):
            info, other = infos[index], expected[3][index]
            assert set(info) == set(other)
            for key in ("task_id", "turn", "pending", "reward_terms", "verdicts", "TimeLimit.truncated"):
                assert info.get(key) == other.get(key)
            if dones[index]:
                ended += 1
                assert info["terminal_observation"].tolist() == other["terminal_observation"].tolist()
                assert ours.reset_infos[index]["task_id"] == theirs.reset_infos[index]["task_id"]
                assert "final_info" not in ours.reset_infos[index]
    assert ended > 10
    ours.close()
    theirs.close()


def test_what_it_is_asked_as_a_vec_env():
    env = many(2)
    assert env.get_attr("num_envs") == [2, 2]
    assert masking.is_masking_supported(env)
    assert env.env_is_wrapped(gym.Wrapper) == [False, False]
    assert env.env_method("action_masks", indices=[1])[0].shape == (env.action_space.n,)
    assert env.has_attr("suite")
    assert not env.has_attr("no_such_thing")
    with pytest.raises(AttributeError, match="they are one"):
        env.set_attr("suite", None)
    env.set_options({"task_id": "functions/distance"})
    env.reset()
    assert [info["task_id"] for info in env.reset_infos] == ["functions/distance"] * 2
    env.set_options([{"task_id": "functions/larger"}, {}])
    with pytest.raises(EncodingError, match="for every environment, or for none"):
        env.reset()
    env.close()


def test_text_is_refused_with_the_way_out():
    with pytest.raises(EncodingError, match=r"actions are text.*EncodedObservation, then TokenActions"):
        sb3.CodeVecEnv(gym.make_vec("CodeExec-v0", num_envs=2))
    env = vector.TokenActions(gym.make_vec("CodeExec-v0", num_envs=2), "functions")
    with pytest.raises(EncodingError, match="observations are text"):
        sb3.CodeVecEnv(env)
    env.close()
    with pytest.raises(EncodingError, match="leave deadline_s out"):
        many(2, deadline_s=1.0)
    env = gym.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(EncodingError, match="SAME_STEP"):
        sb3.CodeVecEnv(env)
    env.close()


def test_an_episode_without_a_verdict_is_cut_short():
    for env in (
        many(2, executor=BrokenExecutor()),
        vec_env.DummyVecEnv([lambda: make_tokens(executor=BrokenExecutor())] * 2),
    ):
        rewards, info = first_end(env)
        assert (info["TimeLimit.truncated"], info["valid"], rewards.any()) == (True, False, False)
        assert info["terminal_observation"].any()
        env.close()


def test_servers_killed_in_mid_batch_cost_no_verdict():
    env_of = {"cache_size": 0, "suite": "functions", "num_envs": 16}
    slow = ["def f(a, b):\n    import time; time.sleep(0.03)\n    return a", "def f(a, b): return b"]
    with code_env.make_executor("local", workers=2) as executor:
        env = sb3.CodeVecEnv(
            vector.CandidateActions(
                vector.EncodedObservation(gym.make_vec("CodeExec-v0", executor=executor, **env_of)), slow
            )
        )
        env.seed(0)
        env.reset()
        for _ in range(3):
            _, _, dones, infos = killed_meanwhile(executor, lambda: env.step(np.arange(16) % 2))
            assert dones.all()
            assert [info["outcome"] for info in infos] == ["fail"] * 16
        env.close()


def test_a_server_that_cannot_be_started_gives_no_verdict(tmp_path):
    with unstartable(tmp_path, WHEN[1]) as executor:
        env = many(2, executor=executor)
        _, info = first_end(env)
        assert (info["outcome"], info["TimeLimit.truncated"]) == ("no_verdict", True)
        env.close()


@pytest.mark.parametrize("algorithm", ["PPO", "A2C"])
def test_other_algorithms_take_templates(algorithm):
    env = gym.make_vec("code_env/Functions-v0", num_envs=4)
    env = vec_env.VecMonitor(sb3.CodeVecEnv(vector.TemplateActions(vector.EncodedObservation(env, 300), *TEMPLATE)))
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", env, n_steps=4, device="cpu", seed=0)
    model.learn(16)
    assert len(model.ep_info_buffer) == 16
    env.close()


@pytest.mark.filterwarnings("ignore:.*render_mode='rgb_array' that is not in the possible:UserWarning")
def test_by_the_id_as_it_makes_environments_itself():
    kwargs = {"grammar": "functions", "max_tokens": 22, "observe_prompt": False}
    env = env_util.make_vec_env(
        "code_env:CodeExec-v0", env_kwargs={"suite": "functions"}, wrapper_class=TokenActions, wrapper_kwargs=kwargs
    )
    assert env.reset().shape == (1, 22)
    env.close()


def test_statistics_of_gymnasium_are_found():
    env = vector.TokenActions(gym.make_vec("code_env/Functions-v0", num_envs=2), "functions", 22, observe_prompt=False)
    env = sb3.CodeVecEnv(RecordEpisodeStatistics(env))
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu", seed=0)
    model.learn(64)
    assert len(model.ep_info_buffer) > 2
    assert all(0 <= info["r"] <= 1 and 2 < info["l"] < 22 for info in model.ep_info_buffer)
    env.close()


def test_what_is_logged_is_of_all_programs_since_the_last_time(tmp_path):
    env = gym.make_vec("code_env/Functions-v0", num_envs=2, cache_size=100)
    env = sb3.CodeVecEnv(vector.CandidateActions(vector.EncodedObservation(env, 300), CANDIDATES))
    model = stable_baselines3.A2C("MlpPolicy", env, n_steps=2, device="cpu", seed=0)
    model.set_logger(logger.configure(str(tmp_path), ["json"]))
    model.learn(80, callback=sb3.VerdictCallback(), log_interval=10)
    model.logger.close()
    env.close()
    rows = [json.loads(line) for line in (tmp_path / "progress.json").read_text().splitlines()]
    assert [row["code/programs"] for row in rows] == [40, 80]
    for row in rows:
        for kind in ("outcome", "status"):
            shares = [value for key, value in row.items() if key.startswith(f"code/{kind}/")]
            assert sum(shares) == pytest.approx(1)
            assert all(round(40 * share) == pytest.approx(40 * share) for share in shares)


def test_what_is_logged(tmp_path):
    env = many(4)
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu", seed=0)
    model.set_logger(logger.configure(str(tmp_path), ["tensorboard", "json"]))
    callback = sb3.VerdictCallback()
    model.learn(256, callback=callback)
    model.logger.close()
    env.close()
    events = event_accumulator.EventAccumulator(str(tmp_path), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    scalars = {tag: events.Scalars(tag)[-1].value for tag in events.Tags()["scalars"]}
    assert scalars["code/programs"] == callback.programs > 10
    assert 0 <= scalars["code/passed"] <= scalars["code/score"] <= 1
    assert scalars["code/valid"] == 1
    assert scalars["code/reward/tests"] == pytest.approx(scalars["code/score"])
    for kind in ("outcome", "status"):
        shares = [value for tag, value in scalars.items() if tag.startswith(f"code/{kind}/")]
        assert sum(shares) == pytest.approx(1)
        assert all(0 <= share <= 1 for share in shares)
    texts = {tag for tag in events.Tags()["tensors"] if tag.startswith("code/")}
    assert texts == {"code/best/text_summary", "code/last/text_summary"}
    text = events.Tensors("code/best/text_summary")[-1].tensor_proto.string_val[0].decode()
    assert text.startswith("    def f(a, b):\n        ")
    assert "def f" not in (tmp_path / "progress.json").read_text()


def test_programs_without_a_verdict_are_logged_apart(tmp_path):
    env = many(2, executor=BrokenExecutor())
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu", seed=0)
    model.set_logger(logger.configure(str(tmp_path), ["json"]))
    model.learn(64, callback=sb3.VerdictCallback())
    model.logger.close()
    env.close()
    logged = json.loads((tmp_path / "progress.json").read_text())
    assert (logged["code/valid"], logged["code/outcome/no_verdict"]) == (0, 1)
    assert all(math.isnan(logged[f"code/{key}"]) for key in ("passed", "score", "reward", "reward/tests"))


def test_its_examples_hold():
    assert examples_hold("code_env.integrations.sb3")
