"""Futures that are completed in the event loop's thread, but call their callbacks in another thread.

A callback may run another program and wait for it, close the executor, or sleep. In the loop's thread that would delay
all programs, or cause a deadlock.
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
    """The future of a program's result. When it is completed, its callbacks run in order in a separate thread.

    Args:
        thread: The thread in which it is completed.
    """

    def __init__(self, thread: LoopThread) -> None:
        super().__init__()
        self._thread = thread
        self._later: deque[Callable[[Future[ExecutionResult]], Any]] = deque()

    def add_done_callback(self, fn: Callable[[Future[ExecutionResult]], Any]) -> None:
        """Call a function when the future is done; at once if it is done already; see `concurrent.futures.Future`."""
        super().add_done_callback(lambda _: self._put_off(fn) if self._thread.is_current else fn(self))

    def when_done(self, function: Callable[[Future[ExecutionResult]], None]) -> None:
        """Like `add_done_callback`, for a short function: the thread that completes the future calls it directly."""
        super().add_done_callback(function)

    def _put_off(self, function: Callable[[Future[ExecutionResult]], Any]) -> None:
        # In the loop's thread all callbacks are collected first; the separate thread starts after the last of them.
        self._later.append(function)
        if len(self._later) == 1:
            self._thread.loop.call_soon(self._begin)

    def _begin(self) -> None:
        # Not a daemon thread: the process must not end while callbacks run, as with other futures.
        try:
            threading.Thread(target=self._call_all, name="code_env-machine-callbacks").start()
        except RuntimeError:  # The interpreter is shutting down.
            self._call_all()

    def _call_all(self) -> None:
        for function in self._later:
            try:
                function(self)
            except Exception:
                _log.exception("a callback of %r raised an exception", self)
        self._later.clear()
