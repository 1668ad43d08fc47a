"""`LinkedExecutor`: what executors have in common that run programs through links, such as `remote` and `ray`."""

from __future__ import annotations

import abc
import dataclasses
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import ClassVar

from code_env.checks import require_flag, require_number
from code_env.errors import ExecutorClosed, ExecutorError
from code_env.executors.base import Executor, Isolation
from code_env.executors.interpreters import refuse_unsupported
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult

from .queue import Queue


class LinkedExecutor(Executor):
    """Runs programs through links, which are made when they are first needed, and again in a fork of this process.

    Args:
        mixed_levels: Whether the places at the other ends may differ in what they isolate. The executor then promises
            the weakest.
        give_up_s: How long programs wait while no place can be reached, in seconds.

    Raises:
        ExecutorError: If an argument is wrong.
    """

    NAME: ClassVar[str]
    """The executor's name in messages."""

    def __init__(self, mixed_levels: bool, give_up_s: float) -> None:
        self._mixed_levels = require_flag("mixed_levels", mixed_levels, ExecutorError)
        self._give_up_s = require_number("give_up_s", give_up_s, ExecutorError, least=0.0)
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed = False
        self._opened: tuple[Queue, Callable[[], None]] | None = None

    @abc.abstractmethod
    def _open(self) -> tuple[Queue, Callable[[], None]]:
        """Make the links; return their queue, and what ends them."""

    def describe(self) -> Isolation:
        """Return what all places isolate and enforce together; the first call connects to them.

        Raises:
            ExecutorError: If none can be reached, or they differ and `mixed_levels` is false.
        """
        isolation = self._queue().isolation()
        # A program goes wherever there is room, so no place keeps an interpreter for the next cell.
        sessions = "replay" if isolation.sessions == "fork" else isolation.sessions
        # The path of an image would name any directory of another machine.
        return dataclasses.replace(isolation, sessions=sessions, images=False)

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`.

        Raises:
            UnsupportedProgram: If the places cannot do what the program asks.
            ExecutorClosed: If the executor was closed.
            ExecutorError: As `describe`.
        """
        queue = self._queue()
        about = queue.isolation()
        refuse_unsupported(program, self.NAME, about.languages, here=False, packages=about.packages)
        return queue.submit(program)

    def close(self) -> None:
        """End all programs that still run, and all links. Idempotent."""
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, None
        if opened is not None and opened[0].pid == os.getpid():
            opened[1]()

    def _queue(self) -> Queue:
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if self._opened is None or self._opened[0].pid != os.getpid():  # A fork does not have its parent's threads.
                self._opened = self._open()
                weakref.finalize(self, self._opened[1])
            return self._opened[0]
