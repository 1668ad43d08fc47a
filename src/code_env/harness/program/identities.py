"""Tells which parts of the arguments of a call its result has, where the tests check identity.

Containers that can change keep their identity by the numbers of `containers.py`. Tuples, texts, dates and numbers cross
as equal values. For `longest(words) is words[2]`, the reply names the places of one object in the result and in the
arguments::

    "same": [[[], [0, 2]]]     the result is item 2 of argument 0
    "same": [[[1], [3]]]       item 1 of the result is argument 3

The tests accept that only for equal values, see `judge/identities.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ..wire.identities import MAX_SAME, items_of

_MOST = 10_000
"""How many parts of the arguments, and of the result, are looked at."""

_CONTAINERS = (list, dict, set)
_EVERYWHERE_ONE = (bool, type(None))


class Identities:
    """The parts of the arguments of one call.

    Args:
        given: The arguments.
    """

    def __init__(self, given: list[Any]) -> None:
        self._places: dict[int, tuple[list[int], Any]] = {}  # With the part, so that no other object gets its id.
        self._value: Any = None
        for path, part in _parts(given):
            self._places.setdefault(id(part), (path, part))

    def of(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Return the call, such that its result is looked at."""

        def called() -> Any:
            self._value = call()
            return self._value

        return called

    def found(self) -> list[list[list[int]]]:
        """Return the places in the result and in the arguments, for each part that is in both."""
        places = self._places
        pairs = ([path, places[id(part)][0]] for path, part in _parts(self._value) if id(part) in places)
        return list(itertools.islice(pairs, MAX_SAME))


def _parts(value: Any) -> Iterator[tuple[list[int], Any]]:
    """Yield the parts of a value that cannot change, with their places, the outer ones first."""
    waiting: list[tuple[list[int], Any]] = [([], value)]
    for path, part in waiting:
        if type(part) not in _CONTAINERS and type(part) not in _EVERYWHERE_ONE:
            yield path, part
        if len(waiting) < _MOST:
            waiting += (([*path, at], item) for at, item in enumerate(itertools.islice(items_of(part), _MOST)))
