"""One thread that calls functions at their time: ends of sandboxes and deadlines of commands."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Timers:
    """Calls functions later, in one thread of its own."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="e2b-timers", daemon=True)
        self._thread.start()

    def at(self, when: float, function: Callable[[], None]) -> None:
        """Call a function at `when`, in seconds of the monotonic clock; it has to be quick, and check if it is due."""
        with self._changed:
            heapq.heappush(self._heap, (when, next(self._numbers), function))
            if self._heap[0][0] == when:
                self._changed.notify()

    def close(self) -> None:
        """Forget what was to come."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                wait = self._heap[0][0] - time.monotonic() if self._heap else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                _, _, function = heapq.heappop(self._heap)
            function()
