"""`CodeHarbor-v0`: commands and `submit` as actions, the same episode with the same seed."""

import shutil
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from code_env import TaskError, TaskNotFound
from code_env.harbor import HarborEnv

TASKS = Path(__file__).parent / "tasks"


@pytest.fixture(scope="module")
def folder(base, tmp_path_factory):
    place = tmp_path_factory.mktemp("tasks")
    for name in ("count-errors", "several-steps", "write-a-script"):
        shutil.copytree(TASKS / name, place / name)
    (place / "base.tar").symlink_to(base)
    return place


def test_an_episode(folder):
    with gym.make("CodeHarbor-v0", folder=folder, order="sequential") as env:
        observation, info = env.reset(seed=0)
        assert "/app/log holds a file for each day" in observation
        assert info == {"task_id": "code_env/count-errors", "stage": "", "turn": 0}
        observation, reward, terminated, truncated, info = env.step("ls log; false")
        assert observation == "exit code 1\nmonday\nsunday\ntuesday\n"
        assert (reward, terminated, truncated, info["turn"]) == (0.0, False, False, 1)
        env.step("printf 'monday\\n4\\n' > answer.txt")
        observation, reward, terminated, truncated, info = env.step(" submit\n")
        assert (observation, reward, terminated, truncated) == ("reward 0.5", 0.5, True, False)
        assert info["outcome"] == "scored"
        with pytest.raises(ResetNeeded):
            env.step("ls")


def test_stages_follow_each_other(folder):
    with HarborEnv(folder) as env:
        _, info = env.reset(options={"task_id": "code_env/several-steps"})
        assert info["stage"] == "sort"
        env.step("printf 'a 1\\nb 2\\nc 3\\n' > sorted.txt")
        observation, reward, terminated, _, info = env.step("submit")
        assert "Write the sum of the numbers" in observation
        assert (reward, terminated, info["stage"], info["outcome"]) == (0.0, False, "sum", "scored")
        env.step("echo 6 > sum.txt")
        _, reward, terminated, _, _ = env.step("submit")
        assert (reward, terminated) == (1.0, True)


def test_the_last_turn_submits(folder):
    with HarborEnv(folder, max_turns=2, command_s=1) as env:
        env.reset(options={"task_id": "code_env/count-errors"})
        observation, *_ = env.step("echo x; sleep 100")
        assert observation == "ended by its limit of time\nx\n"
        _, reward, terminated, truncated, info = env.step("printf 'monday\\n3\\n' > answer.txt")
        assert (reward, terminated, truncated, info["outcome"]) == (1.0, True, False, "scored")
        assert info["valid"]


def test_an_episode_without_a_verdict_is_truncated(folder, tmp_path):
    shutil.copytree(folder / "write-a-script", tmp_path / "task")
    (tmp_path / "base.tar").symlink_to(folder / "base.tar")
    (tmp_path / "task/tests/test.sh").write_text("echo no reward\n")
    with HarborEnv(tmp_path / "task") as env:
        env.reset(seed=0)
        _, reward, terminated, truncated, info = env.step("submit")
        assert (reward, terminated, truncated, info["valid"]) == (0.0, False, True, False)
        assert info["outcome"] == "no_verdict"
        with pytest.raises(ResetNeeded):
            env.step("ls")


@pytest.mark.parametrize("action", ["ls", "submit"])
def test_a_box_that_fails_is_no_verdict_and_no_exception(folder, action):
    with HarborEnv(folder / "write-a-script") as env:
        env.reset(seed=0)
        env._trial.end()
        told, reward, terminated, truncated, info = env.step(action)
        assert (told, reward, terminated, truncated) == ("a box has ended", 0.0, False, True)
        assert (info["valid"], info["outcome"]) == (False, "no_verdict")
        with pytest.raises(ResetNeeded):
            env.step("ls")
        env.reset()
        assert env.step("true")[0].startswith("exit code 0")


def test_the_same_seed_draws_the_same_tasks(folder):
    def drawn():
        with HarborEnv(folder) as env:
            return [env.reset(seed=5 if n == 0 else None)[1]["task_id"] for n in range(6)]

    first = drawn()
    assert drawn() == first
    assert len(set(first)) > 1


def test_gymnasium_accepts_it(folder):
    with HarborEnv(folder / "write-a-script") as env:
        check_env(env, skip_render_check=True)


def test_many_run_at_the_same_time(folder):
    apart = {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": False}}
    envs = gym.make_vec("CodeHarbor-v0", num_envs=2, folder=folder / "count-errors", **apart)
    envs.reset(seed=1)
    envs.step(("printf 'monday\\n3\\n' > answer.txt", "touch answer.txt"))
    _, rewards, terminated, _, infos = envs.step(("submit", "submit"))
    assert (list(rewards), list(terminated)) == ([1.0, 0.0], [True, True])
    assert list(infos["outcome"]) == ["scored", "scored"]
    envs.close()


def test_mistakes_are_named(folder):
    for options in ({"max_turns": 0}, {"order": "any"}):
        with pytest.raises(TaskError, match=next(iter(options))):
            HarborEnv(folder, **options)
    with HarborEnv(folder) as env:
        with pytest.raises(ResetNeeded):
            env.step("ls")
        env.reset(options={"task_id": "code_env/write-a-script"})
        with pytest.raises(TypeError, match="an action is text; got int"):
            env.step(1)
        with pytest.raises(TaskNotFound, match="no task 'none'; there are code_env/count-errors"):
            env.reset(options={"task_id": "none"})
