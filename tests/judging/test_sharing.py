"""Identical answers run once, known ones not at all, and nothing uncertain is known."""

import dataclasses

import pytest

from code_env import AssertTest, CallTest, CodeExecEnv, OutputTest, StdinTest, Task, TaskSuite, judge
from code_env.judging.sharing import SharedJudging, VerdictCache
from code_env.registration import make_code_exec_vec

HELLO = Task("hello", "", (OutputTest("hello"),))
OTHER = dataclasses.replace(HELLO, id="other")
SUITE = TaskSuite("two", [HELLO, OTHER])


@pytest.fixture
def counted(executor, monkeypatch):
    """What is submitted to the executor."""
    submitted = []
    submit = type(executor).submit
    monkeypatch.setattr(
        type(executor), "submit", lambda self, program: submitted.append(program.code) or submit(self, program)
    )
    return submitted


def verdicts_of(env, *answers, **options):
    env.reset(seed=0, options=options)
    *_, info = env.step(answers)
    return info


def test_identical_programs_of_a_group_run_once_and_each_has_its_response(executor, counted):
    env = CodeExecEnv(SUITE, executor, samples_per_step=4)
    answers = ("print('hello')\n", "```python\nprint('hello')\n```", "print(1)", "print('hello')\n")
    info = verdicts_of(env, *answers, task_id="hello")
    assert counted == ["print('hello')\n", "print(1)"]
    assert [verdict.passed for verdict in info["verdicts"]] == [True, True, False, True]
    assert [verdict.response for verdict in info["verdicts"]] == list(answers)


def test_identical_programs_of_many_environments_run_once_for_each_task(executor, counted):
    env = make_code_exec_vec(4, SUITE, executor)
    env.reset(seed=0, options={"task_ids": ["hello", "hello", "other", "other"]})
    _, rewards, *_ = env.step(("print('hello')",) * 4)
    assert rewards.tolist() == [1.0] * 4
    assert counted == ["print('hello')"] * 2
    env.close()


def test_a_cache_serves_after_two_equal_runs(executor, counted):
    env = CodeExecEnv(SUITE, executor, cache_size=10)
    for _ in range(5):
        env.reset(options={"task_id": "hello"})
        response = "so:\n```python\nprint('hello')\n```"
        _, _, terminated, _, info = env.step(response)
        assert (terminated, info["passed"], info["verdicts"][0].response) == (True, True, response)
    assert len(counted) == 2
    env.reset(options={"task_id": "other"})
    env.step("print('hello')")
    assert len(counted) == 3


def test_what_differs_from_run_to_run_is_never_served(executor, counted):
    env = CodeExecEnv(SUITE, executor, cache_size=10)
    for _ in range(4):
        env.reset(options={"task_id": "hello"})
        env.step("import time\nprint(time.perf_counter_ns())")
    assert len(counted) == 4


def test_without_a_cache_each_step_runs(executor, counted):
    env = CodeExecEnv(SUITE, executor)
    for _ in range(3):
        env.reset(options={"task_id": "hello"})
        env.step("print('hello')")
    assert len(counted) == 3


def test_a_cache_forgets_what_was_used_longest_ago_and_no_more(executor):
    cache = VerdictCache(2)
    verdicts = {code: judge(HELLO, code, executor) for code in ("print('hello')", "print(1)", "print(2)")}
    first, second, third = verdicts
    for code in (first, first, second, second):
        cache.put(HELLO, code, verdicts[code])
    assert cache.get(HELLO, first).passed
    cache.put(HELLO, third, verdicts[third])
    assert (cache.get(HELLO, first) is not None, cache.get(HELLO, second), len(cache)) == (True, None, 2)
    assert cache.get(dataclasses.replace(HELLO), first) is None  # An equal task is another: comparing would cost more.


@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_a_cache_has_room_for_something(size):
    with pytest.raises(ValueError, match="at least 1"):
        VerdictCache(size)


# Stopping at the first failure


