"""Locks of `multiprocessing` for level `contained`, where programs may have no named shared memory.

Python makes these locks from named semaphores, which the C library puts into /dev/shm. All programs of the machine
share that directory, so no program may write there. A lock that only the process and its forks use needs no name. Here
it is an unnamed semaphore, see sem_overview(7), in a page that forks share. Pools of threads use these locks too.
"""

from __future__ import annotations

import _multiprocessing  # type: ignore[import-not-found]
from typing import Any

_Named = _multiprocessing.SemLock


class SemLock(_Named):  # type: ignore[valid-type, misc]
    """A lock or semaphore, as `multiprocessing.synchronize` asks for one."""

    def __new__(cls, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> Any:
        """Make an unnamed semaphore.

        Args:
            kind: Whether its owner may take it again, as one of Python's internal numbers.
            value: How often it can be taken.
            maxvalue: The largest value that it can have.
            name: The name that a named semaphore would have.
            unlink: Whether no other program needs to find it by its name. If False, this makes the named semaphore,
                which the jail refuses.
        """
        if not unlink:
            return _Named(kind, value, maxvalue, name, unlink)
        # Few programs need these modules, and their import takes longer than a short program runs.
        import ctypes
        import mmap

        page = mmap.mmap(-1, mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        if ctypes.CDLL(None, use_errno=True).sem_init(ctypes.c_void_p(address), 1, value) != 0:
            raise OSError(ctypes.get_errno(), "sem_init failed")
        lock = cls._rebuild(address, kind, maxvalue, None)
        lock._page = page
        return lock


def install() -> None:
    """Make `multiprocessing` use this class for its locks."""
    _multiprocessing.SemLock = SemLock
