"""Numbers the contexts of the tests' tasks, so that the program has one for each of them.

A task of asyncio has a context, which holds the values of context variables. What a task of the tests awaits in the
program, one after the other, and the functions of the program that it calls have one context there: after
`await login("a")`, `current_user()` is `"a"`. A task that another one has begun gets a copy of that one's context, when
it first uses the program.

The number is itself in a context variable of the tests' process, so it is inherited as other variables are, and it is
known when nothing can inherit from a context any more.
"""

from __future__ import annotations

import itertools
from typing import Any


class _Place:
    """The context of one task."""

    __slots__ = ("__weakref__", "number", "task")

    def __init__(self, number: int, task: Any) -> None:
        self.number, self.task = number, task


class Contexts:
    """The contexts of the tasks of one suite."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._variable: Any = None
        self._watched: dict[int, Any] = {}
        self._gone: list[int] = []

    def of(self, task: Any) -> dict[str, Any]:
        """Return the field of a request that names the context of the running task, and the one that it is copied of.

        Args:
            task: The task; None if the event loop runs none.
        """
        if task is None:
            return {}
        place = self._place.get()
        if place is not None and place.task() is task:
            return {"context": [place.number, None]}
        import weakref  # `asyncio` has imported it.

        number = next(self._numbers)
        made = _Place(number, weakref.ref(task))
        self._watched[number] = weakref.ref(made, lambda _: self._gone.append(number))
        self._place.set(made)
        return {"context": [number, None if place is None else place.number]}

    def gone(self) -> dict[str, Any]:
        """Return the field of a request that names contexts which are not needed any more."""
        if not self._gone:
            return {}
        gone, self._gone[:] = self._gone[:], []
        for number in gone:
            del self._watched[number]
        return {"gone": gone}

    def without(self) -> Any:
        """Return a copy of the present context for what no task of the tests has begun: it inherits no number."""
        import contextvars

        place, context = self._place, contextvars.copy_context()
        context.run(place.set, None)
        return context

    @property
    def _place(self) -> Any:
        if self._variable is None:
            import contextvars

            self._variable = contextvars.ContextVar("place", default=None)
        return self._variable
