"""Locks of `multiprocessing` where programs may have no shared memory with a name: at level `contained`.

Python makes such a lock of a named semaphore, which the C library puts into /dev/shm. All programs of the machine share
that directory, so no program may write there. A lock that only the process and its forks use needs no name: here it
is an unnamed semaphore, see sem_overview(7), in a page that forks share. Pools of threads have such locks too.
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
            kind: Whether its owner may take it again, as a number of Python's own.
            value: How often it can be taken.
            maxvalue: The most that its value may become.
            name: The name that it would have.
            unlink: Whether no other program is to find it by its name. Where one is, there is no help: it is the
                named one, which the jail refuses.
        """
        if not unlink:
            return _Named(kind, value, maxvalue, name, unlink)
        # Both are for few programs, and take longer to import than a short program runs.
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
    """Have `multiprocessing` make its locks of these."""
    _multiprocessing.SemLock = SemLock
