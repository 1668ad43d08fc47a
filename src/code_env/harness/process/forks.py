"""Counts the processes of a program that may start some, and lets it start no more than its limit.

The program's process installs a system call filter that reports each fork to a listener (seccomp_unotify(2)). The
program's parent holds the listener. The parent counts the living processes and answers: continue, or EAGAIN, which is
also Linux's own error beyond a limit of processes. Unlike RLIMIT_NPROC, this counts processes and not threads, and only
the processes of one program, even if other programs run as the same user.

The parent must be the reaper of orphans, so that no process leaves the tree below it.

The filter also reports locks on parts of a file (F_SETLK) to the listener. Processes need these locks to wait for each
other, and Linux limits neither their number nor the memory that they take. What the program chooses for the ends of its
children is reported, too: see `ends_of_children`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable
from typing import NamedTuple

from .ends_of_children import SIGACTION, Layout, is_alone, keep_ends, layout_of, shares_memory
from .sockets import Socket, receive_descriptors, send_descriptors, socket_pair
from .watching import children_of, descendants, has_ended, stat_of

_NOTIFICATION_BYTES = 80  # struct seccomp_notif: id, pid, flags, the call
_ANSWER = struct.Struct("<QqiI")  # struct seccomp_notif_resp: id, value, error, flags
_RECEIVE, _SEND, _IS_WAITING = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1
_ARGUMENTS = 32
"""The offset of the call's arguments in a notification."""

_PATIENCE_S, _LOOK_S = 0.02, 0.0005
"""How long a fork waits for the outcome of earlier forks that are allowed but not done, and the pause between two
checks of this, in seconds."""

_FORGOTTEN_S = 1.0
"""After this time, in seconds, an allowed fork with no visible process counts as done, and its process as ended."""

_MOST_LOOKS = 5
"""The most times in a row that the list of living processes is read again."""

_MOST_ENDED = 256
"""How many processes that have ended, and that the program has not waited for, take no place of another process. Each
takes some kernel memory, and time at each look."""

_MOST_LOCKS = 1 << 16
"""How many times a program may set or release a lock. This many locks take 16 MiB."""

_FCNTL = {"x86_64": 72, "aarch64": 25}.get(os.uname().machine, -1)
"""The number of the system call that sets locks."""


class _Allowed(NamedTuple):
    """A fork that was allowed and is possibly not done yet."""

    at: float
    """When it was allowed, by the monotonic clock."""
    before: frozenset[int]
    """The processes that lived at that time."""


