"""The programs that wait for a server, which links take as there is room on their servers.

If a connection is lost, what ran there is put back. A program that was lost twice then runs alone on its server, so
that it cannot take others with it.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future

from code_env.errors import ExecutorError
from code_env.executors.base import Isolation
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, sandbox_error, sandbox_killed

from .link import TRIES, Link, Order
from .messages import Hello

_RANKS = {
    "level": ("none", "contained", "full", "container", "machine"),
    "peer": ("none", "same_machine", "isolated"),
    "sessions": ("none", "replay", "fork"),
}
"""The values of three fields of `Isolation`, weakest first."""


class Queue:
    """The programs that wait for a server, and the links that take them.

    Args:
        links: A link for each server.
        mixed_levels: Whether servers may differ in what they isolate.
        give_up_s: How long programs wait while no server can be reached, in seconds.
        connect_s: How long to wait for the servers when they are needed for the first time, in seconds.
        advice: What a user can do if no server can be reached.
    """

    def __init__(
        self, links: Sequence[Link], mixed_levels: bool, give_up_s: float, connect_s: float, advice: str
    ) -> None:
        self.pid = os.getpid()
        self._links, self._mixed_levels, self._give_up_s = list(links), mixed_levels, give_up_s
        self._connect_s, self._advice = connect_s, advice
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
                self.changed.wait_for(lambda: all(link.was_tried for link in self._links), self._connect_s)
                hellos = [(link, link.hello) for link in self._links if link.hello is not None]
                if not hellos:
                    told = "; ".join(f"{link.name}: {link.fault or 'no answer'}" for link in self._links)
                    raise ExecutorError(f"no server can be reached: {told}; {self._advice}")
                self._isolation = self._common([(link.name, hello.isolation) for link, hello in hellos])
            return self._isolation

    def accepts(self, link: Link, hello: Hello) -> str:
        """Return why a server that was reached must not be used; empty if it may. `changed` is held."""
        if self._isolation is None or weakest([self._isolation, hello.isolation]) == self._isolation:
            self._reached = time.monotonic()
            return ""
        return f"it isolates less than the servers that were used first: {hello.isolation}"

    @property
    def links(self) -> list[Link]:
        """The links, as they are now."""
        return list(self._links)

    def add(self, link: Link) -> None:
        """Use one more server."""
        with self.changed:
            if not self.closing:
                self._links.append(link)
                link.start(self)

    def remove(self, link: Link) -> None:
        """Use a server no more; what it had is run elsewhere."""
        with self.changed:
            self._links.remove(link)
            link.closed = True
            self.changed.notify_all()
        lost = link.close()
        with self.changed:
            self.give_back(lost, "it was removed", blames=False)

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Put a program into the queue."""
        future: Future[ExecutionResult] = Future()
        order = Order(next(self._numbers), program, future, time.monotonic())
        with self.changed:
            self._waiting.append(order)
            self.changed.notify_all()
        return future

    def take(self, link: Link) -> list[Order]:
        """Wait for programs that a link may send now; none if the link is closed. `changed` is held."""
        while not link.closed:
            orders = self._share_of(link)
            wanted = [order for order in orders if self._is_wanted(order)]
            if wanted:
                return wanted
            if not orders:
                self.changed.wait()
        return []

    def _share_of(self, link: Link) -> list[Order]:
        room, orders = link.room, list[Order]()
        if room <= 0 or not self._waiting:
            return orders
        if self._waiting[0].runs_alone:
            return [self._waiting.popleft()] if link.is_idle else orders
        all_room = sum(max(0, one.room) for one in self._links)
        share = min(room, -(-len(self._waiting) * room // all_room))
        while self._waiting and not self._waiting[0].runs_alone and len(orders) < share:
            orders.append(self._waiting.popleft())
        return orders

    @staticmethod
    def _is_wanted(order: Order) -> bool:
        if order.future.cancelled():
            order.future.set_running_or_notify_cancel()
            return False
        return True

    def give_back(self, orders: Iterable[Order], why: str, *, blames: bool) -> None:
        """Put programs that were lost with their server back, before all others. `changed` is held.

        Args:
            orders: The programs.
            why: How the server was lost.
            blames: Whether a program that ran alone there is the cause, and not the network.
        """
        for order in sorted(orders, key=lambda one: one.number, reverse=True):
            order.lost += 1
            with_peer = order.program.peer is not None
            if order.lost < TRIES:
                self._waiting.appendleft(order)
            elif blames:
                order.settle(sandbox_killed(why, with_peer=with_peer, queue_s=order.waited_s))
            else:
                order.settle(sandbox_error(f"its server was lost {order.lost} times: {why}", order.waited_s))
        self.changed.notify_all()

    def give_up(self) -> None:
        """Answer the programs that wait, if no server could be reached for too long. `changed` is held."""
        if any(link.hello is not None for link in self._links):
            self._reached = time.monotonic()
        elif time.monotonic() - self._reached > self._give_up_s:
            told = "; ".join(f"{link.name}: {link.fault}" for link in self._links)
            while self._waiting:
                order = self._waiting.popleft()
                order.settle(
                    sandbox_error(f"no server could be reached for {self._give_up_s:g} s: {told}", order.waited_s)
                )

    def close(self) -> None:
        """End the connections; what is not done is cancelled."""
        with self.changed:
            self.closing = True
            for link in self._links:
                link.closed = True
            waiting, self._waiting = list(self._waiting), deque()
            self.changed.notify_all()
        for link in self.links:
            waiting += link.close()
        for order in waiting:
            order.future.cancel()
            order.future.set_running_or_notify_cancel()

    def _common(self, found: Sequence[tuple[str, Isolation]]) -> Isolation:
        common = weakest([isolation for _, isolation in found])
        if not self._mixed_levels and any(one.level != common.level for _, one in found):
            told = ", ".join(f"{name} {isolation.level}" for name, isolation in found)
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
