"""Lets the program's tasks of asyncio run while the tests run theirs: the tests' side.

`program/loops.py` is the other side and says what crosses. When the tests await a coroutine of the program, it becomes
a task in a loop there, and its first step runs at once, as in Python. From then on the two loops run in turn. Between
the callbacks of the tests' loop, the program's loop makes a pass when it has something to do; when the tests' loop has
nothing to do, the program's runs until something happens or the next timer of the tests is due. So no side polls the
other, and a lone coroutine costs one message. If the tests' loop also waits for threads or descriptors, it waits by
itself, and looks after the program's loop at growing intervals.

Functions of the tests that a task of the program calls run within the callback that waits for the program. A coroutine
of the tests that a task awaits becomes a task of the tests' loop, and its outcome goes over with the next message.

A reply proves nothing: it can only give outcomes to what the tests await, and contents to arguments of such a call.
"""

from __future__ import annotations

import _thread
import itertools
import sys
from collections.abc import Callable
from typing import Any

from ..wire.plain import Decoder, NotPlain
from .contexts import Contexts
from .handles import HandleMisuse, ProgramDied
from .lasting import LastingContainers

_OFTEN_S = 0.005
"""How long the tests' loop may be busy before the program's loop makes a pass that nothing has announced, in seconds:
threads and descriptors of the program can have something for it."""

_SHORTEST_S, _LONGEST_S = 0.001, 0.02
"""The intervals at which a loop that waits for threads or descriptors looks after the program's loop, in seconds."""

_SELDOM_S = 1.0
"""The interval at which a loop that waits for others looks whether the program is still there, in seconds."""

_NOBODY_ASKED = "the program's process sent what nobody asked for"


class Loops:
    """The event loops of the tests of one answer.

    Args:
        step: Sends a request to the program and returns its reply.
        lasting: The arguments of coroutines.
        decoder: Rebuilds values of the program.
    """

    def __init__(self, step: Callable[..., dict[str, Any]], lasting: LastingContainers, decoder: Decoder) -> None:
        self._step, self._lasting, self._decoder = step, lasting, decoder
        self._open: dict[int, Loop] = {}
        self._numbers, self._contexts = itertools.count(), Contexts()
        self.are_lost = False
        """Whether the program has ended, or has sent what nobody asked for, while a loop of the tests ran."""

    def running(self) -> Loop | None:
        """Return the loop of the tests that runs in this thread."""
        asyncio = sys.modules.get("asyncio")  # Few tests import it.
        running = None if asyncio is None else asyncio._get_running_loop()
        if running is None:
            return None
        for one in list(self._open.values()):  # Another thread can begin a loop.
            if one.loop is running:
                return one
        number = next(self._numbers)
        self._open[number] = Loop(number, running, self._step, self._change_arguments, self._lose, self._contexts)
        return self._open[number]

    def fields(self, running: Loop | None, *, is_inner: bool = False) -> dict[str, Any]:
        """Return the fields that a request needs in addition.

        Args:
            running: The loop that runs.
            is_inner: Whether a function of the tests sends it that the program has called: the program is in a context.
        """
        fields: dict[str, Any] = {} if running is None else {"loop": running.number}
        if running is not None and not is_inner:
            fields |= running.context()
        if self._open:
            closed = [one for one in self._open.values() if one.loop.is_closed()]
            for one in closed:
                del self._open[one.number]
            if ended := [one.number for one in closed if one.is_known]:
                fields["ended"] = ended
            fields |= self._contexts.gone()
        return fields

    def _lose(self) -> None:
        self.are_lost = True

    async def outcome_of(self, target: str | int, *, reports: bool) -> dict[str, Any]:
        """Have the program await one of its objects, and return the outcome.

        Args:
            target: The object's name or number.
            reports: Whether the program tells before the end what becomes of the arguments.
        """
        running = self.running()
        if running is None:  # The tests run the coroutine by hand.
            return self._step("await", target=target)
        outcome = await running.outcome_of(target, reports)
        self._lasting.refuse_shared(target, outcome.get("changed"))
        return outcome

    def begin(self, coroutine: Any, at: Any, finish: Callable[[], Any]) -> Any:
        """Begin a task for a coroutine of the tests, and return it; None if the loop does not run.

        Args:
            coroutine: The coroutine.
            at: The loop's number, from the program.
            finish: Returns the coroutine's number and its outcome, when the task is done.
        """
        running = self.running()
        return None if running is None or running.number != at else running.begin(coroutine, finish)

    def _change_arguments(self, number: Any, given: Any) -> None:
        try:
            self._lasting.change_arguments(number, given, self._decoder)
        except NotPlain as error:
            raise HandleMisuse(f"what became of an argument is not plain data: {error}") from error


