"""Has changes that tests make to a container within an object of the program made in the program.

What the tests read from an object is a copy, so a change to it would be lost::

    cart.items["a"] = 1          @cases.part(cart, "items")["a"] = 1
    graph.edges[0].append(2)     @cases.part(graph, "edges", 0).append(2)

If `cart` is an object of the program and the attribute is plain data, `part` gives a `Part`. It asks the program to
read the attribute and to change what it finds, as the statement does in plain Python.
"""

from __future__ import annotations

import ast
from typing import Any

from .handles import Handle, check_change
from .nodes import Nodes, place_of

_CHANGING = frozenset(
    (
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem"),
        *("add", "discard", "appendleft", "extendleft", "popleft", "rotate", "subtract", "move_to_end", "fill"),
        *("intersection_update", "difference_update", "symmetric_difference_update"),
    )
)
"""Methods that change a container."""

_TAKING = ("pop", "popitem", "popleft")
"""Methods that put nothing into the container, so they may be called for any object."""

_GIVING = (*_TAKING, "setdefault")
"""Methods whose result is taken from the copy, because the program sees the arguments."""

_LOAD = ast.Load()


def change_parts(nodes: Nodes, recorder: str) -> None:
    """Rewrite what changes an item of an attribute, or calls a method that changes an attribute.

    Args:
        nodes: The nodes of a tree.
        recorder: The name under which the namespace holds the `Cases`.
    """
    for node in nodes.of(ast.Subscript):
        if not isinstance(node.ctx, ast.Load):
            node.value = _part(node.value, recorder)
    for call in nodes.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _CHANGING:
            call.func.value = _part(call.func.value, recorder)


def _part(node: ast.expr, recorder: str) -> ast.expr:
    """Return the expression that gives a part of an object; the same node if it is no part."""
    at, keys = place_of(node), list[ast.expr]()
    inner = node
    while isinstance(inner, ast.Subscript) and not isinstance(inner.slice, ast.Slice):
        keys.insert(0, inner.slice)
        inner = inner.value
    if not isinstance(inner, ast.Attribute) or inner.attr[:2] == "__":  # A class could change that name.
        return node
    function = ast.Attribute(ast.Name(recorder, _LOAD, **at), "part", _LOAD, **at)
    return ast.Call(function, [inner.value, ast.Constant(inner.attr, **at), *keys], [], **at)


def part(owner: Any, name: str, *keys: Any) -> Any:
    """Return `owner.name[key]...`; if that is a container within an object of the program, what changes it there."""
    value = getattr(owner, name)
    for key in keys:
        value = value[key]
    kind = type(value)
    if issubclass(type(owner), Handle) and not issubclass(kind, Handle) and _can_change(kind):
        return Part(owner, [name, *keys], value)
    return value


def _can_change(kind: type) -> bool:
    return hasattr(kind, "__setitem__") or hasattr(kind, "clear")


class Part:
    """A container within an object of the program.

    Args:
        owner: The object.
        path: The name of the attribute, and the keys that lead from there to the container.
        value: The copy of it that was read.
    """

    def __init__(self, owner: Handle, path: list[Any], value: Any) -> None:
        self._owner, self._path, self._value = owner, path, value

    def __getattr__(self, name: str) -> Any:
        getattr(self._value, name)  # If there is no such method, this says so.
        return lambda *args, **kwargs: self._change(name, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._value[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._change("__setitem__", (key, value), {})

    def __delitem__(self, key: Any) -> None:
        self._change("__delitem__", (key,), {})

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name not in _TAKING:
            check_change(self._owner, f"changing {self._path[0]!r} of")
        if kwargs and name == "update":
            args = ({**dict(*args), **kwargs},)
        elif kwargs:  # `sort` has such arguments.
            getattr(self._value, name)(*args, **kwargs)
            name, args = "__setitem__", (slice(None), self._value)
        result = getattr(self._value, name)(*args) if name in _GIVING else None
        if name == "pop" and isinstance(self._value, set):  # Each process has an order of its own.
            name, args = "discard", (result,)
        self._owner._code_env_remote.operate("change", (self._owner, self._path, name, *args))
        return result
