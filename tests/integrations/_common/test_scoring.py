import asyncio
import logging
from concurrent.futures import Future

import gymnasium as gym
import pytest

from code_env import (
    CallTest,
    Executor,
    ExecutorClosed,
    ExecutorNotFound,
    Limits,
    Outcome,
    OutputTest,
    RewardError,
    StdinTest,
    Task,
    TaskSuite,
    UnsupportedProgram,
    load_suite,
    make_executor,
)
from code_env.errors import ExecutorMisconfigured
from code_env.integrations._common import runs, scoring
from code_env.integrations._common.scoring import ascore, score
from support import WHEN, BrokenExecutor, killed_meanwhile, unstartable

DOUBLE = Task(
    "double",
    "Double it.",
    tuple(StdinTest(str(n), str(2 * n)) for n in range(4)),
    reference="print(int(input()) * 2)",
    limits=Limits(cpu_s=0.2, wall_s=5),
)
HELLO = Task("hello", "Say hello.", (OutputTest("hello world"),))
RESPONSES = {
    "right": "Sure:\n```python\nprint(int(input()) * 2)\n```\nDone.<|im_end|>",
    "half": "n = int(input())\nprint(2 * n if n < 2 else n)",
    "wrong": "print(3)",
    "faulty": "1 / 0",
    "no program": "I cannot do that.",
    "empty": "",
    "white space": " \n\t",
    "thinking": "<think>```python\nprint(1)\n```</think>print(int(input()) * 2)",
    "lone surrogate": "print('\ud800')",
    "long": "# " + "x" * 200_000 + "\nprint(int(input()) * 2)",
    "endless": "while True: pass",
    "exits": "import os; os._exit(0)",
}
REWARDS = [
    None,
    {},
    {"tests": 1.0},
    {"tests": 0.9, "format": 0.1},
    {"pass@1": {"weight": 2.0, "name": "solved"}, "length": 0.1},
    {"tests": 1.0, "execution": {"weight": 0.5}, "clip": {"low": 0.2, "high": 1.0}},
]


def env_rewards(task, responses, rewards, executor):
    """What a single environment gives for each response."""
    arguments = {} if rewards is None else {"rewards": rewards}
    found = []
    with gym.make("code_env:CodeExec-v0", suite=TaskSuite("one", [task]), executor=executor, **arguments) as env:
        for response in responses:
            env.reset(seed=0)
            _, reward, _, _, info = env.step(response)
            found.append((float(reward), {name: float(added) for name, added in info["reward_terms"].items()}))
    return found


@pytest.mark.parametrize("rewards", REWARDS, ids=str)
def test_rewards_are_those_of_an_environment(rewards, executor):
    responses = list(RESPONSES.values())
    expected = env_rewards(DOUBLE, responses, rewards, executor)
    scores = score([DOUBLE] * len(responses), responses, rewards, executor)
    assert [(one.reward, dict(one.terms)) for one in scores] == expected
    if rewards is None:
        assert [one.reward for one in scores] == [1.0, 0.5, 0, 0, 0, 0, 0, 1.0, 0, 1.0, 0, 0]
    assert all(one.valid and one.verdict.response == response for one, response in zip(scores, responses, strict=True))


def test_each_response_has_its_own_task(executor):
    tasks = [DOUBLE, HELLO, DOUBLE, HELLO]
    responses = ["print('hello world')", "print('hello world')", RESPONSES["right"], RESPONSES["right"]]
    assert [one.reward for one in score(tasks, responses, None, executor)] == [0.0, 1.0, 1.0, 0.0]


def test_different_tasks_with_one_id_are_not_mixed_up(executor):
    tasks = [Task("same", "", (OutputTest(str(n % 5)),)) for n in range(20)]
    tasks += [Task("same (2)", "", (OutputTest("7"),)), Task("same", "", (OutputTest("8"),))]
    responses = [f"print({n % 5})" for n in range(20)] + ["print(7)", "print(8)"]
    assert [one.reward for one in score(tasks, responses, None, executor)] == [1.0] * 22
    wrong = [f"print({(n + 1) % 5})" for n in range(20)] + ["print(8)", "print(7)"]
    assert [one.reward for one in score(tasks, wrong, None, executor)] == [0.0] * 22


