"""The thread with the event loop for all requests to E2B: one for each process, started when it is first needed.

A fork does not have its parent's threads, so it starts its own. The sandboxes of the parent's executors stay theirs.
But the SDK keeps one transport for each process too. In a fork of a process that has used E2B, this transport does not
work, and every request would wait forever. So using E2B in such a fork raises an error at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable
from typing import TypeVar

from code_env.errors import ExecutorError
from code_env.executors.pool import renew_lock_after_fork

T = TypeVar("T")

LET_GO_S = 5.0
"""How long the SDK may take to release a request that is over, in seconds."""

_log = logging.getLogger(__name__)


class LoopThread:
    """A daemon thread with an event loop, which runs as long as its process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        # When a request is given up, the SDK leaves tasks behind, whose exceptions are never retrieved. They are not
        # worth a warning, and their frames hold the key, which must not be shown.
        self.loop.set_exception_handler(lambda _, context: _log.debug("%s", context.get("message")))
        self._thread = threading.Thread(target=self._work, name="code_env-e2b", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread, which must not wait for its own work."""
        return threading.current_thread() is self._thread


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

    The SDK's transport loses a cancellation that comes together with an answer.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class _Shared:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        renew_lock_after_fork(self)

    def get(self) -> LoopThread:
        with self._lock:
            if self._thread is None:
                self._thread = LoopThread()
            elif self._thread.pid != os.getpid():
                raise ExecutorError(
                    "this process was forked from one that had used E2B, and the SDK's connections do not survive a "
                    "fork; start processes with 'spawn' or 'forkserver', or fork before the first program"
                )
            return self._thread


_shared = _Shared()


def loop_thread() -> LoopThread:
    """The thread of this process; it is started if needed.

    Raises:
        ExecutorError: If this process is a fork of a process that had such a thread.
    """
    return _shared.get()
