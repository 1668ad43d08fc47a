"""What belongs to one collection, and what its summary counts."""

import gymnasium as gym
import pytest

from code_env.errors import RolloutError
from code_env.registration import make_code_exec_vec
from code_env.rollout import collect
from test_rollout import SUITE, BrokenExecutor, references


def test_other_weights_and_another_executor_are_another_collection(tmp_path):
    path = tmp_path / "rows.jsonl"

    def collected(episodes, **options):
        env = gym.make_vec("CodeExec-v0", num_envs=2, suite=SUITE, **options)
        try:
            return collect(env, references, episodes, path, resume=True).done
        finally:
            env.close()

    assert collected(2, rewards={"tests": 1.0}) == 2
    assert collected(4, rewards={"tests": 1.0}) == 4
    for options in ({"rewards": {"tests": 100.0}}, {"rewards": {"tests": 1.0}, "executor": "subprocess"}):
        with pytest.raises(RolloutError, match="rewards, order, group size, executor"):
            collected(6, **options)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_collection_without_an_episode_leaves_no_file(error, tmp_path, executor):
    def raises(prompts, infos):
        raise error

    path = tmp_path / "rows.jsonl"
    env = make_code_exec_vec(2, SUITE, executor)
    for there in (False, True):
        with pytest.raises(error):
            collect(env, raises, 2, path, resume=there)
        assert path.exists() is there
        path.touch()  # What was there stays.


def test_episodes_without_a_verdict_count_for_nothing(executor):
    class Flaky(BrokenExecutor):
        def submit(self, program):
            return super().submit(program) if "broken" in program.code else executor.submit(program)

        def describe(self):
            return executor.describe()

    def half(prompts, infos):
        right = references(prompts, infos)
        return [
            answer + ("  # broken" if info["episode"] % 2 else "") for answer, info in zip(right, infos, strict=True)
        ]

    summary = collect(make_code_exec_vec(4, SUITE, Flaky()), half, 8, alarm_rate=1.0)
    assert (summary.done, summary.valid, summary.pass_rate, summary.mean_return) == (8, 4, 1.0, 1.0)
