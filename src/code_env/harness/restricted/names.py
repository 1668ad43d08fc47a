"""Which names of attributes and methods a program may use: the tables of the rules."""

from __future__ import annotations

import types

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

_INSPECTED = (
    types.FrameType,
    types.TracebackType,
    types.CodeType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)

INSPECTION = INSPECT_ATTRIBUTES | {
    name
    for kind in _INSPECTED
    for name in dir(kind)
    if name.partition("_")[0] in ("f", "tb", "co", "gi", "cr", "ag") and not name.startswith("_")
}
"""Attributes of frames, tracebacks, code and generators: each leads to the names of a frame, or to the next thing that
does."""

DECIDED_LATER = frozenset(
    (
        *("format", "format_map", "mro", "register", "obj", "func", "keywords", "fget", "fset", "fdel"),
        *("default_factory", "buffer", "raw", "ctypes", "gen"),
    )
)
"""Attributes that depend on whose they are: a guard decides when the program runs."""

NAMED_TUPLES = frozenset(("_replace", "_asdict", "_fields", "_make", "_field_defaults"))
"""What named tuples have for everybody, though their names begin with an underscore; of these alone it may be read."""

READABLE_SPECIAL = frozenset(
    f"__{name}__"
    for name in (
        *("init", "repr", "str", "bytes", "format", "hash", "bool", "len", "length_hint", "call", "post_init"),
        *("eq", "ne", "lt", "le", "gt", "ge", "contains", "iter", "next", "reversed", "getitem", "setitem", "delitem"),
        *("missing", "enter", "exit", "int", "float", "complex", "index", "round", "trunc", "floor", "ceil"),
        *("neg", "pos", "abs", "invert", "divmod", "rdivmod"),
        *(
            f"{side}{name}"
            for name in (
                *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"),
                *("and", "or", "xor"),
            )
            for side in ("", "r", "i")
        ),
    )
)
"""Special methods that a program may call by name: what they do, it could do by an operator."""

DEFINABLE_SPECIAL = READABLE_SPECIAL | {"__copy__", "__deepcopy__"}
"""Special methods that a class may have. None of them decides what an attribute is, or how an object comes about."""

MODULE_INFORMATION = frozenset(
    f"__{name}__" for name in ("all", "author", "copyright", "credits", "date", "email", "license", "version")
)
"""Variables of a module that say something of it, and to the interpreter nothing that matters here."""

UNAVAILABLE_BUILTINS = frozenset(
    (
        *("__import__", "breakpoint", "compile", "copyright", "credits", "dir", "eval", "exec", "globals"),
        *("help", "license", "locals", "memoryview", "open", "vars", "aiter", "anext"),
    )
)
"""Functions of Python that are refused as soon as a text names them, where it does not define them itself."""


def why_not_attribute(name: str) -> str | None:
    """Why no program may use an attribute of this name; None if it may."""
    if name.startswith("_"):
        return f'"{name}" is an invalid attribute name because it starts with "_"'
    if name.endswith("__roles__"):
        return f'"{name}" is an invalid attribute name because it ends with "__roles__"'
    if name in INSPECTION:
        return f'"{name}" is a restricted name, that is forbidden to access in RestrictedPython'
    return None
