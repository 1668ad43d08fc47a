"""Lets the threads of a program take turns: all of them share one conversation with the tests.

A thread has the turn while it uses the conversation. The thread that serves the tests has it from the start, and gives
it up only while it runs code of the program on a request. Meanwhile other threads of the program can take it, one after
the other, to call functions of the tests. So:

* A reply waits until no thread is within such a call. And a function of the tests that a thread calls can use the
  program again: the thread serves that request, and its reply comes before the replies to earlier requests.
* A thread that calls a function of the tests when no request is served waits until the next one.

The lock is from `_thread`, because few programs import `threading`, and the import would cost all of them time.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable
from typing import Any

_sleep, _object = time.sleep, object

_PAUSE_S = 0.001
"""How long a reply waits at once for a request that came after its own, in seconds. This is rare."""


class Turns:
    """The turns of the threads of one program; the thread that makes this object has the first."""

    def __init__(self) -> None:
        self._lock: Any = _thread.RLock()
        self._lock.acquire()
        self._served: list[object] = []

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def without(self, action: Callable[[], Any]) -> Any:
        """Run code of the program on a request of the tests, without the turn; return what it returns."""
        mine = _object()
        self._served.append(mine)
        held = self._lock._release_save()
        try:
            return action()
        finally:
            self._lock._acquire_restore(held)
            while self._served[-1] is not mine:
                held = self._lock._release_save()
                _sleep(_PAUSE_S)
                self._lock._acquire_restore(held)
            self._served.pop()
