"""Futures that are completed in the event loop's thread, and whose callbacks do not run there.

A callback may do what it likes: run another program, and wait for that, close the executor, or sleep. In the loop's
thread that would hold up all programs, or wait for itself.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from code_env.executors.result import ExecutionResult

from .loop import LoopThread

_log = logging.getLogger(__name__)


class ResultFuture(Future[ExecutionResult]):
    """A program's result. Callbacks that its completion calls run in a thread of their own, in their order.

    Args:
        thread: Where it is completed.
    """

    def __init__(self, thread: LoopThread) -> None:
        super().__init__()
        self._thread = thread
        self._later: deque[Callable[[Future[ExecutionResult]], Any]] = deque()

    def add_done_callback(self, fn: Callable[[Future[ExecutionResult]], Any]) -> None:
        """Have a function called when it is done, or at once if it is; see `concurrent.futures.Future`."""
        super().add_done_callback(lambda _: self._put_off(fn) if self._thread.is_current else fn(self))

    def when_done(self, function: Callable[[Future[ExecutionResult]], None]) -> None:
        """The same for a function that takes no time, which is called by whoever completes it."""
        super().add_done_callback(function)

    def _put_off(self, function: Callable[[Future[ExecutionResult]], Any]) -> None:
        # All are put off in one go, in the loop's thread; the thread begins when the last is there.
        self._later.append(function)
        if len(self._later) == 1:
            self._thread.loop.call_soon(self._begin)

    def _begin(self) -> None:
        # Not a daemon: as elsewhere, the process does not end while callbacks run.
        try:
            threading.Thread(target=self._call_all, name="code_env-e2b-callbacks").start()
        except RuntimeError:  # The interpreter is about to end.
            self._call_all()

    def _call_all(self) -> None:
        for function in self._later:
            try:
                function(self)
            except Exception:
                _log.exception("a callback of %r raised an exception", self)
        self._later.clear()