class ForkGate:
    """The listener's side for one program; create it before the fork of the program's process.

    Args:
        allowed: How many processes may live in addition to the program's own; can be changed later.
        as_user: Has this process act as the program's user meanwhile, if that is another user.
    """

    def __init__(
        self, allowed: int, as_user: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    ) -> None:
        self.allowed, self._as_user = allowed, as_user
        self.answering_s = 0.0
        """CPU time that this process has spent on forks and locks, in seconds; the program is charged."""
        self._sockets: tuple[Socket, Socket] | None = None
        self._open: dict[int, _Allowed] = {}
        self._living: frozenset[int] = frozenset()
        self._shared: set[Layout] = set()
        """The layouts of processes that have started a child in their own address space."""
        self.listener: int | None = None
        self.locks = 0
        """How many times the program has set or released a lock."""

    def open(self) -> None:
        """Create the sockets that the listener is sent through; call this immediately before the fork."""
        self._sockets = socket_pair()

    def descriptors(self) -> list[int]:
        """Return the descriptors that the program's process needs until `hand_over`."""
        return [end.fileno() for end in self._sockets or ()]

    def hand_over(self, listener: int) -> None:
        """In the program's process: send the listener to the parent, and keep no copy."""
        mine, theirs = self._ends()
        mine.close()
        send_descriptors(theirs, b"x", [listener])
        os.close(listener)
        # Wait until it has arrived: a fork before that would wait for an answer that cannot come.
        theirs.recv(1)
        theirs.close()

    def take_over(self) -> int | None:
        """In the parent: return the listener to poll; None if the program's process died before it had a listener."""
        mine, theirs = self._ends()
        theirs.close()
        with mine:
            _, fds = receive_descriptors(mine, 1, 1)
            if fds:
                self.listener = fds[0]
                with contextlib.suppress(OSError):
                    mine.send(b"x")
        return self.listener

    def _ends(self) -> tuple[Socket, Socket]:
        if self._sockets is None:
            raise RuntimeError("the gate is not open")
        return self._sockets

    def answer(self) -> bool:
        """Decide on the call that the listener reports; return False if it will report no more."""
        if self.listener is None:
            return False
        began_s = time.thread_time()
        notification = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notification)
        except OSError as error:
            return error.errno in (errno.EINTR, errno.ENOENT)  # The thread that asked is dead by now.
        number, thread, _, call = struct.unpack_from("<QIIi", notification)
        first, second = struct.unpack_from("<QQ", notification, _ARGUMENTS)
        self._open.pop(thread, None)  # A thread that asks again has finished its last fork.
        if call == SIGACTION:
            answer = _ANSWER.pack(number, 0, 0, _CONTINUE if self._keeps_ends(number, thread, second) else 0)
        else:
            refusal = self._refusal(thread, call, first)
            answer = _ANSWER.pack(number, 0, -refusal, 0 if refusal else _CONTINUE)
        try:
            fcntl.ioctl(self.listener, _SEND, bytearray(answer))
        except OSError:  # The thread that asked is dead, or was interrupted and will ask again.
            self._open.pop(thread, None)
        self._charge(thread, began_s)
        return True

    def _charge(self, thread: int, began_s: float) -> None:
        """Note the CPU time that this process has spent on a call of a thread, given its CPU time before."""
        self.answering_s += time.thread_time() - began_s

    def _refusal(self, thread: int, call: int, argument: int) -> int:
        """Return the error number with which a call fails; 0 to let it continue.

        Args:
            thread: The thread that makes the call.
            call: The number of the call.
            argument: Its first argument.
        """
        if call == _FCNTL:
            self.locks += 1
            return 0 if self.locks <= _MOST_LOCKS else errno.ENOLCK
        if not self._may_start():
            return errno.EAGAIN
        self._open[thread] = _Allowed(time.monotonic(), self._living)
        if shares_memory(call, argument):
            self._shared.add(layout_of(thread))
        return 0

    def _keeps_ends(self, number: int, thread: int, address: int) -> bool:
        """Return whether a thread may choose what happens when its children end; see `ends_of_children`."""

        def others() -> frozenset[int]:
            self._look()
            return self._living

        def is_waiting() -> bool:
            fcntl.ioctl(self.listener or -1, _IS_WAITING, struct.pack("<Q", number))
            return True

        with self._as_user():
            return is_alone(thread, self._shared, others) and keep_ends(thread, address, is_waiting)

    def _may_start(self) -> bool:
        """Return whether one more process may start, counting processes that are about to start."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            # In this order: `_look` then counts the processes of forks that are done by now.
            self._open = {thread: fork for thread, fork in self._open.items() if not _is_done(thread, fork)}
            self._look()
            living = len(self._living) - 1  # Without the program's own process.
            if living >= self.allowed:
                living -= min(sum(map(has_ended, self._living)), _MOST_ENDED)
            if living + len(self._open) < self.allowed:
                return True
            if living >= self.allowed or time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_S)

    def _look(self) -> None:
        """List the living processes until two lists agree.

        A process that is orphaned meanwhile moves to a part of the tree that was already read.
        """
        self._living = frozenset(descendants(os.getpid()))
        for _ in range(_MOST_LOOKS):
            before, self._living = self._living, self._living.union(descendants(os.getpid()))
            if before == self._living:
                break

    def close(self) -> None:
        """Allow no more forks: from now on, the kernel refuses them with ENOSYS."""
        if self.listener is not None:
            os.close(self.listener)
            self.listener = None


def _is_done(thread: int, fork: _Allowed) -> bool:
    """Return whether an allowed fork has happened, so that its process, if it lives, can be counted."""
    if time.monotonic() - fork.at > _FORGOTTEN_S or not fork.before.issuperset(children_of(thread)):
        return True
    # A thread without a state has ended. A fork can have to wait, but never in a sleep that a signal interrupts (S).
    return stat_of(thread)[:1] in ([], [b"S"], [b"Z"], [b"X"])
