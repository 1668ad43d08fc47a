"""What all sessions have in common: the cells that led to a session's state, and what they have used."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from code_env.checks import require_whole
from code_env.errors import SessionBusy, SessionDied, TaskError
from code_env.executors.program import Program, check_path
from code_env.executors.result import CellResult, ErrorInfo, ExecutionResult, Status
from code_env.harness.program.between_cells import instruction_to_seed, instruction_to_write

from .session import MAX_SEED, Checkpoint, Session, SessionState, Spent

_SPARE, _SPARE_S = 2.0, 1.0
"""Cells that are run again may take this many times their first time, plus this many seconds: the machine can be
busier now."""

_LEAST_S = 1e-3
"""The least CPU time that a cell can have, in seconds."""


class PastCell(NamedTuple):
    """A cell that has run."""

    text: str
    cpu_s: float = 0.0
    """Its CPU time when it ran first, in seconds."""
    wall_s: float = 0.0
    """Its time from start to end then, in seconds."""


@dataclass(frozen=True)
class Past:
    """What led to the state of a session."""

    cells: tuple[PastCell, ...] = ()
    """The cells that led to the state."""
    spent: Spent = field(default=Spent())
    """What all cells have used, with those that left nothing."""
    kept: object = None
    """The executor's own record of the state, such as an interpreter; None if it keeps nothing."""

    def plus(self, cell: str) -> Past:
        """Return this with one more cell, which has not run yet: it runs before the next one."""
        return dataclasses.replace(self, cells=(*self.cells, PastCell(cell)))


class Attempt(NamedTuple):
    """What came of a cell."""

    result: ExecutionResult | None
    """The result of its process; None if it was interrupted."""
    repeated: Sequence[PastCell]
    """The cells that were run again before it, in the same process."""
    kept: object = None
    """The executor's own record of the state after it, see `Past.kept`."""


class SessionOfCells(Session):
    """A session that knows its past.

    Args:
        first: What it begins with: files, packages, and the limits of each cell; `total_cpu_s` is that of all cells of
            the session together.
    """

    def __init__(self, first: Program) -> None:
        self._first = first
        self._past = Past().plus(instruction_to_seed(secrets.randbits(32)))
        self._lock = threading.Lock()
        self._busy = self._interrupted = False
        self._ended = ""

    @abc.abstractmethod
    def _branch(self) -> SessionOfCells:
        """Return a new session that begins like this one."""

    @abc.abstractmethod
    def _attempt(self, past: Past, cell: str) -> Attempt:
        """Run a cell in the state that other cells have led to."""

    def run(self, cell: str) -> CellResult:
        """See `Session.run`."""
        if not isinstance(cell, str):
            raise TypeError(f"a cell is text; got {type(cell).__name__}")
        with self._working() as past:
            told = self._go_on(past, cell)
            total_s = self._first.limits.total_cpu_s
            if total_s is not None and total_s - self._past.spent.cpu_s < _LEAST_S:
                self._ended = f"its cells have used the {total_s:g} s of CPU time that they have together"
            return told

    def _go_on(self, past: Past, cell: str) -> CellResult:
        attempt = self._attempt(past, cell)
        result, told = attempt.result, _told(attempt)
        if result is not None and result.cells:
            past = Past((*past.cells, PastCell(cell, told.cpu_s, told.wall_s)), past.spent, attempt.kept)
        spent = Spent(
            past.spent.cells + 1,
            past.spent.cpu_s + told.cpu_s,
            past.spent.wall_s + told.wall_s,
            max(past.spent.peak_memory_bytes, 0 if result is None else result.peak_memory_bytes),
        )
        self._past = dataclasses.replace(past, spent=spent)
        return told

    def reseed(self, seed: int) -> None:
        """See `Session.reseed`."""
        require_whole("seed", seed, ValueError, least=0, most=MAX_SEED)
        with self._working() as past:
            self._past = past.plus(instruction_to_seed(seed))

    def write(self, path: str, data: bytes) -> None:
        """See `Session.write`."""
        check_path(path)
        most = self._first.limits.file_bytes
        if len(data) > most:
            raise TaskError(f"the file {path} has {len(data)} bytes, and limits.file_bytes allows {most}")
        with self._working() as past:
            self._past = past.plus(instruction_to_write(path, data))

    def checkpoint(self) -> Checkpoint:
        """See `Session.checkpoint`."""
        with self._working() as past:
            return _PastCheckpoint(self, past)

    def begin_at(self, past: Past) -> Session:
        """Return a new session in the state after these cells."""
        session = self._branch()
        session._past = past
        return session

    def interrupt(self) -> None:
        """See `Session.interrupt`."""
        with self._lock:
            self._interrupted = self._busy

    def close(self) -> None:
        """See `Session.close`."""
        self._ended = self._ended or "it was closed"
        self.interrupt()
        with self._lock:
            if not self._busy:
                self._drop()

    def _drop(self) -> None:
        """Give up what the executor keeps, when the session is dead."""
        self._past = dataclasses.replace(self._past, kept=None)

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
    def _working(self) -> Iterator[Past]:
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
                self._busy = False
                if self._ended:
                    self._drop()

    def _program(self, past: Past, cell: str, repeated: Sequence[PastCell]) -> Program:
        """Return a cell as a program that runs some of the cells before it again, with time for them."""
        limits = self._first.limits
        own_s = limits.cpu_s
        if limits.total_cpu_s is not None:
            own_s = min(own_s, limits.total_cpu_s - past.spent.cpu_s)
        cpu_s, wall_s = sum(one.cpu_s for one in repeated), sum(one.wall_s for one in repeated)
        again = bool(cpu_s)
        limits = dataclasses.replace(
            limits,
            cpu_s=own_s + again * (_SPARE * cpu_s + _SPARE_S),
            wall_s=limits.wall_s + again * (_SPARE * wall_s + _SPARE_S),
            total_cpu_s=None,
        )
        history = tuple(one.text for one in repeated)
        return dataclasses.replace(self._first, code=cell, notebook=True, history=history, limits=limits)


class _PastCheckpoint(Checkpoint):
    def __init__(self, session: SessionOfCells, past: Past) -> None:
        self._session, self._past = session._branch(), past
        self._released = False

    def restore(self) -> Session:
        """See `Checkpoint.restore`."""
        if self._released:
            raise SessionDied("the checkpoint was released, so nothing can be restored from it")
        return self._session.begin_at(self._past)

    def release(self) -> None:
        """See `Checkpoint.release`."""
        self._released, self._past = True, Past()


def _told(attempt: Attempt) -> CellResult:
    """Return the result of a cell from that of its process, which can have run other cells before it."""
    result = attempt.result
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
        cpu_s=max(0.0, result.cpu_s - sum(one.cpu_s for one in attempt.repeated)),
        wall_s=max(0.0, result.wall_s - sum(one.wall_s for one in attempt.repeated)),
    )