def test_what_one_task_hides_another_does_not_show(executor):
    """The same call with another expected value: a judge that is kept for one must not serve the other."""
    tasks = [Task("f", "", (CallTest((1,), {}, n),), entry_point="f") for n in (1, 2)]
    same = "def f(x): return 1"
    assert [one.reward for one in score(tasks * 3, [same] * 6, None, executor)] == [1.0, 0.0] * 3


def test_a_reward_does_not_depend_on_what_else_is_in_the_batch(executor):
    """Some tasks of a data set have a reference, expected output or files, and some have not."""
    suite = TaskSuite("mixed", [DOUBLE, Task("f", "", (CallTest((1,), {}, 1),), entry_point="f")])
    for name in ("similarity", "length", "tests"):
        with gym.make("code_env:CodeExec-v0", suite=suite, executor=executor, rewards={name: 1.0}) as env:
            env.reset(options={"task_id": "f"})
            expected = float(env.step("def f(x): return x")[1])
        found = score([suite.task("f")], ["def f(x): return x"], {name: 1.0}, executor)
        assert [one.reward for one in found] == [expected], name
    rewards = dict.fromkeys(("similarity", "length", "files", "insights", "cpu", "memory", "tests"), 1.0)
    assert score([DOUBLE], [RESPONSES["right"]], rewards, executor)[0].reward >= 2.0


def test_a_group_is_its_consecutive_responses(executor, monkeypatch):
    tasks = [HELLO] * 3 + [DOUBLE] * 3
    responses = ["print('hello world')", "no", "no", "no", "no", "no"]
    rewards = {"group_pass@1": {"group_size": 3}}
    expected = pytest.approx([1 / 3] * 3 + [0.0] * 3)
    assert [one.reward for one in score(tasks, responses, rewards, executor)] == expected
    monkeypatch.setattr(scoring, "MAX_ENVS", 8)  # Of which 6 are taken at once.
    many = score(tasks * 3, responses * 3, rewards, executor)
    assert [one.reward for one in many] == pytest.approx(([1 / 3] * 3 + [0.0] * 3) * 3)
    with pytest.raises(RewardError, match="group_size must be a whole number"):
        score(tasks[:4], responses[:4], rewards, executor)


def test_more_than_one_environment_takes(executor, monkeypatch):
    monkeypatch.setattr(scoring, "MAX_ENVS", 4)
    tasks = [Task(str(n % 7), "", (OutputTest(str(n % 7)),)) for n in range(30)]
    assert [one.reward for one in score(tasks, [f"print({n % 7})" for n in range(30)], None, executor)] == [1.0] * 30


def test_none_for_none(executor):
    assert score([], [], None, executor) == []


def test_awaited_it_holds_nobody_up(executor):
    async def both():
        ticks = []

        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        scores = await ascore([HELLO], ["import time; time.sleep(0.5); print('hello world')"], None, executor)
        ticking.cancel()
        return scores, ticks

    scores, ticks = asyncio.run(both())
    assert scores[0].reward == 1.0
    assert len(ticks) >= 5


def test_responses_without_code_are_told_of_once(executor, caplog, monkeypatch):
    monkeypatch.setattr(runs, "_told", set())
    responses = [RESPONSES["right"], RESPONSES["no program"], "```bash\necho 1\n```"]
    for _ in range(2):
        judged = score([DOUBLE] * 3, responses, executor=executor)
        assert [(one.reward, one.verdict.has_code) for one in judged] == [(1.0, True), (0.0, False), (0.0, False)]
    assert caplog.text.count("2 of 3 answers hold no code, and count as wrong; for example 'I cannot do that.'") == 1


def test_where_all_have_code_nothing_is_said(executor, caplog, monkeypatch):
    monkeypatch.setattr(runs, "_told", set())
    score([DOUBLE] * 2, [RESPONSES["right"], RESPONSES["faulty"]], executor=executor)
    assert "hold no code" not in caplog.text


