"""Many answers in their order: a slow one holds back the verdicts after it, not the workers."""

import threading
from concurrent.futures import Future
from operator import itemgetter

import pytest

from code_env import ExecutionResult, Executor, Limits, OutputTest, Status, Task, judge_as_completed, judge_each
from code_env.judging.judge import MAX_AHEAD

TASK = Task("t", "p", (OutputTest("1"),), limits=Limits(cpu_s=1, wall_s=60))
RIGHT, WRONG = (TASK, "print(1)"), (TASK, "print(2)")


class Held(Executor):
    """Runs programs in another executor; the first one's result is kept back until `enough` more were submitted."""

    def __init__(self, inner, enough, faults=0):
        self._inner, self._enough, self._faults = inner, enough, faults
        self._release = threading.Event()
        self.submitted = 0

    def submit(self, program):
        self.submitted += 1
        if self.submitted == 1 + self._enough:
            self._release.set()
        if self.submitted > 1:
            if self._faults:
                self._faults -= 1
                failed = Future()
                failed.set_result(ExecutionResult(Status.SANDBOX_ERROR))
                return failed
            return self._inner.submit(program)
        held = Future()

        def finish():
            self._release.wait(60)
            held.set_result(self._inner.run(program))

        threading.Thread(target=finish, daemon=True).start()
        return held

    def describe(self):
        return self._inner.describe()

    def close(self):
        pass


def test_others_go_on_while_the_first_is_slow(executor):
    held = Held(executor, enough=20)
    verdicts = judge_each([RIGHT, *[RIGHT, WRONG] * 15], held, in_flight=2)
    assert next(verdicts).passed
    assert held.submitted > 20
    assert [verdict.passed for verdict in verdicts] == [True, False] * 15


def test_a_slow_one_comes_last_where_they_come_as_completed(executor):
    held = Held(executor, enough=20)
    numbered = list(judge_as_completed([RIGHT, *[RIGHT, WRONG] * 10, (TASK, "")], held, in_flight=2))
    assert sorted(number for number, _ in numbered) == list(range(22))
    assert [number for number, _ in numbered].index(0) >= 19
    assert [verdict.passed for _, verdict in sorted(numbered, key=itemgetter(0))][:3] == [True, True, False]


def test_what_the_sandbox_failed_is_tried_again(executor):
    held = Held(executor, enough=5, faults=2)
    assert [verdict.passed for verdict in judge_each([RIGHT] * 10, held, in_flight=3)] == [True] * 10


@pytest.mark.parametrize("in_flight", [1, 3, 100])
def test_answers_that_are_no_programs_have_their_place(executor, in_flight):
    answers = [(TASK, ""), RIGHT, (TASK, " "), (TASK, "\ud800"), WRONG]
    assert [v.passed for v in judge_each(answers, executor, in_flight=in_flight)] == [False, True, False, False, False]


def test_no_more_is_drawn_than_may_wait(executor):
    drawn = 0

    def answers():
        nonlocal drawn
        for _ in range(3 * MAX_AHEAD):
            drawn += 1
            yield TASK, ""

    verdicts = judge_each(answers(), executor, in_flight=4)
    next(verdicts)
    assert drawn <= MAX_AHEAD
    assert sum(1 for _ in verdicts) == 3 * MAX_AHEAD - 1
