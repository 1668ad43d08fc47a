"""Keeps the pipes to which the tests of one answer write, one test after the other.

Creating three pipes for each test costs as much as running a small test. So the pipes are kept, as long as no process
that can still write to them outlives its test; a caller that cannot be sure of that creates new ones. They replace the
serving process's own standard streams, so that a test's process has them as its standard streams.
"""

from __future__ import annotations

import os
import select
from typing import Any

from .limits import MAX_STREAM_BYTES

STDERR_TAIL_BYTES = 8192
"""How much of the end of a test's standard error is kept, in bytes."""

_read, _close, _pipe, _dup, _dup2, _set_blocking = os.read, os.close, os.pipe, os.dup, os.dup2, os.set_blocking
_POLLIN = getattr(select, "POLLIN", 0)
_poll: Any = getattr(select, "poll", None)

_FIRST_PIECE, _PIECE = 2048, 65536
"""The size of the first read and of further reads, in bytes: a large read makes the allocator touch many pages."""


class Streams:
    """The standard input, output and error of the tests of one answer, and their report."""

    def __init__(self) -> None:
        self._own = [_dup(fd) for fd in range(3)]
        ends = [_pipe() for _ in range(3)]
        self.reading = tuple(reading for reading, _ in ends)
        """The descriptors to poll: of output, error and report."""
        self.report_fd = ends[2][1]
        """The descriptor to which a test's process reports; otherwise it needs only the standard streams."""
        self._waiting = _poll()
        for fd in self.reading:
            _set_blocking(fd, False)
            self._waiting.register(fd, _POLLIN)
        for number in (1, 2):
            _dup2(ends[number - 1][1], number)
            _close(ends[number - 1][1])
        self.taken: dict[int, bytes | bytearray] = {}
        """The data that has been read, by descriptor."""
        self.too_much = False
        """Whether one of the pipes has delivered more than a test may write."""

    def begin(self, stdin: int) -> None:
        """Prepare for the next test; this closes `stdin`, the descriptor of its input."""
        self.taken, self.too_much = {}, False
        # The same pipes served the test before, which might have made them non-blocking.
        _set_blocking(1, True)
        _set_blocking(2, True)
        _set_blocking(self.report_fd, True)
        _dup2(stdin, 0)
        _close(stdin)

    def take(self) -> bool:
        """Read the available data; return False if it is more than a test may write."""
        for fd, _ in self._waiting.poll(0):
            data = _read(fd, _FIRST_PIECE)
            if len(data) < _FIRST_PIECE and fd not in self.taken:
                self.taken[fd] = data
            else:
                self._take_more(fd, data)
        return not self.too_much

    def _take_more(self, fd: int, data: bytes) -> None:
        taken = self.taken[fd] = bytearray(self.taken.get(fd, b""))
        while data and not self.too_much:
            taken += data
            if fd == self.reading[1]:
                del taken[:-STDERR_TAIL_BYTES]
            self.too_much = len(taken) > MAX_STREAM_BYTES
            try:
                data = _read(fd, _PIECE)
            except BlockingIOError:
                break

    def close(self) -> None:
        """Close all pipes, and restore the process's own standard streams."""
        for number, fd in enumerate(self._own):
            _dup2(fd, number)
            _close(fd)
        for fd in (*self.reading, self.report_fd):
            _close(fd)
