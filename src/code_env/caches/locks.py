"""A lock on a file. The kernel ends it with the process that holds it, so `kill -9` leaves no lock behind."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Self


class FileLock:
    """A lock that is held, see flock(2); a context manager.

    Args:
        fd: The descriptor of the locked file; -1 if there is no file to lock.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def take(cls, path: Path, *, shared: bool, wait: bool) -> Self | None:
        """Lock a file, which is made if it does not exist. It can be removed by whoever holds the lock alone.

        Args:
            path: The file.
            shared: Whether others may hold the lock at the same time, if they share it too.
            wait: Whether to wait for others who hold the lock.

        Returns:
            The lock; None if others hold it and `wait` is false.

        Raises:
            OSError: If the file cannot be made or locked.
        """
        import fcntl

        how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
        while True:
            fd = _open(path)
            try:
                fcntl.flock(fd, how)
                # The file can have been removed, and made again, before it was locked.
                if os.path.samestat(os.fstat(fd), path.stat()):
                    return cls(fd)
            except FileNotFoundError:
                pass
            except BlockingIOError:
                os.close(fd)
                return None
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)

    def close(self) -> None:
        """Give the lock back. Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:  # In a cache that another user has filled, the file can only be read.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
