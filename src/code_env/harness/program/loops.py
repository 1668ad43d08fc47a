"""Runs the answer's tasks of asyncio while the tests run theirs: the program's side, see also `judge/loops.py`.

Each event loop of the tests has a loop here, and the two run in turn, as if they were one: the tests' side has the
control and lets this loop run for a while. The requests are::

    {"n": 4, "op": "start", "loop": 0, "target": 7,     a task `id` begins that awaits object 7; its first step runs
     "id": 3, "for": 0.5, "done": [[5, {...}], ...],
     "reports": True}
    {"n": 5, "op": "run", "loop": 0, "for": None,       the loop runs until a task that the tests wait for is done, or
     "done": []}                                        the tests are needed, or for this time; with 0, for one pass
    {"n": 6, "op": "cancel", "loop": 0, "id": 3, ...}   the task is cancelled

`done` has the outcomes of coroutines of the tests that tasks here wait for. `reports` says whether the replies tell
before the task's end what it makes of the arguments of its call. The replies are::

    {"n": 5, "ready": [[3, {"value": 1, ...}], ...],    the outcomes of tasks: as for a call, or `"cancelled": true`
     "given": [[7, [[0, [1]]]], ...],                   what tasks that still run have made of arguments
     "due": 0.25}                                       in how many seconds it has to run again; absent if it is empty

Other requests have a `loop` if a loop of the tests runs. Then functions of the answer find their loop running, and the
reply can have `due`. A request with `"ended": [0]` says that these loops of the tests are closed. With `"context":
[4, 2]` it is served in context 4, which is at first a copy of context 2, and with `"gone": [2]` it is the last that
names context 2; see `judge/contexts.py`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from ..wire.by_name import is_coroutine
from ..wire.containers import Containers
from .lasting import Steps
from .turns import Turns

_BaseException, _len, _max, _list = BaseException, len, max, list

_OF_LOOPS = frozenset(("start", "run", "cancel"))

_NOT_SOON_S = 3600.0
"""When a loop whose tasks only wait has to run again, in seconds."""


class Loops:
    """The event loops of one answer.

    Args:
        find: Returns a function that gives an object of the program, by its name or its number.
        steps: Reports what tasks do to the arguments of their calls.
        turns: While a loop runs, threads of the program may use the conversation.
        guard: Runs an action within an exchange, and returns its outcome as a reply.
    """

    def __init__(
        self,
        find: Callable[[Any], Callable[[], Any]],
        steps: Steps,
        turns: Turns,
        guard: Callable[..., dict[str, Any]],
    ) -> None:
        self._find, self._steps, self._turns, self._guard = find, steps, turns, guard
        self._loops: dict[int, _Loop] = {}
        self._contexts: dict[int, Any] = {}

    def serve(self, request: dict[str, Any], do: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Return the reply to a request; `do` serves the requests that are not about loops."""
        if "ended" in request:
            self._end(request["ended"])
        op, number, context = request["op"], request.get("loop"), self._context(request)
        if op == "await":
            return self._wait_for(request["target"])
        if number is None:
            return do(request)
        if op in _OF_LOOPS:
            return self._run(self._of(number), op, request, context)
        if "asyncio" not in sys.modules:
            return _within(context, lambda: do(request))
        one = self._of(number)
        reply = one.as_running(one.loop, lambda: _within(context, lambda: do(request)))
        return {**reply, **one.due()}

    def _context(self, request: dict[str, Any]) -> Any:
        """Return the context of a request; None if it has none of its own."""
        number, copied = request.get("context", (None, None))
        if number is not None and number not in self._contexts:
            import contextvars

            before = self._contexts.get(copied)
            self._contexts[number] = contextvars.copy_context() if before is None else before.copy()
        for gone in request.get("gone", ()):
            self._contexts.pop(gone, None)
        return self._contexts.get(number)

    def _run(self, one: _Loop, op: str, request: dict[str, Any], context: Any) -> dict[str, Any]:
        for number, outcome in request["done"]:
            one.resolve(number, outcome)
        if op == "start":
            awaited = self._find(request["target"])()
            what = request["id"], request["target"], awaited, request["reports"]
            self._turns.without(lambda: one.start(*what, context))
        elif op == "cancel":
            self._turns.without(lambda: one.cancel(request["id"]))
        if op == "run" or (op == "start" and request["for"] != 0 and not one.done):
            self._turns.without(lambda: one.run(request["for"]))
        ready = [[id_, self._outcome(number, task)] for id_, number, task in one.take_done()]
        given = [[number, forms] for number in one.reporting() if (forms := self._steps.given(number))]
        return {"ready": ready, "given": given, **one.due()}

    def _outcome(self, number: Any, task: Any) -> dict[str, Any]:
        if task.cancelled():
            return self._steps.wait_for(number, lambda known: {"cancelled": True})
        return self._steps.wait_for(number, lambda known: self._guard(task.result, known))

    def _wait_for(self, number: Any) -> dict[str, Any]:
        """Return the reply with the result of what the tests run without an event loop."""
        awaited = self._find(number)()

        def run(known: Containers) -> dict[str, Any]:
            return self._guard(lambda: run_alone(_coroutine_of(awaited)), known)

        return self._steps.wait_for(number, run)

    def driven(self, loop: Any) -> _Loop | None:
        """Return what runs a loop if the tests let it run, not the answer itself."""
        return next((one for one in self._loops.values() if one.loop is loop), None)

    def interrupt(self) -> None:
        """Let the running loops come to a halt: the tests have done something, and may have more to do."""
        for one in self._loops.values():
            if one.loop.is_running():
                one.loop.call_soon_threadsafe(one.loop.stop)

    def _end(self, numbers: list[int]) -> None:
        """End loops as `asyncio.run` does."""
        for number in numbers:
            one = self._loops.pop(number, None)
            if one is not None:
                self._turns.without(one.end)

    def _of(self, number: int) -> _Loop:
        if number not in self._loops:
            self._loops[number] = _Loop(number)
        return self._loops[number]


