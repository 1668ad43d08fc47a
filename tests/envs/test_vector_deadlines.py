"""Of many environments as one none waits for another's program, and a step says where its time went."""

import time
from concurrent.futures import Future

import numpy as np
import pytest

from code_env import ExecutionResult, Executor, Isolation, Status, StepTiming, TaskError
from code_env.registration import make_code_exec_vec
from envs.mixed_suite import SUITE


class LateFuture(Future):
    """Notes how long it is waited for at the most, in seconds."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def exception(self, timeout=None):
        self.waits.append(timeout)
        return super().exception(timeout)


class LateExecutor(Executor):
    """Whose programs end when they are told to."""

    def __init__(self):
        self.futures = {}

    def submit(self, program):
        future = LateFuture()
        self.futures[program.code] = future
        return future

    def end(self, code, status=Status.SANDBOX_ERROR):
        self.futures[code].set_result(ExecutionResult(status))

    def describe(self):
        return Isolation(level="none", peer="same_machine")

    def close(self):
        pass


def slow(seconds):
    return f"import time\ntime.sleep({seconds})\nprint('hello')"


def test_an_env_that_is_not_ready_is_pending_and_ignores_what_is_sent(executor):
    env = make_code_exec_vec(2, SUITE, executor, deadline_s=0.5)
    try:
        shown, _ = env.reset(seed=0, options={"task_id": "hello"})
        env.step(("print('hello')",) * 2)  # What the first program starts is there now.
        env.reset(seed=0, options={"task_id": "hello"})
        observations, rewards, terminated, truncated, info = env.step((slow(1.2), "print('hello')"))
        assert info["pending"].tolist() == [True, False]
        assert (rewards.tolist(), terminated.tolist(), truncated.any()) == ([0.0, 1.0], [False, True], False)
        assert observations[0] == shown[0]
        assert info["reward_terms"]["tests"].tolist() == [0.0, 0.0]
        assert info["final_info"]["reward_terms"]["tests"].tolist() == [0.0, 1.0]
        steps = 1
        while info["pending"][0]:
            _, rewards, terminated, _, info = env.step(("1 / 0", "1 / 0"))
            steps += 1
        assert (rewards[0], bool(terminated[0])) == (1.0, True)
        assert info["final_info"]["verdicts"][0][0].code == slow(1.2)
        assert steps >= 2
        assert info["pending"].tolist() == [False, False]
        _, rewards, *_ = env.step(("1 / 0", "1 / 0"))
        assert rewards[0] == 0.0
    finally:
        env.close()


def test_a_straggler_keeps_one_step_waiting_and_no_other():
    executor = LateExecutor()
    env = make_code_exec_vec(2, SUITE, executor, deadline_s=2.0)
    env.reset(seed=0)
    for _ in range(4):
        *_, info = env.step(("late", ""))  # On what is no program there is a verdict at once.
        assert info["pending"].tolist() == [True, False]
    first, looked, *later = executor.futures["late"].waits
    assert 0.0 < first <= 2.0
    assert [looked, *later] == [0.0] * 4
    env.close()


def test_a_deadline_can_be_given_for_a_step(executor):
    env = make_code_exec_vec(1, SUITE, executor)
    try:
        env.reset(seed=0, options={"task_id": "hello"})
        env.step_async((slow(1),))
        *_, info = env.step_wait(deadline_s=0.05)
        assert info["pending"].tolist() == [True]
        env.step_async(("ignored",))
        _, rewards, *_ = env.step_wait()
        assert rewards.tolist() == [1.0]
        env.step_async(("print('hello')",))
        with pytest.raises(TaskError):
            env.step_wait(deadline_s=-1)
        assert env.step_wait()[4]["pending"].tolist() == [False]
    finally:
        env.close()


def test_a_reset_ends_what_is_pending():
    executor = LateExecutor()
    env = make_code_exec_vec(2, SUITE, executor, deadline_s=0.01)
    env.reset(seed=0)
    *_, info = env.step(("a", "b"))
    assert info["pending"].all()
    env.reset(options={"reset_mask": np.array([True, False])})
    assert [future.cancelled() for future in executor.futures.values()] == [True, False]
    *_, info = env.step(("c", "d"))
    assert sorted(executor.futures) == ["a", "b", "c"]
    env.close()
    assert all(future.cancelled() for future in executor.futures.values())


def test_a_program_that_two_have_sent_goes_on_while_one_wants_it():
    executor = LateExecutor()
    env = make_code_exec_vec(3, SUITE, executor, deadline_s=0.01)
    env.reset(seed=0, options={"task_id": "hello"})
    env.step(("same", "same", "same"))
    env.reset(options={"reset_mask": np.array([True, False, False])})
    env.reset(options={"reset_mask": np.array([False, True, False])})
    assert not executor.futures["same"].cancelled()
    for _ in range(3):
        executor.end("same")
        *_, info = env.step(("", "", "ignored"))
    assert info["pending"].tolist() == [False] * 3
    assert info["final_info"]["valid"].tolist() == [True, True, False]
    env.step(("again", "again", "again"))
    env.reset()
    assert executor.futures["again"].cancelled()
    env.close()


def test_a_sandbox_that_fails_is_tried_again_across_steps_and_is_no_wrong_answer():
    executor = LateExecutor()
    env = make_code_exec_vec(1, SUITE, executor, deadline_s=0.01)
    env.reset(seed=0)
    env.step(("a",))
    for _ in range(3):
        executor.end("a")
        _, rewards, terminated, truncated, info = env.step(("b",))
    assert sorted(executor.futures) == ["a"]
    assert (rewards[0], bool(terminated[0]), bool(truncated[0])) == (0.0, False, True)
    assert (info["final_info"]["valid"][0], info["final_info"]["samples_valid"][0]) == (False, 0)
    env.close()


def test_timing_says_where_the_time_went_and_makes_no_difference(executor):
    env = make_code_exec_vec(1, SUITE, executor)
    env.reset(seed=0, options={"task_id": "hello"})
    begun = time.monotonic()
    *_, info = env.step((slow(0.2),))
    took_s = time.monotonic() - begun
    timing = info["final_info"]["timing"][0]
    assert timing == StepTiming()
    parts = [timing.queue_s, timing.start_s, timing.run_s, timing.judge_s]
    assert timing.run_s > 0.2
    assert min(parts) >= 0.0
    assert sum(parts) <= took_s
    env.close()
