"""Arranges the server's memory so that its forks have little to copy.

A fork copies the table of each page that the server has touched, and then each page that it writes to itself. New
objects are written where there is room: between old ones, so that the first few hundred objects of a program
would be spread over as many pages of others. So the room between is taken up here, and what comes next lies together.
"""

from __future__ import annotations

import gc

from . import linux

_POOL_BYTES, _PAGE = 16384, 4096
"""Size of a pool of Python's allocator (obmalloc.c), which holds objects of one size, and of a page."""

_STEP, _LARGEST = 16, 512
"""Sizes that have pools: multiples of the step up to the largest."""

_BYTES_OVERHEAD = 33
"""Size of an empty `bytes` object."""

_MOST = 20_000
"""Objects of one size to make at the most; where pools are of another size, nothing is gained, and nothing lost."""

_kept: list[bytes] = []
"""What takes up room."""


def settle() -> None:
    """Do it, once everything is loaded; from here on nothing is collected."""
    gc.collect()
    linux.settle_heap()
    gc.freeze()
    gc.disable()
    for size in range(_STEP, _LARGEST + 1, _STEP):
        if size > _BYTES_OVERHEAD:
            _fill(size)


def _fill(size: int) -> None:
    """Take up the room for objects of this size, up to the beginning of a pool in which there is nothing yet."""
    for _ in range(_MOST):
        one = bytes(size - _BYTES_OVERHEAD)
        _kept.append(one)
        # Some room is left in the pool's first page, which has to be copied anyway: its header is there.
        if id(one) % _POOL_BYTES < _PAGE - 3 * size:
            return
