"""Preserves identity and sharing of the containers in one exchange between a program and its tests.

An exchange is a call, its reply, and the changed arguments. Each side keeps a `Containers`. There, every container that
can change has a number: its place in the order in which containers are written and read. The first time, the content
of a container crosses; after that, its number crosses. So both sides hold values of the same shape: a row that occurs
twice in a table is one row, and if a function returns one of its arguments, the result is that argument.

A number from a program proves nothing. It can only name a container of this exchange. The limits on the number of
values and on depth are the same as if the content had crossed again.
"""

from __future__ import annotations

import collections
import copy
import types
from collections.abc import Iterable, Mapping
from typing import Any

from .structures import MAX_NODES, NotPlain

MAX_DEPTH = 200
"""The deepest nesting of containers. It is below the interpreter's recursion limit on both sides."""

MUTABLE_TAGS = frozenset(("d", "s", "ba", "ct", "od", "dd", "dq", "np", "no"))
"""Tags of containers that can change; a list has no tag."""

_MAPPINGS = (dict, collections.Counter, collections.OrderedDict, collections.defaultdict)
_SEQUENCES = (list, tuple, set, frozenset, collections.deque)


_NOTHING: Mapping[int, Any] = types.MappingProxyType({})


class Containers:
    """The containers of one exchange, by number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._extents: dict[int, tuple[int, int]] = {}
        self._more_nodes = 0
        self.instead: Mapping[int, Any] = _NOTHING
        """What crosses in place of a container, by the container's id."""

    @classmethod
    def of(cls, values: Iterable[Any]) -> Containers:
        """Return the containers of an exchange that begins with these."""
        containers = cls()
        for value in values:
            containers.add(value)
        return containers

    def only(self, values: Iterable[Any]) -> Containers:
        """Return the containers of an exchange in which only these of them have a number, the same as here."""
        containers = Containers()
        containers.values = self.values.copy()
        containers._numbers = {id(value): self._numbers[id(value)] for value in values}
        return containers

    def begin_again(self) -> None:
        """Begin another exchange with the same containers, which may have changed."""
        self._extents.clear()
        self._more_nodes = 0

    def add(self, value: Any) -> None:
        """Give a container the next number."""
        self._numbers[id(value)] = len(self.values)
        self.values.append(value)

    def cut(self, count: int) -> None:
        """Remove all containers except the first `count`."""
        for value in self.values[count:]:
            self._numbers.pop(id(value), None)
        del self.values[count:]

    def number_of(self, value: Any) -> int | None:
        """Return the number of a container, or None if the container has no number."""
        return self._numbers.get(id(value))

    def again(self, number: Any, depth: int) -> Any:
        """Return the container with this number, which occurs again at depth `depth`.

        Raises:
            NotPlain: If no container has this number, or if the whole value becomes too large or too deep.
        """
        if type(number) is not int or not 0 <= number < len(self.values):
            raise NotPlain("a container that has not crossed before")
        value = self.values[number]
        nodes, height = self._extent(value)
        self._more_nodes += nodes
        if self._more_nodes > MAX_NODES:
            raise NotPlain(f"more than {MAX_NODES} values")
        if depth + height > MAX_DEPTH:
            raise NotPlain(f"nested more than {MAX_DEPTH} deep")
        return value

    def copied(self) -> Containers:
        """Return a `Containers` in which each number has a shallow copy of its container."""
        return Containers.of(map(copy.copy, self.values))

    def within(self, values: Iterable[Any]) -> list[Any]:
        """Return those of these containers that occur in values, at any depth."""
        found: dict[int, Any] = {}
        left, seen = list(values), set[int]()
        while left:
            value = left.pop()
            kind = type(value)
            if kind in _LEAVES or id(value) in seen:
                continue
            seen.add(id(value))
            if id(value) in self._numbers:
                found[id(value)] = value
            if kind in _MAPPINGS:
                left += [*value, *value.values()]
            elif kind in _SEQUENCES or isinstance(value, tuple):
                left += value
        return list(found.values())

    def change(self, contents: list[tuple[int, Any]]) -> None:
        """Replace the content of containers.

        Args:
            contents: The number and the new content of each container.

        Raises:
            NotPlain: If a content does not fit its container, or if a container becomes too large.
        """
        for number, content in contents:
            _fill(self.values[number], content)
        self._extents.clear()
        for number, _ in contents:
            self._extent(self.values[number])

    def _extent(self, value: Any, depth: int = 0) -> tuple[int, int]:
        """Return how many values a value holds, itself included, and how deep its containers are nested.

        Raises:
            NotPlain: If the value holds too many values, is nested too deep, or contains itself.
        """
        known = self._extents.get(id(value))
        if known is not None:
            return known
        kind = type(value)
        if kind in _MAPPINGS:
            inner = [*value, *value.values()]
        elif kind in _SEQUENCES or isinstance(value, tuple):
            inner = value
        else:
            return 1, 0
        if depth > MAX_DEPTH:
            raise NotPlain(f"nested more than {MAX_DEPTH} deep")
        nodes, height = 1, 0
        for item in inner:
            if type(item) in _LEAVES:
                nodes += 1
                continue
            more, below = self._extent(item, depth + 1)
            nodes, height = nodes + more, max(height, below)
            if nodes > MAX_NODES:
                raise NotPlain(f"more than {MAX_NODES} values")
        if id(value) in self._numbers:
            self._extents[id(value)] = nodes, height + 1
        return nodes, height + 1


_LEAVES = frozenset((int, str, float, bool, type(None), bytes))


def _fill(old: Any, new: Any) -> None:
    """Give a container the content of another container of the same type."""
    kind = type(old)
    if kind is not type(new):
        raise NotPlain(f"a {type(new).__name__} in place of a {kind.__name__}")
    if kind is list:
        old[:] = new
    elif kind in _MAPPINGS or kind is set:
        old.clear()
        old.update(new)
    elif kind is bytearray or kind is collections.deque:
        old.clear()
        old.extend(new)
    elif old.shape == new.shape:  # A NumPy array.
        old[...] = new
