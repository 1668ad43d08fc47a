"""Tells how much of the kernel's memory the open descriptors of processes can hold.

That is what waits in pipes and sockets, watches of epoll(7), and the text of files in /proc: the kernel keeps it in a
buffer for as long as the descriptor is open, and the buffer has room for the longest part that was read.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import NamedTuple

from .memory import IN_SOCKET_BYTES, WATCH_BYTES, Memory, directory_of

_IN_PIPE_BYTES, _IN_FURTHER_PIPE_BYTES = 64 << 10, 8 << 10
"""The most data that can wait in a pipe, and in one that a user has beyond pipe-user-pages-soft, in bytes; pipe(7)."""

_FEW_BYTES = 4 << 20
"""The most data that can wait in the pipes and sockets that programs commonly have, in bytes, and the most text."""

_FEW_HELD = 64
"""The most files other than sockets that the sleeping threads of a program commonly wait for."""

_MOST_WATCHES = 16_384
"""The most watches that the descriptors of a run may have; to read so many takes some 10 ms. An honest program has
about as many as it has open files."""

_MOST_HELD_WATCHES = 250_000
"""The most watches that files without descriptors may have. Most such files are none of epoll(7), so it is higher."""

_WATCH_TEXT, LOCK_TEXT, NAME_TEXT = 114, 100, 4 * 255 + 1
"""The longest text that describes a watch in `fdinfo`, a lock in `fdinfo`, and one name of a path in `maps`, in bytes.
A name has up to 255 characters, and the kernel writes four for some of them."""


class Seen(NamedTuple):
    """What was seen of a run's descriptors until now, which they can hold still."""

    watches: int = 0
    """The most watches that a descriptor has had."""
    text: int = 0
    """The longest text, see `descriptor_bytes`, since a file in /proc was opened; 0 if none is open."""
    in_proc: bool = False
    """Whether a file in /proc has been open. Until then no thread is taken to hold one."""


NOTHING_SEEN = Seen()


def descriptor_bytes(
    pids: list[int], too_much: int, held: int = 0, seen: Seen = NOTHING_SEEN, text: int = 0
) -> tuple[int, Seen]:
    """Return the most bytes that descriptors hold, and what was seen of them.

    The amount that programs commonly have is not counted. A watch is for a file and a descriptor's number. So with a
    third of its descriptors for epoll, a third for files and a third for numbers, a process can have millions of
    watches. If there are too many, the function stops counting and returns at least `too_much`.

    Args:
        pids: The processes.
        too_much: More bytes than the processes may hold.
        held: How many files their sleeping threads can hold. Honest threads mostly wait for sockets that are open.
            Beyond these, each such file counts as one that is closed: as a socket, as far as there are sockets, else as
            a pipe, and also as a descriptor with the most watches.
        seen: What was seen of them before.
        text: The longest text that a file in /proc can have because of the run's files and locks, in bytes.
    """
    sockets, pipes, watches, shown, most_watches = set(), set(), 0, 0, seen.watches
    for pid in pids:
        directory = directory_of(pid)
        device = _device(f"{directory}/root/proc")
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{directory}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"{directory}/fd/{name}")
                    if target.startswith("socket:"):
                        sockets.add(target)
                    elif target.startswith("pipe:"):
                        pipes.add(target)
                    elif target.startswith("/"):
                        # A process that ends has no root any more, while a descriptor still shows its target.
                        shown += device is not None and _device(f"{directory}/fd/{name}") == device
                    elif target == "anon_inode:[eventpoll]":
                        one = _watches_in(f"{directory}/fdinfo/{name}")
                        watches, most_watches = watches + one, max(most_watches, one)
                        if watches > _MOST_WATCHES:
                            return too_much, seen._replace(watches=most_watches)
    text, in_proc = max(text, seen.text), seen.in_proc or shown > 0
    shown += held if in_proc else 0
    without, beyond = held * most_watches, held - _FEW_HELD
    counted = len(sockets)
    if beyond > counted:
        counted = max(counted, min(beyond, _sockets_of_network(pids[0])))
    waiting = IN_SOCKET_BYTES * counted + _in_pipes(len(pipes) + max(0, beyond - counted))
    texts = _buffer_bytes(text + _WATCH_TEXT * most_watches) * shown
    total = WATCH_BYTES * (watches + without) + max(0, waiting - _FEW_BYTES) + max(0, texts - _FEW_BYTES)
    total = max(total, too_much if without > _MOST_HELD_WATCHES else 0)
    return total, Seen(most_watches, text if shown else 0, in_proc)


def most_text_bytes(memory: Memory, text: int) -> int:
    """Return how much more text descriptors can hold than the sockets which `Memory.elsewhere` assumes, in bytes.

    Args:
        memory: What their process holds.
        text: See `descriptor_bytes`.
    """
    watches = min(_MOST_WATCHES, (memory.descriptors // 2) ** 2)
    more = max(0, _buffer_bytes(text + _WATCH_TEXT * watches) - IN_SOCKET_BYTES)
    return more * memory.descriptors * (1 + (memory.threads if memory.threads > 1 else 0))


def _sockets_of_network(pid: int) -> int:
    """Return how many sockets a process's network namespace has, closed ones among them that a thread waits for."""
    try:
        with open(f"/proc/{pid}/net/sockstat", "rb", buffering=0) as file:
            return int(file.readline().split()[-1])
    except (OSError, ValueError, IndexError):
        return sys.maxsize


def _in_pipes(count: int) -> int:
    """Return the most bytes that wait in pipes of a user."""
    large = min(count, _large_pipes())
    return _IN_PIPE_BYTES * large + _IN_FURTHER_PIPE_BYTES * (count - large)


@functools.cache
def _large_pipes() -> int:
    """Return how many pipes a user may have before new ones are small."""
    try:
        with open("/proc/sys/fs/pipe-user-pages-soft", "rb", buffering=0) as file:
            pages = int(file.read(32))
    except (OSError, ValueError):
        pages = 0
    return pages * os.sysconf("SC_PAGESIZE") // _IN_PIPE_BYTES or sys.maxsize


def _buffer_bytes(text: int) -> int:
    """Return the size of the kernel's buffer for a text. It doubles the size until there is room."""
    return int(max(4096, 1 << text.bit_length()))


def _device(path: str) -> int | None:
    """Return the device of a file; None where unknown."""
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def _watches_in(path: str) -> int:
    """Count the watches of one epoll descriptor, which has a line for each; stop if there are too many."""
    watches = 0
    with open(path, "rb", buffering=0) as file:
        while watches <= _MOST_WATCHES and (part := file.read(1 << 16)):
            watches += part.count(b"tfd:")
    return watches
