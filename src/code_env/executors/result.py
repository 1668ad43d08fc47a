"""What came back from an executor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from code_env.harness.wire.records import text_of_cell


class Status(StrEnum):
    """How a program ended."""

    OK = "ok"
    """By itself, with exit code 0. That alone says nothing about whether it is right."""
    ERROR = "error"
    """By an uncaught exception or with another exit code."""
    SIGNAL = "signal"
    """By a signal that no limit sent."""
    TIMEOUT = "timeout"
    """It reached its CPU or wall time limit; its output until then is kept."""
    MEMORY = "memory"
    """It reached its memory limit."""
    OUTPUT_LIMIT = "output_limit"
    """It wrote more than 16 MiB to one stream."""
    REFUSED = "refused"
    """A policy rejects it; it did not run."""
    SANDBOX_ERROR = "sandbox_error"
    """Our fault or the provider's, never the program's."""


@dataclass(frozen=True)
class ErrorInfo:
    """An uncaught exception, as its own process described it."""

    name: str
    """Name of its class."""
    message: str
    """Its text."""
    traceback: str = ""
    """The traceback, showing the program's own frames."""


@dataclass(frozen=True)
class CellResult:
    """What one of `Program.cells` gave.

    Example:
        >>> CellResult(stdout="5\\n", variable="7").text
        '5\\n'
    """

    results: tuple[Mapping[str, Any], ...] = ()
    """Rich outputs, see `ExecutionResult.results`."""
    stdout: str = ""
    """What it wrote to standard output, head and tail of a long one."""
    error: ErrorInfo | None = None
    """The exception that ended it, if one did."""
    variable: str | None = None
    """The variable `result` as text, if it sets that."""

    @property
    def text(self) -> str:
        """What it gave, as text: its last expression, else what it printed, else the variable `result`."""
        return text_of_cell(self.results, self.stdout, self.variable)


@dataclass(frozen=True)
class ExecutionResult:
    """What came back from one run. Measurements take no part in comparison."""

    status: Status
    """How it ended."""
    exit_code: int | None = None
    """Its exit code; None if it ended by a signal or did not run."""
    signal: int | None = None
    """Number of the signal that ended it, if one did."""
    stdout: str = ""
    """Its standard output as text; bytes that are not UTF-8 are replaced."""
    stderr: str = ""
    """Its standard error as text."""
    stdout_truncated: bool = False
    """Whether the middle of `stdout` was dropped."""
    stderr_truncated: bool = False
    """Whether the middle of `stderr` was dropped."""
    error: ErrorInfo | None = None
    """The uncaught exception that ended it, or what went wrong with the sandbox."""
    results: tuple[Mapping[str, Any], ...] = ()
    """Rich outputs of a program with `notebook=True`, as mappings from MIME type to data, in the order in which they
    came: `{"text/plain": text}` for what its last expression gave, `{"image/png": bytes}` for a figure. They are what
    the program made of them; whoever opens them should expect anything."""
    cells: tuple[CellResult, ...] = ()
    """What `Program.cells` gave, as far as they were run; in a judged run those of public tests first."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files of `Program.collect` that it left behind."""
    peer: ExecutionResult | None = None
    """What came back from its peer, if it had one."""
    wall_s: float = field(default=0.0, compare=False)
    """Time from start to end, in seconds."""
    cpu_s: float = field(default=0.0, compare=False)
    """CPU time of its processes, in seconds."""
    peak_memory_bytes: int = field(default=0, compare=False)
    """Largest memory that it was seen to hold, in bytes; 0 if unknown, as of a very short run."""
    queue_s: float = field(default=0.0, compare=False)
    """How long it waited for a worker, in seconds; counts against no limit."""
    start_s: float = field(default=0.0, compare=False)
    """How long it took beside queue and run, in seconds: to start what it needs, and to clear up."""


def sandbox_error(message: str, queue_s: float) -> ExecutionResult:
    """The result of a run that our side failed to make."""
    return ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("SandboxError", message), queue_s=queue_s)


SANDBOX_KILLED = "SandboxKilled"
"""Name of the error of a program that has taken its sandbox down, alone, twice; and of its peer."""


def sandbox_killed(what: str, *, with_peer: bool, queue_s: float) -> ExecutionResult:
    """The result of a program that is held responsible for the end of its sandbox.

    Args:
        what: How that ended.
        with_peer: Whether the program has a peer.
        queue_s: How long it waited, in seconds.
    """
    error = ErrorInfo(SANDBOX_KILLED, f"the program's sandbox died under it twice: {what}")
    peer = ExecutionResult(Status.ERROR, error=error) if with_peer else None
    return ExecutionResult(Status.ERROR, error=error, peer=peer, queue_s=queue_s)
