"""A session and all its branches: one worker, and the states that it keeps."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass

from code_env.errors import ExecutorError
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult
from code_env.executors.running_program import Caller, process_limits, watch
from code_env.harness.process.memory_file import memory_file

from ..jail import session_wire, wire
from ..jail.configuration import SessionConfiguration
from ..jail.session_wire import CellOrder, Ended, Forget, Put, Read, Run
from ..worker import ServerDied, Worker
from .cell import LiveCell

KEPT_BYTES = 1 << 30
"""How much memory the kept states of a session and its branches may hold together, in bytes."""

_PAGE = 4096

OpenWorker = Callable[[SessionConfiguration], Worker]


class StateLost(Exception):
    """An interpreter is not kept any more: there was no memory for it, or its worker has died."""


@dataclass(frozen=True, eq=False)
class Kept:
    """An interpreter that a worker keeps. It is given up when nothing refers to this object."""

    worker: Worker
    number: int
    cells: int
    """How many cells of the session's past it has run."""
    obstacles: tuple[str, ...]
    """Why it is not forked."""

    @property
    def is_there(self) -> bool:
        """Whether its worker lives."""
        return self.worker.usable


@dataclass(frozen=True, eq=False)
class RoomHold:
    """A room that a session uses. It is given up when nothing refers to this object."""

    worker: Worker
    number: int


class SessionTree:
    """The worker of a session and of all its branches.

    Args:
        open_worker: Returns a new worker for a session with these limits.
        program: Has the limits of a cell, and the files that the session begins with.
    """

    def __init__(self, open_worker: OpenWorker, program: Program) -> None:
        self._open_worker, self._files = open_worker, program.files
        # The kernel counts a process's CPU time over all cells that run in it, so only the trainer limits that.
        rlimits = process_limits(program.limits, 1)._replace(cpu_s=_NO_LIMIT_S).rlimits()
        size = program.limits.file_bytes + sum(len(content) + _PAGE for content in program.files.values()) + _PAGE
        self._configuration = SessionConfiguration(room_bytes=size, kept_bytes=KEPT_BYTES, rlimits=rlimits)
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    def worker(self) -> Worker:
        """Return the worker; open one if there is none that works.

        Raises:
            ServerDied: If none can be opened.
            ExecutorClosed: If the executor was closed.
        """
        with self._lock:
            if self._worker is None or not self._worker.usable:
                self._worker = self._open_worker(self._configuration)
                weakref.finalize(self, self._worker.close)
                if self._files:
                    files = memory_file("files", session_wire.pack_files(self._files))
                    try:
                        _send(self._worker, Put(), [files])
                    finally:
                        os.close(files)
            return self._worker

    def run(
        self, program: Program, kept: Kept | None, room: RoomHold | None, caller: Caller
    ) -> tuple[ExecutionResult, Kept | None, RoomHold | None]:
        """Run a cell in a fork of an interpreter, or in the interpreter itself if it is not forked.

        Args:
            program: The cell, with the cells to run before it in the same process.
            kept: The interpreter; None for the first one, in which no cell has run.
            room: Where to run it; None for a fresh room.
            caller: Who waits for the result.

        Returns:
            The result; the interpreter after the cell, None if it has ended; and the room that it ran in.

        Raises:
            StateLost: If the interpreter is gone.
            ExecutorError: If the session has too many branches.
            ServerDied: If the worker dies.
            ExecutorClosed: If the executor was closed.
        """
        worker = self.worker()
        if kept is not None and kept.worker is not worker:
            raise StateLost
        history = [str(one) for one in program.history or ()]
        cells = (0 if kept is None else kept.cells) + len(history) + 1
        number = session_wire.FIRST if kept is None else kept.number
        own_room = room.number if room is not None and room.worker is worker else 0
        order = CellOrder(history, program.code, cells)
        try:
            with LiveCell(worker, program, Run(number, own_room), order) as cell:
                watch([cell], caller)
                end = cell.end
                if not isinstance(end, Ended):
                    if end is not None and end.is_full:
                        raise ExecutorError(
                            "the session has too many branches at once: 500 is about the most; close sessions that are "
                            "not needed, and release checkpoints"
                        )
                    if kept is None:
                        raise ServerDied("the first interpreter of a session has ended")
                    raise StateLost
                result = cell.result(0.0)
        except ServerDied:
            worker.abandon()
            raise
        if end.room != own_room:
            room = RoomHold(worker, end.room)
            weakref.finalize(room, _forget, worker, [], [end.room])
        if end.interpreter < 0:
            return result, None, room
        after = Kept(worker, end.interpreter, cells, tuple(end.obstacles))
        weakref.finalize(after, _forget, worker, [end.interpreter], [])
        return result, after, room

    @staticmethod
    def read(kept: Kept, path: str) -> bytes | None:
        """Return a file as it was after an interpreter's last cell; None if there is no such file any more."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            try:
                with theirs:
                    _send(kept.worker, Read(kept.number, path), [theirs.fileno()])
                _, fds = wire.receive(ours)
            except (OSError, ServerDied):
                fds = []
        if not fds:
            return None
        with open(fds[0], "rb") as file:
            file.seek(0)
            return file.read()


_NO_LIMIT_S = 1e8
"""More CPU time than any cell can use, in seconds."""


def _send(worker: Worker, order: session_wire.Order, fds: list[int]) -> None:
    try:
        socket.send_fds(worker.sock, [session_wire.pack(order)], fds)
    except OSError as error:
        raise ServerDied(f"a session's worker is gone: {error}") from error


def _forget(worker: Worker, interpreters: list[int], rooms: list[int]) -> None:
    if worker.usable:
        with contextlib.suppress(ServerDied):
            _send(worker, Forget(interpreters, rooms), [])
