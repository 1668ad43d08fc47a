"""One answer on its way to a verdict; the caller does not have to block until the verdict is there.

An answer is never parsed or compiled here. An answer that cannot be the text of a program (only white
space, lone surrogates, a megabyte or more) gets a verdict too; it does not raise an exception.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from weakref import WeakKeyDictionary

from code_env.errors import UnsupportedProgram
from code_env.executors.base import Executor, Isolation, require_executor
from code_env.executors.program import Program
from code_env.executors.result import ErrorInfo, ExecutionResult, Status
from code_env.tasks.task import Task
from code_env.text import printable

from .job import may_be_together, program_for
from .report import failed_before_tests, no_verdict, sandbox_fault, verdict_of, were_together
from .verdict import Verdict

_log = logging.getLogger(__name__)

MAX_CODE_CHARS = 1_000_000
"""Longest answer that is run."""

ATTEMPTS = 3
"""How many times a run is tried when the sandbox fails; after that the outcome is `no_verdict`."""


class PendingVerdict:
    """One answer to a task: submits it, runs it again if the sandbox fails, and makes its verdict.

    Args:
        task: The task.
        code: The answer, extracted from what the policy wrote.
        response: What the policy wrote, for the record.
        until_failure: Whether tests after the first that fails need not run.

    Raises:
        TypeError: If `task` is not a task, or `code` is not text.
    """

    def __init__(self, task: Task, code: str, response: str, *, until_failure: bool = False) -> None:
        if not isinstance(task, Task):
            raise TypeError(f"a Task is needed for an answer; got {type(task).__name__}; load_suite(rows) makes tasks")
        self.task, self.code, self.response, self._until_failure = task, code, response, until_failure
        self.verdict: Verdict | None = None
        """The verdict, once there is one."""
        self.wanted_by = 0
        """How many callers want this verdict, if identical answers share it."""
        self.then: Callable[[Verdict], None] | None = None
        """Called with the verdict that a run gave; not for a verdict without a run."""
        self._future: Future[ExecutionResult] | None = None
        self._executor: Executor | None = None
        self._attempts = 0
        self._together = False
        problem = _problem(code)
        if problem is not None:
            self.verdict = failed_before_tests(task, response, code, problem)

    def start(self, executor: Executor) -> None:
        """Submit the program, unless the answer already has a verdict.

        Raises:
            TypeError: If `executor` is not an executor.
            UnsupportedProgram: If the executor cannot do what the task asks.
        """
        self._prepare(executor)
        if self.verdict is None:
            self._submit()

    def _prepare(self, executor: Executor) -> None:
        """Check the executor, and choose whether to try first to make all calls in one process."""
        require_executor(executor)
        self._executor = executor
        if self.verdict is None:
            _isolation_of(executor)
            self._together = may_be_together(self.task) and _forks(executor)

    def _submit(self) -> None:
        if self._executor is None:
            raise RuntimeError("call start() before wait()")
        self._future = self._executor.submit(self._program())
        self._attempts += 1

    def _program(self) -> Program:
        return program_for(self.task, self.code, until_failure=self._until_failure, together=self._together)

    @property
    def is_fresh(self) -> bool:
        """Whether a program was run for this verdict."""
        return self._attempts > 0

    def when_back(self, tell: Callable[[PendingVerdict], object]) -> None:
        """Call `tell` with this object when the current run of its program is done.

        Raises:
            RuntimeError: If no program has been submitted.
        """
        if self._future is None:
            raise RuntimeError("the program was not submitted")
        self._future.add_done_callback(lambda _: tell(self))

    def wait(self, until: float | None = None) -> Verdict | None:
        """Wait for the verdict; if the sandbox fails, run the program again, up to `ATTEMPTS` times.

        Args:
            until: The latest time to wait until, on the monotonic clock; None to wait without a limit.

        Returns:
            The verdict; None if there is no verdict at `until`. Without `until` it is never None.

        Raises:
            ExecutorClosed: If the program cannot be submitted again, because the executor was closed.
        """
        while self.verdict is None:
            if self._future is None:  # The last submission failed, or another run is needed.
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
        """Take the result of a run, and set the verdict unless another run is needed.

        Another run is needed if the sandbox failed, or if sharing one process changed the results of the calls.
        """
        self._future, began = None, time.monotonic()
        fault = sandbox_fault(result)
        if fault is None and self._together and not were_together(result):
            self._together, self._attempts = False, 0
            return
        if fault is None:
            verdict = verdict_of(self.task, self.response, self.code, result)
            self.verdict = dataclasses.replace(verdict, judge_s=time.monotonic() - began)
            status = self.verdict.execution.status
            if status is not Status.OK:
                _log.debug("task %s: %s (%s) after %.2f s", self.task.id, self.verdict.outcome, status, result.wall_s)
            if self.then is not None:
                self.then(self.verdict)
            return
        why = printable(fault.error.message) if fault.error is not None else "unknown"
        _log.warning("task %s: attempt %d of %d gave no verdict: %s", self.task.id, self._attempts, ATTEMPTS, why)
        if self._attempts >= ATTEMPTS:
            self.verdict = no_verdict(self.task, self.response, self.code, fault)

    async def arun(self, executor: Executor) -> Verdict:
        """Run the program and return the verdict, for asyncio."""
        self._prepare(executor)
        while self.verdict is None:
            self._attempts += 1
            self.take(await executor.arun(self._program()))
        return self.verdict

    def cancel(self) -> None:
        """End the program, unless other callers want the verdict."""
        self.wanted_by -= 1
        if self._future is not None and self.wanted_by <= 0:
            self._future.cancel()


def isolation_for_judging(executor: Executor) -> Isolation:
    """Return what an executor isolates, if it can judge answers.

    Raises:
        UnsupportedProgram: If it cannot, because it runs no peers.
    """
    isolation = executor.describe()
    if isolation.peer == "none":
        why = f": {isolation.details}" if isolation.details else ""
        raise UnsupportedProgram(
            f"{type(executor).__name__} cannot judge answers, because it joins no program to a peer, which holds the "
            f"tests (its describe().peer is 'none'){why}; take an executor that does, such as 'local'"
        )
    return isolation


_known: WeakKeyDictionary[Executor, Isolation] = WeakKeyDictionary()


def _isolation_of(executor: Executor) -> Isolation:
    """Return what `isolation_for_judging` returns, and ask each executor only once."""
    known = _known.get(executor)
    if known is None:
        known = _known[executor] = isolation_for_judging(executor)
    return known


def _forks(executor: Executor) -> bool:
    """Whether a second run is cheap on this executor; only then is it worth trying all calls in one process first."""
    about = _isolation_of(executor)
    return about.level not in ("container", "machine") and not about.policy


def _problem(code: str) -> ErrorInfo | None:
    """Why an answer cannot be a program; None if it can.

    Raises:
        TypeError: If the answer is not text.
    """
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
