"""The rewards of files, insights, CPU time and memory, around one environment and around many."""

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from code_env import (
    CallTest,
    CodeExecEnv,
    FileTest,
    InsightTest,
    RewardError,
    Task,
    TaskSuite,
    file_operations,
    insights,
    save_suite,
)
from code_env.wrappers.reward_names import apply_rewards

FILES = Task("files", "Write two files.", (FileTest("a", "1"), FileTest("b", weight=3.0)), reference="open('a')")
DATA = Task(
    "data",
    "Look at dataset.csv.",
    (InsightTest("mean is 2"), InsightTest("most is 3"), FileTest("report.txt")),
    files={"dataset.csv": b"1\n2\n3\n"},
    metadata={"reference_cpu_s": 0.5, "reference_memory_bytes": 200 << 20},
)
SUITE = TaskSuite("both", [FILES, DATA])
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\n"


def stepped(env, task_id, code):
    """The raw terms of an answer, and its verdict."""
    env.reset(seed=0, options={"task_id": task_id})
    info = env.step(code)[4]
    return info["reward_raw"], info["verdicts"][0]


def raw(env, task_id, code):
    return stepped(env, task_id, code)[0]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("open('a', 'w').write('1')", 0.25),
        ("open('b', 'w')", 0.75),
        ("open('a', 'w').write('1'); open('b', 'w')", 1.0),
        ("open('a', 'w').write('2'); open('c', 'w')", 0.0),
        ("for name in 'abcdefgh': open(name, 'w').write('1')", 1.0),
        ("pass", 0.0),
    ],
)
def test_files_are_worth_their_weight(executor, code, value):
    env = apply_rewards(CodeExecEnv(SUITE, executor), {"files": 1.0})
    terms, verdict = stepped(env, "files", code)
    assert terms == {"files": value}
    assert file_operations(FILES, verdict) == value


@pytest.mark.parametrize(
    ("code", "value", "without_plot"),
    [
        ("print('The mean is 2.0.')", 0.5, 0.5),
        ("print('The mean is 2.0, the most is 3')", 1.0, 1.0),
        (PLOT, 0.25, 0.0),
        (PLOT + "print('mean is 2')", 0.75, 0.5),
        (PLOT + "print('mean is 2, most is 3')", 1.0, 1.0),
        (PLOT * 5 + "print('mean is 2')", 0.75, 0.5),
        ("print('nothing')", 0.0, 0.0),
        (PLOT + "print('mean is 2')\n1 / 0", 0.0, 0.0),
    ],
)
def test_insights_and_a_bonus_for_a_plot(executor, code, value, without_plot):
    env = apply_rewards(CodeExecEnv(SUITE, executor), {"insights": 1.0})
    terms, verdict = stepped(env, "data", code)
    assert terms == {"insights": value}
    assert insights(DATA, verdict, plot_bonus=0.0) == without_plot


def test_a_term_says_nothing_of_a_task_without_such_tests(executor):
    env = apply_rewards(CodeExecEnv(SUITE, executor), {"files": 1.0, "insights": 1.0})
    assert raw(env, "files", PLOT + "open('b', 'w')") == {"files": 0.75, "insights": 0.0}


def test_one_environment_and_many_give_the_same(tmp_path, executor):
    save_suite(SUITE, tmp_path / "suite.jsonl")
    rewards = {"files": 0.5, "insights": {"plot_bonus": 0.25}, "cpu": 0.1, "memory": 0.1}
    kwargs = {"suite": str(tmp_path / "suite.jsonl"), "rewards": rewards}
    codes = [PLOT + "print('mean is 2')", "open('a', 'w').write('1')"]
    vec = gym.make_vec("CodeExec-v0", num_envs=2, **kwargs)
    vec.reset(seed=0, options={"task_ids": ["data", "files"]})
    together = vec.step(codes)[1].tolist()
    vec.close()
    with gym.make("CodeExec-v0", **kwargs) as env:
        text = env.spec.to_json()
    with gym.make(EnvSpec.from_json(text)) as env:
        apart = []
        for task_id, code in zip(["data", "files"], codes, strict=True):
            env.reset(seed=0, options={"task_id": task_id})
            apart.append(env.step(code)[1])
    assert together == apart == [pytest.approx(0.5 + 0.125), 0.125]


def test_economy_is_for_answers_that_pass(executor):
    task = Task("add", "", (CallTest((1, 2), {}, 3),), entry_point="add", metadata=DATA.metadata)
    env = apply_rewards(CodeExecEnv(TaskSuite("s", [task]), executor), {"cpu": 1.0, "memory": {"most": 5.0}})
    assert raw(env, "add", "def add(a, b): return a + b") == {"cpu": 1.0, "memory": 1.0}
    assert raw(env, "add", "def add(a, b): return a - b") == {"cpu": 0.0, "memory": 0.0}


@pytest.mark.parametrize(
    ("suite", "kwargs", "rewards", "message"),
    [
        ([FILES], {}, {"insights": 1.0}, "no task of suite 's' has a test of kind 'insight'"),
        ([DATA], {"until_failure": True}, {"files": 1.0}, "until_failure=True"),
        ([FILES], {}, {"cpu": 1.0}, "--calibrate --write"),
        ([FILES], {}, {"memory": 1.0}, "reference_memory_bytes"),
        ([DATA], {}, {"cpu": {"free": 3, "most": 2}}, "0 < free < most"),
        ([DATA], {}, {"insights": {"plot_bonus": -1}}, "plot_bonus must be a number of at least 0"),
    ],
)
def test_what_does_not_fit_is_refused(executor, suite, kwargs, rewards, message):
    with pytest.raises(RewardError, match=message):
        apply_rewards(CodeExecEnv(TaskSuite("s", suite), executor, **kwargs), rewards)
