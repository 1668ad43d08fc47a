"""The thread whose event loop all talk with E2B runs in: one for a process, started when it is first needed.

A fork has no threads of its parent, so it starts its own. What the parent's executors have in the cloud stays theirs.
But the SDK's own transport is one for a process too, and does not work in a fork of one that has used it: every
request would wait for ever. So that is an error, at once.
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
"""How long the SDK may take to let go of a request that is over, in seconds."""

_log = logging.getLogger(__name__)


class LoopThread:
    """A daemon thread with an event loop, which runs as long as its process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        # Where a request is given up, tasks of the SDK's are left with errors that nobody asks for. They are no news,
        # and their frames hold what must not be shown.
        self.loop.set_exception_handler(lambda _, context: _log.debug("%s", context.get("message")))
        self._thread = threading.Thread(target=self._work, name="code_env-e2b", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    @property
    def is_current(self) -> bool:
        """Whether the caller is this thread, which must not wait for what it does itself."""
        return threading.current_thread() is self._thread


async def within(seconds: float, request: Awaitable[T]) -> T:
    """What a request answers, if it does so in time.

    Raises:
        TimeoutError: If it does not.
    """
    async with asyncio.timeout(seconds):
        answer = await request
    raise_if_cancelled()
    return answer


def raise_if_cancelled() -> None:
    """Raise the task's cancellation again: one that comes together with an answer is lost in the SDK's transport."""
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
    """This process's thread.

    Raises:
        ExecutorError: In a fork of a process that had one.
    """
    return _shared.get()
