"""The pipes through which the tests of one answer write, one test after the other.

Making three pipes for each test costs as much as running a small one. So they are kept, as long as nothing that could
still write to them outlives its test; whoever cannot be sure of that makes new ones. They take the places of the
serving process's own standard streams, so that a test's process finds them where it needs them.
"""

from __future__ import annotations

import os
import select
from typing import Any

from .limits import MAX_STREAM_BYTES

STDERR_TAIL_BYTES = 8192
"""How much of the end of a test's standard error is kept."""

_read, _close, _pipe, _dup, _dup2, _set_blocking = os.read, os.close, os.pipe, os.dup, os.dup2, os.set_blocking
_POLLIN = getattr(select, "POLLIN", 0)
_poll: Any = getattr(select, "poll", None)

_FIRST_PIECE, _PIECE = 2048, 65536
"""How much is read at first, and then: for a large piece the allocator touches many pages."""


class Streams:
    """Standard input, output and error, and the report, of the tests of one answer."""

    def __init__(self) -> None:
        self._own = [_dup(fd) for fd in range(3)]
        ends = [_pipe() for _ in range(3)]
        self.reading = tuple(reading for reading, _ in ends)
        """Descriptors of output, error and report, to wait for."""
        self.report_fd = ends[2][1]
        """Where a test's process reports; of its others it needs the standard ones only."""
        self._waiting = _poll()
        for fd in self.reading:
            _set_blocking(fd, False)
            self._waiting.register(fd, _POLLIN)
        for number in (1, 2):
            _dup2(ends[number - 1][1], number)
            _close(ends[number - 1][1])
        self.taken: dict[int, bytes | bytearray] = {}
        """What has come, by descriptor."""
        self.too_much = False
        """Whether more has come on one of them than a test may write."""

    def begin(self, stdin: int) -> None:
        """Be ready for the next test; takes the descriptor of its input over."""
        self.taken, self.too_much = {}, False
        # The test before may have set them otherwise, and they are the same pipes.
        _set_blocking(1, True)
        _set_blocking(2, True)
        _set_blocking(self.report_fd, True)
        _dup2(stdin, 0)
        _close(stdin)

    def take(self) -> bool:
        """Take what is there; False if it is more than a test may write."""
        for fd, _ in self._waiting.poll(0):
            data = _read(fd, _FIRST_PIECE)
            if len(data) < _FIRST_PIECE and fd not in self.taken:
                self.taken[fd] = data
            else:
                self._take_on(fd, data)
        return not self.too_much

    def _take_on(self, fd: int, data: bytes) -> None:
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
        """Close all, and give the process its own standard streams back."""
        for number, fd in enumerate(self._own):
            _dup2(fd, number)
            _close(fd)
        for fd in (*self.reading, self.report_fd):
            _close(fd)
