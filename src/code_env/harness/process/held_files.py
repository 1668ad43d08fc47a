"""Counts the files that sleeping threads keep open, which no descriptor shows any more.

A thread that waits for files, for example in poll(2) or write(2), keeps them until its call returns, even if other
threads of its process close them meanwhile. /proc shows the number and the arguments of the call, and nothing of what
the files are. So the counts here are the most that a thread can hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from .limits import MAX_TASKS
from .memory import Memory, threads_of

_MACHINE = os.uname().machine if hasattr(os, "uname") else ""

_MANY: dict[int, int] = {
    # poll and ppoll, whose second argument is a number of files; select and pselect6, whose first is above all of them.
    "x86_64": {7: 2, 271: 2, 23: 1, 270: 1},
    "aarch64": {73: 2, 72: 1},
}.get(_MACHINE, {})
"""The calls that wait for many files, and which of their arguments tells how many."""

_NONE: frozenset[int] = {
    # futex, futex_waitv, nanosleep, clock_nanosleep, wait4, waitid, rt_sigtimedwait, rt_sigsuspend, pause.
    "x86_64": frozenset({202, 449, 35, 230, 61, 247, 128, 130, 34}),
    "aarch64": frozenset({98, 449, 101, 115, 260, 95, 137, 133}),
}.get(_MACHINE, frozenset())
"""The calls that wait for no file. Each call that is not listed here can hold one."""

_RESTARTED = {"x86_64": 219, "aarch64": 128}.get(_MACHINE, -1)
"""The number that a call has after its process was stopped and continued, whichever call it was."""


def held_files(processes: Iterable[tuple[int, Memory]]) -> int:
    """Return the most files that the threads of processes hold while they sleep in a call.

    A process with one thread cannot close what this thread waits for, so it is not looked at.
    """
    if not _MANY:  # Another kind of machine, on which `local` does not run.
        return 0
    return sum(
        _held_by(f"/proc/{pid}/task/{thread}", memory.descriptors)
        for pid, memory in processes
        if memory.threads > 1
        for thread in threads_of(pid)[: MAX_TASKS + 1]
    )


def _held_by(thread: str, most: int) -> int:
    """Return how many files a thread can hold.

    Args:
        thread: Its directory in /proc.
        most: How many descriptors its process has room for; the kernel looks at no more.
    """
    try:
        with open(f"{thread}/syscall", "rb", buffering=0) as file:
            call = file.read(256).split()
    except PermissionError:  # Some machines show this to root only.
        return _held_at(thread, most)
    except OSError:
        return 0
    if not call or not call[0].isdigit():  # It runs, or waits for its own memory.
        return 0
    number = int(call[0])
    if number == _RESTARTED:
        return _held_at(thread, most)
    if number in _MANY:
        return min(int(call[_MANY[number]], 16) & 0xFFFFFFFF, most)
    return int(number not in _NONE)


def _held_at(thread: str, most: int) -> int:
    """As `_held_by`, by the name of the function of the kernel in which the thread sleeps."""
    try:
        with open(f"{thread}/wchan", "rb", buffering=0) as file:
            place = file.read(256)
    except OSError:
        return 0
    if b"poll_schedule" in place:
        return most
    return int(not any(word in place for word in _ELSEWHERE) and place != b"0")


_ELSEWHERE = (b"futex", b"nanosleep", b"wait4", b"do_wait", b"sigtimedwait", b"sigsuspend")
"""Words in the names of functions in which threads wait for no file."""
