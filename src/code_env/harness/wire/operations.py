"""The operations that handles forward to the program's process, by name; most only with `judge="objects"`."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable
from typing import Any

from .shapes import class_names
from .subclasses import content_for


def _copy(value: Any) -> Any:
    import copy  # Here, because few programs need it.

    return copy.copy(value)


def _change(value: Any, path: list[Any], method: str, *args: Any) -> Any:
    """Change a container that is an attribute of an object, or lies in one; `path` has the name, then the keys."""
    name, *keys = path
    container = getattr(value, name)
    for key in keys:
        container = container[key]
    return getattr(container, method)(*args)


_memo: list[Any] = [None, {}]
"""The number of a memo of the tests' `deepcopy`, and the memo that is used for it here."""


def _deepcopy(value: Any, number: int) -> Any:
    """Copy an object of a structure; `number` is the same for all objects that the tests copy at once."""
    import copy

    if _memo[0] != number:
        _memo[:] = number, {}
    return copy.deepcopy(value, _memo[1])


async def _awaited(value: Any) -> Any:
    return await value


async def _next_of(value: Any) -> tuple[bool, Any]:
    """Return whether there is a next value, and the value: the exception that ends the loop would not cross as such."""
    try:
        return True, await type(value).__anext__(value)
    except StopAsyncIteration:
        return False, None


def _exit(value: Any, name: str, error: Any) -> Any:
    trace = getattr(error, "__traceback__", None)
    return getattr(type(value), name)(value, None if error is None else type(error), error, trace)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "aenter": lambda o: _awaited(type(o).__aenter__(o)),
    "aexit": lambda o, e: _awaited(_exit(o, "__aexit__", e)),
    "aiter": lambda o: type(o).__aiter__(o),
    "and": operator.and_,
    "anext": lambda o: _next_of(o),
    "bind": lambda o, i: type(o).__get__(o, i, None),
    "bool": bool,
    "bytes": bytes,
    "ceil": math.ceil,
    "change": _change,
    "classes": lambda o: class_names(type(o)),
    "classes_of_class": lambda o: class_names(o) if isinstance(o, type) else [],
    "complex": complex,
    "content": content_for,
    "copy": _copy,
    "deepcopy": _deepcopy,
    "delattr": delattr,
    "dir": dir,
    "divmod": divmod,
    "enter": lambda o: type(o).__enter__(o),
    "exit": lambda o, e: _exit(o, "__exit__", e),
    "float": float,
    "floor": math.floor,
    "format": format,
    "fspath": os.fspath,
    "hash": hash,
    "int": int,
    "isinstance": isinstance,
    "issubclass": issubclass,
    "iter": iter,
    "len": len,
    "next": next,
    "or": operator.or_,
    "repr": repr,
    "reversed": reversed,
    "round": round,
    "set_name": lambda o, owner, name: type(o).__set_name__(o, owner, name),
    "setattr": setattr,
    "str": str,
    "trunc": math.trunc,
    "type": type,
    **{
        name: getattr(operator, name)
        for name in (
            *("eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem", "setitem", "delitem"),
            *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
            *("lshift", "rshift", "xor", "neg", "pos", "abs", "invert", "index", "iadd", "isub", "imul"),
            *("itruediv", "ifloordiv", "imod", "ipow", "imatmul", "ilshift", "irshift", "iand", "ior", "ixor"),
        )
    },
}