@pytest.mark.parametrize("when", WHEN)
def test_without_a_server_there_is_no_reward(when, tmp_path, caplog):
    with unstartable(tmp_path, when) as executor, caplog.at_level(logging.WARNING):
        scores = score([HELLO, DOUBLE], ["print('hello world')", "print(1)"], {"tests": 1.0}, executor)
        assert [(one.reward, one.valid, dict(one.terms)) for one in scores] == [(None, False, {})] * 2
        assert [one.verdict.outcome for one in scores] == [Outcome.NO_VERDICT] * 2
        assert "2 of 2 responses have no verdict" in caplog.text
        assert "No such file" in caplog.text
        # What is no program needs no server, and before the first program there was none to say so.
        empty = score([HELLO], [""], None, executor)[0].reward
        assert empty == (None if when == WHEN[0] else 0.0)


def test_some_without_a_verdict_leave_the_others_theirs(executor, caplog):
    broken = BrokenExecutor(executor, failures=2)
    scores = score([HELLO] * 3, [f"print('hello world')#{n}" for n in range(3)], None, broken)
    assert [one.reward for one in scores] == [1.0] * 3  # Each is tried again.
    scores = score([HELLO] * 2, ["print('hello world')", ""], None, BrokenExecutor())
    assert [one.reward for one in scores] == [None, 0.0]
    assert "1 of 2 responses have no verdict: SandboxError: no luck" in caplog.text


def test_no_verdict_in_a_group_is_left_out():
    rewards = {"group_pass@1": {"group_size": 2}}
    scores = score([HELLO] * 2, ["print('hello world')", ""], rewards, BrokenExecutor())
    assert [one.reward for one in scores] == [None, 0.0]


def test_servers_killed_in_mid_batch():
    responses = [f"import time\ntime.sleep(0.1)\nprint(int(input()) * 2)  # {n}" for n in range(20)]
    with make_executor("local", workers=2) as executor:
        assert score([HELLO], ["print('hello world')"], None, executor)[0].reward == 1.0
        scores = killed_meanwhile(executor, lambda: score([DOUBLE] * 20, responses, None, executor))
        assert [one.reward for one in scores] == [1.0] * 20


class Misconfigured(Executor):
    """Refuses all programs, as `e2b` does with a wrong key."""

    def __init__(self, other):
        self._other = other

    def submit(self, program):
        told = Future()
        told.set_exception(ExecutorMisconfigured("check the key"))
        return told

    def describe(self):
        return self._other.describe()

    def close(self):
        pass


def test_misuse_is_an_error(executor):
    with pytest.raises(ValueError, match="each response needs one task; got 2 responses and 1 tasks"):
        score([HELLO], ["a", "b"], None, executor)
    with pytest.raises(TypeError, match="a response is text"):
        score([HELLO], [None], None, executor)
    with pytest.raises(RewardError, match="no reward is named 'test'"):
        score([HELLO], [""], {"test": 1.0}, executor)
    with pytest.raises(ExecutorNotFound):
        score([HELLO], [""], None, "locale")
    with pytest.raises(UnsupportedProgram):
        score([Task("x", "", (OutputTest("1"),), language="cobol")], ["x"], None, executor)
    with pytest.raises(ExecutorMisconfigured, match="check the key"):
        score([HELLO], ["x"], None, Misconfigured(executor))
    closed = make_executor("local", workers=1)
    closed.close()
    with pytest.raises(ExecutorClosed):
        score([HELLO], ["x"], None, closed)


@pytest.mark.parametrize("rewards", ["tests", ["tests"], {"tests": 1.0, "schedule": {"term": "tests"}}])
def test_rewards_that_cannot_be_are_refused(rewards, executor):
    with pytest.raises(RewardError, match=r"mapping from name to weight|'schedule' changes a weight"):
        score([DOUBLE], ["x"], rewards, executor)


def test_an_executor_that_was_given_stays_open(executor):
    assert score([HELLO], ["print('hello world')"], None, executor)[0].reward == 1.0
    assert executor.describe().level


def test_a_suite_of_references(executor):
    suite = load_suite("starter")[:10]
    scores = score(list(suite), [task.reference for task in suite], {"tests": 1.0}, executor)
    assert [one.reward for one in scores] == [1.0] * 10
