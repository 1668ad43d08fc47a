"""A queue of programs, and threads that each run one program at a time. All executors on this machine use it.

At most `workers` programs run at a time. If an executor allows more programs in flight, a program that sleeps does not
count: it lends its place to another program. An extra thread is started for that program; the thread ends when it has
had nothing to do for a while.

The threads are daemon threads, so an interpreter that exits without `close` does not wait for a program. The executor
must make sure that its programs end together with the interpreter.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

from code_env.text import printable

from .program import Program
from .result import ExecutionResult, Status, sandbox_error

_log = logging.getLogger(__name__)

_AT_A_LIMIT = (Status.TIMEOUT, Status.MEMORY, Status.OUTPUT_LIMIT)

_SLOW = 0.5
"""A program is slow if it takes more than this share of its CPU time."""

_LINGER_S = 2.0
"""How long an extra thread waits for its next program, in seconds. While some program sleeps, each batch needs the
extra thread again, and the processes with which it runs programs take time to start."""


class Place:
    """The place of one running program in the pool. Its runner asks it whether to stop, and can lend the place.

    Args:
        pool: The pool that the program was submitted to.
        future: The future that gets the program's result.
        queue_s: How long the program has waited, in seconds.
    """

    def __init__(self, pool: Pool, future: Future[ExecutionResult], queue_s: float) -> None:
        self._pool, self._future, self.queue_s = pool, future, queue_s
        self._asleep = False

    def is_over(self) -> bool:
        """Whether the program's result is not wanted any more."""
        return self._future.cancelled() or self._pool.closing

    def sleeps(self, asleep: bool) -> None:
        """Report whether the program sleeps, so that another program may use its core."""
        if asleep != self._asleep:
            self._asleep = asleep
            self._pool.lend(1 if asleep else -1)


Runner = Callable[[Program, Place], ExecutionResult]
"""Runs a program."""

_Order = tuple[Program, Future[ExecutionResult], float]
"""A program, the future for its result, and the time when it was submitted."""

_Inbox = queue.SimpleQueue[_Order | None]
"""The queue from which a thread takes its programs; None tells the thread to end."""


