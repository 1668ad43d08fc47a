"""Tells how much of the kernel's memory the mappings of a run's processes take, beyond what these have resident."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .memory import directory_of

_MAPPING_BYTES, _FEW_MAPPINGS = 1 << 10, 4096
"""Kernel memory for one mapping and a file of its own, in bytes, and the most mappings that processes commonly have."""

_RECORD_BYTES, _LINK_BYTES = 384, 64
"""Kernel memory for one mapping and what it needs to find its pages (anon_vma), and for one link to the same mapping in
a process above (anon_vma_chain), in bytes: a mapping that a process inherits has a link for each process above it."""

_MOST_MAPPINGS = 1 << 16
"""About the most mappings that a process can have: Linux's usual vm.max_map_count."""

_MOST_TEXT = 64 << 20
"""The most text about mappings that is read of a run, in bytes. With long paths there could be any amount."""


def depths(parents: Mapping[int, int], *, serves: bool) -> list[int]:
    """Return how many processes of a run each process descends from, including itself.

    What the parent of an orphan was is not known. It counts as if it descended from all of them.

    Args:
        parents: The parent of each process, in an order in which each process comes after its parent.
        serves: Whether the first process waits for the orphans of what it has started.
    """
    found: dict[int, int] = {}
    first = next(iter(parents), None)
    for pid, parent in parents.items():
        if pid != first and (parent not in found or (serves and parent == first and len(found) > 1)):
            found[pid] = len(parents)
        else:
            found[pid] = found.get(parent, 0) + 1
    return list(found.values())


def most_link_bytes(depth: Sequence[int]) -> int:
    """Return the most bytes that links of processes take which descend from more processes than usual."""
    return sum(_LINK_BYTES * _MOST_MAPPINGS * max(0, one - 2) for one in depth)


def mapping_bytes(pids: Sequence[int], depth: Sequence[int], too_much: int) -> int:
    """Return how many bytes the mappings of processes hold in addition to resident memory.

    The memory of a shared mapping stays in use even after the process has released its pages. Each mapping is a record
    in the kernel, and can keep a file open that is closed otherwise. The mappings that programs commonly have are free.

    Args:
        pids: The processes.
        depth: For each how many processes it descends from, see `depths`.
        too_much: More bytes than the processes may hold; the result if there is too much to read.
    """
    shared = files = records = text = 0
    for pid, links in zip(pids, depth, strict=True):
        mappings = 0
        try:
            with open(f"{directory_of(pid)}/maps", "rb") as maps:
                for line in maps:
                    mappings += 1
                    text += len(line)
                    if line.endswith(b" /dev/zero (deleted)\n"):  # Linux's name for shared memory.
                        start, _, end = line.partition(b" ")[0].partition(b"-")
                        shared += int(end, 16) - int(start, 16)
                    elif text > _MOST_TEXT:
                        return too_much
        except (OSError, ValueError):
            pass
        files += _MAPPING_BYTES * max(0, mappings - _FEW_MAPPINGS)
        records += mappings * (_RECORD_BYTES + _LINK_BYTES * links)
    return shared + files + max(0, records - _FEW_MAPPINGS * (_RECORD_BYTES + _LINK_BYTES))
