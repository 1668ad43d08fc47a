"""What bounds the sessions of an executor, however it keeps their state.

An executor has a largest number of sessions. One that was not used for some time is closed, and so is one that nothing
refers to any more. A thread closes these, because the garbage collector can call a finalizer at any moment, so that a
finalizer must take no lock.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence

from code_env.checks import require_number, require_whole
from code_env.errors import ExecutorError, SessionDied, TooManySessions
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.result import CellResult

from .session import Checkpoint, Session, SessionState, Spent

MOST_SESSIONS = 1024
"""How many sessions an executor may have open, unless `Executor.max_sessions` sets another number."""

IDLE_S = 3600.0
"""After how long a session that is not used is closed, in seconds, unless `open_session` sets another time. A policy
can take minutes to write the next cell, and a batch of them longer."""

_Closings = queue.SimpleQueue[Callable[[], None] | None]
"""Functions that the thread calls to close things; None only wakes it. A finalizer may put to such a queue, whatever
thread it interrupts."""


class Keeper:
    """The open sessions of one executor."""

    def __init__(self) -> None:
        self.most = MOST_SESSIONS
        self.closings: _Closings = queue.SimpleQueue()
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._open: weakref.WeakSet[_KeptSession] = weakref.WeakSet()
        self._next_look = math.inf
        self._thread: threading.Thread | None = None
        weakref.finalize(self, self.closings.put, None).atexit = False

    def require_room(self, count: int) -> None:
        """Refuse more sessions than there may be.

        Raises:
            TooManySessions: If `count` more are too many.
        """
        with self._lock:
            if len(self._open) + count > self.most:
                for session in [one for one in self._open if one.state is SessionState.DEAD]:
                    self._open.discard(session)
            there = len(self._open)
        if there + count > self.most:
            raise TooManySessions(
                f"{there} sessions are open on this executor, which may have {self.most}, and {count} more are asked "
                "for: close those that are done, as `with executor.open_session() as session` does, or set "
                "`executor.max_sessions`"
            )

    def keep(self, session: Session, idle_s: float) -> Session:
        """Return a session that is bounded as this module says.

        Args:
            session: The session.
            idle_s: After how long without use it is closed, in seconds.
        """
        kept = _KeptSession(session, self, idle_s)
        with self._lock:
            self._open.add(kept)
            if self._thread is None or not self._thread.is_alive():  # It is not in a fork of this process.
                target = (weakref.ref(self), self.closings)
                self._thread = threading.Thread(target=_close_surplus, args=target, name="code_env-reaper", daemon=True)
                self._thread.start()
            sooner = kept.idle_at() < self._next_look
        if sooner:
            self.closings.put(None)
        return kept

    def dismiss(self, session: _KeptSession) -> None:
        """Stop counting a session."""
        with self._lock:
            self._open.discard(session)

    def close_idle(self) -> float | None:
        """Close what was not used for long; return in how many seconds to look again, None if nothing is open."""
        with self._lock:
            sessions = list(self._open)
        for session in sessions:
            if session.end_if_idle():
                self.dismiss(session)
        with self._lock:
            self._next_look = min((session.idle_at() for session in self._open), default=math.inf)
            return None if math.isinf(self._next_look) else max(0.0, self._next_look - time.monotonic())


def _close_surplus(keeper: weakref.ref[Keeper], closings: _Closings) -> None:
    wait_s: float | None = None
    while True:
        with contextlib.suppress(queue.Empty):
            _call(closings.get(timeout=wait_s))
        there = keeper()
        if there is None:
            break
        wait_s = there.close_idle()
        del there  # While this thread waits, it keeps nothing alive.
    while not closings.empty():
        _call(closings.get())


def _call(close: Callable[[], None] | None) -> None:
    if close is not None:
        close()


class _KeptSession(Session):
    """A session that is counted, and closed when it is not used or nothing refers to it."""

    def __init__(self, inner: Session, keeper: Keeper, idle_s: float) -> None:
        self._inner, self._keeper, self._idle_s = inner, keeper, idle_s
        self._lock = threading.Lock()
        self._users, self._used_at = 0, time.monotonic()
        self._reaped = ""
        self._unreferred = weakref.finalize(self, keeper.closings.put, inner.close)
        self._unreferred.atexit = False  # Then the executor ends.

    def idle_at(self) -> float:
        """Return when it has been idle for too long unless it is used before, by the monotonic clock."""
        with self._lock:
            return (time.monotonic() if self._users else self._used_at) + self._idle_s

    def end_if_idle(self) -> bool:
        """Close it if it was not used for too long; return whether it was."""
        with self._lock:
            if self._users or time.monotonic() < self._used_at + self._idle_s:
                return False
            self._reaped = self._inner.ended or (
                f"it was not used for {self._idle_s:g} s; `open_session(idle_s=...)` sets another time"
            )
        self._inner.close()
        return True

    @contextlib.contextmanager
    def _used(self) -> Iterator[Session]:
        with self._lock:
            if self._reaped:
                raise SessionDied(f"the session takes no more cells: {self._reaped}")
            self._users += 1
        try:
            yield self._inner
        finally:
            with self._lock:
                self._users -= 1
                self._used_at = time.monotonic()

    def run(self, cell: str) -> CellResult:
        with self._used() as session:
            return session.run(cell)

    def checkpoint(self) -> Checkpoint:
        with self._used() as session:
            return _KeptCheckpoint(session.checkpoint(), self._keeper, self._idle_s)

    def fork(self, n: int, *, reseed: bool | Sequence[int] = False) -> list[Session]:
        require_whole("n", n, ValueError, least=0)
        self._keeper.require_room(n)
        with self._used() as session:
            return [self._keeper.keep(branch, self._idle_s) for branch in session.fork(n, reseed=reseed)]

    def reseed(self, seed: int) -> None:
        with self._used() as session:
            session.reseed(seed)

    def read(self, path: str) -> bytes:
        with self._used() as session:
            return session.read(path)

    def write(self, path: str, data: bytes) -> None:
        with self._used() as session:
            session.write(path, data)

    def interrupt(self) -> None:
        self._inner.interrupt()

    def close(self) -> None:
        self._unreferred.detach()
        self._keeper.dismiss(self)
        self._inner.close()

    @property
    def state(self) -> SessionState:
        return self._inner.state

    @property
    def ended(self) -> str:
        return self._reaped or self._inner.ended

    @property
    def spent(self) -> Spent:
        return self._inner.spent


class _KeptCheckpoint(Checkpoint):
    """A checkpoint that is released when nothing refers to it, and whose sessions are bounded too."""

    def __init__(self, inner: Checkpoint, keeper: Keeper, idle_s: float) -> None:
        self._inner, self._keeper, self._idle_s = inner, keeper, idle_s
        weakref.finalize(self, keeper.closings.put, inner.release).atexit = False

    def restore(self) -> Session:
        self._keeper.require_room(1)
        return self._keeper.keep(self._inner.restore(), self._idle_s)

    def release(self) -> None:
        self._inner.release()


def require_idle(idle_s: object) -> float:
    """Return `idle_s` if it is a number of seconds above 0, or infinite.

    Raises:
        ExecutorError: If it is something else.
    """
    return math.inf if idle_s == math.inf else require_number("idle_s", idle_s, ExecutorError, above=0, unit="seconds")