class Loop:
    """One event loop of the tests.

    Args:
        number: Its number.
        loop: The loop.
        step: Sends a request to the program and returns its reply.
        change_arguments: Gives the arguments of a coroutine their new content.
        lose: Told when the conversation is over: tests can keep the exception as the result of a task.
        contexts: Those of the tasks.
    """

    def __init__(
        self,
        number: int,
        loop: Any,
        step: Callable[..., dict[str, Any]],
        change_arguments: Callable[[Any, Any], None],
        lose: Callable[[], None],
        contexts: Contexts,
    ) -> None:
        self.number, self.loop, self._step = number, loop, step
        self._change_arguments, self._lose, self._contexts = change_arguments, lose, contexts
        self.is_known = False
        """Whether the program has a loop for it."""
        self._ids = itertools.count()
        self._futures: dict[int, Any] = {}
        """For each task of the program that the tests await, what they wait for."""
        self._outcomes: dict[int, dict[str, Any]] = {}
        self._finished: list[Callable[[], Any]] = []
        """Functions that return the outcomes which the program has not yet got."""
        self._due_at: float | None = None
        """When the program's loop has to run; None if it has nothing to do."""
        self._ran_at = loop.time()
        self._next: Any = None
        self._context = contexts.without()
        """That of `_drive`, which would hold that of a task."""
        self._interval_s = _SHORTEST_S
        self.fault: BaseException | None = None
        """What has ended the conversation while this loop ran."""

    def context(self) -> dict[str, Any]:
        """Return the field of a request that names the context of the task that runs."""
        return self._contexts.of(sys.modules["asyncio"].current_task(self.loop))

    async def outcome_of(self, target: str | int, reports: bool) -> dict[str, Any]:
        """Have the program await one of its objects, and return the outcome."""
        import asyncio

        id_ = next(self._ids)
        self._futures[id_] = self.loop.create_future()
        try:
            more = {"for": self._idle_s(), **self.context()}
            self._exchange("start", id=id_, target=target, reports=reports, **more)
            while id_ not in self._outcomes:
                try:
                    await self._futures[id_]
                except asyncio.CancelledError:
                    if id_ in self._outcomes:
                        raise
                    self._futures[id_] = self.loop.create_future()
                    self._exchange("cancel", id=id_)  # The program's task ends by itself, or goes on.
            return self._outcomes[id_]
        finally:
            del self._futures[id_]
            self._outcomes.pop(id_, None)

    def begin(self, coroutine: Any, finish: Callable[[], Any]) -> Any:
        """Begin a task for a coroutine of the tests, with its first step where Python can do that."""
        import asyncio

        eager: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}
        task: Any = asyncio.Task(coroutine, loop=self.loop, context=self._contexts.without(), **eager)
        if not task.done():
            task.add_done_callback(lambda _: self._finish(finish))
        return task

    def _finish(self, finish: Callable[[], Any]) -> None:
        self._finished.append(finish)
        self._arm()

    def noted(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Take from a reply when the program's loop has to run again, and return the reply."""
        due = reply.get("due")
        if isinstance(due, int | float):
            self.is_known = True
            self._due_at = self.loop.time() + max(0.0, min(due, 1e6))
            self._interval_s = _SHORTEST_S
        self._arm()
        return reply

    def _exchange(self, op: str, **fields: Any) -> None:
        if self.fault is not None:
            raise self.fault
        self.is_known = True
        finished, self._finished = self._finished, []
        done = [finish() for finish in finished]
        self._due_at = None
        try:
            self._take(self._step(op, done=done, **fields))  # It calls `noted`.
        except ProgramDied:
            self._lose()
            raise
        self._arm()

    def _take(self, reply: dict[str, Any]) -> None:
        """Take outcomes and contents of arguments from a reply."""
        self._ran_at = self.loop.time()
        ready, given = reply.get("ready"), reply.get("given", [])
        if ready is None and isinstance(reply.get("raised"), dict):  # The reply was too large.
            ready = [[id_, reply] for id_ in self._futures if id_ not in self._outcomes]
        if not isinstance(ready, list) or not isinstance(given, list):
            raise ProgramDied(_NOBODY_ASKED)
        for id_, outcome in map(_pair, ready):
            if type(id_) is not int or id_ not in self._futures or id_ in self._outcomes or type(outcome) is not dict:
                raise ProgramDied(_NOBODY_ASKED)
            self._outcomes[id_] = outcome
            if not self._futures[id_].done():
                self._futures[id_].set_result(None)
        for number, forms in map(_pair, given):
            self._change_arguments(number, forms)

    def _idle_s(self) -> float | None:
        """Return how long the tests' loop has nothing to do; None if nothing but the program can give it something."""
        if self.loop._ready or self.loop._stopping or self._finished or self._waits_for_others():
            return 0.0
        timers = self.loop._scheduled
        return max(0.0, timers[0].when() - self.loop.time()) if timers else None

    def _waits_for_others(self) -> bool:
        """Whether threads or descriptors can give the tests' loop something to do."""
        return _thread._count() > 0 or len(self.loop._selector.get_map()) > 1  # Each loop has one descriptor.

    def _is_awaited(self) -> bool:
        """Whether the program's loop has something to do, or the tests wait for it."""
        return self._due_at is not None or bool(self._finished) or len(self._futures) > len(self._outcomes)

    def _arm(self) -> None:
        """Arrange that the program's loop runs when it has to."""
        is_awaited = self._is_awaited()
        if self._next is not None:
            if not is_awaited or not hasattr(self._next, "when"):  # It is next in turn.
                return
            self._next.cancel()
        due_s = 1.0 if self._due_at is None else max(0.0, self._due_at - self.loop.time())
        if not is_awaited:
            self._next = self.loop.call_later(_LONGEST_S, self._drive, context=self._context)
        elif due_s == 0 or self._finished or self.loop._ready or not self._waits_for_others():
            self._next = self.loop.call_soon(self._drive, context=self._context)
        else:
            self._next = self.loop.call_later(min(due_s, self._interval_s), self._drive, context=self._context)
            self._interval_s = min(2 * self._interval_s, _LONGEST_S)

    def _drive(self) -> None:
        """Let the program's loop run, if it is time."""
        self._next = None
        idle_s, now, is_awaited = self._idle_s(), self.loop.time(), self._is_awaited()
        is_due = self._due_at is not None and self._due_at <= now
        is_late = now - self._ran_at >= (_OFTEN_S if is_awaited else _SELDOM_S)
        try:
            # If the tests wait for nothing but the program, its limit on time ends that, whatever they wait for.
            if idle_s is None or (idle_s and is_awaited) or is_due or self._finished or is_late:
                self._exchange("run", **{"for": idle_s})
            else:
                self._arm()
        except BaseException as error:  # The loop would only log it.
            self._give_up(error)

    def _give_up(self, fault: BaseException) -> None:
        """End the conversation for all tasks that wait for the program."""
        self.fault = fault
        waiting = [future for future in self._futures.values() if not future.done()]
        for future in waiting:
            future.set_exception(fault)
        if not waiting or isinstance(fault, ProgramDied):
            self.loop.stop()


def _pair(value: Any) -> tuple[Any, Any]:
    if type(value) is not list or len(value) != 2:
        raise ProgramDied(_NOBODY_ASKED)
    return value[0], value[1]
