"""Looks at a process of a session from outside: is there anything in it that a fork would share or lose?"""

from __future__ import annotations

import os
import re
import signal
import time

from code_env.harness.process.watching import is_stopped
from code_env.harness.program.kept_cells import SOCKET

from . import namespaces

_STOP_S, _SPIN_S, _LOOK_S = 5.0, 0.0005, 0.0001
"""How long a process may take to stop; for how long to check that without a pause, and the pause after that, in
seconds."""

_ABOVE = os.path.dirname(namespaces.SCRATCH) + "/"
_SHOWN = 100
"""How much of a file's name is shown, in characters."""
_RIGHTS = (b"w-s ", b"wxs ")
"""The rights in lines for shared memory that can be written to, for a quick search before that with `_SHARED`."""
_SHARED = re.compile(rb"^\S+ .w.s ", re.MULTILINE)
"""A line of `maps` (proc_pid_maps(5)) for shared memory that can be written to."""
_OF_ROOMS = re.compile(rb"^\S+ \S+ \S+ \S+ \d+ +(%s.*)" % re.escape(_ABOVE.encode()), re.MULTILINE)
"""A line for a file of a room."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


def stop(pid: int) -> bool:
    """Stop a process; return whether it has stopped."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        return False
    began = time.monotonic()
    while not is_stopped(pid):
        waited_s = time.monotonic() - began
        if waited_s > _STOP_S or not os.path.exists(f"/proc/{pid}/fd"):
            return False
        os.sched_yield() if waited_s < _SPIN_S else time.sleep(_LOOK_S)
    return True


def obstacles(pid: int, socket_inode: int) -> list[str]:
    """Return what of a stopped process a fork would share with it, or would not have; each in words.

    Args:
        pid: The process.
        socket_inode: The inode of the socket that is its own.

    Raises:
        OSError: If the process is gone.
    """
    found = []
    threads = len(os.listdir(f"/proc/{pid}/task")) - 1
    if threads:
        found.append(f"{threads} other thread{'s' * (threads > 1)}")
    for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        target = os.readlink(f"/proc/{pid}/fd/{name}")
        expected = "/dev/null" if int(name) < 3 else f"socket:[{socket_inode}]" if int(name) == SOCKET else None
        if target != expected:
            found.append(_described(target))
    if os.readlink(f"/proc/{pid}/cwd") != "/":
        found.append("a working directory that it did not leave")
    with open(f"/proc/{pid}/maps", "rb") as file:
        mappings = file.read()
    # The expressions are slow, and hardly ever find something.
    if any(rights in mappings for rights in _RIGHTS) and _SHARED.search(mappings):
        found.append("shared memory")
    if _ABOVE.encode() in mappings:
        found += [f"a mapping of {_described(os.fsdecode(path))}" for path in _OF_ROOMS.findall(mappings)]
    return list(dict.fromkeys(found))


def _described(target: str) -> str:
    kind, is_other, _ = target.partition(":[")
    if is_other:
        return f"an open {kind}"
    return f"the open file {os.path.basename(target)[:_SHOWN]}"


def memory_of(pid: int) -> int:
    """Return the memory of a process that is not a file's, in bytes. What it shares with other processes counts too."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * _PAGE


def share_of_memory(pid: int) -> int:
    """Return the memory of a process in bytes; each page counts as its part for each process that has it.

    It takes much longer than `memory_of`.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith(b"Pss:"))
    except (OSError, ValueError, StopIteration):
        return 0


def exit_status(pid: int) -> int | None:
    """Return the wait status of a process that has ended and that nobody has waited for; None where unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return None
