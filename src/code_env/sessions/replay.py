"""Sessions on executors that keep no interpreter: all cells are run again before each new one.

The module `random` draws the same numbers each time. Otherwise a cell whose effects depend on chance, on the time or on
what is outside can give another state each time. A cell that ended its interpreter, was interrupted or reached a limit
is not run again.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING

from code_env.executors.program import Program, check_path
from code_env.executors.result import ExecutionResult

from .past import Attempt, Past, SessionOfCells

if TYPE_CHECKING:
    from code_env.executors.base import Executor


class ReplaySession(SessionOfCells):
    """A session whose state is the list of its cells.

    Args:
        executor: Where cells run.
        first: What it begins with, see `SessionOfCells`.
    """

    def __init__(self, executor: Executor, first: Program) -> None:
        super().__init__(first)
        self._executor = executor
        self._future: Future[ExecutionResult] | None = None

    def _branch(self) -> ReplaySession:
        return ReplaySession(self._executor, self._first)

    def _attempt(self, past: Past, cell: str) -> Attempt:
        return Attempt(self._result_of(self._program(past, cell, past.cells)), past.cells)

    def read(self, path: str) -> bytes:
        """See `Session.read`."""
        check_path(path)
        with self._working() as past:
            program = dataclasses.replace(self._program(past, "", past.cells), collect=(path,))
            result = self._result_of(program)
            if result is None or path not in result.files:
                raise FileNotFoundError(f"the session has no file {path!r}, or it is larger than its limit")
            return result.files[path]

    def interrupt(self) -> None:
        """See `Session.interrupt`."""
        super().interrupt()
        with self._lock:
            future = self._future
        if future is not None:
            future.cancel()

    def _result_of(self, program: Program) -> ExecutionResult | None:
        """Run a program; return None if it was interrupted."""
        future = self._executor.submit(program)
        with self._lock:
            self._future = future
            interrupted = self._interrupted
        if interrupted:
            future.cancel()
        try:
            return future.result()
        except CancelledError:
            return None
        finally:
            self._future = None
