"""`RemoteExecutor`: sends programs to servers, and gives each future its result once, whichever server it came from.

Every server has two threads (`link.py`) that take programs from one queue (`queue.py`). A program and its peer go to
one server together, so a verdict depends on one machine only. If a connection is lost, what ran there is run again; a
program that was lost with several servers gets a `sandbox_error`, never another status.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from code_env.checks import require_flag, require_number
from code_env.errors import ExecutorClosed, ExecutorError
from code_env.executors.base import Executor, Isolation
from code_env.executors.interpreters import refuse_unsupported
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult

from .link import Link
from .queue import Queue
from .websocket import WebSocket, check_url

SERVERS_VARIABLE = "CODE_ENV_SERVERS"
"""The environment variable with the addresses of servers, separated by spaces."""

TOKEN_VARIABLE = "CODE_ENV_TOKEN"
"""The environment variable with the token that servers ask for."""


_CONNECT_S = 30.0
"""How long to wait for servers when they are needed for the first time, in seconds."""


class RemoteExecutor(Executor):
    """Runs programs on servers of `code-env serve`.

    Args:
        urls: The server's address, or those of several: `http://host:port`, `https://host:port` or `unix:/path`; by
            default those in `CODE_ENV_SERVERS`, separated by spaces.
        token: The token that the servers ask for; by default the value of `CODE_ENV_TOKEN`.
        mixed_levels: Whether servers may differ in what they isolate. The executor then promises the weakest.
        give_up_s: How long programs wait while no server can be reached, in seconds.

    Raises:
        ExecutorError: If an argument is wrong, or the package `websockets` is missing.
    """

    SECRETS = frozenset({"token"})

    def __init__(
        self,
        urls: str | Sequence[str] | None = None,
        *,
        token: str | None = None,
        mixed_levels: bool = False,
        give_up_s: float = 60.0,
    ) -> None:
        try:
            import websockets  # noqa: F401
        except ImportError:
            raise ExecutorError("remote needs the package websockets: install code-exec-env[remote]") from None
        if urls is None:
            urls = os.environ.get(SERVERS_VARIABLE, "").split()
        self._urls = [urls] if isinstance(urls, str) else list(urls)
        if not self._urls:
            raise ExecutorError(
                "remote needs the address of a server: pass urls, such as http://127.0.0.1:8080, or set "
                f"{SERVERS_VARIABLE}; `code-env serve` starts a server"
            )
        self._token = token if token is not None else os.environ.get(TOKEN_VARIABLE, "")
        self._mixed_levels = require_flag("mixed_levels", mixed_levels, ExecutorError)
        self._give_up_s = require_number("give_up_s", give_up_s, ExecutorError, least=0.0)
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed = False
        self._queue: Queue | None = None
        for url in self._urls:
            check_url(url)

    def describe(self) -> Isolation:
        """Return what all servers isolate and enforce together; the first call connects to them.

        Raises:
            ExecutorError: If no server can be reached, or they differ and `mixed_levels` is false.
        """
        return self._started().isolation()

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`.

        Raises:
            UnsupportedProgram: If the servers cannot do what the program asks.
            ExecutorClosed: If the executor was closed.
            ExecutorError: As `describe`.
        """
        queue = self._started()
        refuse_unsupported(program, "remote", queue.isolation().languages, here=False)
        return queue.submit(program)

    def close(self) -> None:
        """End all programs that still run, and all connections. Idempotent."""
        with self._lock:
            self._closed = True
            queue, self._queue = self._queue, None
        if queue is not None and queue.pid == os.getpid():
            queue.close()

    def _started(self) -> Queue:
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if self._queue is None or self._queue.pid != os.getpid():  # A fork does not have its parent's threads.
                links = [Link(url, partial(WebSocket, url, self._token)) for url in self._urls]
                advice = "start one with `code-env serve`"
                self._queue = Queue(links, self._mixed_levels, self._give_up_s, _CONNECT_S, advice)
                weakref.finalize(self, self._queue.close)
            return self._queue
