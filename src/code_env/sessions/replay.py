"""Sessions on executors that keep no interpreter: all cells are run again before each new one.

The module `random` draws the same numbers each time. Otherwise a cell whose effects depend on chance, on the time or on
what is outside can give another state each time. A cell that ended its interpreter, was interrupted or reached a limit
is not run again.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import secrets
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_env.errors import SessionBusy, SessionDied
from code_env.executors.limits import Limits
from code_env.executors.program import Program, check_path
from code_env.executors.result import CellResult, ErrorInfo, ExecutionResult, Status

from .session import Checkpoint, Session, SessionState, Spent

if TYPE_CHECKING:
    from code_env.executors.base import Executor

_SPARE, _SPARE_S = 2.0, 1.0
"""The cells before may take so many times their first time, and so many seconds, on a machine that does other work."""

_SEEDING = """
import random, sys
random.seed(seed)
if "numpy.random" in sys.modules:
    sys.modules["numpy.random"].seed(seed)
"""


@dataclass(frozen=True)
class _Past:
    """What led to the state of a session."""

    cells: tuple[str, ...] = ()
    """The cells to run again."""
    cpu_s: float = 0.0
    """Their CPU time when they ran first, in seconds."""
    wall_s: float = 0.0
    """Their time from start to end then, in seconds."""
    spent: Spent = field(default=Spent())
    """What these and the other cells have used."""


@dataclass(frozen=True)
class _Beginning:
    """How the sessions of one tree begin."""

    executor: Executor
    limits: Limits
    files: Mapping[str, bytes]


class ReplaySession(Session):
    """A session whose state is the list of its cells.

    Args:
        executor: Where cells run.
        limits: The limits of each cell; `total_cpu_s` is that of all cells of the session together.
        files: The files that it begins with: relative path to content.
    """

    def __init__(self, executor: Executor, limits: Limits, files: Mapping[str, bytes]) -> None:
        self._beginning = _Beginning(executor, limits, dict(files))
        self._past = _Past((_seeding(secrets.randbits(32)),))
        self._lock = threading.Lock()
        self._busy = self._interrupted = False
        self._ended = ""
        self._future: Future[ExecutionResult] | None = None

    @classmethod
    def _begun_at(cls, beginning: _Beginning, past: _Past) -> ReplaySession:
        session = cls(beginning.executor, beginning.limits, beginning.files)
        session._past = past
        return session

    def run(self, cell: str) -> CellResult:
        """See `Session.run`."""
        if not isinstance(cell, str):
            raise TypeError(f"a cell is text; got {type(cell).__name__}")
        with self._working() as past:
            result = self._result_of(self._program(past, cell))
            told = _told(result, past)
            cells, cpu_s, wall_s = past.cells, past.cpu_s, past.wall_s
            if result is not None and result.cells:
                cells, cpu_s, wall_s = (*cells, cell), cpu_s + told.cpu_s, wall_s + told.wall_s
            self._past = _Past(cells, cpu_s, wall_s, _spent(past.spent, result, told))
            total_s = self._beginning.limits.total_cpu_s
            if total_s is not None and self._past.spent.cpu_s >= total_s:
                self._ended = f"its cells have used the {total_s:g} s of CPU time that they have together"
            return told

    def reseed(self, seed: int) -> None:
        """See `Session.reseed`."""
        with self._working() as past:
            self._past = dataclasses.replace(past, cells=(*past.cells, _seeding(seed)))

    def checkpoint(self) -> Checkpoint:
        """See `Session.checkpoint`."""
        with self._working() as past:
            return _ReplayCheckpoint(self._beginning, past)

    def interrupt(self) -> None:
        """See `Session.interrupt`."""
        with self._lock:
            self._interrupted = self._busy
            future = self._future
        if future is not None:
            future.cancel()

    def read(self, path: str) -> bytes:
        """See `Session.read`."""
        check_path(path)
        with self._working() as past:
            result = self._result_of(dataclasses.replace(self._program(past, ""), collect=(path,)))
            if result is None or path not in result.files:
                raise FileNotFoundError(f"the session has no file {path!r}, or it is larger than its limit")
            return result.files[path]

    def write(self, path: str, data: bytes) -> None:
        """See `Session.write`."""
        check_path(path)
        text = base64.b64encode(data).decode()
        folder = f"__import__('os').makedirs(__import__('os').path.dirname({path!r}) or '.', exist_ok=True)\n"
        with self._working() as past:
            cell = f"{folder}open({path!r}, 'wb').write(__import__('base64').b64decode({text!r})) and None\n"
            self._past = dataclasses.replace(past, cells=(*past.cells, cell))

    def close(self) -> None:
        """See `Session.close`."""
        self._ended = self._ended or "it was closed"
        self.interrupt()

    @property
    def state(self) -> SessionState:
        """See `Session.state`."""
        if self._ended:
            return SessionState.DEAD
        return SessionState.BUSY if self._busy else SessionState.IDLE

    @property
    def ended(self) -> str:
        """See `Session.ended`."""
        return self._ended

    @property
    def spent(self) -> Spent:
        """See `Session.spent`."""
        return self._past.spent

    @contextlib.contextmanager
    def _working(self) -> Iterator[_Past]:
        with self._lock:
            if self._ended:
                raise SessionDied(f"the session takes no more cells: {self._ended}")
            if self._busy:
                raise SessionBusy("another thread runs a cell of the session; one at a time can")
            self._busy, self._interrupted = True, False
        try:
            yield self._past
        finally:
            with self._lock:
                self._busy, self._future = False, None

    def _program(self, past: _Past, cell: str) -> Program:
        limits = self._beginning.limits
        own_s = limits.cpu_s
        if limits.total_cpu_s is not None:
            own_s = min(own_s, limits.total_cpu_s - past.spent.cpu_s)
        again = bool(past.cpu_s)
        limits = dataclasses.replace(
            limits,
            cpu_s=own_s + again * (_SPARE * past.cpu_s + _SPARE_S),
            wall_s=limits.wall_s + again * (_SPARE * past.wall_s + _SPARE_S),
            total_cpu_s=None,
        )
        return Program(cell, notebook=True, history=past.cells, files=self._beginning.files, limits=limits)

    def _result_of(self, program: Program) -> ExecutionResult | None:
        """Run a program; return None if it was interrupted."""
        future = self._beginning.executor.submit(program)
        with self._lock:
            self._future = future
            interrupted = self._interrupted
        if interrupted:
            future.cancel()
        try:
            return future.result()
        except CancelledError:
            return None


class _ReplayCheckpoint(Checkpoint):
    def __init__(self, beginning: _Beginning, past: _Past) -> None:
        self._beginning = beginning
        self._past: _Past | None = past

    def restore(self) -> Session:
        """See `Checkpoint.restore`."""
        if self._past is None:
            raise SessionDied("the checkpoint was released, so nothing can be restored from it")
        return ReplaySession._begun_at(self._beginning, self._past)

    def release(self) -> None:
        """See `Checkpoint.release`."""
        self._past = None


def _seeding(seed: int) -> str:
    """A cell that seeds `random`, and NumPy's generator if it is loaded, and leaves no name."""
    return f"exec({_SEEDING!r}, {{'seed': {seed}}})"


