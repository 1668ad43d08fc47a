"""`subprocess`: each program is an ordinary process of the trainer's user. It isolates nothing.

It is meant for macOS and for debugging; a program can read and change everything that its user can. The executor
enforces what a parent process can enforce on a process group from outside: a new interpreter, working directory
and environment for each program; the wall time, CPU time and memory of its main process; file size; the size of
the output. When the program ends, for any reason, the whole process group is killed.

A program and its peer are two such processes joined by a socket pair. They run as the same user, so
the program could read its peer's memory: `describe().peer` is `same_machine`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from concurrent.futures import Future

from code_env.checks import require_whole
from code_env.errors import ExecutorClosed, ExecutorError

from .base import Executor, Isolation
from .cores import own_cores
from .interpreters import installed_languages, refuse_unsupported
from .pool import Place, Pool, renew_lock_after_fork
from .program import Program
from .program_process import ProgramProcess
from .result import ExecutionResult
from .running_program import joined, role_of, watch


class UnisolatedSubprocessExecutor(Executor):
    """Runs each program as a process of the trainer's own user, with all its rights.

    Args:
        workers: How many programs run at a time; by default the number of cores that this process may use.
        python: Path of the interpreter that runs programs; the trainer's by default.

    Raises:
        ExecutorError: If the system has no POSIX processes, or an argument is out of range.
    """

    def __init__(self, workers: int | None = None, python: str | None = None) -> None:
        if not hasattr(os, "fork"):
            raise ExecutorError(f"the subprocess executor needs a POSIX system, not {sys.platform}; use WSL")
        if workers is not None:
            require_whole("workers", workers, ExecutorError, least=1)
        if python is not None and shutil.which(python) is None:
            raise ExecutorError(f"python={python!r} is not an executable file")
        self._workers = workers or own_cores()
        self._python = python or sys.executable
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed = False
        self._pool: Pool | None = None

    def describe(self) -> Isolation:
        """Nothing is isolated; the docstring of the module says what is enforced."""
        enforced = {"cpu_s", "wall_s", "output_bytes", "file_bytes"}
        if sys.platform == "linux":
            enforced.add("memory_bytes")
        return Isolation(
            level="none",
            peer="same_machine",
            languages=installed_languages(),
            enforces=frozenset(enforced),
            network=True,
            notebooks=True,
            sessions="replay",
            details="programs run with all rights of the user who started the trainer; cpu_s and memory_bytes "
            "hold for a program's main process, file_bytes for each of its files",
        )

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`."""
        refuse_unsupported(program, "subprocess")
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if self._pool is None or self._pool.pid != os.getpid():  # A fork does not have its parent's threads.
                self._pool = Pool("subprocess", self._workers, lambda: contextlib.nullcontext(self._run))
            return self._pool.submit(program)

    def close(self) -> None:
        """End all programs that still run. Idempotent."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None and pool.pid == os.getpid():
            pool.close()

    def _run(self, program: Program, place: Place) -> ExecutionResult:
        with contextlib.ExitStack() as stack:
            if program.peer is None:
                main = stack.enter_context(ProgramProcess(self._python, program, "program"))
                watch([main], place)
                return main.result(place.queue_s)
            with joined(program) as (programs, peers):
                peer = stack.enter_context(ProgramProcess(self._python, program.peer, "program", peers))
                main = stack.enter_context(ProgramProcess(self._python, program, role_of(program), programs))
            watch([main, peer], place)
            return main.result(place.queue_s, peer.result(place.queue_s))
