"""The same answer gets the same verdict, and the same reward in each step, on every executor that can run it.

The same code makes the verdict on each of them, so a sample of HumanEval's tasks is enough.
"""

import itertools
import json

import gymnasium as gym
import pytest

from code_env import Status, judge_many, load_suite
from support import executor_of
from tiers import sample

OTHERS = ("subprocess", "restricted", "e2b")

TURNS = ("def broken(:", "print('not this')", "reference")
"""What is tried in the turns of an episode."""

EPISODES = 6
"""The first tasks of `starter`: among them is one of each kind, by calls, output, input and asserts."""


@pytest.fixture(scope="module", params=OTHERS)
def other(request, cloud):
    with executor_of(request.param, cloud) as executor:
        yield executor


def told(verdict):
    return verdict.outcome, verdict.fraction, verdict.judge, [case.passed for case in verdict.cases]


@pytest.mark.shared_data
def test_verdicts_on_humaneval(data, executor, other):
    suite = load_suite(data / "humaneval" / "HumanEval.jsonl.gz")
    # With `restricted` many are refused; `e2b` runs them as `subprocess` does, in a machine for each.
    one_in = 4 if other.describe().policy else 8 if other.describe().level == "none" else 16
    tasks = {task.id: task for task in sample(suite, one_in, lambda task: task.id)}
    path = data / "llm_completions" / "humaneval.text-davinci-003.reflexion.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answers = [(task, task.reference) for task in tasks.values()]
    answers += [(tasks[row["task_id"]], row["completion"]) for row in rows if row["task_id"] in tasks]
    ours, theirs = judge_many(answers, executor), judge_many(answers, other)
    ran = [number for number, verdict in enumerate(theirs) if verdict.execution.status is not Status.REFUSED]
    assert other.describe().policy or len(ran) == len(answers)
    assert len(tasks) >= 120 / one_in
    assert 2 * len(ran) >= len(answers)
    assert [told(theirs[number]) for number in ran] == [told(ours[number]) for number in ran]
    if not other.describe().policy:
        assert all(verdict.passed for verdict in theirs[: len(tasks)])


def episodes(executor):
    """What each step of each episode gives."""
    rewards = {"tests": 1.0, "execution": 0.5}
    env = gym.make("CodeExec-v0", suite="starter", executor=executor, rewards=rewards, max_turns=3)
    steps = []
    for task in itertools.islice(env.get_wrapper_attr("suite"), EPISODES):
        env.reset(seed=0, options={"task_id": task.id})
        for turn in TURNS:
            _, reward, terminated, truncated, info = env.step(task.reference if turn == "reference" else turn)
            steps.append(
                (task.id, turn, reward, terminated, truncated, info["reward_terms"], info["outcome"], info["status"])
            )
            if terminated:
                break
    env.close()
    return steps


@pytest.fixture(scope="module")
def ours(executor):
    return episodes(executor)


def test_rewards_step_for_step(ours, other):
    assert episodes(other) == ours
    assert len(ours) == 3 * EPISODES
    assert {step[2] for step in ours} >= {0.0, 1.5}
