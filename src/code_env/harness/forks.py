"""Counts the processes of a program that may start some, and lets it start no more than it may.

The program's process installs a system call filter that hands each fork to a listener, its parent's
(seccomp_unotify(2)); the parent counts what lives and answers: go on, or EAGAIN, which is what Linux gives
beyond a limit of processes. Unlike RLIMIT_NPROC this counts processes and not threads, and one
program's alone, whoever else runs as the same user.

The parent must be the reaper of orphans, so that no process leaves the tree below it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import struct
import time

from .watching import descendants

_NOTIFICATION_BYTES = 80  # struct seccomp_notif: id, pid, flags, the call
_ANSWER = struct.Struct("<QqiI")  # struct seccomp_notif_resp: id, value, error, flags
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1

_SETTLE_S = 0.003
"""How long an allowed fork takes at the most until it can be counted, in seconds."""


class ForkGate:
    """The listener's side of one program; make it before the fork of the program's process.

    Args:
        allowed: How many processes may live beside the program's own; may be changed later.
    """

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._last: tuple[int, float] = (0, 0.0)
        self.listener: int | None = None

    def open(self) -> None:
        """Make what the listener comes through; right before the fork."""
        self._sockets = socket.socketpair()

    def descriptors(self) -> list[int]:
        """Descriptors that the program's process needs until `hand_over`."""
        return [end.fileno() for end in self._sockets or ()]

    def hand_over(self, listener: int) -> None:
        """In the program's process: give the listener to the parent, and keep nothing."""
        mine, theirs = self._ends()
        mine.close()
        socket.send_fds(theirs, [b"x"], [listener])
        os.close(listener)
        # Wait until it has arrived: a fork before that would wait for an answer that cannot come.
        theirs.recv(1)
        theirs.close()

    def take_over(self) -> int | None:
        """In the parent: the listener to poll; None if the process died before it had one."""
        mine, theirs = self._ends()
        theirs.close()
        with mine:
            _, fds, _, _ = socket.recv_fds(mine, 1, 1)
            if fds:
                self.listener = fds[0]
                with contextlib.suppress(OSError):
                    mine.send(b"x")
        return self.listener

    def _ends(self) -> tuple[socket.socket, socket.socket]:
        if self._sockets is None:
            raise RuntimeError("the gate is not open")
        return self._sockets

    def answer(self) -> bool:
        """Decide on the fork that the listener tells of; False when it will tell of none any more."""
        if self.listener is None:
            return False
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notification)
        except OSError as error:
            return error.errno in (errno.EINTR, errno.ENOENT)  # Whoever asked is dead by now.
        number, pid = struct.unpack_from("<QI", notification)
        # A fork that was allowed a moment ago to somebody else may not be there to be counted yet. Who asks
        # again has its own behind it.
        last_pid, last_time = self._last
        left_s = last_time + _SETTLE_S - time.monotonic()
        if pid != last_pid and left_s > 0:
            time.sleep(left_s)
        allow = self._count() < self.allowed
        if allow:
            self._last = (pid, time.monotonic())
        answer = _ANSWER.pack(number, 0, 0 if allow else -errno.EAGAIN, _CONTINUE if allow else 0)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.listener, _SEND, bytearray(answer))
        return True

    def _count(self) -> int:
        return len(descendants(os.getpid())) - 1  # Without the program's own process.

    def close(self) -> None:
        """Let no fork happen any more: those that ask are told that there is no such call."""
        if self.listener is not None:
            os.close(self.listener)
            self.listener = None
