"""Functions that several integrations share: they make limits and tasks, and describe how a program ended."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence

from code_env.errors import NoVerdict
from code_env.executors.limits import Limits
from code_env.executors.result import CellResult, ExecutionResult, Status
from code_env.harness.wire.channel import ChannelError
from code_env.harness.wire.endings import Ended
from code_env.judging.verdict import Verdict
from code_env.tasks.kinds import OutputTest
from code_env.tasks.task import Task
from code_env.text import clip

_log = logging.getLogger(__name__)

_EXAMPLE_CHARS = 200
_told: set[str] = set()
"""The warnings that this process has already logged."""


@functools.lru_cache(maxsize=64)  # Returns the same task each time, so that one judge can serve its answers.
def output_task(expected: str, limits: Limits, language: str = "python") -> Task:
    """Return the task of printing a text."""
    return Task("output", "", (OutputTest(expected),), language=language, limits=limits)


def time_limits(timeout: float, memory_bytes: int | None = None) -> Limits:
    """Return limits for systems that have only one time limit.

    Args:
        timeout: The limit of CPU time and also of wall time, in seconds.
        memory_bytes: The memory limit, in bytes; None for the package's default.

    Raises:
        TaskError: If a limit is out of range.
    """
    if memory_bytes is None:
        return Limits(cpu_s=timeout, wall_s=timeout)
    return Limits(cpu_s=timeout, wall_s=timeout, memory_bytes=memory_bytes)


def mebibytes(count: int | None) -> int | None:
    """Convert MiB to bytes; None stays None."""
    return None if count is None else count * 1024 * 1024


def with_verdict(verdict: Verdict) -> Verdict:
    """Return the verdict if it is valid. Warn if the response holds no code.

    Raises:
        NoVerdict: If the sandbox failed.
    """
    tell_of_missing_code([verdict])
    if not verdict.valid:
        raise NoVerdict(
            f"there is no verdict, and so no score: {why_no_verdict(verdict)}; it says nothing about the answer, which "
            "is to be left out or judged again"
        )
    return verdict


def tell_of_missing_code(verdicts: Sequence[Verdict]) -> None:
    """Warn of responses without code, with an example; only once in a process, because they come again and again."""
    missing = [verdict for verdict in verdicts if not verdict.has_code]
    if missing and "missing code" not in _told:
        _told.add("missing code")
        _log.warning(
            "%d of %d answers hold no code, and count as wrong; for example %r. docs/answers.md says where code is "
            "looked for. This is said once.",
            len(missing),
            len(verdicts),
            clip(missing[0].response, _EXAMPLE_CHARS),
        )


def why_no_verdict(verdict: Verdict) -> str:
    """Return the reason why there is no verdict."""
    error = verdict.execution.error
    return f"{error.name}: {error.message}" if error else "the sandbox failed"


def why_ended(result: ExecutionResult) -> str:
    """Return why a program failed: its exception, or the reason why its process ended.

    Example:
        >>> from code_env import Status
        >>> why_ended(ExecutionResult(Status.TIMEOUT))
        'the time limit was reached'
    """
    if result.error is not None:
        return f"{result.error.name}: {result.error.message}".removesuffix(": ")
    try:
        return Ended({"status": str(result.status), "exit_code": result.exit_code, "signal": result.signal}).reason
    except ChannelError:  # The program did not run.
        return str(result.status)


def why_cell_failed(cell: CellResult) -> str:
    """Return why a cell of a session failed: its exception, or the limit that it reached."""
    if cell.status is Status.SIGNAL and cell.error is None:
        return "a signal ended its interpreter"
    return why_ended(ExecutionResult(cell.status, error=cell.error))
