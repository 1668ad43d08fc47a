"""Judges answers: extraction is done, a program goes to the executor, a verdict comes back.

An answer is never parsed or compiled here. What is no text for a program at all (nothing but white
space, lone surrogates, a megabyte and more) is a verdict too, not an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

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
    pairs = list(answers)
    written = [code for _, code in pairs] if responses is None else list(responses)
    if len(written) != len(pairs):
        raise ValueError(f"{len(pairs)} answers and {len(written)} responses; each answer needs one")
    judged = [_Judged(task, code, response) for (task, code), response in zip(pairs, written, strict=True)]
    for _ in range(ATTEMPTS):
        waiting = [one for one in judged if one.verdict is None]
        futures = [executor.submit(program_for(one.task, one.code)) for one in waiting]
        for one, future in zip(waiting, futures, strict=True):
            one.take(future.result())
    return [one.settled() for one in judged]


async def ajudge(task: Task, code: str, executor: Executor, *, response: str | None = None) -> Verdict:
    """As `judge`, awaited; cancelling the awaiting task ends the program."""
    judged = _Judged(task, code, code if response is None else response)
    for _ in range(ATTEMPTS):
        if judged.verdict is None:
            judged.take(await executor.arun(program_for(task, code)))
    return judged.settled()


async def ajudge_many(answers: Iterable[tuple[Task, str]], executor: Executor) -> list[Verdict]:
    """As `judge_many`, awaited."""
    return await asyncio.gather(*[ajudge(task, code, executor) for task, code in answers])


class _Judged:
    """One answer on its way to a verdict."""

    def __init__(self, task: Task, code: str, response: str) -> None:
        self.task, self.code, self.response = task, code, response
        self.verdict: Verdict | None = None
        self._fault: ExecutionResult | None = None
        problem = _problem(code)
        if problem is not None:
            self.verdict = failed_before_tests(task, response, code, problem)

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
