"""The operations that handles forward to the program's process, by name; most only with `judge="objects"`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .shapes import class_names


def _copy(value: Any) -> Any:
    import copy  # Here, because few programs need it.

    return copy.copy(value)


_memo: list[Any] = [None, {}]
"""The number of the tests' memo, and what stands for it here."""


def _deepcopy(value: Any, number: int) -> Any:
    """Copy an object of a structure; `number` is the same for all objects that the tests copy at once."""
    import copy

    if _memo[0] != number:
        _memo[:] = number, {}
    return copy.deepcopy(value, _memo[1])


OPERATIONS: dict[str, Callable[..., Any]] = {
    "and": operator.and_,
    "bool": bool,
    "classes": lambda o: class_names(type(o)),
    "classes_of_class": lambda o: class_names(o) if isinstance(o, type) else [],
    "copy": _copy,
    "deepcopy": _deepcopy,
    "delattr": delattr,
    "dir": dir,
    "divmod": divmod,
    "enter": lambda o: type(o).__enter__(o),
    "exit": lambda o, e: type(o).__exit__(o, None if e is None else type(e), e, getattr(e, "__traceback__", None)),
    "float": float,
    "format": format,
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
    "setattr": setattr,
    "str": str,
    **{
        name: getattr(operator, name)
        for name in (
            *("eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem", "setitem", "delitem"),
            *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
            *("lshift", "rshift", "xor", "neg", "pos", "abs", "invert", "index", "iadd", "isub", "imul"),
        )
    },
}
