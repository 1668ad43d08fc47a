"""The operations that handles forward to the program's process, by name; most only with `judge="objects"`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

OPERATIONS: dict[str, Callable[..., Any]] = {
    "and": operator.and_,
    "bool": bool,
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
