"""The result that an executor returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from code_env.checks import names_keywords
from code_env.harness.wire.records import text_of_cell


class Status(StrEnum):
    """How a program ended; docs/environment.md explains the values."""

    OK = "ok"
    """It ended by itself with exit code 0. That alone does not say that its answer is right."""
    ERROR = "error"
    """It ended by an uncaught exception, or with another exit code."""
    SIGNAL = "signal"
    """A signal ended it, which was not sent because of a limit."""
    TIMEOUT = "timeout"
    """It reached its limit of CPU time or wall time; its output until then is kept."""
    MEMORY = "memory"
    """It reached its memory limit."""
    OUTPUT_LIMIT = "output_limit"
    """It wrote more than 16 MiB to one stream."""
    REFUSED = "refused"
    """A policy refused it, before it ran or while it ran."""
    SANDBOX_ERROR = "sandbox_error"
    """The fault of this package or of the sandbox's provider, never of the program."""


@names_keywords
@dataclass(frozen=True)
class ErrorInfo:
    """An uncaught exception, as its own process described it."""

    name: str
    """Name of its class."""
    message: str
    """Its text."""
    traceback: str = ""
    """The traceback, showing the program's own frames."""


@names_keywords
@dataclass(frozen=True)
class CellResult:
    """The result of one cell: of `Program.cells`, or of a session.

    Example:
        >>> CellResult(stdout="5\\n", variable="7").text
        '5\\n'
    """

    results: tuple[Mapping[str, Any], ...] = ()
    """Rich outputs, see `ExecutionResult.results`."""
    stdout: str = ""
    """Its standard output; only the head and the tail if that is long."""
    error: ErrorInfo | None = None
    """The exception that ended it, if there was one."""
    variable: str | None = None
    """The variable `result` as text, if the cell sets this variable."""
    status: Status = Status.OK
    """How it ended, in a session; in a program's cells an exception says so."""
    stderr: str = ""
    """Its standard error, in a session; otherwise it is part of the program's."""
    cpu_s: float = field(default=0.0, compare=False)
    """Its CPU time in a session, in seconds."""
    wall_s: float = field(default=0.0, compare=False)
    """Its time from start to end in a session, in seconds."""

    @property
    def text(self) -> str:
        """The result as text: its last expression, otherwise what it printed, otherwise the variable `result`."""
        return text_of_cell(self.results, self.stdout, self.variable)


@names_keywords
@dataclass(frozen=True)
class ExecutionResult:
    """The result of one run. Measurements are ignored when results are compared."""

    status: Status
    """How it ended."""
    exit_code: int | None = None
    """Its exit code; None if it ended by a signal or did not run."""
    signal: int | None = None
    """Number of the signal that ended it, if a signal did."""
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
    came: `{"text/plain": text}` for the value of its last expression, with `"text/html"` too if the value has a method
    `_repr_html_`, as a data frame has; `{"image/png": bytes}` for a figure. The program controls this data, so do not
    trust it when you open it."""
    cells: tuple[CellResult, ...] = ()
    """The results of those `Program.cells` that were run; in a judged run the cells of public tests come first."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files of `Program.collect` that exist after the run."""
    peer: ExecutionResult | None = None
    """The result of its peer, if it had one."""
    wall_s: float = field(default=0.0, compare=False)
    """Time from start to end, in seconds."""
    cpu_s: float = field(default=0.0, compare=False)
    """CPU time of its processes, in seconds."""
    peak_memory_bytes: int = field(default=0, compare=False)
    """The largest memory use that was measured, in bytes; 0 if unknown, for example after a very short run."""
    queue_s: float = field(default=0.0, compare=False)
    """How long it waited for a worker, in seconds; this time counts against no limit."""
    start_s: float = field(default=0.0, compare=False)
    """Time that is neither queue nor run, in seconds: to start what the program needs, and to clean up."""


def sandbox_error(message: str, queue_s: float) -> ExecutionResult:
    """The result of a run that failed because of the sandbox."""
    return ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("SandboxError", message), queue_s=queue_s)


SANDBOX_KILLED = "SandboxKilled"
"""Name of the error of a program whose sandbox died twice, the second time while it ran alone; its peer gets it too."""


def sandbox_killed(what: str, *, with_peer: bool, queue_s: float) -> ExecutionResult:
    """The result of a program that is held responsible for the end of its sandbox.

    Args:
        what: How the sandbox ended.
        with_peer: Whether the program has a peer.
        queue_s: How long it waited, in seconds.
    """
    error = ErrorInfo(SANDBOX_KILLED, f"the program's sandbox died under it twice: {what}")
    peer = ExecutionResult(Status.ERROR, error=error) if with_peer else None
    return ExecutionResult(Status.ERROR, error=error, peer=peer, queue_s=queue_s)
