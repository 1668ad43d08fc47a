"""Counts the runs of this process: a run that finds no space waits until another run ends, and is tried again.

At level `contained` programs share a file system. A program that fills it is ended soon, and no other program must
suffer from that.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable

from code_env.executors.pool import Place, renew_lock_after_fork
from code_env.executors.result import ExecutionResult, Status, sandbox_error
from code_env.harness.process.watching import TICK_S

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

_MOST = 100
"""The largest number of times that a run is tried."""


class Neighbours:
    """The runs of all executors in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._pid = os.getpid()
        self._running = self._ended = 0

    def run_beside(self, run: Callable[[], ExecutionResult], place: Place) -> ExecutionResult:
        """Run a program. Each time that it finds no space, wait until a neighbour ends, and run it again.

        Args:
            run: Runs the program once.
            place: The program's place in the pool.
        """
        for _ in range(_MOST):
            result = self._run(run, place)
            if not found_no_space(result) or not self._wait_for_end(place):
                break
        return result

    def _run(self, run: Callable[[], ExecutionResult], place: Place) -> ExecutionResult:
        with self._lock:
            if self._pid != os.getpid():  # A fork does not run its parent's programs.
                self._pid, self._running = os.getpid(), 0
            self._running += 1
        found_space = True
        try:
            result = run()
            found_space = not found_no_space(result)
            return result
        except OSError as error:
            if error.errno not in _NO_SPACE:
                raise
            found_space = False
            return sandbox_error(f"{type(error).__name__}: {error}", place.queue_s)
        finally:
            with self._lock:
                self._running -= 1
                self._ended += found_space

    def _wait_for_end(self, place: Place) -> bool:
        """Wait until a run that had space has ended, or no run is left.

        Return False if there is no run to wait for, or if the program's result is not wanted any more.
        """
        with self._lock:
            before = self._ended
            if not self._running:
                return False
        while self._running and self._ended == before:
            if place.is_over():
                return False
            time.sleep(TICK_S)
        return True


def found_no_space(result: ExecutionResult) -> bool:
    """Return whether a run did not begin because there was no space."""
    halves = [half for half in (result, result.peer) if half is not None and half.status is Status.SANDBOX_ERROR]
    told = [half.error.message for half in halves if half.error is not None]
    return any(os.strerror(number) in message for number in _NO_SPACE for message in told)
