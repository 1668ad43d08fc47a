"""The thread with the event loop for all requests to machines: one for each process, started when it is first needed.

A fork does not have its parent's threads, so it starts its own. The machines of the parent's executors stay theirs.

When Python ends, so must this thread, and no other thread that reports to its loop may come back to Python. The
transport of E2B's SDK has such threads, and is written in Rust (pyqwest): Python ends a thread that waits for its lock
while Python ends, and that aborts the process, up to Python 3.13:
https://docs.python.org/3/c-api/init.html#c.PyEval_RestoreThread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TypeVar, TypeVarTuple

from code_env.errors import ExecutorError
from code_env.executors.pool import renew_lock_after_fork

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LET_GO_S = 5.0
"""How long a machine may take to release a request that is over, in seconds."""

END_S = 5.0
"""How long requests may take to end when Python ends, in seconds."""

SETTLE_S = 0.05
"""How long threads that are about to report get to arrive when Python ends, in seconds."""

_log = logging.getLogger(__name__)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that takes no work once it has ended, and does not let threads that report to it return."""

    has_ended = False

    def require_not_ended(self) -> None:
        """Raise ExecutorError if this loop has ended, so that nobody waits for work that never runs."""
        if self.has_ended:
            raise ExecutorError("Python is ending: run programs before that, and close the executor")

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self.has_ended and threading.current_thread() is not threading.main_thread():
            threading.Event().wait()  # Waits without Python's lock, until the process is gone.
        self.require_not_ended()
        return super().call_soon_threadsafe(callback, *args, context=context)


class LoopThread:
    """A daemon thread with an event loop, which runs until Python ends."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = _Loop()
        # When a request is given up, E2B's SDK leaves tasks behind, whose exceptions are never retrieved. They are not
        # worth a warning, and their frames hold the key, which must not be shown.
        self.loop.set_exception_handler(lambda _, context: _log.debug("%s", context.get("message")))
        self._thread = threading.Thread(target=self._work, name="code_env-machines", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def end(self) -> None:
        """End all requests, then the thread. Called when Python ends, after all executors were closed."""
        if self.loop.has_ended:
            return
        asyncio.run_coroutine_threadsafe(_cancel_all_and_stop(), self.loop)
        self._thread.join(END_S)
        self.loop.has_ended = True
        time.sleep(SETTLE_S)

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread, which must not wait for its own work."""
        return threading.current_thread() is self._thread


async def _cancel_all_and_stop() -> None:
    """Cancel all other tasks of the loop and wait for them, then stop the loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=END_S / 2)
    asyncio.get_running_loop().stop()


async def within(seconds: float, request: Awaitable[T]) -> T:
    """The answer of a request, if it comes in time.

    Raises:
        TimeoutError: If there is no answer within `seconds`.
    """
    async with asyncio.timeout(seconds):
        answer = await request
    raise_if_cancelled()
    return answer


def raise_if_cancelled() -> None:
    """Raise CancelledError if the task was cancelled.

    The transport of E2B's SDK loses a cancellation that comes together with an answer.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class _Shared:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        renew_lock_after_fork(self)

    def end(self) -> None:
        if self._thread is not None and self._thread.pid == os.getpid():
            self._thread.end()

    def get(self) -> LoopThread:
        with self._lock:
            if self._thread is None or self._thread.pid != os.getpid():
                self._thread = LoopThread()
            self._thread.loop.require_not_ended()
            return self._thread


_shared = _Shared()


def loop_thread() -> LoopThread:
    """The thread of this process; it is started if needed.

    Raises:
        ExecutorError: If Python is ending.
    """
    return _shared.get()


# When Python ends, finalizers run from the youngest to the oldest. This one is older than that of every executor.
weakref.finalize(loop_thread, _shared.end)
