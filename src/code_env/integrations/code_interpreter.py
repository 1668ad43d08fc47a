"""`CodeInterpreter` with the calls that E2B's Code Interpreter had when the guides of RewardKit were written.

Rewards that were written for it run over a session of any executor, without a key. Today's SDK of E2B has no such
class. Whoever writes a reward anew has `code_env.integrations.rewardkit`, whose rewards answers cannot buy: what a
session shows is a claim of the answer that runs in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from code_env.errors import NoVerdict
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.executors.result import CellResult, Status
from code_env.sessions.session import Session

from ._common.runs import why_cell_failed
from ._common.shared_executor import executor_for

__all__ = ["CodeInterpreter", "Execution", "ExecutionError", "Files", "Logs", "Notebook", "Result"]


@dataclass(frozen=True)
class Result:
    """One thing that a cell showed."""

    data: Mapping[str, Any]
    """What it is, by its MIME types: texts, or the bytes of an image."""

    @property
    def text(self) -> str:
        """It as text; empty if it is a figure."""
        return str(self.data.get("text/plain", ""))

    @property
    def formats(self) -> tuple[str, ...]:
        """The MIME types that it has: `text/plain`, `text/html`, `image/png`."""
        return tuple(self.data)


@dataclass(frozen=True)
class Logs:
    """What a cell wrote to its streams."""

    stdout: list[str]
    """Lines of standard output, with their line ends."""
    stderr: list[str]
    """Lines of standard error, with their line ends."""


@dataclass(frozen=True)
class ExecutionError:
    """Why a cell failed."""

    name: str
    """Name of the exception, or of the limit that was reached: `TimeoutError` or `MemoryError`, for example."""
    value: str
    """Its message."""
    traceback: str
    """Its traceback; empty if there is none."""


@dataclass(frozen=True)
class Execution:
    """What became of a cell."""

    results: list[Result]
    """Figures in the order in which they came, and the cell's text: its last expression, else what it printed, else
    the variable `result` if the cell sets it. A value that is text comes without quotes."""
    logs: Logs
    """What it wrote to its streams."""
    error: ExecutionError | None
    """Why it failed; None if it did not."""

    @property
    def text(self) -> str:
        """The text among the results; empty if there is none."""
        return "".join(result.text for result in self.results)


class Notebook:
    """Runs the cells of a `CodeInterpreter`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def exec_cell(self, code: str) -> Execution:
        """Run a cell; it has the variables and files that the cells before it have left.

        Args:
            code: The cell: Python, without a fence around it.

        Raises:
            NoVerdict: If the sandbox failed. This says nothing about the code.
            SessionDied: If the interpreter was closed.
        """
        cell = self._session.run(code)
        if cell.status is Status.SANDBOX_ERROR:
            why = cell.error.message if cell.error else "no more is known"
            raise NoVerdict(f"the sandbox failed: {why}; this says nothing about the cell, which is to be run again")
        return _execution(cell)


class Files:
    """The files of a `CodeInterpreter`. Paths are relative to the directory in which its cells begin."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def write(self, path: str, data: str | bytes) -> None:
        """Write a file.

        Args:
            path: Its path.
            data: Its content.

        Raises:
            TaskError: If the path leads out of the directory.
        """
        self._session.write(path, data.encode() if isinstance(data, str) else data)

    def read(self, path: str) -> str:
        """Return the content of a file of text.

        Args:
            path: Its path.

        Raises:
            FileNotFoundError: If there is no such file.
            UnicodeDecodeError: If it is no text.
        """
        return self._session.read(path).decode()


class CodeInterpreter:
    """An interpreter that keeps its state from cell to cell; a context manager.

    Args:
        executor: Where cells run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share.
        limits: Limits of each cell, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Raises:
        CodeEnvError: If the limits or the executor do not exist, or the executor has no sessions.

    Example:
        >>> with CodeInterpreter() as sandbox:
        ...     sandbox.files.write("data.txt", "3 4")
        ...     _ = sandbox.notebook.exec_cell("a, b = map(int, open('data.txt').read().split())")
        ...     execution = sandbox.notebook.exec_cell("a * b")
        >>> execution.text, execution.results[0].formats, execution.error
        ('12', ('text/plain',), None)
    """

    notebook: Notebook
    """Runs cells."""
    files: Files
    """Reads and writes files."""

    def __init__(self, executor: Executor | str | None = None, limits: Mapping[str, Any] | None = None) -> None:
        self._session = executor_for(executor).open_session(limits=Limits().with_values(limits))
        self.notebook, self.files = Notebook(self._session), Files(self._session)

    def close(self) -> None:
        """End the interpreter. Idempotent."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_NAMES = {Status.TIMEOUT: "TimeoutError", Status.MEMORY: "MemoryError"}
"""Names of errors where a limit has ended a cell, and no exception."""


def _execution(cell: CellResult) -> Execution:
    shown = [Result(data) for data in cell.results if "text/plain" not in data]
    if text := _text(cell):
        value = next((data for data in cell.results if "text/plain" in data), {})
        shown.append(Result({**value, "text/plain": text}))
    logs = Logs(cell.stdout.splitlines(keepends=True), cell.stderr.splitlines(keepends=True))
    return Execution(shown, logs, None if cell.status is Status.OK else _error(cell))


def _text(cell: CellResult) -> str:
    """Return the text of a cell; E2B's server takes the quotes from the value of an expression that is text."""
    text = cell.text
    quoted = text != cell.stdout and len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def _error(cell: CellResult) -> ExecutionError:
    if cell.error is not None:
        return ExecutionError(cell.error.name, cell.error.message, cell.error.traceback)
    return ExecutionError(_NAMES.get(cell.status, "ExecutionError"), why_cell_failed(cell), "")
