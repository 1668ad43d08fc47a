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

_STEP_S, _STEPS = 0.0001, 20
"""How long an allowed fork is waited for, so that the next one is counted with it."""


class ForkGate:
    """The listener's side of one program; make it before the fork of the program's process.

    Args:
        allowed: How many processes may live beside the program's own.
    """

    def __init__(self, allowed: int) -> None:
        self._allowed = allowed
        self._mine, self._theirs = socket.socketpair()
        self.listener: int | None = None

    def descriptors(self) -> list[int]:
        """Descriptors that the program's process needs until `hand_over`."""
        return [self._mine.fileno(), self._theirs.fileno()]

    def hand_over(self, listener: int) -> None:
        """In the program's process: give the listener to the parent, and keep nothing."""
        self._mine.close()
        socket.send_fds(self._theirs, [b"x"], [listener])
        os.close(listener)
        # Wait until it has arrived: a fork before that would wait for an answer that cannot come.
        self._theirs.recv(1)
        self._theirs.close()

    def take_over(self) -> int | None:
        """In the parent: the listener to poll; None if the process died before it had one."""
        self._theirs.close()
        with self._mine:
            _, fds, _, _ = socket.recv_fds(self._mine, 1, 1)
            if fds:
                self.listener = fds[0]
                with contextlib.suppress(OSError):
                    self._mine.send(b"x")
        return self.listener

    def answer(self) -> bool:
        """Decide on the fork that the listener tells of; False when it will tell of none any more."""
        if self.listener is None:
            return False
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notification)
        except OSError as error:
            return error.errno in (errno.EINTR, errno.ENOENT)  # Whoever asked is dead by now.
        (number,) = struct.unpack_from("<Q", notification)
        before = self._count()
        allow = before < self._allowed
        answer = _ANSWER.pack(number, 0, 0 if allow else -errno.EAGAIN, _CONTINUE if allow else 0)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.listener, _SEND, bytearray(answer))
        for _ in range(_STEPS if allow else 0):
            if self._count() > before:
                break
            time.sleep(_STEP_S)
        return True

    def _count(self) -> int:
        return len(descendants(os.getpid())) - 1  # Without the program's own process.

    def close(self) -> None:
        """Let no fork happen any more: those that ask are told that there is no such call."""
        if self.listener is not None:
            os.close(self.listener)
            self.listener = None