def _told(result: ExecutionResult | None, past: _Past) -> CellResult:
    """The result of the new cell, from that of all cells."""
    if result is None:
        error = ErrorInfo("KeyboardInterrupt", "the cell was interrupted; the session is as before it")
        return CellResult(error=error, status=Status.ERROR)
    if result.cells:
        cell = result.cells[0]
        name = None if cell.error is None else cell.error.name
        status = Status.OK if name is None else Status.MEMORY if name == "MemoryError" else Status.ERROR
    elif result.status in (Status.OK, Status.ERROR):
        error = ErrorInfo("InterpreterEnded", "the cell ended its interpreter; the session is as before it")
        cell, status = CellResult(error=error), Status.ERROR
    else:
        cell, status = CellResult(error=result.error), result.status
    return dataclasses.replace(
        cell,
        status=status,
        stdout=result.stdout,
        stderr=result.stderr,
        cpu_s=max(0.0, result.cpu_s - past.cpu_s),
        wall_s=max(0.0, result.wall_s - past.wall_s),
    )


def _spent(before: Spent, result: ExecutionResult | None, cell: CellResult) -> Spent:
    return Spent(
        before.cells + 1,
        before.cpu_s + cell.cpu_s,
        before.wall_s + cell.wall_s,
        max(before.peak_memory_bytes, 0 if result is None else result.peak_memory_bytes),
    )
