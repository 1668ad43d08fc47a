"""Reads from /proc how much of the machine's memory a process holds, wherever the kernel keeps it."""

from __future__ import annotations

import contextlib
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
    elsewhere = 1024 * (kib[b"VmSize"] - kib[b"VmData"] - kib[b"VmStk"]) + _IN_SOCKET_BYTES * descriptors
    elsewhere += _WATCH_BYTES * (descriptors // 3) ** 3
    if threads > 1:
        elsewhere += threads * descriptors * max(_IN_SOCKET_BYTES, _WATCH_BYTES * (descriptors // 2) ** 2)
    return Memory(resident, 1024 * kib[b"RssFile"], elsewhere, threads, descriptors)


_MEMORY_FIELDS = (
    *(b"RssAnon", b"RssFile", b"RssShmem", b"VmSwap", b"VmPTE", b"VmSize", b"VmData", b"VmStk"),
    *(b"FDSize", b"Threads"),
)

_THREAD_BYTES = 32 << 10
"""Kernel memory for one thread: its stack and its records, in bytes."""

_IN_SOCKET_BYTES, _IN_PIPE_BYTES = 448 << 10, 64 << 10
"""The most data that can wait in one end of a socket pair, and in a pipe, in bytes. Linux takes a further message as
long as fewer bytes wait than its limit of 208 KiB, and one message can be as long as this limit."""

_MAPPING_BYTES, _FEW_MAPPINGS = 1 << 10, 4096
"""Kernel memory for one mapping and its file, in bytes, and the most mappings that programs commonly have."""

_FEW_BYTES = 4 << 20
"""The most data that can wait in the pipes and sockets that programs commonly have, in bytes."""

_FEW_HELD = 64
"""The most files other than sockets that the sleeping threads of a program commonly wait for."""


def directory_of(pid: int) -> str:
    """Return the directory in /proc that shows what a process holds.

    If the first thread has ended, the process's own directory shows nothing. The directory of each other thread then
    shows all that the process holds.
    """
    return _memory_fields(pid)[0]


def _memory_fields(pid: int) -> tuple[str, dict[bytes, int]]:
    """Return the directory that shows a process's memory, and the figures there; sizes are in KiB.

    There are no figures if the process has ended. Two of them are no sizes: `FDSize` and `Threads`.
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


def mapped_bytes(pid: int) -> int:
    """Return how many bytes the mappings of `pid` hold in addition to its resident memory.

    The memory of a shared mapping stays in use even after the process has released its pages. Each mapping is a record
    in the kernel, and can keep a file open that is closed otherwise.
    """
    shared, mappings = 0, 0
    try:
        with open(f"{directory_of(pid)}/maps", "rb") as maps:
            for line in maps:
                mappings += 1
                if line.endswith(b" /dev/zero (deleted)\n"):  # Linux's name for shared memory.
                    start, _, end = line.partition(b" ")[0].partition(b"-")
                    shared += int(end, 16) - int(start, 16)
    except (OSError, ValueError):
        pass
    return shared + _MAPPING_BYTES * max(0, mappings - _FEW_MAPPINGS)


def waiting_bytes(pids: list[int], held: int = 0) -> int:
    """Return the most bytes that can wait in pipes and sockets of these processes; the real number cannot be read.

    The amount that programs commonly have is not counted.

    Args:
        pids: The processes.
        held: How many files their sleeping threads can hold. Honest threads mostly wait for sockets that are open.
            Beyond these, each such file counts as a socket that is closed.
    """
    sockets, pipes = set(), set()
    for pid in pids:
        directory = f"{directory_of(pid)}/fd"
        with contextlib.suppress(OSError):
            for name in os.listdir(directory):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"{directory}/{name}")
                    if target.startswith("socket:"):
                        sockets.add(target)
                    elif target.startswith("pipe:"):
                        pipes.add(target)
    number = max(len(sockets), held - _FEW_HELD)
    return max(0, _IN_SOCKET_BYTES * number + _IN_PIPE_BYTES * len(pipes) - _FEW_BYTES)


def watched_bytes(pids: list[int], too_much: int, held: int = 0, most: int = 0) -> tuple[int, int]:
    """Return how much kernel memory the watches of epoll(7) take in these processes, and the most of one descriptor.

    A watch is for a file and a descriptor's number. So with a third of its descriptors for epoll, a third for files
    and a third for numbers, a process can have millions of watches. It takes long to count so many. No honest program
    has more than `_MOST_WATCHES`. If there are more, the function stops counting and returns at least `too_much`.

    Args:
        pids: The processes.
        too_much: More bytes than the processes may hold.
        held: How many files their sleeping threads can hold. Each counts as a descriptor with the most watches.
        most: The most watches that a descriptor has had before.
    """
    watches = 0
    for pid in pids:
        directory = directory_of(pid)
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{directory}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"{directory}/fd/{name}") == "anon_inode:[eventpoll]":
                        one = _watches_in(f"{directory}/fdinfo/{name}")
                        watches, most = watches + one, max(most, one)
                if watches > _MOST_WATCHES:
                    return max(too_much, _WATCH_BYTES * watches), most
    watches += held * most
    return max(too_much if watches > _MOST_WATCHES else 0, _WATCH_BYTES * watches), most


def _watches_in(path: str) -> int:
    """Count the watches of one epoll descriptor, which has a line for each; stop if there are too many."""
    watches = 0
    with open(path, "rb", buffering=0) as file:
        while watches <= _MOST_WATCHES and (part := file.read(1 << 16)):
            watches += part.count(b"tfd:")
    return watches


_WATCH_BYTES, _MOST_WATCHES = 200, 250_000
"""Kernel memory for one watch, in bytes, and how many watches are counted before the count stops."""


def threads_of(pid: int) -> list[int]:
    """Return the threads of a process; none where unknown."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
