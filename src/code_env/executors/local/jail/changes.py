"""Detects whether anything has changed in a working directory, except that programs were put into it.

If nothing else has changed, the next program can use the directory as it is. To make a new directory or a new file
system would cost as much as a tenth of a fork.
"""

from __future__ import annotations

import contextlib
import os
import struct

from . import linux

MAIN = "main.py"
"""The name of a program's own file."""

_ENOUGH = 1024
"""The most bytes to read at once; the expected events are shorter."""

_read, _close = os.read, os.close


class Changes:
    """Watches two directories for all changes from now on.

    Args:
        around: The directory around the working directory.
        work: The working directory, which is empty.
        least: The least number for the descriptor.

    Raises:
        OSError: If the kernel grants no more inotify instances, which it limits per user.
    """

    def __init__(self, around: str, work: str, least: int) -> None:
        self._fd = linux.move_descriptor(linux.notice_changes([around, work]), least)
        self._expected, self._found = _WITH_FIRST_PROGRAM, b""

    def are_as_expected(self) -> bool:
        """Return whether nothing has changed there, except that a program was put into the working directory."""
        with contextlib.suppress(BlockingIOError):
            self._found += _read(self._fd, _ENOUGH)
        return self._found == self._expected

    def expect_next(self) -> None:
        """Expect from now on that the program's file is removed and another one is put there."""
        self._expected, self._found = _WITH_NEXT_PROGRAM, b""

    def close(self) -> None:
        """Stop watching."""
        _close(self._fd)


def _event(mask: int) -> bytes:
    """Return the kernel's event for a change of the program's file, in the second directory that it watches."""
    return struct.pack("iIII16s", 2, mask, 0, 16, MAIN.encode())


_WITH_FIRST_PROGRAM = _event(linux.CREATED) + _event(linux.MODIFIED) + _event(linux.CLOSED_AFTER_WRITING)
_WITH_NEXT_PROGRAM = _event(linux.DELETED) + _WITH_FIRST_PROGRAM
