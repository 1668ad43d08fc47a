"""Arranges the server's memory so that its forks have little to copy.

A fork copies the page tables of all memory that the server has touched. Then it copies each page that it writes to.
Python puts new objects into free space between old ones. So the first few hundred objects of a program would be spread
over as many old pages. This module fills the free space, so that new objects are close together.
"""

from __future__ import annotations

import gc

from . import linux

_POOL_BYTES, _PAGE = 16384, 4096
"""The sizes of a pool of Python's allocator (obmalloc.c), which holds objects of one size, and of a page, in bytes."""

_STEP, _LARGEST = 16, 512
"""The object sizes that have pools, in bytes: multiples of the step, up to the largest."""

_BYTES_OVERHEAD = 33
"""The size of an empty `bytes` object, in bytes."""

_MOST = 20_000
"""The most objects of one size to make. Where pools have another size, filling them neither helps nor harms."""

_kept: list[bytes] = []
"""The objects that fill the free space."""


def settle() -> None:
    """Fill the free space, once everything is loaded. From here on, this process does not collect garbage."""
    gc.collect()
    linux.settle_heap()
    gc.freeze()
    gc.disable()
    for size in range(_STEP, _LARGEST + 1, _STEP):
        if size > _BYTES_OVERHEAD:
            _fill(size)


def _fill(size: int) -> None:
    """Fill the free space for objects of this size, up to the beginning of an empty pool."""
    for _ in range(_MOST):
        one = bytes(size - _BYTES_OVERHEAD)
        _kept.append(one)
        # Some space stays free in the pool's first page. A fork copies this page anyway, because the header is there.
        if id(one) % _POOL_BYTES < _PAGE - 3 * size:
            return
