"""`RemoteExecutor`: sends programs to servers, and gives each future its result once, whichever server it came from.

Every server has two threads (`link.py`) that take programs from one queue. A program and its peer go to one server
together, so a verdict depends on one machine only. If a connection is lost, what ran there is put back into the queue;
a program that was lost with several servers gets a `sandbox_error`, never another status.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future

from code_env.checks import require_flag, require_number
from code_env.errors import ExecutorClosed, ExecutorError
from code_env.executors.base import Executor, Isolation
from code_env.executors.interpreters import refuse_unsupported
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, sandbox_error

from .link import Link, Order
from .messages import Hello

_log = logging.getLogger(__name__)

SERVERS_VARIABLE = "CODE_ENV_SERVERS"
"""The environment variable with the addresses of servers, separated by spaces."""

TOKEN_VARIABLE = "CODE_ENV_TOKEN"
"""The environment variable with the token that servers ask for."""

_TRIES = 3
"""A program that was lost with so many servers is given up."""

_CONNECT_S = 10.0
"""How long to wait for the servers when they are needed for the first time, in seconds."""

_RANKS = {"level": ("none", "contained", "full", "machine"), "peer": ("none", "same_machine", "isolated")}
"""The values of two fields of `Isolation`, weakest first."""


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
            Link.check_url(url)

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
                links = [Link(url, self._token) for url in self._urls]
                self._queue = Queue(links, self._mixed_levels, self._give_up_s)
                weakref.finalize(self, self._queue.close)
            return self._queue


class Queue:
    """The programs that wait for a server, and the links that take them.

    Args:
        links: A link for each server.
        mixed_levels: Whether servers may differ in what they isolate.
        give_up_s: How long programs wait while no server can be reached, in seconds.
    """

    def __init__(self, links: Sequence[Link], mixed_levels: bool, give_up_s: float) -> None:
        self.pid = os.getpid()
        self._links, self._mixed_levels, self._give_up_s = links, mixed_levels, give_up_s
        self.changed = threading.Condition()
        """Held by who looks at, or changes, what is below and the state of a link."""
        self._waiting: deque[Order] = deque()
        self._numbers = itertools.count()
        self._isolation: Isolation | None = None
        self._reached = time.monotonic()
        self.closing = False
        for link in links:
            link.start(self)

    def isolation(self) -> Isolation:
        """Return what all servers isolate together.

        Raises:
            ExecutorError: If no server can be reached, or they differ and this is not allowed.
        """
        with self.changed:
            if self._isolation is None:
                self.changed.wait_for(lambda: all(link.was_tried for link in self._links), _CONNECT_S)
                hellos = [(link, link.hello) for link in self._links if link.hello is not None]
                if not hellos:
                    told = "; ".join(f"{link.url}: {link.fault or 'no answer'}" for link in self._links)
                    raise ExecutorError(f"no server can be reached: {told}; start one with `code-env serve`")
                self._isolation = self._common([(link.url, hello.isolation) for link, hello in hellos])
            return self._isolation

    def accepts(self, link: Link, hello: Hello) -> str:
        """Return why a server that was reached must not be used; empty if it may. `changed` is held."""
        if self._isolation is None or weakest([self._isolation, hello.isolation]) == self._isolation:
            self._reached = time.monotonic()
            return ""
        return f"it isolates less than the servers that were used first: {hello.isolation}"

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Put a program into the queue."""
        future: Future[ExecutionResult] = Future()
        order = Order(next(self._numbers), program, future, time.monotonic())
        with self.changed:
            self._waiting.append(order)
            self.changed.notify_all()
        return future

    def take(self, link: Link) -> list[Order]:
        """Wait for programs that a link may send now; none if everything is closing. `changed` is held."""
        while not self.closing:
            room = link.room
            if self._waiting and room > 0:
                all_room = sum(max(0, one.room) for one in self._links)
                count = min(room, -(-len(self._waiting) * room // all_room))
                taken = [self._waiting.popleft() for _ in range(count)]
                wanted = [order for order in taken if not order.future.cancelled()]
                for order in taken:
                    if order not in wanted:
                        order.future.set_running_or_notify_cancel()
                if wanted:
                    return wanted
            else:
                self.changed.wait()
        return []

    def give_back(self, orders: Iterable[Order], why: str) -> None:
        """Put programs that were lost with their server back, before all others. `changed` is held."""
        for order in sorted(orders, key=lambda one: one.number, reverse=True):
            order.lost += 1
            if order.lost < _TRIES:
                self._waiting.appendleft(order)
            else:
                order.settle(sandbox_error(f"its server was lost {order.lost} times: {why}", order.waited_s))
        self.changed.notify_all()

    def give_up(self) -> None:
        """Answer the programs that wait, if no server could be reached for too long. `changed` is held."""
        if any(link.hello is not None for link in self._links):
            self._reached = time.monotonic()
        elif time.monotonic() - self._reached > self._give_up_s:
            told = "; ".join(f"{link.url}: {link.fault}" for link in self._links)
            while self._waiting:
                order = self._waiting.popleft()
                order.settle(
                    sandbox_error(f"no server could be reached for {self._give_up_s:g} s: {told}", order.waited_s)
                )

    def close(self) -> None:
        """End the connections; what is not done is cancelled."""
        with self.changed:
            self.closing = True
            waiting, self._waiting = list(self._waiting), deque()
            self.changed.notify_all()
        for link in self._links:
            waiting += link.close()
        for order in waiting:
            order.future.cancel()
            order.future.set_running_or_notify_cancel()

    def _common(self, found: Sequence[tuple[str, Isolation]]) -> Isolation:
        common = weakest([isolation for _, isolation in found])
        if not self._mixed_levels and any(one.level != common.level for _, one in found):
            told = ", ".join(f"{url} {isolation.level}" for url, isolation in found)
            raise ExecutorError(
                f"the servers have different levels of isolation: {told}; make them alike, or allow the weakest with "
                "mixed_levels=True"
            )
        return common


def weakest(isolations: Sequence[Isolation]) -> Isolation:
    """Return what holds on all of several executors."""
    first = isolations[0]
    policies = {one.policy for one in isolations}
    return dataclasses.replace(
        first,
        **{name: min((getattr(one, name) for one in isolations), key=ranks.index) for name, ranks in _RANKS.items()},
        languages=frozenset.intersection(*(one.languages for one in isolations)),
        enforces=frozenset.intersection(*(one.enforces for one in isolations)),
        network=any(one.network for one in isolations),
        notebooks=all(one.notebooks for one in isolations),
        policy=first.policy if len(policies) == 1 else "",
    )
