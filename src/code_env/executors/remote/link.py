"""The connection to one server, with a thread that sends programs and a thread that receives results.

A server that cannot be reached, or whose connection breaks, is left alone for a while, each time longer.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from code_env.errors import TaskError, UnsupportedProgram
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult

from .messages import Hello, result_from
from .peers import PeersThere

if TYPE_CHECKING:
    from .queue import Queue

_log = logging.getLogger(__name__)

_AHEAD = 32
"""How many programs a server has at a time, as a multiple of its workers: its queue never runs empty, and a frame holds
several."""

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 30.0
"""How long a server is left alone after its first fault, and at most."""

_HELLO_S = 60.0
"""How long a server that was reached may take to say what it is, in seconds."""

_RUNS_OF_A_JUDGED_PROGRAM, _SPARE_S = 10, 120.0
"""A program is given up on a server after so many times its wall time, and so many seconds more for the queue there."""

TRIES = 3
"""A program that was lost with so many servers is given up."""

_TICK_S = 1.0
"""Deadlines are looked at so often, in seconds."""


@dataclass(eq=False)
class Order:
    """A program that was submitted, and the future that gets its result."""

    number: int
    program: Program
    future: Future[ExecutionResult]
    submitted: float
    lost: int = 0
    """How many servers were lost that had it."""
    sent: float = 0.0
    """When it was sent, by the monotonic clock."""

    @property
    def runs_alone(self) -> bool:
        """Whether it may have no other program beside it: if it is lost once more, it is given up."""
        return self.lost == TRIES - 1

    @property
    def waited_s(self) -> float:
        """How long ago it was submitted, in seconds."""
        return time.monotonic() - self.submitted

    @property
    def is_overdue(self) -> bool:
        """Whether a server that has it should have answered long ago."""
        limit_s = _RUNS_OF_A_JUDGED_PROGRAM * self.program.limits.wall_s + _SPARE_S
        return time.monotonic() - self.sent > limit_s

    def settle(self, result: ExecutionResult | Exception) -> None:
        """Give the future its result, unless it was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


class Transport(Protocol):
    """Carries frames to a server and back. Any thread may call it."""

    def send(self, frame: str) -> None:
        """Send a frame.

        Raises:
            ConnectionError: If the connection is lost.
        """

    def receive(self, timeout_s: float) -> str:
        """Return the next frame.

        Raises:
            TimeoutError: If none comes in time.
            ConnectionError: If the connection is lost.
        """

    def close(self) -> None:
        """End the connection. Idempotent."""