class _Loop:
    """One event loop.

    Args:
        number: Its number.
    """

    def __init__(self, number: int) -> None:
        import asyncio  # Here, because few programs need it.

        self._asyncio, self._number = asyncio, number
        self._runner = asyncio.Runner()
        self.loop: Any = self._runner.get_loop()
        self._tasks: dict[int, tuple[Any, Any, bool]] = {}
        """By its id, the number of the object that a task awaits, the task, and whether it reports before its end."""
        self.done: list[int] = []
        self._borrowed: dict[int, Any] = {}
        """The futures that stand for coroutines of the tests."""
        self._is_ending = False

    def start(self, id_: int, number: Any, awaited: Any, reports: bool, context: Any) -> None:
        """Begin a task, and let it make its first step before all else: plain Python calls a coroutine at once."""

        def begin() -> None:
            task = self.loop.create_task(_coroutine_of(awaited), context=context)
            self._tasks[id_] = number, task, reports
            task.add_done_callback(lambda _: self._note(id_))

        self._ahead(id_, begin)

    def cancel(self, id_: int) -> None:
        """Cancel a task, and let it notice."""
        if id_ in self._tasks:
            self._ahead(id_, self._tasks[id_][1].cancel)

    def _ahead(self, id_: int, action: Callable[[], Any]) -> None:
        """Do something with a task, and what it makes ready in the loop, before what was ready before."""
        if self.loop.is_running():  # The program waits within a function of the tests.
            action()
            return
        before = _list(self.loop._ready)
        self.loop._ready.clear()
        try:
            action()
            self.run(0)
        finally:
            self.loop._ready.extendleft(before[::-1])
        if self._tasks[id_][1].done():
            self.done.append(id_)

    def run(self, for_s: float | None) -> None:
        """Run until something is of interest to the tests, and for at most this time; with 0, for one pass."""
        timer = self.loop.call_later(for_s, self.loop.stop) if for_s else None
        if for_s == 0:
            self.loop.stop()
        with contextlib.suppress(_BaseException):  # `SystemExit` leaves the loop too; the task has it.
            self.as_running(None, self.loop.run_forever)
        if timer is not None:
            timer.cancel()

    def as_running(self, loop: Any, action: Callable[[], Any]) -> Any:
        """Do something while this is the running loop: another one may run further up in this thread."""
        before = self._asyncio._get_running_loop()
        self._asyncio._set_running_loop(loop)
        try:
            return action()
        finally:
            self._asyncio._set_running_loop(before)

    def _note(self, id_: int) -> None:
        if id_ in self._tasks:
            self.done.append(id_)
            self.loop.stop()

    def take_done(self) -> list[tuple[int, Any, Any]]:
        """Return id, number and task of all tasks that are done, and forget them."""
        found = [(id_, *self._tasks.pop(id_)[:2]) for id_ in self.done if id_ in self._tasks]
        self.done.clear()
        return found

    def reporting(self) -> list[Any]:
        """Return the numbers of the objects that tasks await which report before their end."""
        return [number for number, _, reports in self._tasks.values() if reports]

    def due(self) -> dict[str, float]:
        """Return when this loop has to run again, as a field of a reply; none if it has nothing to do."""
        if self.loop._ready:
            return {"due": 0.0}
        if self.loop._scheduled:
            return {"due": _max(0.0, self.loop._scheduled[0].when() - self.loop.time())}
        return {"due": _NOT_SOON_S} if self._asyncio.all_tasks(self.loop) else {}

    async def outcome_of(self, ask: Callable[[dict[str, Any]], dict[str, Any]], number: int) -> dict[str, Any]:
        """Have the tests run a coroutine of theirs beside this loop, and return the outcome."""
        cancelled = self._asyncio.CancelledError
        reply = ask({"callback": number, "do": "start", "loop": self._number})
        while "pending" in reply:
            future = self._borrowed[number] = self.loop.create_future()
            self.loop.stop()
            try:
                reply = await future
            except cancelled:
                if self._is_ending or number not in self._borrowed:
                    raise
                ask({"callback": number, "do": "cancel"})  # The coroutine ends by itself, or goes on.
        if "cancelled" in reply:
            raise cancelled
        return reply

    def resolve(self, number: int, outcome: Any) -> None:
        """Take the outcome of a coroutine of the tests."""
        future = self._borrowed.pop(number, None)
        if future is not None and not future.done():
            future.set_result(outcome)

    def end(self) -> None:
        """Cancel the tasks, and close the loop."""
        self._is_ending = True
        with contextlib.suppress(_BaseException):
            self.as_running(None, self._runner.close)


def _within(context: Any, action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do something in a context, if there is one, and it is not entered already."""
    try:
        is_entered = context is None or context.run(bool)
    except RuntimeError:
        is_entered = True
    reply: dict[str, Any] = action() if is_entered else context.run(action)
    return reply


def _coroutine_of(awaited: Any) -> Any:
    return awaited if is_coroutine(awaited) else _awaiting(awaited)


async def _awaiting(awaitable: Any) -> Any:
    return await awaitable


def run_alone(coroutine: Any) -> Any:
    """Run a coroutine to its end in an event loop of its own."""
    import asyncio

    return asyncio.run(coroutine)
