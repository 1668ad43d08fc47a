"""Runs an answer whose tests start no process and leave nothing behind, at the lowest possible cost.

Nearly the whole cost of a small test is memory: after each fork, every page that either side writes to is copied or
remapped, and Python writes to each object that it touches. So the code between one fork and the next touches few
objects, even if it takes more lines, and all possible work is done before the first fork. A test that turns out not to
be small is passed to `Runs.watch`.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..process.limits import BROKEN_EXIT_CODE, at_most, setrlimit
from ..process.memory_file import memory_file
from ..process.streams import Streams
from ..process.watching import cpu_seconds
from .runs import ALL_DESCRIPTORS, Outcome, Runs

_close, _closerange, _fork, _exit, _waitpid = os.close, os.closerange, os.fork, os._exit, os.waitpid
_monotonic = time.monotonic
_pidfd_open: Any = getattr(os, "pidfd_open", None)
_poll, _POLLIN = select.poll, select.POLLIN

_QUIET_MS = 10
"""How long to wait only for a test's end, in milliseconds: most tests end before their pipes are full."""


class FastRuns(Runs):
    """Like `Runs`, for a confinement that has `steps`."""

    _pidfd = -1
    _waiting: Any = None
    _steps: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]] = ()

    def run(self, stdin: bytes) -> None:
        """Run the answer with this standard input."""
        if self.budget.is_shared and self.budget.next_limits() is None:
            self._leave_out()
            return
        streams = self.streams
        if streams is None:
            streams = self._make_streams()
        if self._waiting is None:
            self.workspace.take_room()
        streams.begin(memory_file("stdin", stdin))
        started = _monotonic()
        pid = _fork()
        if pid == 0:
            try:
                for function, args in self._steps:
                    if function(*args) == -1:
                        _exit(BROKEN_EXIT_CODE)
                self.become()
            finally:
                _exit(BROKEN_EXIT_CODE)
        pidfd = _pidfd_open(pid)
        if self._waiting is None or pidfd != self._pidfd:  # The number is nearly always the same.
            self._wait_for(pidfd)
        happened = self._waiting.poll(_QUIET_MS)
        _close(pidfd)
        if happened and happened[0][0] == pidfd:
            cpu_s = cpu_seconds(pid)
            status = _waitpid(pid, 0)[1]
            streams.take()
            wall_s = _monotonic() - started
            limits = self.answer.limits
            if self.budget.is_shared:
                self.budget.note("", cpu_s or 0.0)
            self.outcomes.append(Outcome(status, cpu_s or 0.0, None, wall_s, streams.reading, streams.taken, limits))
            self.bytes_waiting += 1000
            if len(happened) == 1 and not self._is_blind:
                return
        else:
            self.watch(pid, streams, started)
        self._leave_room()

    def _make_streams(self) -> Streams:
        streams = self.streams = Streams()
        self._steps = (
            *((setrlimit, (which, at_most(which, soft, hard))) for which, soft, hard in self.answer.rlimits),
            *(self.confinement.steps or ()),
            (_closerange, (3, streams.report_fd)),
            (_closerange, (streams.report_fd + 1, ALL_DESCRIPTORS)),
        )
        return streams

    def _wait_for(self, pidfd: int) -> None:
        self._pidfd, self._waiting, noticed = pidfd, _poll(), self.workspace.noticed
        self._waiting.register(pidfd, _POLLIN)
        self._is_blind = noticed is None
        if noticed is not None:
            self._waiting.register(noticed, _POLLIN)

    def leave_streams(self) -> None:
        """Restore the process's own standard streams, and free the room for tests of another kind."""
        if self._waiting is not None:
            self._leave_room()
        super().leave_streams()

    def _leave_room(self) -> None:
        """Clean up the room if this test has changed anything in it, so that the next test finds no changes."""
        self.workspace.leave(self.workspace.original)
        self._waiting = None
        if self.streams is not None and self.streams.too_much:
            self.leave_streams()
