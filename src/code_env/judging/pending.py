"""One answer on its way to a verdict, which nobody has to wait for.

An answer is never parsed or compiled here. What is no text for a program at all (nothing but white
space, lone surrogates, a megabyte and more) is a verdict too, not an exception.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import Future
from weakref import WeakKeyDictionary

from code_env.executors.base import Executor
from code_env.executors.program import Program
from code_env.executors.result import ErrorInfo, ExecutionResult
from code_env.tasks.task import Task

from .job import may_be_together, program_for
from .report import failed_before_tests, no_verdict, sandbox_fault, verdict_of, were_together
from .verdict import Verdict

MAX_CODE_CHARS = 1_000_000
"""Longest answer that is run."""

ATTEMPTS = 3
"""How often a run is tried when the sandbox fails, before there is no verdict."""


class PendingVerdict:
    """One answer to a task, submitted, tried again while the sandbox fails, and judged.

    Args:
        task: The task.
        code: The answer, extracted from what the policy wrote.
        response: What the policy wrote, for the record.
        until_failure: Whether tests after the first that fails need not run.

    Raises:
        TypeError: If `code` is not text.
    """

    def __init__(self, task: Task, code: str, response: str, *, until_failure: bool = False) -> None:
        self.task, self.code, self.response, self._until_failure = task, code, response, until_failure
        self.verdict: Verdict | None = None
        """The verdict, once there is one."""
        self.wanted_by = 0
        """How many there are who want it, where it is shared."""
        self.then: Callable[[Verdict], None] | None = None
        """Who is told of the verdict of a run."""
        self._future: Future[ExecutionResult] | None = None
        self._executor: Executor | None = None
        self._attempts = 0
        self._together = False
        problem = _problem(code)
        if problem is not None:
            self.verdict = failed_before_tests(task, response, code, problem)

    def start(self, executor: Executor) -> None:
        """Submit its program, unless there is a verdict without.

        Raises:
            UnsupportedProgram: If the executor cannot do what the task asks.
        """
        self._executor = executor
        if self.verdict is None:
            self._together = self._may_be_together(executor)
            self._submit()

    def _may_be_together(self, executor: Executor) -> bool:
        """Whether to try first if all calls may share a process."""
        return may_be_together(self.task) and _forks(executor)

    def _submit(self) -> None:
        if self._executor is None:
            raise RuntimeError("it was not started")
        self._future = self._executor.submit(self._program())
        self._attempts += 1

    def _program(self) -> Program:
        return program_for(self.task, self.code, until_failure=self._until_failure, together=self._together)

    @property
    def is_fresh(self) -> bool:
        """Whether a program was run for it."""
        return self._attempts > 0

    def when_back(self, tell: Callable[[PendingVerdict], object]) -> None:
        """Have somebody told when its program has come back from where it was submitted last.

        Raises:
            RuntimeError: If it has not been submitted.
        """
        if self._future is None:
            raise RuntimeError("it was not submitted")
        self._future.add_done_callback(lambda _: tell(self))

    def wait(self, until: float | None = None) -> Verdict | None:
        """The verdict, after as many attempts as a failing sandbox makes needful.

        Args:
            until: How long to wait at the most, as a moment of the monotonic clock.

        Returns:
            None if there is none by then; never without a time to wait.

        Raises:
            ExecutorClosed: If it cannot be submitted again, because the executor was closed.
        """
        while self.verdict is None:
            if self._future is None:  # The last time it could not be submitted.
                self._submit()
                continue
            left_s = None if until is None else max(0.0, until - time.monotonic())
            try:
                self._future.exception(left_s)
            except TimeoutError:
                return None
            self.take(self._future.result())
        return self.verdict

    def take(self, result: ExecutionResult) -> None:
        """Take what came back from a run; there is no verdict yet if another is needed.

        That is so where the sandbox failed, and where calls could not share a process without a difference.
        """
        self._future, began = None, time.monotonic()
        fault = sandbox_fault(result)
        if fault is None and self._together and not were_together(result):
            self._together, self._attempts = False, 0
            return
        if fault is None:
            verdict = verdict_of(self.task, self.response, self.code, result)
            self.verdict = dataclasses.replace(verdict, judge_s=time.monotonic() - began)
            if self.then is not None:
                self.then(self.verdict)
        elif self._attempts >= ATTEMPTS:
            self.verdict = no_verdict(self.task, self.response, self.code, fault)

    async def arun(self, executor: Executor) -> Verdict:
        """The verdict, awaited."""
        self._together = self._may_be_together(executor)
        while self.verdict is None:
            self._attempts += 1
            self.take(await executor.arun(self._program()))
        return self.verdict

    def cancel(self) -> None:
        """End its program, unless others want the verdict."""
        self.wanted_by -= 1
        if self._future is not None and self.wanted_by <= 0:
            self._future.cancel()


_forking: WeakKeyDictionary[Executor, bool] = WeakKeyDictionary()


def _forks(executor: Executor) -> bool:
    """Whether another run costs little, so that it is worth to try whether calls may share a process."""
    known = _forking.get(executor)
    if known is None:
        about = executor.describe()
        known = _forking[executor] = about.level != "machine" and not about.policy
    return known


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
