"""Many environments with sessions as one: the same as single ones, slow cells, and groups from one state."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from code_env import CodeReplVectorEnv, SessionDied, TaskError, metrics
from code_env.registration import make_code_repl, make_code_repl_vec
from code_env.report.items import item_of
from code_env.rollout import collect
from envs.small_suite import GOOD, HALF, SUITE
from envs.vector_comparison import same_step

TEXTS = ["import random\nrandom.random()", "x = 1", "x + 1", f"```answer\n{GOOD}```", f"```answer\n{HALF}```", "1 / 0"]


@pytest.mark.parametrize("seed", range(3))
def test_native_and_sync_are_the_same(seed, executor):
    kwargs = {"suite": SUITE, "executor": executor, "max_turns": 3, "rewards": {"tests": 1.0, "pass@1": 0.5}}
    native = make_code_repl_vec(3, **kwargs)
    sync = SyncVectorEnv([lambda: make_code_repl(**kwargs)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    rng = np.random.default_rng(seed)
    same_step(native.reset(seed=seed), sync.reset(seed=seed))
    for _ in range(4):
        actions = tuple(rng.choice(TEXTS, 3).tolist())
        same_step(native.step(actions), sync.step(actions))
    native.close()
    sync.close()


def test_a_slow_cell_delays_only_itself(executor):
    env = CodeReplVectorEnv(3, SUITE, executor, autoreset_mode="Disabled", limits={"cpu_s": 60, "wall_s": 600})
    env.reset(seed=0, options={"task_id": "add"})
    env.step(("x = 1", "x = 2", "x = 3"))
    actions, ended = ("while True: pass", "x = x + 1", f"```answer\n{GOOD}```"), [False, False, False]
    while not (ended[1] and ended[2]):
        env.step_async(actions)
        *_, info = env.step_wait(deadline_s=0.2)
        actions, ended = (None, None, None), info["turn"] == 2
        assert info["pending"][0]
    # A reset ends the cell, and begins anew only where it is asked to.
    env.reset(options={"reset_mask": np.array([True, False, False]), "task_id": "add"})
    *_, info = env.step(("```python\nx\n```", "```python\nx\n```", None))
    assert info["cells"][0][0].error.name == "NameError"
    assert info["cells"][1][0].text == "3"
    env.close()


def test_a_group_begins_from_one_state(executor):
    env = CodeReplVectorEnv(3, SUITE, executor, autoreset_mode="Disabled")
    env.reset(seed=0, options={"task_id": "add"})
    env.step(("import random\nx = 1", "x = 2", "x = 3"))
    state, other = env.clone_state(0), env.clone_state(1)

    def texts(cell, **options):
        _, info = env.reset(seed=5, options=options)
        return info, [cells[0].text for cells in env.step((cell,) * 3)[4]["cells"]]

    info, drawn = texts("random.random()", from_state=state)
    assert info["branch"]["id"].tolist() == [1, 2, 3]
    assert info["branch"]["depth"].tolist() == [1, 1, 1]
    assert info["turn"].tolist() == [1, 1, 1]
    assert len(set(drawn)) == 1
    _, reseeded = texts("random.random()", from_state=[state] * 3, reseed=True)
    assert len({*reseeded, *drawn}) == 4
    assert texts("random.random()", from_state=state, reseed=True)[1] == reseeded
    info, values = texts("x", from_state=[other, state, None])
    assert values[:2] == ["2", "1"]
    assert info["branch"]["parent"].tolist() == [0, 0, -1]
    env.reset(options={"from_state": [None, other, None], "reset_mask": np.array([False, True, False])})
    env.step(("y = 1", f"```answer\n{GOOD}```", None))
    env.close()
    with pytest.raises(SessionDied):
        env.reset(options={"from_state": state})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"from_state": []}, "num_envs=2 states.*got 0 of them"),
        ({"from_state": "ab"}, "got str"),
        ({"from_state": [1, 2]}, "what clone_state.. returned; got int"),
        ({"from_state": [None, None], "task_ids": [None, None]}, "task_ids chooses a task"),
    ],
)
def test_wrong_states_are_refused(executor, options, words):
    env = CodeReplVectorEnv(2, SUITE, executor)
    env.reset(seed=0)
    with pytest.raises(TaskError, match=words):
        env.reset(options=options)
    env.close()


def test_no_state_while_a_step_runs(executor):
    env = CodeReplVectorEnv(1, SUITE, executor)
    env.reset(seed=0)
    env.step_async(("x = 1",))
    with pytest.raises(RuntimeError, match="a step has begun"):
        env.clone_state(0)
    env.step_wait()
    env.clone_state(0).release()
    env.close()


def test_trajectories_are_collected(executor, tmp_path):
    env = gym.make_vec("CodeRepl-v0", num_envs=2, suite=SUITE, executor=executor)

    def policy(prompts, infos):
        return ["x = 1" if info["turn"] == 0 else f"```answer\n{GOOD}```" for info in infos]

    rows = []
    summary = collect(env, policy, episodes=4, on_episode=rows.append, path=tmp_path / "rollouts.jsonl")
    env.close()
    assert summary.collected == 4
    assert [len(turn["programs"]) for turn in rows[0]["turns"]] == [0, 1]
    assert "gave nothing" in rows[0]["turns"][1]["observation"]
    assert {row["task_id"]: row["passed"] for row in rows} == {"add": True, "hello": False}
    first, second = item_of(rows[0])["turns"]
    assert (first["cell"], first["programs"]) == ("x = 1", [])
    assert (second["cell"], second["programs"][0]["code"]) == (None, GOOD)


def test_metrics_count_answers_only(executor):
    env = gym.make_vec("CodeRepl-v0", num_envs=2, suite=SUITE, executor=executor)
    env.reset(seed=0, options={"task_id": "add"})
    *_, info = env.step(("x = 1", f"```answer\n{HALF}```"))
    env.close()
    found = metrics(info)
    assert (found["score"], found["reward/tests"], found["status/ok"]) == (0.5, 0.5, 1.0)
