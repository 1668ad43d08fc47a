"""The thread whose event loop all talk with E2B runs in: one for a process, started when it is first needed.

A fork has no threads of its parent, so it starts its own. What the parent's executors have in the cloud stays theirs.
"""

from __future__ import annotations

import asyncio
import os
import threading

from code_env.executors.pool import renew_lock_after_fork


class LoopThread:
    """A daemon thread with an event loop, which runs as long as its process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="code_env-e2b", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    @property
    def is_current(self) -> bool:
        """Whether the caller is this thread, which must not wait for what it does itself."""
        return threading.current_thread() is self._thread


class _Shared:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        renew_lock_after_fork(self)

    def get(self) -> LoopThread:
        with self._lock:
            if self._thread is None or self._thread.pid != os.getpid():
                self._thread = LoopThread()
            return self._thread


_shared = _Shared()


def loop_thread() -> LoopThread:
    """This process's thread."""
    return _shared.get()
