"""The pipes through which the tests of one answer write, one test after the other.

Making three pipes for each test costs as much as running a small one. So they are kept, as long as nothing that could
still write to them outlives its test; whoever cannot be sure of that makes new ones.
"""

from __future__ import annotations

import os

from .limits import MAX_STREAM_BYTES

STDERR_TAIL_BYTES = 8192
"""How much of the end of a test's standard error is kept."""

REPORT = 3
"""Descriptor of the report pipe in a test's process; all above it are closed."""

_read, _close, _pipe, _dup2, _closerange, _set_blocking = (
    os.read,
    os.close,
    os.pipe,
    os.dup2,
    os.closerange,
    os.set_blocking,
)
_PIECE = 65536
_ALL_DESCRIPTORS = 1 << 30


class Streams:
    """Standard output, standard error and the report of the tests of one answer."""

    def __init__(self) -> None:
        self._reading, self._writing = zip(*(_pipe() for _ in range(3)), strict=True)
        for fd in self._reading:
            _set_blocking(fd, False)
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.report = bytearray()
        self.too_much = False
        """Whether the test wrote more than it may to one of them."""

    def fileno(self) -> tuple[int, ...]:
        """Descriptors to wait for."""
        return self._reading

    def begin(self) -> None:
        """Be ready for the next test."""
        self.stdout, self.stderr, self.report, self.too_much = bytearray(), bytearray(), bytearray(), False
        for fd in self._writing:
            _set_blocking(fd, True)  # The test before may have set it otherwise, and it is the same pipe.

    def enter(self, stdin: int) -> None:
        """In a test's process: take the places of the standard streams, and close what is not the test's."""
        _dup2(stdin, 0)
        _dup2(self._writing[0], 1)
        _dup2(self._writing[1], 2)
        _dup2(self._writing[2], REPORT, False)
        _closerange(REPORT + 1, _ALL_DESCRIPTORS)

    def take(self) -> bool:
        """Take what is there; False if it is more than a test may write."""
        for fd, taken in zip(self._reading, (self.stdout, self.stderr, self.report), strict=True):
            while not self.too_much:
                try:
                    data = _read(fd, _PIECE)
                except BlockingIOError:
                    break
                taken += data
                if taken is self.stderr:
                    del taken[:-STDERR_TAIL_BYTES]
                self.too_much = len(taken) > MAX_STREAM_BYTES
                if len(data) < _PIECE:
                    break
        return not self.too_much

    def close(self) -> None:
        """Close all."""
        for fd in (*self._reading, *self._writing):
            _close(fd)