@pytest.mark.parametrize(
    ("task", "right", "wrong"),
    [
        (
            Task("stdin", "", tuple(StdinTest(f"{n}\n", f"{n}\n") for n in range(6))),
            "print(input())",
            "n = input()\nprint('no' if n == '2' else n)",
        ),
        (
            Task("call", "", tuple(CallTest((n,), {}, n) for n in range(6)), entry_point="f"),
            "def f(n): return n",
            "def f(n): return -1 if n == 2 else n",
        ),
    ],
    ids=["stdin", "call"],
)
def test_nothing_runs_after_the_first_failure(task, right, wrong, executor):
    judging = SharedJudging(executor, until_failure=True)
    passed, failed = (pending.wait() for pending in judging.submit([(task, right), (task, wrong)]))
    assert (passed.passed, passed.tests_passed) == (True, 6)
    assert failed.outcome == "fail"
    assert [case.passed for case in failed.cases[:3]] == [True, True, False]
    last = failed.cases[-1]
    assert (last.tested, last.passed) == (False, False)
    assert "a test before it failed" in last.message
    assert all(case.passed for case in judge(task, right, executor).cases)


def test_every_test_is_told_of_whatever_stands_before_it(executor):
    """Of tests that did not run the verdict says so, be they public or hidden, of one kind or of several."""
    public = {"hidden": False}
    tests = (
        CallTest((0,), {}, 0, **public),
        StdinTest("", "fine\n", **public),
        CallTest((1,), {}, 1),
        CallTest((2,), {}, 2),
        AssertTest("assert f(3) == 3\nassert f(4) == 4"),
        StdinTest("", "fine\n"),
    )
    task = Task("mixed", "", tests, entry_point="f")
    main = "\nif __name__ == '__main__': print('{}')"
    for number in range(6):
        wrong = f"def f(n): return -1 if n == {number - (number > 2) if number < 4 else 3} else n"
        code = wrong + main.format("fine") if number not in (1, 5) else "def f(n): return n" + main.format("no")
        whole = judge(task, code, executor)
        stopped = SharedJudging(executor, until_failure=True).submit([(task, code)])[0].wait()
        assert whole.outcome == stopped.outcome == "fail"
        assert (whole.execution.status, stopped.execution.status) == ("ok", "ok"), stopped
        assert {case.status for case in stopped.cases} == {"ok"}
        assert sum(case.tested and not case.passed for case in stopped.cases) >= 1
        assert all("not run" in case.message for case in stopped.cases if not case.tested)


def test_a_suite_ends_at_its_first_failed_assert(executor):
    code = "assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 3\n"
    unit = (
        "import unittest\nclass Tests(unittest.TestCase):\n"
        "    def test_a(self): self.assertEqual(f(1), 1)\n"
        "    def test_b(self): self.assertEqual(f(2), 2)\n"
        "    def test_c(self): self.assertEqual(f(3), 3)\n"
    )
    for text in (code, unit):
        task = Task("t", "", (AssertTest(text), AssertTest("assert f(4) == 4")), entry_point="f")
        whole = judge(task, "def f(n): return 0 if n == 2 else n", executor)
        assert [case.passed for case in whole.cases] == [True, False, True, True]
        (pending,) = SharedJudging(executor, until_failure=True).submit([(task, "def f(n): return 0 if n == 2 else n")])
        stopped = pending.wait()
        assert [case.passed for case in stopped.cases] == [True, False, False, False], text
        assert stopped.cases[-1].tested is False
        (pending,) = SharedJudging(executor, until_failure=True).submit([(task, "def f(n): return n")])
        assert pending.wait().passed


def test_an_env_that_stops_rewards_a_pass_and_refuses_shares(executor):
    env = make_code_exec_vec(2, SUITE, executor, until_failure=True, rewards={"pass@1": 1.0})
    env.reset(seed=0, options={"task_id": "hello"})
    assert env.step(("print('hello')", "print(1)"))[1].tolist() == [1.0, 0.0]
    env.close()
    for reward in ({"tests": 1.0}, {"similarity": 1.0}, {"execution": 1.0}, {"potential": {}}):
        with pytest.raises(ValueError, match="until_failure"):
            make_code_exec_vec(2, SUITE, executor, until_failure=True, rewards=reward)
