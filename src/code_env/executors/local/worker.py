"""The trainer's end of one worker, a process that a server has forked to run programs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from code_env.harness.process.watching import descendants

from .jail import wire
from .work_directory import WorkDirectory

if TYPE_CHECKING:
    from .servers import Server


class ServerDied(Exception):
    """A server, or a worker of it, ended while something was asked of it."""


def signal_descendant(pid: int, ancestor: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process if it is still one that descends from another."""
    with contextlib.suppress(OSError):
        fd = os.pidfd_open(pid)
        try:
            # The number may be somebody else's by now; what descends from the ancestor is not.
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
        """Where its programs may write; None at level `full`, where it has a file system of its own for that."""
        self._abandoned = False
        _open_workers.add(self)

    def make_directory(self) -> None:
        """See that there is a directory for the next program, at level `contained`.

        Raises:
            ServerDied: If the server was ended meanwhile.
            OSError: If there is no descriptor, or no space, to be had.
        """
        if self.directory is None:
            return
        try:
            self.directory.make()
        except FileNotFoundError as error:
            raise ServerDied("the server was ended meanwhile") from error

    def clear_directory(self, *, untouched: bool) -> None:
        """Have the next program find nothing of the one that has ended; if that cannot be, there is none here.

        Args:
            untouched: Whether it did nothing there.
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
        """Whether it can take a program; not if it was given up, or its server was ended."""
        return not self._abandoned and not self.server.closed

    def abandon(self) -> None:
        """Kill it with what it runs: something went wrong, and its next answer would be about another program."""
        self._abandoned, self.notices = True, False
        for pid in [*descendants(self.pid), self.pid]:
            signal_descendant(pid, os.getpid())
        self.close()

    def close(self) -> None:
        """Have it end, when it has nothing more to run."""
        self.notices = False
        self.sock.close()
        if self.directory is not None:
            self.directory.close()


_open_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


def may_notice() -> bool:
    """Whether one more worker may use inotify(7), with up to three instances; half of all is left to others."""
    try:
        most = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    except (OSError, ValueError):
        return False
    return 6 * sum(worker.notices for worker in list(_open_workers)) < most
