"""Notices whether anything was done to a working directory but to put one program after another into it.

Where nothing was, the next program may have it as it is: to make a directory or a file system anew costs as much as a
tenth of a fork.
"""

from __future__ import annotations

import contextlib
import os
import struct

from . import linux

MAIN = "main.py"
"""The file that a program is put into."""

_ENOUGH = 1024
"""Bytes that are read at once; what is expected is shorter."""

_read, _close = os.read, os.close


class Changes:
    """Has the kernel tell of all that is done in two directories from now on.

    Args:
        around: The directory around the working directory.
        work: The working directory; nothing is in it.
        least: The least number for the descriptor.

    Raises:
        OSError: If the kernel grants no more of these, of which a user has so many.
    """

    def __init__(self, around: str, work: str, least: int) -> None:
        self._fd = linux.move_descriptor(linux.notice_changes([around, work]), least)
        self._expected, self._found = _WITH_FIRST_PROGRAM, b""

    def are_as_expected(self) -> bool:
        """Whether nothing was done there but to put a program into it."""
        with contextlib.suppress(BlockingIOError):
            self._found += _read(self._fd, _ENOUGH)
        return self._found == self._expected

    def expect_next(self) -> None:
        """From here on, expect the program's file to be removed, and another to be put there."""
        self._expected, self._found = _WITH_NEXT_PROGRAM, b""

    def close(self) -> None:
        """Have nothing more noticed."""
        _close(self._fd)


def _event(mask: int) -> bytes:
    """What the kernel tells of a change of the program's file, in the second directory that it was asked about."""
    return struct.pack("iIII16s", 2, mask, 0, 16, MAIN.encode())


_WITH_FIRST_PROGRAM = _event(linux.CREATED) + _event(linux.MODIFIED) + _event(linux.CLOSED_AFTER_WRITING)
_WITH_NEXT_PROGRAM = _event(linux.DELETED) + _WITH_FIRST_PROGRAM
