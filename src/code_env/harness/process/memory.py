"""Reads from /proc how much of the machine's memory a process holds, wherever the kernel keeps it."""

from __future__ import annotations

import os
from typing import NamedTuple


class Memory(NamedTuple):
    """How much of the machine's memory a process holds, in bytes."""

    resident: int
    """Anonymous memory, shared memory, swapped memory, page tables, and the kernel's memory for threads."""
    files: int
    """Pages of mapped files, which the machine can read again. `resident` does not include them."""
    elsewhere: int
    """The most that the process can hold in addition: mappings other than its own data and stack (files, reserved
    address space, memory that can be shared), data that can wait in pipes and sockets, and watches of epoll(7), also of
    files that only sleeping threads still hold."""
    threads: int = 0
    """How many threads it has."""
    descriptors: int = 0
    """How many descriptors its table has room for."""
    parent: int = 0
    """Its parent."""
    is_known: bool = True
    """False if the process still lives, but its figures cannot be read."""


def memory_of(pid: int) -> Memory:
    """Return what a process holds; zeros if it has ended or its figures cannot be read."""
    kib = _memory_fields(pid)[1]
    if not kib:
        return Memory(0, 0, 0, is_known=len(threads_of(pid)) < 2)
    threads = kib[b"Threads"]
    resident = 1024 * (kib[b"RssAnon"] + kib[b"RssShmem"] + kib[b"VmSwap"] + kib[b"VmPTE"])
    resident += _THREAD_BYTES * (threads - 1)
    descriptors = kib[b"FDSize"]
    elsewhere = 1024 * (kib[b"VmSize"] - kib[b"VmData"] - kib[b"VmStk"]) + IN_SOCKET_BYTES * descriptors
    elsewhere += WATCH_BYTES * (descriptors // 3) ** 3
    if threads > 1:
        elsewhere += threads * descriptors * max(IN_SOCKET_BYTES, WATCH_BYTES * (descriptors // 2) ** 2)
    return Memory(resident, 1024 * kib[b"RssFile"], elsewhere, threads, descriptors, kib[b"PPid"])


_MEMORY_FIELDS = (
    *(b"RssAnon", b"RssFile", b"RssShmem", b"VmSwap", b"VmPTE", b"VmSize", b"VmData", b"VmStk"),
    *(b"FDSize", b"Threads", b"PPid"),
)

_THREAD_BYTES = 32 << 10
"""Kernel memory for one thread: its stack and its records, in bytes."""

IN_SOCKET_BYTES = 448 << 10
"""The most data that can wait in one end of a socket pair, in bytes. Linux takes a further message as long as fewer
bytes wait than its limit of 208 KiB, and one message can be as long as this limit."""

WATCH_BYTES = 200
"""Kernel memory for one watch of epoll(7), in bytes."""


def directory_of(pid: int) -> str:
    """Return the directory in /proc that shows what a process holds.

    If the first thread has ended, the process's own directory shows nothing. The directory of each other thread then
    shows all that the process holds.
    """
    return _memory_fields(pid)[0]


def _memory_fields(pid: int) -> tuple[str, dict[bytes, int]]:
    """Return the directory that shows a process's memory, and the figures there; sizes are in KiB.

    There are no figures if the process has ended. Three of them are no sizes: `FDSize`, `Threads` and `PPid`.
    """
    own = f"/proc/{pid}"
    fields = _read_memory_fields(own)
    for _ in range(0 if fields else _MOST_LISTS):
        threads = [thread for thread in threads_of(pid) if thread != pid]
        for thread in threads:
            if fields := _read_memory_fields(directory := f"{own}/task/{thread}"):
                return directory, fields
        if not threads:
            break
    return own, fields


_MOST_LISTS = 10
"""How many times in a row to list a process's threads, if all listed threads have ended before they were read."""


def _read_memory_fields(directory: str) -> dict[bytes, int]:
    try:
        with open(f"{directory}/status", "rb") as status:
            fields = dict(line.split(b":", 1) for line in status if b":" in line)
        return {name: int(fields[name].split()[0]) for name in _MEMORY_FIELDS}
    except (OSError, KeyError, ValueError):
        return {}


def threads_of(pid: int) -> list[int]:
    """Return the threads of a process; none where unknown."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
