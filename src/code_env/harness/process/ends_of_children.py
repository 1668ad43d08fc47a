"""Lets a program choose what happens when a child ends, and keeps the kernel from forgetting what the child has used.

A process that ignores SIGCHLD, or sets SA_NOCLDWAIT, has the kernel reap its children at once. The CPU time of such a
child moves to nobody, so the program would not be charged for it. A system call filter reports `sigaction` for SIGCHLD
to a listener before the kernel reads what the program has asked for. The listener takes these two wishes out of the
program's memory, and lets the call continue: handlers work, and children that are ignored wait until the program ends.
It also adds SA_RESTART: otherwise the end of a child could interrupt a fork that waits for the listener, with an error
(EINTR) that forks never have elsewhere.

This is safe only if nobody can write to that memory meanwhile. So the process must have one thread, its memory must not
be shared, and no other process may live in the same address space, as a child of `vfork` does. Otherwise the call
reports success and does nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .memory import threads_of
from .watching import stat_of

_MACHINE = os.uname().machine
SIGACTION = {"x86_64": 13, "aarch64": 134}.get(_MACHINE, -1)
"""The number of the system call."""

_CLONE, _VFORK = {"x86_64": (56, 58), "aarch64": (220, -1)}.get(_MACHINE, (-1, -1))
_CLONE_VM = 0x100

_WISH = struct.Struct("<QQ")
"""The first fields of the kernel's struct sigaction: the handler and the flags."""

_SA_NOCLDWAIT, _SA_RESTART = 2, 0x10000000

_LAYOUT = (23, 25, 45, 47)
"""Where `stat` has the starts of the code, the stack, the arguments and the environment, counted from the state
(proc_pid_stat(5)). Processes of one address space have the same ones, and so has a fork. `exec` chooses others."""


class Layout(NamedTuple):
    """Where in its address space a process has what it was started with."""

    code: int
    stack: int
    arguments: int
    environment: int


def layout_of(pid: int) -> Layout:
    """Return the layout of a process; zeros where unknown."""
    fields = stat_of(pid)
    try:
        return Layout(*(int(fields[number]) for number in _LAYOUT))
    except (IndexError, ValueError):
        return Layout(0, 0, 0, 0)


def shares_memory(call: int, flags: int) -> bool:
    """Return whether the child of this system call lives in its parent's address space until it executes a program."""
    return call == _VFORK or (call == _CLONE and bool(flags & _CLONE_VM))


def is_alone(thread: int, shared: set[Layout], others: Callable[[], Iterable[int]]) -> bool:
    """Return whether no other thread runs in the address space of a thread.

    Args:
        thread: The thread, which does not run now.
        shared: The layouts of all processes that have started a child in their own address space.
        others: Returns the living processes of the program.
    """
    if threads_of(thread) != [thread]:
        return False
    own = layout_of(thread)
    return own not in shared or all(layout_of(pid) != own for pid in others() if pid != thread)


def keep_ends(thread: int, address: int, is_waiting: Callable[[], bool]) -> bool:
    """Take out of a thread's memory what would have the kernel forget children; return whether this is done for sure.

    Args:
        thread: The thread, which waits in `sigaction` and is alone in its address space.
        address: Where it has written what it asks for.
        is_waiting: Returns whether the thread still waits, so that its number is not another thread's by now.
    """
    with contextlib.suppress(OSError, OverflowError, struct.error):
        fd = os.open(f"/proc/{thread}/mem", os.O_RDWR | os.O_CLOEXEC)
        try:
            if not _is_private(thread, address) or not is_waiting():
                return False
            handler, flags = _WISH.unpack(os.pread(fd, _WISH.size, address))
            handler = int(signal.SIG_DFL) if handler == signal.SIG_IGN else handler
            kept = _WISH.pack(handler, flags & ~_SA_NOCLDWAIT | _SA_RESTART)
            # Also where nothing changes: from then on, the page is this process's own copy.
            return os.pwrite(fd, kept, address) == _WISH.size
        finally:
            os.close(fd)
    return False


def _is_private(thread: int, address: int) -> bool:
    """Return whether the memory lies in one mapping that the process shares with nobody."""
    with open(f"/proc/{thread}/maps", "rb") as file:
        for line in file:
            span, rights, _ = line.split(None, 2)
            start, end = (int(one, 16) for one in span.split(b"-"))
            if start <= address < end:
                return address + _WISH.size <= end and rights == b"rw-p"
    return False
