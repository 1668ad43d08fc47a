"""The trainer's end of one worker, a process that a server has forked to run programs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from code_env.harness.process.watching import descendants

from .jail import wire
from .work_directory import WorkDirectory

if TYPE_CHECKING:
    from .server import Server


class ServerDied(Exception):
    """A server or one of its workers ended during a request."""


@contextlib.contextmanager
def blamed_on(*servers: Server) -> Iterator[None]:
    """Raise `ServerDied` in place of an `OSError` if one of the servers was ended meanwhile.

    Another thread ends a server when it notices that the server died, and removes the files of all its programs.
    """
    try:
        yield
    except OSError as error:
        if not any(server.closed for server in servers):
            raise
        raise ServerDied(f"the server was ended meanwhile: {error}") from error


def signal_descendant(pid: int, ancestor: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process if it still descends from `ancestor`."""
    with contextlib.suppress(OSError):
        fd = os.pidfd_open(pid)
        try:
            # The pid can belong to an unrelated process by now, but that does not descend from the ancestor.
            if pid in descendants(ancestor):
                signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)


class Worker:
    """The trainer's end of one worker."""

    def __init__(
        self,
        server: Server,
        sock: socket.socket,
        pid: int,
        directory: WorkDirectory | None,
        notices: bool,
    ) -> None:
        self.server, self.sock, self.pid = server, sock, pid
        self.notices = notices
        """Whether it uses inotify(7). Linux gives each user a limited number of instances."""
        self.directory = directory
        """The directory that its programs may write to; None at level `full`, where it has a file system of its own."""
        self._abandoned = False
        _open_workers.add(self)

    def make_directory(self) -> None:
        """Make the directory for the next program if there is none; only at level `contained`.

        Raises:
            ServerDied: If the server was ended meanwhile.
            OSError: If there is no descriptor or no space left.
        """
        if self.directory is None:
            return
        try:
            self.directory.make()
        except FileNotFoundError as error:
            raise ServerDied("the server was ended meanwhile") from error

    def clear_directory(self, *, untouched: bool) -> None:
        """Remove everything that a program has left; if that fails, abandon the worker, so it gets no next program.

        Args:
            untouched: Whether the program changed nothing in the directory.
        """
        if self.directory is None:
            return
        try:
            if not self.usable:
                return
            if not (untouched and self.directory.reuse()):
                self._clear(self.directory)
        except OSError:
            self.abandon()

    def _clear(self, directory: WorkDirectory) -> None:
        directory.close()
        self.sock.send(wire.ORDER.pack(0, 0, 0, wire.CLEAR))
        answer = self.sock.recv(wire.MAX_MESSAGE)
        if answer != wire.READY:
            raise OSError(answer.decode(errors="replace"))

    @property
    def usable(self) -> bool:
        """Whether it can take a program. It cannot if it was abandoned, or if its server was ended."""
        return not self._abandoned and not self.server.closed

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.sock.fileno() < 0

    def abandon(self) -> None:
        """Kill it and everything that it runs. After a failure, its next message could be about an earlier program."""
        self._abandoned, self.notices = True, False
        for pid in [*descendants(self.pid), self.pid]:
            signal_descendant(pid, os.getpid())
        self.close()

    def close(self) -> None:
        """Let it end, when it has nothing more to run."""
        self.notices = False
        self.sock.close()
        if self.directory is not None:
            self.directory.close()


_open_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


def may_notice() -> bool:
    """Return whether another worker may use inotify(7).

    A worker uses up to three instances. Half of all instances are left to other programs of the user.
    """
    try:
        most = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    except (OSError, ValueError):
        return False
    return 6 * sum(worker.notices for worker in list(_open_workers)) < most
