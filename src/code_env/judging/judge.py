"""Judges answers that are already extracted: submits a program to the executor and returns a verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue

from code_env.executors.base import Executor
from code_env.tasks.task import Task

from .pending import PendingVerdict
from .verdict import Verdict

MAX_AHEAD = 1024
"""The largest number of answers that are started while the verdict of an earlier one is missing. So `judge_each` holds
back no more verdicts than this."""


def judge(task: Task, code: str, executor: Executor, *, response: str | None = None) -> Verdict:
    """Judge one answer to a task.

    Args:
        task: The task.
        code: The answer: a program. `extract_code` finds it in what a policy wrote.
        executor: Where it runs.
        response: What the policy wrote, for the record; `code` if None.

    Raises:
        TypeError: If `task` is not a task, `code` is not text, or `executor` is not an executor.
        UnsupportedProgram: If the executor cannot do what the task asks, or packages of the task are not prepared.

    Example:
        >>> from code_env import CallTest, make_executor
        >>> tests = (CallTest((1, 2), expected=3), CallTest((2, 2), expected=4))
        >>> task = Task("add", "Write add(a, b).", tests, entry_point="add")
        >>> with make_executor("local") as executor:
        ...     verdict = judge(task, "def add(a, b): return 3", executor)
        >>> verdict.outcome.value, verdict.fraction, verdict.cases[1].message
        ('fail', 0.5, 'expected 4, got 3')
    """
    return judge_many([(task, code)], executor, responses=None if response is None else [response])[0]


def judge_many(
    answers: Iterable[tuple[Task, str]], executor: Executor, *, responses: Iterable[str] | None = None
) -> list[Verdict]:
    """Judge many answers at the same time; the verdicts are in the order of the answers.

    Args:
        answers: Pairs of a task and an answer to it.
        executor: Where they run.
        responses: What the policy wrote, one for each answer; the answers themselves if None.

    Raises:
        TypeError: If an answer is not a pair of a task and a text, or `executor` is not an executor.
        ValueError: If there are not as many responses as answers.
        UnsupportedProgram: If the executor cannot do what a task asks.
    """
    judged = _pending_verdicts(answers, responses)
    return list(_settle_in_turn(judged, executor, in_flight=len(judged)))


def judge_each(answers: Iterable[tuple[Task, str]], executor: Executor, *, in_flight: int = 32) -> Iterator[Verdict]:
    """Judge many answers, and yield the verdicts in the order of the answers, each as soon as it can be.

    Args:
        answers: Pairs of a task and an answer to it.
        executor: Where they run.
        in_flight: How many answers are being judged at the same time; it should be enough to keep the workers busy.
            Finished verdicts wait while an earlier one is missing, at most `MAX_AHEAD` of them.

    Raises:
        TypeError: If an answer is not a pair of a task and a text, or `executor` is not an executor.
        UnsupportedProgram: If the executor cannot do what a task asks.
    """
    return _settle_in_turn((PendingVerdict(task, code, code) for task, code in _pairs(answers)), executor, in_flight)


def judge_as_completed(
    answers: Iterable[tuple[Task, str]], executor: Executor, *, in_flight: int = 32
) -> Iterator[tuple[int, Verdict]]:
    """Judge many answers, and yield each verdict as soon as it is there, with the number of its answer, from 0.

    Args:
        answers: Pairs of a task and an answer to it.
        executor: Where they run.
        in_flight: How many answers are being judged at the same time; it should be enough to keep the workers busy.

    Raises:
        TypeError: If an answer is not a pair of a task and a text, or `executor` is not an executor.
        UnsupportedProgram: If the executor cannot do what a task asks.
    """
    return _settle((PendingVerdict(task, code, code) for task, code in _pairs(answers)), executor, in_flight)


def _settle_in_turn(answers: Iterable[PendingVerdict], executor: Executor, in_flight: int) -> Iterator[Verdict]:
    """Yield the verdicts in the order of the answers."""
    early: dict[int, Verdict] = {}
    following = 0
    for number, verdict in _settle(answers, executor, in_flight):
        early[number] = verdict
        while following in early:
            yield early.pop(following)
            following += 1


def _settle(answers: Iterable[PendingVerdict], executor: Executor, in_flight: int) -> Iterator[tuple[int, Verdict]]:
    """Yield the number and the verdict of each answer as soon as it is there.

    A slow answer does not keep the workers idle, until `MAX_AHEAD` answers after it have been started.
    """
    under_way: dict[int, PendingVerdict] = {}
    back: SimpleQueue[int] = SimpleQueue()
    ahead = max(in_flight, MAX_AHEAD)
    source = enumerate(answers)
    number = -1
    try:
        while True:
            while len(under_way) < max(1, in_flight) and number - next(iter(under_way), number) < ahead:
                following = next(source, None)
                if following is None:
                    break
                number, answer = following
                answer.start(executor)
                if answer.verdict is None:
                    under_way[number] = answer
                    answer.when_back(partial(_tell, back, number))
                else:
                    yield number, answer.verdict
            if not under_way:
                return
            done = back.get()
            verdict = under_way[done].wait(time.monotonic())
            if verdict is None:  # The sandbox failed; the answer is run again.
                under_way[done].when_back(partial(_tell, back, done))
            else:
                del under_way[done]
                yield done, verdict
    finally:
        # If the caller stops iterating or is interrupted, it does not need the other verdicts.
        for one in under_way.values():
            one.cancel()


def _tell(back: SimpleQueue[int], number: int, _: PendingVerdict) -> None:
    back.put(number)


async def ajudge(task: Task, code: str, executor: Executor, *, response: str | None = None) -> Verdict:
    """Like `judge`, for asyncio; cancelling the task that awaits it ends the program."""
    return await PendingVerdict(task, code, code if response is None else response).arun(executor)


async def ajudge_many(
    answers: Iterable[tuple[Task, str]], executor: Executor, *, responses: Iterable[str] | None = None
) -> list[Verdict]:
    """Like `judge_many`, for asyncio."""
    judged = _pending_verdicts(answers, responses)
    return await asyncio.gather(*[ajudge(j.task, j.code, executor, response=j.response) for j in judged])


def _pairs(answers: Iterable[tuple[Task, str]]) -> Iterator[tuple[Task, str]]:
    """Yield the answers, and refuse those that are not pairs."""
    wanted = "answers must be pairs of a task and an answer, as [(task, code), ...]"
    if not isinstance(answers, Iterable):
        raise TypeError(f"{wanted}; got {type(answers).__name__}")
    for one in answers:
        if not isinstance(one, Sequence) or isinstance(one, str) or len(one) != 2:
            raise TypeError(f"{wanted}; got {type(one).__name__}")
        task, code = one
        yield task, code


def _pending_verdicts(answers: Iterable[tuple[Task, str]], responses: Iterable[str] | None) -> list[PendingVerdict]:
    pairs = list(_pairs(answers))
    written = [code for _, code in pairs] if responses is None else list(responses)
    if len(written) != len(pairs):
        raise ValueError(f"{len(pairs)} answers and {len(written)} responses; each answer needs one")
    return [PendingVerdict(task, code, response) for (task, code), response in zip(pairs, written, strict=True)]
