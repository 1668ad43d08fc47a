"""Judges answers: extraction is done, a program goes to the executor, a verdict comes back.

An answer is never parsed or compiled here. What is no text for a program at all (nothing but white
space, lone surrogates, a megabyte and more) is a verdict too, not an exception.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future

from code_env.executors.base import Executor
from code_env.executors.result import ErrorInfo, ExecutionResult
from code_env.tasks.task import Task

from .job import program_for
from .report import failed_before_tests, no_verdict, sandbox_fault, verdict_of
from .verdict import Verdict

MAX_CODE_CHARS = 1_000_000
"""Longest answer that is run."""

ATTEMPTS = 3
"""How often a run is tried when the sandbox fails, before there is no verdict."""


def judge(task: Task, code: str, executor: Executor, *, response: str | None = None) -> Verdict:
    """Judge one answer to a task.

    Args:
        task: The task.
        code: The answer, extracted from what the policy wrote.
        executor: Where it runs.
        response: What the policy wrote, for the record; `code` if None.

    Raises:
        TypeError: If `code` is not text.
        UnsupportedProgram: If the executor cannot do what the task asks.
    """
    return judge_many([(task, code)], executor, responses=None if response is None else [response])[0]


def judge_many(
    answers: Iterable[tuple[Task, str]], executor: Executor, *, responses: Iterable[str] | None = None
) -> list[Verdict]:
    """Judge many answers side by side; verdicts in their order.

    Args:
        answers: Pairs of a task and an answer to it.
        executor: Where they run.
        responses: What the policy wrote, one for each answer; the answers themselves if None.

    Raises:
        TypeError: If an answer is not text.
        ValueError: If there are not as many responses as answers.
        UnsupportedProgram: If the executor cannot do what a task asks.
    """
    judged = _all(answers, responses)
    return list(_settle_in_turn(judged, executor, in_flight=len(judged)))


def judge_each(answers: Iterable[tuple[Task, str]], executor: Executor, *, in_flight: int = 32) -> Iterator[Verdict]:
    """Judge many answers, yielding verdicts in their order as they come.

    Args:
        answers: Pairs of a task and an answer to it.
        executor: Where they run.
        in_flight: How many are submitted ahead; enough to keep the workers busy.

    Raises:
        TypeError: If an answer is not text.
        UnsupportedProgram: If the executor cannot do what a task asks.
    """
    return _settle_in_turn((_Judged(task, code, code) for task, code in answers), executor, in_flight)


def _settle_in_turn(judged: Iterable[_Judged], executor: Executor, in_flight: int) -> Iterator[Verdict]:
    waiting: deque[tuple[_Judged, Future[ExecutionResult] | None]] = deque()
    source = iter(judged)
    try:
        while True:
            for one in itertools.islice(source, max(1, in_flight) - len(waiting)):
                waiting.append((one, one.submit(executor)))
            if not waiting:
                return
            one, future = waiting.popleft()
            yield one.settle(executor, future)
    finally:
        # Whoever stops listening, or is interrupted, has no use for the rest.
        for _, future in waiting:
            if future is not None:
                future.cancel()


async def ajudge(task: Task, code: str, executor: Executor, *, response: str | None = None) -> Verdict:
    """As `judge`, awaited; cancelling the awaiting task ends the program."""
    judged = _Judged(task, code, code if response is None else response)
    for _ in range(ATTEMPTS):
        if judged.verdict is None:
            judged.take(await executor.arun(program_for(task, code)))
    return judged.settled()


async def ajudge_many(
    answers: Iterable[tuple[Task, str]], executor: Executor, *, responses: Iterable[str] | None = None
) -> list[Verdict]:
    """As `judge_many`, awaited."""
    judged = _all(answers, responses)
    return await asyncio.gather(*[ajudge(j.task, j.code, executor, response=j.response) for j in judged])


class _Judged:
    """One answer on its way to a verdict."""

    def __init__(self, task: Task, code: str, response: str) -> None:
        self.task, self.code, self.response = task, code, response
        self.verdict: Verdict | None = None
        self._fault: ExecutionResult | None = None
        problem = _problem(code)
        if problem is not None:
            self.verdict = failed_before_tests(task, response, code, problem)

    def submit(self, executor: Executor) -> Future[ExecutionResult] | None:
        """Submit its program; None if there is a verdict without."""
        return None if self.verdict is not None else executor.submit(program_for(self.task, self.code))

    def settle(self, executor: Executor, future: Future[ExecutionResult] | None) -> Verdict:
        """The verdict, after as many attempts as a failing sandbox makes needful."""
        for attempt in range(ATTEMPTS):
            if future is None:
                break
            self.take(future.result())
            future = self.submit(executor) if attempt + 1 < ATTEMPTS else None
        return self.settled()

    def take(self, result: ExecutionResult) -> None:
        """Take what came back from a run."""
        self._fault = sandbox_fault(result)
        if self._fault is None:
            self.verdict = verdict_of(self.task, self.response, self.code, result)

    def settled(self) -> Verdict:
        """The verdict after the last attempt."""
        if self.verdict is not None:
            return self.verdict
        if self._fault is None:
            raise RuntimeError("nothing was run")
        return no_verdict(self.task, self.response, self.code, self._fault)


def _all(answers: Iterable[tuple[Task, str]], responses: Iterable[str] | None) -> list[_Judged]:
    pairs = list(answers)
    written = [code for _, code in pairs] if responses is None else list(responses)
    if len(written) != len(pairs):
        raise ValueError(f"{len(pairs)} answers and {len(written)} responses; each answer needs one")
    return [_Judged(task, code, response) for (task, code), response in zip(pairs, written, strict=True)]


def _problem(code: str) -> ErrorInfo | None:
    """Why an answer is no program, if it is none."""
    if not isinstance(code, str):
        raise TypeError(f"an answer is text; got {type(code).__name__}")
    if not code.strip():
        return ErrorInfo("NoProgram", "the answer holds no code")
    if len(code) > MAX_CODE_CHARS:
        return ErrorInfo("NoProgram", f"the answer has {len(code)} characters; at most {MAX_CODE_CHARS} are run")
    try:
        code.encode()
    except UnicodeEncodeError as error:
        return ErrorInfo("NoProgram", f"the answer holds a lone surrogate at character {error.start}")
    return None
