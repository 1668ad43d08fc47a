"""A queue of programs, and threads that each run one at a time: what executors on this machine share.

So many programs run at once as there are workers. Where more may be in flight, one that sleeps does not count: it
lends its place to another, for which a further thread is started, that ends when it has had nothing to do for a while.

Daemon threads, so an interpreter that exits without `close` does not wait for a program; it is the
executor's part to have the programs end with it.
"""

from __future__ import annotations

import dataclasses
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

from .program import Program
from .result import ExecutionResult, sandbox_error

_LINGER_S = 2.0
"""How long a further thread waits for a program, in seconds: as long as one sleeps, each batch needs it again, and what
it runs programs with takes some to start."""


class Place:
    """One program's place among those that run: what its runner is told, and what it may lend.

    Args:
        pool: Whose queue the program was in.
        future: Where its result goes.
        queue_s: How long it has waited, in seconds.
    """

    def __init__(self, pool: Pool, future: Future[ExecutionResult], queue_s: float) -> None:
        self._pool, self._future, self.queue_s = pool, future, queue_s
        self._asleep = False

    def is_over(self) -> bool:
        """Whether nobody wants its result any more."""
        return self._future.cancelled() or self._pool.closing

    def sleeps(self, asleep: bool) -> None:
        """Say whether the program leaves its core to others."""
        if asleep != self._asleep:
            self._asleep = asleep
            self._pool.lend(1 if asleep else -1)


Runner = Callable[[Program, Place], ExecutionResult]
"""Runs a program."""

_Order = tuple[Program, Future[ExecutionResult], float]
"""A program, where its result goes, and when it was submitted."""

_Inbox = queue.SimpleQueue[_Order | None]
"""What a thread waits at; None tells it to end."""


class Pool:
    """A queue of programs and the threads that run them.

    Args:
        name: Of the executor, for the threads' names.
        workers: How many programs run at once.
        open_runner: Gives what a thread runs its programs with, for as long as it lives.
        most: How many programs are in flight at the most, sleeping ones included; as many as workers by default.
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
        # The future stays pending until its result is there: only so can `cancel` reach a running one.
        future: Future[ExecutionResult] = Future()
        with self._lock:
            self._orders.append((program, future, time.monotonic()))
            self._hand_out()
        return future

    def lend(self, places: int) -> None:
        """Let so many more programs run than there are workers, or fewer again."""
        with self._lock:
            self._lent += places
            self._hand_out()

    def close(self) -> None:
        """End what runs, cancel what waits, and wait for the threads."""
        with self._lock:
            self.closing = True
            orders, self._orders = self._orders, deque()
            idle, self._idle = self._idle, []
            threads = list(self._threads)
        for _, future, _ in orders:
            future.cancel()
            future.set_running_or_notify_cancel()  # Tells those who wait for it.
        for inbox in idle:
            inbox.put(None)
        for thread in threads:
            if thread is not threading.current_thread():  # Closed from a future's callback.
                thread.join()

    def _next(self) -> _Order | None:
        """The next program, if one may run now."""
        if not self._orders or self._running - self._lent >= self._workers:
            return None
        self._running += 1
        return self._orders.popleft()

    def _hand_out(self) -> None:
        """Give programs that may run to threads that wait, the one that ran last first, or to new ones."""
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
            except RuntimeError as error:  # The system has no thread to give.
                self._running -= 1
                if self._started:  # Those that there are will come to it.
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
                del order  # Nothing of it is kept while the thread waits.
                order = self._after_one(inbox, extra)
        with self._lock:
            self._threads.remove(threading.current_thread())

    def _after_one(self, inbox: _Inbox, extra: bool) -> _Order | None:
        """What a thread that has run a program runs next, when there is something; None if it is to end."""
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
                if inbox not in self._idle:  # Handed one by now.
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
        # No directory, no process, no descriptor to be had, or a bug of ours: never the program's
        # fault, and never the end of this thread.
        except Exception as error:
            result = sandbox_error(f"{type(error).__name__}: {error}", place.queue_s)
        place.sleeps(False)
        if self.closing:
            future.cancel()  # `close` ended it, so its result says nothing of the program.
        if future.set_running_or_notify_cancel():
            future.set_result(result)


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
