"""The tables of the rules: names of attributes and methods that a program may or may not use."""

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
"""Attributes of frames, tracebacks, code and generators.

Each leads to the names of a frame, or to an object that does.
"""

DECIDED_LATER = frozenset(
    (
        *("format", "format_map", "mro", "register", "obj", "func", "keywords", "fget", "fset", "fdel"),
        *("default_factory", "buffer", "raw", "ctypes", "gen"),
    )
)
"""Attributes that only some objects may give; a guard decides at run time."""

NAMED_TUPLES = frozenset(("_replace", "_asdict", "_fields", "_make", "_field_defaults"))
"""Public attributes of named tuples that begin with an underscore; programs may read them only of named tuples."""

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
"""Special methods that a program may call by name, because it could do the same with an operator."""

DEFINABLE_SPECIAL = READABLE_SPECIAL | {"__copy__", "__deepcopy__"}
"""Special methods that a class may define. None of them decides what an attribute gives or how an object is made."""

MODULE_INFORMATION = frozenset(
    f"__{name}__" for name in ("all", "author", "copyright", "credits", "date", "email", "license", "version")
)
"""Variables that describe a module. They have no effect on the interpreter that matters here."""

UNAVAILABLE_BUILTINS = frozenset(
    (
        *("__import__", "breakpoint", "compile", "copyright", "credits", "dir", "eval", "exec", "globals"),
        *("help", "license", "locals", "memoryview", "open", "vars", "aiter", "anext"),
    )
)
"""Builtin functions that the transformer refuses by name, unless the program defines or is given the name."""


def why_not_attribute(name: str) -> str | None:
    """Return why no program may use an attribute of this name; None if programs may use it."""
    if name.startswith("_"):
        return f'"{name}" is an invalid attribute name because it starts with "_"'
    if name.endswith("__roles__"):
        return f'"{name}" is an invalid attribute name because it ends with "__roles__"'
    if name in INSPECTION:
        return f'"{name}" is a restricted name, that is forbidden to access in RestrictedPython'
    return None
