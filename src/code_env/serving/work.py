"""What all requests share: the executor, the queue in front of it, and its end.

Requests wait in the order in which they came, and are never refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, cast

from code_env.errors import ExecutorClosed
from code_env.executors.base import Executor, Isolation
from code_env.executors.program import Program
from code_env.executors.remote.answering import NotRun
from code_env.executors.result import ExecutionResult
from code_env.judging.judge import ajudge
from code_env.judging.verdict import Verdict
from code_env.tasks.task import Task

from .metrics import Metrics

T = TypeVar("T")

_AHEAD = 4
"""How many programs the executor has at a time, as a multiple of its workers: it lends the place of one that sleeps."""


_AGAIN_S = 0.05


class NoTurn(NotRun):
    """The server is stopping: what has not run should be sent again."""


class Work:
    """The executor and the queue in front of it.

    Args:
        executor: Where programs run; the caller closes it.
        workers: How many programs it runs at a time.
    """

    def __init__(self, executor: Executor, workers: int) -> None:
        self.executor, self.workers = executor, workers
        self.languages = executor.describe().languages
        self.metrics = Metrics()
        self.stopping = False
        self._places = asyncio.Semaphore(_AHEAD * workers)
        self._threads = ThreadPoolExecutor(_AHEAD * workers, thread_name_prefix="code_env-cell")
        self._scorers = ThreadPoolExecutor(_AHEAD * workers, thread_name_prefix="code_env-score")
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def run(self, program: Program) -> ExecutionResult:
        """Run a program when its turn comes; cancelling ends it.

        Args:
            program: The program.

        Raises:
            NoTurn: If the server stopped before it was done.
            UnsupportedProgram: If the executor cannot do what it asks.
        """
        async with self._place():
            result = await self.executor.arun(program)
        self.metrics.ran(result)
        return result

    async def judge(self, task: Task, code: str, response: str) -> Verdict:
        """Judge an answer when its turn comes; cancelling ends its program.

        Raises:
            NoTurn: If the server stopped before there was a verdict.
            UnsupportedProgram: If the executor cannot do what the task asks.
        """
        async with self._place():
            verdict = await ajudge(task, code, self.executor, response=response)
        self.metrics.judged(verdict)
        return verdict

    async def score(self, call: Callable[[Executor], T]) -> T:
        """Make a call that runs programs, in a thread; each of them waits for its own turn. Cancelling ends them.

        Args:
            call: The call; it gets the executor to use.

        Raises:
            NoTurn: If the server stopped before it was done.
        """
        executor = _Queued(self)
        doing = asyncio.get_running_loop().run_in_executor(self._scorers, call, executor)
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            executor.close()
            doing.add_done_callback(lambda done: done.exception())  # Nobody else asks for it.
            raise

    async def call(
        self,
        call: Callable[[], T],
        interrupt: Callable[[], None] | None = None,
        undo: Callable[[T], object] | None = None,
    ) -> T:
        """Make a call that waits for the executor, in a thread, when its turn comes.

        Args:
            call: The call.
            interrupt: Makes the call end early; used if this is cancelled.
            undo: Takes back what the call has done, if this was cancelled meanwhile; runs in a thread.

        Raises:
            NoTurn: If the server stopped before it was done.
        """
        cancelled = False

        def called() -> T | None:
            return None if cancelled else call()

        async with self._place():
            doing = asyncio.get_running_loop().run_in_executor(self._threads, called)
            try:
                return cast(T, await asyncio.shield(doing))
            except asyncio.CancelledError:
                cancelled = True
                # Again and again, because an interrupt of what is about to begin is lost.
                while interrupt is not None and not doing.done():
                    interrupt()
                    await asyncio.wait([doing], timeout=_AGAIN_S)
                await asyncio.wait([doing])  # Its place is free only then.
                done = None if doing.exception() else doing.result()  # Nobody else asks for it.
                if done is not None and undo is not None:
                    self._threads.submit(undo, done)
                raise

    async def stop(self, grace_s: float) -> None:
        """Let no further program begin; end what still runs after some seconds."""
        self.stopping = True
        tasks = [task for task in self._tasks if task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        self.metrics.waiting.inc()
        try:
            await self._places.acquire()
        finally:
            self.metrics.waiting.dec()
        task = asyncio.current_task()
        try:
            if self.stopping:
                raise NoTurn("the server is stopping")
            self._tasks.add(task)
            with self.metrics.running.track_inprogress():
                yield
        except asyncio.CancelledError:
            if self.stopping:
                raise NoTurn("the server is stopping") from None
            raise
        finally:
            self._tasks.discard(task)
            self._places.release()


class _Queued(Executor):
    """The executor for one request that is served in a thread: its programs wait among those of all requests.

    Args:
        work: Where they run.
    """

    def __init__(self, work: Work) -> None:
        self._work, self._loop = work, asyncio.get_running_loop()
        self._running: set[Future[ExecutionResult]] = set()
        self._closed = False

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Run a program when its turn comes."""
        if self._closed:
            raise ExecutorClosed("the client is gone")
        future = asyncio.run_coroutine_threadsafe(self._work.run(program), self._loop)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def describe(self) -> Isolation:
        """Describe the server's executor."""
        return self._work.executor.describe()

    def close(self) -> None:
        """End all that runs."""
        self._closed = True
        for future in tuple(self._running):
            future.cancel()