class Pool:
    """A queue of programs and the threads that run them.

    Args:
        name: Name of the executor, for the names of the threads.
        workers: How many programs run at a time.
        open_runner: Returns a context manager for the runner of one thread; it stays open as long as the thread lives.
        most: The largest number of programs in flight, with those that sleep; `workers` by default.
    """

    def __init__(
        self,
        name: str,
        workers: int,
        open_runner: Callable[[], AbstractContextManager[Runner]],
        most: int | None = None,
    ) -> None:
        self.pid, self.closing = os.getpid(), False
        self._name, self._workers, self._open_runner = name, workers, open_runner
        self._most = most or workers
        self._lock = threading.Lock()
        self._orders: deque[_Order] = deque()
        self._running = 0
        self._lent = 0
        self._started = 0
        self._idle: list[_Inbox] = []
        self._threads: list[threading.Thread] = []

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Put a program into the queue."""
        # The future stays pending until the result is there: a future in state "running" could not be cancelled.
        future: Future[ExecutionResult] = Future()
        with self._lock:
            self._orders.append((program, future, time.monotonic()))
            self._hand_out()
        return future

    def lend(self, places: int) -> None:
        """Change by how many the number of running programs may exceed the number of workers.

        Args:
            places: How many places to add; negative to take places back.
        """
        with self._lock:
            self._lent += places
            self._hand_out()

    def close(self) -> None:
        """End the running programs, cancel the waiting ones, and wait for the threads."""
        with self._lock:
            self.closing = True
            orders, self._orders = self._orders, deque()
            idle, self._idle = self._idle, []
            threads = list(self._threads)
        for _, future, _ in orders:
            future.cancel()
            future.set_running_or_notify_cancel()  # Wakes the callers that wait for the future.
        for inbox in idle:
            inbox.put(None)
        for thread in threads:
            if thread is not threading.current_thread():  # False if a future's callback closes the pool.
                thread.join()

    def _next(self) -> _Order | None:
        """The next program, if a program may start now."""
        if not self._orders or self._running - self._lent >= self._workers:
            return None
        self._running += 1
        return self._orders.popleft()

    def _hand_out(self) -> None:
        """Give programs that may start to idle threads, the most recently used first, or to new threads."""
        while self._idle or self._started < self._most:
            order = self._next()
            if order is None:
                return
            if self._idle:
                self._idle.pop().put(order)
                continue
            inbox: _Inbox = queue.SimpleQueue()
            inbox.put(order)
            extra = self._started >= self._workers
            name = f"code_env-{self._name}-{self._started}"
            thread = threading.Thread(target=self._work, args=(inbox, extra), name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # The system cannot start another thread.
                self._running -= 1
                if self._started:  # One of the existing threads will run it.
                    self._orders.appendleft(order)
                    return
                if order[1].set_running_or_notify_cancel():
                    order[1].set_result(sandbox_error(f"RuntimeError: {error}", time.monotonic() - order[2]))
            else:
                self._started += 1
                self._threads.append(thread)

    def _work(self, inbox: _Inbox, extra: bool) -> None:
        with self._open_runner() as run:
            order = inbox.get()
            while order is not None:
                self._run(run, order)
                del order  # An idle thread must not keep the program in memory.
                order = self._after_one(inbox, extra)
        with self._lock:
            self._threads.remove(threading.current_thread())

    def _after_one(self, inbox: _Inbox, extra: bool) -> _Order | None:
        """Wait for the next program of a thread that has just run a program; None if the thread should end."""
        with self._lock:
            self._running -= 1
            order = self._next()
            if order is not None:
                return order
            if self.closing:
                self._started -= 1
                return None
            self._idle.append(inbox)
        try:
            return inbox.get(timeout=_LINGER_S if extra else None)
        except queue.Empty:
            with self._lock:
                if inbox not in self._idle:  # Another thread has just put a program into it.
                    return inbox.get()
                self._idle.remove(inbox)
                self._started -= 1
            return None

    def _run(self, run: Runner, order: _Order) -> None:
        program, future, submitted = order
        if self.closing:
            future.cancel()
        if future.cancelled():
            future.set_running_or_notify_cancel()
            return
        began = time.monotonic()
        place = Place(self, future, began - submitted)
        try:
            result = run(program, place)
            result = dataclasses.replace(result, start_s=max(0.0, time.monotonic() - began - result.wall_s))
        # A directory, process or descriptor could not be created, or this package has a bug. It is never the
        # program's fault, and must not end this thread.
        except Exception as error:
            result = sandbox_error(f"{type(error).__name__}: {error}", place.queue_s)
        place.sleeps(False)
        if self.closing:
            future.cancel()  # `close` ended the run, so its result says nothing about the program.
        if future.set_running_or_notify_cancel():
            _tell(self._name, program, result)
            future.set_result(result)


def _tell(name: str, program: Program, result: ExecutionResult) -> None:
    """Log a run that failed, was ended at a limit, or took long."""
    if not _log.isEnabledFor(logging.DEBUG):
        return
    if result.status is Status.SANDBOX_ERROR:
        _log.debug("%s: a run failed, not by the program: %s", name, result.error and printable(result.error.message))
    elif result.status in _AT_A_LIMIT:
        _log.debug("%s: a program was ended (%s): %s", name, result.status, _figures(result))
    elif result.cpu_s > _SLOW * program.limits.cpu_s:
        _log.debug("%s: a program was slow: %s", name, _figures(result))


def _figures(result: ExecutionResult) -> str:
    return f"{result.cpu_s:.2f} s of CPU time in {result.wall_s:.2f} s, {result.peak_memory_bytes >> 20} MiB"


_owners: weakref.WeakSet[Any] = weakref.WeakSet()


def renew_lock_after_fork(owner: Any) -> None:
    """Give an object a new `_lock` in forks of this process: the thread that held the old lock does not exist there."""
    _owners.add(owner)


def _renew_locks() -> None:
    for owner in _owners:
        owner._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
