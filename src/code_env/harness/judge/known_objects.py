"""Remembers which objects of one answer the tests have got, so that one object stays one object for the tests.

An object has one handle for each way in which the tests got it, because the way decides what they may do with the
object, see `Origin`. With a single handle, a function could lie by returning an object that the tests have made:
`describe(Node(5)).startswith("Node")` would call a method of the node. Where the tests check whether two values are the
same object, each handle is replaced by the first one of its object.
"""

from __future__ import annotations

from typing import Any

from .handles import Handle, ObjectHandle, Remote, RemoteGenerator, RemoteIterator, handle_class
from .origin import Origin

_ITERATORS = {"it": RemoteIterator, "ge": RemoteGenerator}


class KnownObjects:
    """The handles and iterators of one answer.

    Args:
        remote: The conversation with the program.
        forwards: Whether handles forward operators.
    """

    def __init__(self, remote: Remote, *, forwards: bool) -> None:
        self._remote, self._base = remote, ObjectHandle if forwards else Handle
        self._handles: dict[tuple[str | int, Origin], Handle] = {}
        self._first: dict[str | int, Handle] = {}
        self._iterators: dict[int, RemoteIterator] = {}

    def handle(self, target: str | int, type_name: str, methods: int, origin: Origin) -> Handle:
        """Return the handle of an object that the tests got in this way; for the arguments see `Handle`."""
        key = target, origin
        if key not in self._handles:
            type_name = type_name[:200]
            self._handles[key] = handle_class(self._base, type_name, methods)(self._remote, target, type_name, origin)
        return self._handles[key]

    def iterator(self, tag: str, number: int) -> RemoteIterator:
        """Return the iterator or generator of the program that has this number."""
        if number not in self._iterators:
            self._iterators[number] = _ITERATORS[tag](self._remote, number)
        return self._iterators[number]

    def first(self, value: Any) -> Any:
        """Return the first handle of the same object if `value` is a handle; else `value`."""
        if not isinstance(value, Handle):
            return value
        return self._first.setdefault(value._code_env_target, value)
