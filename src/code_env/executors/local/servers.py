"""All servers of one executor: starts the one that a program needs, and ends those that are not needed.

Level `full` is tried first. If the kernel does not grant it, `contained` is tried, and the reason is kept for
`code-env doctor`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from code_env.errors import ExecutorError, IsolationUnavailable

from .environments import MOST_SERVERS, Environments
from .images import Images
from .interpreter import Interpreter, ask_interpreter
from .jail import linux
from .jail.configuration import Level, SessionConfiguration
from .server import Server
from .stocks import COMMON_MODULES, LEAN, Stock
from .worker import ServerDied, Worker

_log = logging.getLogger(__name__)

LEVELS: tuple[Level, ...] = ("contained", "full")
"""Levels of isolation, weakest first."""

MACHINES = ("x86_64", "aarch64")
"""Processor architectures whose system calls the filters know."""


def refuse_unsupported_machine() -> None:
    """Refuse a system or an architecture on which the jail does not work.

    Raises:
        ExecutorError: If the jail does not work on this machine.
    """
    if sys.platform != "linux" or linux.MACHINE not in MACHINES:
        raise ExecutorError(
            f"the local executor needs Linux on {' or '.join(MACHINES)}, not {sys.platform} on {linux.MACHINE}; "
            'programs that you trust run without isolation on executor="subprocess"'
        )


class Servers:
    """All servers of one executor in one process: one server for each stock.

    Args:
        python: Path of the interpreter.
        levels: The accepted levels, weakest first. Servers enter the strongest level that the machine grants.
        readable: Additional paths that programs may read.
        policy: The policy that programs must follow; None allows all of Python.
    """

    def __init__(
        self,
        python: str,
        levels: tuple[Level, ...],
        readable: tuple[str, ...],
        policy: dict[str, Any] | None = None,
    ) -> None:
        self.pid = os.getpid()
        self._policy = policy
        self._python, self._levels, self._readable = python, levels, readable
        self._lock = threading.Lock()
        self._interpreter: Interpreter | None = None
        self._level: Level | None = None
        self._servers: dict[Stock, Server] = {}  # Those apart in the order of their last use.
        self._users: Counter[Stock] = Counter()
        self.environments = Environments(python)
        """Where programs with packages of their own find them."""
        self.images = Images()
        """The images that programs name."""
        self.refused = "" if "full" in levels else "it was not asked for"
        """Why level `full` was not entered; empty if it was entered, or if no level was tried yet."""

    def level(self) -> Level:
        """Return the level that programs run at. Starts a server to find out.

        Raises:
            IsolationUnavailable: If the kernel does not grant the lowest accepted level.
        """
        if self._level is None:
            self.get(LEAN)
        return cast(Level, self._level)

    @contextlib.contextmanager
    def using(self, stock: Stock) -> Iterator[None]:
        """Keep the server with this stock while the block runs a program on it.

        Of the servers with environments or images, only the last that were used are kept for the next program.
        """
        if not stock.is_apart:
            yield
            return
        with self._lock:
            self._users[stock] += 1
        try:
            yield
        finally:
            with self._lock:
                self._users[stock] -= 1
                if stock in self._servers:
                    self._servers[stock] = self._servers.pop(stock)
            self._end_surplus()

    def _end_surplus(self) -> None:
        with self._lock:
            known = [stock for stock in self._servers if stock.is_apart]
            idle = [stock for stock in known if not self._users[stock] and not self._servers[stock].has_sessions]
            surplus = [self._servers.pop(stock) for stock in idle[: max(0, len(known) - MOST_SERVERS)]]
        for server in surplus:
            server.close()

    def get(self, stock: Stock) -> Server:
        """Return the server with this stock; start it if there is none.

        Raises:
            IsolationUnavailable: If the kernel does not grant the lowest accepted level.
            ServerDied: If it does not start, although an earlier server entered its level.
        """
        with self._lock:
            if stock not in self._servers:
                self._servers[stock] = self._start(stock)
            return self._servers[stock]

    def open_worker(self, stock: Stock, session: SessionConfiguration | None = None) -> Worker:
        """Return a new worker of the server with this stock.

        Args:
            stock: The stock.
            session: See `Server.open_worker`.

        Raises:
            IsolationUnavailable: If the kernel does not grant the lowest accepted level.
            ServerDied: If no worker starts; the server is then dropped.
        """
        server = self.get(stock)
        try:
            worker = server.open_worker(session)
        except ServerDied:
            self.drop(server)
            raise
        if session is not None:
            server.sessions.add(worker)
            self._end_surplus()
        return worker

    def fresh(self, stock: Stock) -> Server:
        """Start a server for this caller alone; the caller closes it."""
        with self._lock:
            return self._start(stock)

    def drop(self, server: Server) -> None:
        """Forget and end a server that does not work any more; the next `get` starts a new server."""
        with self._lock:
            for stock, kept in list(self._servers.items()):
                if kept is server:
                    del self._servers[stock]
        server.close()

    def close(self) -> None:
        """End all servers. Idempotent."""
        with self._lock:
            servers, self._servers = self._servers, {}
        for server in servers.values():
            server.close()

    def _start(self, stock: Stock) -> Server:
        if self._interpreter is None:
            self._interpreter = ask_interpreter(self._python)
        if self._level is not None:
            return self._server(self._level, stock)
        refusals: dict[Level, str] = {}
        for level in reversed(self._levels):
            try:
                server = self._server(level, stock)
            except ServerDied as error:
                refusals[level] = str(error)
            else:
                self._level, self.refused = level, refusals.get("full", self.refused)
                why = f", because level full is not granted: {refusals['full']}" if "full" in refusals else ""
                _log.info("programs run at level %s%s", level, why)
                return server
        hint = "run `code-env doctor` for what this machine grants"
        if "contained" not in refusals:
            raise IsolationUnavailable(
                f'min_isolation="full", and this machine does not grant it ({refusals["full"]}); allow what is missing '
                f'or accept min_isolation="contained"; {hint}'
            )
        refused = " nor ".join(f"{level} ({why})" for level, why in refusals.items())
        raise IsolationUnavailable(
            f"this machine does not grant level {refused}; {hint}. "
            'Programs that you trust run without isolation on executor="subprocess"'
        )

    def _server(self, level: Level, stock: Stock) -> Server:
        began = time.monotonic()
        interpreter, python, lease = cast(Interpreter, self._interpreter), self._python, None
        if stock.environment:
            environment = self.environments.with_key(stock.environment)
            lease = self.environments.cache.hold(environment)
            interpreter, python = self.environments.interpreter(environment), str(environment.python)
            if level == "contained":
                # Here a server imports as the trainer's user and unconfined, and somebody else wrote these packages.
                stock = stock._replace(modules=COMMON_MODULES)
        image = self.images.find(stock.image) if stock.image else None
        if image is not None:
            lease = self.images.hold(image)
        try:
            server = Server(interpreter, python, level, stock, self._readable, self._policy, lease, image)
        except BaseException:
            if lease is not None:
                lease.close()
            raise
        took, loaded = time.monotonic() - began, len(stock.modules)
        _log.info("a server started in %.2f s at level %s, with %d modules", took, level, loaded)
        if self._level is None:
            # Workers can fail to start although the server has started.
            try:
                server.open_worker().close()
            except BaseException:
                server.close()
                raise
        return server