class Link:
    """The connection to one server.

    Args:
        name: Its name in messages.
        connect: Connects to it. It raises an `OSError` if that is not possible.
        blames: Whether a program that ran alone on a server is the cause of its loss.
    """

    def __init__(self, name: str, connect: Callable[[], Transport], *, blames: bool = False) -> None:
        self.name, self._connect, self._blames = name, connect, blames
        self.was_tried = False
        """Whether it was reached, or a first try failed."""
        self.hello: Hello | None = None
        """What it says of itself; None while it cannot be used."""
        self.fault = ""
        """Why it cannot be used."""
        self.closed = False
        """Whether it is to be used no more."""
        self._connection: Transport | None = None
        self._peers = PeersThere()
        self._sent: dict[int, Order] = {}
        self._threads: list[threading.Thread] = []

    @property
    def room(self) -> int:
        """How many more programs it can have now."""
        if self.hello is None or any(order.runs_alone for order in self._sent.values()):
            return 0
        return _AHEAD * self.hello.workers - len(self._sent)

    @property
    def is_idle(self) -> bool:
        """Whether it has no program."""
        return not self._sent

    def start(self, queue: Queue) -> None:
        """Start its threads."""
        for work in (self._receive_always, self._send_always):
            thread = threading.Thread(target=work, args=(queue,), name=f"code_env-remote-{self.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> list[Order]:
        """End the connection and the threads, which the queue must have told; return what was not done."""
        connection = self._connection
        if connection is not None:
            connection.close()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        orders, self._sent = list(self._sent.values()), {}
        return orders

    def _send_always(self, queue: Queue) -> None:
        while True:
            with queue.changed:
                orders = queue.take(self)
                if not orders:
                    return
                connection, hello, peers = self._connection, self.hello, self._peers
                if connection is None or hello is None:
                    queue.give_back(orders, self.fault, blames=False)
                    continue
                for order in orders:
                    order.sent = time.monotonic()
                    self._sent[order.number] = order
            self._send(connection, peers, orders, hello.most_bytes)
            for order in orders:  # Only now, because a future that was cancelled meanwhile calls at once.
                order.future.add_done_callback(partial(self._end_if_cancelled, queue, order.number))

    def _send(self, connection: Transport, peers: PeersThere, orders: list[Order], most_bytes: int) -> None:
        """Send programs, in two frames if they are too large for one. `_receive_always` gives back what is not sent."""
        programs = {order.number: order.program for order in orders}
        frame = peers.frame(programs)
        if len(frame) <= most_bytes:
            with contextlib.suppress(ConnectionError):
                connection.send(frame)
                peers.sent(programs.values())
        elif len(orders) > 1:
            half = len(orders) // 2
            self._send(connection, peers, orders[:half], most_bytes)
            self._send(connection, peers, orders[half:], most_bytes)
        else:
            self._sent.pop(orders[0].number, None)
            orders[0].settle(
                UnsupportedProgram(
                    f"the program takes {len(frame)} bytes with its files and its tests, and {self.name} takes "
                    f"{most_bytes}; start it with a larger --max-body"
                )
            )

    def _end_if_cancelled(self, queue: Queue, number: int, future: Future[ExecutionResult]) -> None:
        """Called when a future is done: if it was cancelled, end the program."""
        if not future.cancelled():
            return
        with queue.changed:
            order, connection = self._sent.pop(number, None), self._connection
            queue.changed.notify_all()
        if order is not None:
            future.set_running_or_notify_cancel()
            if connection is not None:
                with contextlib.suppress(ConnectionError):
                    connection.send(json.dumps({"cancel": [number]}))

    def _receive_always(self, queue: Queue) -> None:
        """Connect, and receive results, again and again."""
        wait_s = _FIRST_WAIT_S
        while True:
            began = time.monotonic()
            try:
                with contextlib.closing(self._connect()) as connection:
                    self._connection, self._peers = connection, PeersThere()
                    self._receive(queue, connection)
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, TaskError) as error:
                fault = f"{type(error).__name__}: {error}"
            else:
                fault = "the connection was closed"
            with queue.changed:
                if self.hello is not None and not self.closed:
                    _log.warning(
                        "%s: the connection is lost, %d programs are run again: %s", self.name, len(self._sent), fault
                    )
                self.hello, self._connection, self.was_tried = None, None, True
                self.fault = fault
                if self.closed:
                    return
                lost, self._sent = list(self._sent.values()), {}
                queue.give_back(lost, f"{self.name}: {fault}", blames=self._blames)
                held = time.monotonic() - began > _LONGEST_WAIT_S
                wait_s = _FIRST_WAIT_S if held else min(2 * wait_s, _LONGEST_WAIT_S)
                until = time.monotonic() + wait_s
                while not self.closed and time.monotonic() < until:
                    queue.give_up()
                    queue.changed.wait(min(_TICK_S, max(0.0, until - time.monotonic())))

    def _receive(self, queue: Queue, connection: Transport) -> None:
        hello = Hello.from_data(json.loads(connection.receive(_HELLO_S)))
        with queue.changed:
            refusal = queue.accepts(self, hello)
            if refusal:
                raise ValueError(refusal)
            self.hello, self.was_tried = hello, True
            self.fault = ""
            queue.changed.notify_all()
        _log.info("%s: connected, %d workers, level %s", self.name, hello.workers, hello.isolation.level)
        while not self.closed:
            try:
                frame = json.loads(connection.receive(_TICK_S))
            except TimeoutError:
                if any(order.is_overdue for order in list(self._sent.values())):
                    raise ValueError("a program is overdue there") from None
                continue
            results: dict[str, ExecutionResult | Exception] = {
                number: result_from(row) for number, row in frame.get("results", {}).items()
            }
            results |= {number: UnsupportedProgram(why) for number, why in frame.get("refused", {}).items()}
            with queue.changed:
                orders = [self._sent.pop(int(number), None) for number in results]
                queue.changed.notify_all()
            for order, result in zip(orders, results.values(), strict=True):
                if order is not None:
                    order.settle(result)
