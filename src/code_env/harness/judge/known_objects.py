"""Remembers which objects of one answer the tests have got, so that one object stays one object for the tests.

An object has one handle for each way in which the tests got it, because the way decides what they may do with the
object, see `Origin`. With a single handle, a function could lie by returning an object that the tests have made:
`describe(Node(5)).startswith("Node")` would call a method of the node. Where the tests check whether two values are the
same object, each handle is replaced by the first one of its object.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ..wire.plain import NotPlain
from .handles import Handle, ObjectHandle, Remote, RemoteGenerator, RemoteIterator, handle_class, remote_coroutine
from .origin import Origin

_ITERATORS = {"it": RemoteIterator, "ge": RemoteGenerator}
_KINDS = {"it": "iterator", "ge": "iterator", "co": "coroutine"}


def refuse_object(tag: str, body: Any) -> object:
    """Refuse the form of an object of the program, where only plain data is allowed.

    Raises:
        NotPlain: Always.
    """
    kind = body[1] if isinstance(body, list) and len(body) >= 3 else _KINDS.get(tag, "object")
    raise NotPlain(f"the program's {str(kind)[:200]}")


class KnownObjects:
    """The handles and iterators of one answer.

    Args:
        remote: The conversation with the program.
        forwards: Whether handles forward operators.
    """

    def __init__(self, remote: Remote, *, forwards: bool) -> None:
        self._remote, self._base = remote, ObjectHandle if forwards else Handle
        self._handles: dict[tuple[str | int, Origin], Handle] = {}
        self._first: dict[str | int, Any] = {}
        self._iterators: dict[int, RemoteIterator] = {}

    def found(self, tag: str, body: Any, named: Container[str], origin: Origin) -> Any:
        """Return what stands for an object of the program, given its form.

        Args:
            tag: The tag of the form.
            body: The rest of it.
            named: The callables that the tests have named.
            origin: How the tests got the object.

        Raises:
            NotPlain: If there is no such form.
        """
        if tag in _KINDS and type(body) is int and body >= 0:
            return remote_coroutine(self._remote, body) if tag == "co" else self._iterator(tag, body)
        if tag != "h" or not isinstance(body, list) or list(map(type, body[1:])) != [str, int]:
            raise NotPlain("a malformed handle")
        target, type_name, methods = body
        if type(target) is not int and not (type(target) is str and target in named):
            raise NotPlain("a handle of what the tests have not named")
        return self._handle(target, type_name, methods, origin)

    def _handle(self, target: str | int, type_name: str, methods: int, origin: Origin) -> Handle:
        key = target, origin
        if key not in self._handles:
            type_name = type_name[:200]
            self._handles[key] = handle_class(self._base, type_name, methods)(self._remote, target, type_name, origin)
        return self._handles[key]

    def _iterator(self, tag: str, number: int) -> RemoteIterator:
        if number not in self._iterators:
            self._iterators[number] = _ITERATORS[tag](self._remote, number)
        return self._iterators[number]

    def first(self, value: Any) -> Any:
        """Return what the tests have got first for the same object if `value` is a handle; else `value`.

        For a class of the program's exceptions it can also be the class with which the tests catch them.
        """
        is_own_exception = issubclass(type(value), type) and "_code_env_make" in vars(value)
        if not is_own_exception and not isinstance(value, Handle):
            return value
        return self._first.setdefault(value._code_env_target, value)
