"""One cell of a live session, from its order to its result."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time

from code_env.executors.program import Program
from code_env.executors.running_program import RunningProgram, report_ends
from code_env.harness.process.descriptors import NAME_TEXT
from code_env.harness.process.limits import NAME_BYTES
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.watching import Watch

from ..jail import session_wire, wire
from ..jail.session_wire import CellOrder, Ended, Lost, Run, Spent, Started
from ..worker import ServerDied, Worker

_GIVE_UP_S = 10.0
"""How long to wait for a killed cell to end before its worker is given up, in seconds."""

_START_S = 120.0
"""How long a cell may wait for its process, in seconds: other branches can be forked from the same state before it."""


class LiveCell(RunningProgram):
    """A cell that runs; a context manager.

    Args:
        worker: The session's worker.
        program: The cell as a program, for its limits.
        run: Which interpreter and which room it needs.
        order: What its process has to do.

    Raises:
        ServerDied: If the worker is gone.
    """

    def __init__(self, worker: Worker, program: Program, run: Run, order: CellOrder) -> None:
        super().__init__(program, "program")
        self._worker, self._ordered = worker, time.monotonic()
        self._pid, self._pidfd, self._room, self._beside_s, self._names = 0, -1, "", 0.0, 0
        self.end: Ended | Lost | None = None
        """How it ended, or why it did not begin."""
        self._killed_at: float | None = None
        self.clock = Watch(
            lambda: [self._pid] if self._pid else [],
            self.limits,
            self._bytes_in_room,
            beside_s=lambda: self._beside_s,
            text_bytes=lambda: NAME_TEXT * self._names,
        )
        self._answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pipes: list[int] = []
        sent = [memory_file("order", session_wire.pack_cell(order))]
        try:
            for make in (os.pipe, os.pipe, report_ends):
                read_fd, write_fd = make()
                self._pipes.append(read_fd)
                sent.append(write_fd)
                os.set_blocking(read_fd, False)
            socket.send_fds(worker.sock, [session_wire.pack(run)], [*sent, theirs.fileno()])
        except OSError as error:
            self._release()
            raise ServerDied(f"a session's worker is gone: {error}") from error
        finally:
            theirs.close()
            for fd in sent:
                os.close(fd)
        self.serve_streams(*self._pipes)

    def readable(self) -> list[int]:
        """See `RunningProgram`."""
        return [*super().readable(), self._answers.fileno()]

    def read(self, fd: int) -> None:
        """See `RunningProgram`.

        Raises:
            ServerDied: If the worker is gone.
        """
        if fd != self._answers.fileno():
            super().read(fd)
            return
        try:
            data, fds = wire.receive(self._answers)
        except OSError as error:
            raise ServerDied(f"a session's worker is gone: {error}") from error
        if not data:
            raise ServerDied("a session's worker ended while a cell ran")
        answer = session_wire.unpack(data)
        if isinstance(answer, Started):
            (self._pidfd,) = fds
            self._pid, self._room = _pid_of(self._pidfd), answer.room
            self.clock.begin_anew()
            self._started = time.monotonic()
        elif isinstance(answer, Spent):
            self._beside_s = answer.cpu_s
        else:
            self.end, self._status = answer, 0
            if isinstance(answer, Ended):
                self._status, self._cpu_s = answer.status, answer.cpu_s
            self.read_streams()

    def has_ended(self) -> bool:
        """See `RunningProgram`."""
        return self.end is not None

    def enforce(self) -> None:
        """Kill it if it exceeds a limit.

        Raises:
            ServerDied: If it cannot be killed.
        """
        now = time.monotonic()
        if self._pid:
            super().enforce()
        elif now - self._ordered > _START_S:
            raise ServerDied("a session's worker does not begin a cell")
        if self._killed:
            self._kill()
            self._killed_at = self._killed_at or now
            if now - self._killed_at > _GIVE_UP_S:
                raise ServerDied("a cell could not be killed")

    def _kill(self) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def _bytes_in_room(self) -> int:
        try:
            room = os.statvfs(f"/proc/{self._worker.pid}/root{self._room}")
        except OSError:
            return 0
        self._names = room.f_files - room.f_ffree
        return (room.f_blocks - room.f_bfree) * room.f_frsize + NAME_BYTES * self._names

    def _files(self) -> dict[str, bytes]:
        return {}

    def __enter__(self) -> LiveCell:
        return self

    def __exit__(self, *_: object) -> None:
        if self.end is None:
            self._kill()
        self._release()

    def _release(self) -> None:
        self._answers.close()  # A worker that cannot answer ends the cell.
        for fd in self._pipes:
            os.close(fd)
        if self._pidfd >= 0:
            os.close(self._pidfd)


def _pid_of(pidfd: int) -> int:
    """Return the number that a process has here, from a descriptor of it; 0 if it has ended."""
    with open(f"/proc/self/fdinfo/{pidfd}", "rb") as file:
        pid = next((int(line[4:]) for line in file if line.startswith(b"Pid:")), 0)
    return max(pid, 0)
