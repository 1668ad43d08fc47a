"""`subprocess`: each program is an ordinary process of the trainer's user. It isolates nothing.

For macOS and for debugging; a program can read and change whatever its user can. What is enforced
is what a parent can enforce on a process group from outside: a fresh interpreter, working directory
and environment for each program; wall and CPU time and memory of its main process; file size;
bounded output; and the whole group is killed when the program ends, for whatever reason.

A program with a peer is two such processes joined by a socket pair. They run as the same user, so
the program could read its peer's memory: `describe().peer` is `same_machine`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import socket
import sys
import threading
import time
from concurrent.futures import Future

from code_env.errors import ExecutorClosed, ExecutorError, UnsupportedProgram

from .base import Executor, Isolation
from .process import ProgramProcess, sandbox_error, watch
from .program import Program
from .result import ExecutionResult


class UnisolatedSubprocessExecutor(Executor):
    """Runs each program as a process of the trainer's own user, with all its rights.

    Args:
        workers: How many programs run at once; the cores this process may use by default.
        python: Path of the interpreter that runs programs; the trainer's by default.

    Raises:
        ExecutorError: On a system without POSIX processes, or for arguments out of range.
    """

    def __init__(self, workers: int | None = None, python: str | None = None) -> None:
        if not hasattr(os, "fork"):
            raise ExecutorError(f"the subprocess executor needs a POSIX system, not {sys.platform}; use WSL")
        if workers is not None and (type(workers) is not int or workers < 1):
            raise ExecutorError(f"workers must be a whole number of at least 1; got {workers!r}")
        if python is not None and shutil.which(python) is None:
            raise ExecutorError(f"python={python!r} is not an executable file")
        self._workers = workers or len(_own_cores())
        self._python = python or sys.executable
        self._lock = threading.Lock()
        self._closed = False
        self._pool: _Pool | None = None

    def describe(self) -> Isolation:
        """Nothing is isolated; see the module's text for what is enforced."""
        enforced = {"cpu_s", "wall_s", "output_bytes", "file_bytes"}
        if sys.platform == "linux":
            enforced.add("memory_bytes")
        return Isolation(
            level="none",
            peer="same_machine",
            enforces=frozenset(enforced),
            network=True,
            details="programs run with all rights of the user who started the trainer; cpu_s and memory_bytes "
            "hold for a program's main process, file_bytes for each of its files",
        )

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`."""
        for language in (program.language, program.peer.language if program.peer else "python"):
            if language != "python":
                raise UnsupportedProgram(f"the subprocess executor runs python, not {language!r}")
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if self._pool is None or self._pool.pid != os.getpid():  # A fork has no threads of its parent.
                self._pool = _Pool(self._workers, self._python)
            return self._pool.submit(program)

    def close(self) -> None:
        """End what still runs. Idempotent."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None and pool.pid == os.getpid():
            pool.close()


def _own_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


_Order = tuple[Program, Future[ExecutionResult], float]
"""A program, where its result goes, and when it was submitted."""


class _Pool:
    """Threads that each run one program at a time.

    Daemon threads, so an interpreter that exits without `close` does not wait for a program. The
    programs then end with it: each asks the kernel to be killed with the thread that started it.
    """

    def __init__(self, workers: int, python: str) -> None:
        self.pid = os.getpid()
        self._python = python
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"code_env-subprocess-{i}", daemon=True) for i in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, program: Program) -> Future[ExecutionResult]:
        # The future stays pending until its result is there: only so can `cancel` reach a running one.
        future: Future[ExecutionResult] = Future()
        self._orders.put((program, future, time.monotonic()))
        return future

    def close(self) -> None:
        self._closing.set()
        for _ in self._threads:
            self._orders.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            program, future, submitted = order
            if self._closing.is_set():
                future.cancel()
            if future.cancelled():
                future.set_running_or_notify_cancel()  # Tells those who wait for it.
                continue
            queue_s = time.monotonic() - submitted
            try:
                result = self._run(program, future, queue_s)
            # No directory, no process, no descriptor to be had, or a bug of ours: never the program's
            # fault, and never the end of this thread.
            except Exception as error:
                result = sandbox_error(f"{type(error).__name__}: {error}", queue_s)
            if self._closing.is_set():
                future.cancel()  # `close` ended it, so its result says nothing of the program.
            if future.set_running_or_notify_cancel():
                future.set_result(result)

    def _run(self, program: Program, future: Future[ExecutionResult], queue_s: float) -> ExecutionResult:
        with contextlib.ExitStack() as stack:

            def ended_early() -> bool:
                return future.cancelled() or self._closing.is_set()

            if program.peer is None:
                main = stack.enter_context(ProgramProcess(self._python, program, "program"))
                watch([main], ended_early)
                return main.result(queue_s)
            ours, theirs = socket.socketpair()
            with ours, theirs:
                peer = stack.enter_context(
                    ProgramProcess(self._python, program.peer, "program", channel=theirs.fileno())
                )
                main = stack.enter_context(ProgramProcess(self._python, program, "served", channel=ours.fileno()))
            watch([main, peer], ended_early)
            return main.result(queue_s, peer.result(queue_s))
