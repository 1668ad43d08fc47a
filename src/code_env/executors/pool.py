"""Threads that each run one program at a time: what executors on this machine share.

Daemon threads, so an interpreter that exits without `close` does not wait for a program; it is the
executor's part to have the programs end with it.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from .program import Program
from .result import ErrorInfo, ExecutionResult, Status

Runner = Callable[[Program, Callable[[], bool], float], ExecutionResult]
"""Runs a program: takes it, what tells whether to end it early, and the seconds it has waited."""

_Order = tuple[Program, Future[ExecutionResult], float]
"""A program, where its result goes, and when it was submitted."""


class Pool:
    """A queue of programs and one thread for each runner.

    Args:
        name: Of the executor, for the threads' names.
        runners: What the threads run programs with, each its own.
    """

    def __init__(self, name: str, runners: Sequence[Runner]) -> None:
        self.pid = os.getpid()
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(runner,), name=f"code_env-{name}-{i}", daemon=True)
            for i, runner in enumerate(runners)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Put a program into the queue."""
        # The future stays pending until its result is there: only so can `cancel` reach a running one.
        future: Future[ExecutionResult] = Future()
        self._orders.put((program, future, time.monotonic()))
        return future

    def close(self) -> None:
        """End what runs, cancel what waits, and wait for the threads."""
        self._closing.set()
        for _ in self._threads:
            self._orders.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():  # Closed from a future's callback.
                thread.join()

    def _work(self, run: Runner) -> None:
        while (order := self._orders.get()) is not None:
            program, future, submitted = order
            if self._closing.is_set():
                future.cancel()
            if future.cancelled():
                future.set_running_or_notify_cancel()  # Tells those who wait for it.
                continue

            def ended_early(future: Future[ExecutionResult] = future) -> bool:
                return future.cancelled() or self._closing.is_set()

            queue_s = time.monotonic() - submitted
            try:
                result = run(program, ended_early, queue_s)
            # No directory, no process, no descriptor to be had, or a bug of ours: never the program's
            # fault, and never the end of this thread.
            except Exception as error:
                result = sandbox_error(f"{type(error).__name__}: {error}", queue_s)
            if self._closing.is_set():
                future.cancel()  # `close` ended it, so its result says nothing of the program.
            if future.set_running_or_notify_cancel():
                future.set_result(result)
            # Nothing of it is kept while the thread waits for the next.
            del order, program, future, ended_early, result


def sandbox_error(message: str, queue_s: float) -> ExecutionResult:
    """The result of a run that our side failed to make."""
    return ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("SandboxError", message), queue_s=queue_s)


_owners: weakref.WeakSet[Any] = weakref.WeakSet()


def renew_lock_after_fork(owner: Any) -> None:
    """Give an object's `_lock` a fresh start in forks of this process, where whoever held it is not."""
    _owners.add(owner)


def _renew_locks() -> None:
    for owner in _owners:
        owner._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def own_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
