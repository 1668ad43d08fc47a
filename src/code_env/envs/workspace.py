"""Where the cells of environments run: sessions, and states of them that are kept.

An environment has one `Workspace`, which has the session of its episode. A cell runs in a thread, because
`Session.run` waits for it; so the cells of many environments run at the same time. `SessionKeeper` has what the
workspaces of a vector environment share: the executor, the threads, and the states that must be released at the end.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from code_env.errors import SessionDied
from code_env.executors.base import Executor
from code_env.executors.result import CellResult, ErrorInfo, Status
from code_env.judging.pending import ATTEMPTS
from code_env.sessions.session import Checkpoint, Session, SessionState
from code_env.tasks.task import Task

_INTERRUPT_AGAIN_S = 0.02
"""An interrupt that comes before the cell has begun ends nothing, so it is sent again after so many seconds."""


class PendingCell:
    """A cell that runs in a thread.

    Args:
        future: What the thread will return.
        end: Ends the cell.
    """

    def __init__(self, future: Future[CellResult], end: Callable[[], None]) -> None:
        self._future, self._end = future, end

    def wait(self, until: float | None = None) -> CellResult | None:
        """Wait for the result.

        Args:
            until: The latest time to wait until, on the monotonic clock; None to wait without a limit.

        Returns:
            The result; None if there is none at `until`.

        Raises:
            ExecutorClosed: If the executor was closed.
        """
        with contextlib.suppress(TimeoutError):
            return self._future.result(None if until is None else max(0.0, until - time.monotonic()))
        return None

    def cancel(self) -> None:
        """End the cell, and wait until it has ended."""
        self._future.cancel()
        while not self._future.done():
            self._end()
            wait([self._future], _INTERRUPT_AGAIN_S)


class KeptSession:
    """The state of a session at one moment.

    Args:
        seed: The seed of the session, if it has not begun yet.
        ended: Why the session takes no more cells; empty if it does.
        checkpoint: The state; None if the session has not begun or takes no more cells.
        drop: Takes the checkpoint when this object is garbage.
    """

    def __init__(
        self, seed: int, ended: str, checkpoint: Checkpoint | None, drop: Callable[[Checkpoint], None]
    ) -> None:
        self.seed, self.ended, self._checkpoint = seed, ended, checkpoint
        self._is_released = False
        if checkpoint is not None:
            weakref.finalize(self, drop, checkpoint).atexit = False

    def restore(self) -> Session | None:
        """A new session in this state; None if there is none to restore.

        Raises:
            SessionDied: If the state was released.
        """
        if self._is_released:
            raise SessionDied("the state was released, or its environment was closed, so nothing can go on from it")
        return None if self._checkpoint is None else self._checkpoint.restore()

    def release(self) -> None:
        """Give the state up. Idempotent."""
        self._is_released = True
        if self._checkpoint is not None:
            self._checkpoint.release()


class SessionKeeper:
    """What the workspaces of an environment share.

    Args:
        executor: Where cells run.
        count: The number of workspaces.
    """

    def __init__(self, executor: Executor, count: int) -> None:
        self.executor, self._count = executor, count
        self._threads: ThreadPoolExecutor | None = None
        self._kept: weakref.WeakSet[KeptSession] = weakref.WeakSet()
        self._dropped: deque[Checkpoint] = deque()

    def submit(self, run: Callable[[str], CellResult], cell: str) -> Future[CellResult]:
        """Have a cell run in a thread; each workspace can have one, so that a slow cell delays no other."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="code_env-cell")
        return self._threads.submit(run, cell)

    def keep(self, seed: int, ended: str, checkpoint: Checkpoint | None) -> KeptSession:
        """Keep the state of a session until it is released, is garbage, or the environment is closed."""
        # The garbage collector can run anywhere, also where a lock of the session is held. So it only notes what is to
        # be released.
        kept = KeptSession(seed, ended, checkpoint, self._dropped.append)
        self._kept.add(kept)
        return kept

    def sweep(self) -> None:
        """Release the states that are garbage."""
        while self._dropped:
            self._dropped.popleft().release()

    def close(self) -> None:
        """Release all states, and end the threads."""
        for kept in list(self._kept):
            kept.release()
        self.sweep()
        if self._threads is not None:
            self._threads.shutdown(wait=False)
            self._threads = None


class Workspace:
    """The session of one environment's episode; it is opened for the first cell.

    Args:
        keeper: What it shares with other workspaces.
    """

    def __init__(self, keeper: SessionKeeper) -> None:
        self._keeper = keeper
        self._session: Session | None = None
        self._task: Task | None = None
        self._seed, self._ended = 0, ""

    def begin(self, task: Task, seed: int) -> None:
        """Begin an episode without a session.

        Args:
            task: The task, whose limits and files the session gets.
            seed: The seed of the session.
        """
        self.close()
        self._task, self._seed, self._ended = task, seed, ""

    def resume(self, task: Task, kept: KeptSession, seed: int | None) -> None:
        """Begin with the state of a session.

        Args:
            task: The task.
            kept: The state.
            seed: A new seed; None to go on with the random numbers of the state.

        Raises:
            SessionDied: If the state was released.
        """
        session = kept.restore()
        if session is not None and seed is not None:
            session.reseed(seed)
        self.close()
        self._session, self._task, self._ended = session, task, kept.ended
        self._seed = kept.seed if seed is None else seed

    def keep(self) -> KeptSession:
        """Keep the state that the session has now.

        Raises:
            SessionBusy: If a cell runs.
        """
        self._keeper.sweep()
        ended = self._why_ended()
        checkpoint = None if ended or self._session is None else self._session.checkpoint()
        return self._keeper.keep(self._seed, ended, checkpoint)

    def start(self, cell: str) -> PendingCell:
        """Start a cell."""
        self._keeper.sweep()
        return PendingCell(self._keeper.submit(self._run, cell), self._interrupt)

    def close(self) -> None:
        """End the session, if there is one. Idempotent."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _run(self, cell: str) -> CellResult:
        """Run a cell; again, if the sandbox fails and the session is still there."""
        if not cell.strip():
            message = "the response holds no code; write the cell into a fence that is tagged python"
            return CellResult(error=ErrorInfo("NoCode", message), status=Status.ERROR)
        ended = self._why_ended()
        if ended:
            return CellResult(error=ErrorInfo("SessionDied", f"no more cells can run: {ended}"), status=Status.ERROR)
        session = self._session or self._opened()
        for _ in range(ATTEMPTS):
            try:
                result = session.run(cell)
            except SessionDied as error:  # It was alive before, and no cell has used up its limits.
                return CellResult(error=ErrorInfo("SandboxError", str(error)), status=Status.SANDBOX_ERROR)
            if result.status is not Status.SANDBOX_ERROR or session.state is SessionState.DEAD:
                break
        return result

    def _opened(self) -> Session:
        if self._task is None:
            raise RuntimeError("no episode has begun")
        task = self._task
        session = self._keeper.executor.open_session(
            limits=task.limits, files=task.files, packages=task.packages, image=task.image
        )
        session.reseed(self._seed)
        self._session = session
        return session

    def _why_ended(self) -> str:
        return self._ended if self._session is None else self._session.ended

    def _interrupt(self) -> None:
        if self._session is not None:
            self._session.interrupt()
