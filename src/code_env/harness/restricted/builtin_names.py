"""The builtin names of programs, according to the options of the policy."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from RestrictedPython.Guards import safe_builtins
from RestrictedPython.Limits import limited_builtins
from RestrictedPython.Utilities import utility_builtins

from . import replacements
from .guards import Guards

_ALWAYS = ("None", "True", "False", "Ellipsis", "NotImplemented", "print")

_ORDINARY = (
    *("abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "classmethod", "complex"),
    *("dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "hash", "hex", "id", "input", "int"),
    *("iter", "len", "list", "map", "max", "min", "next", "object", "oct", "ord", "pow", "property", "range", "repr"),
    *("reversed", "round", "set", "slice", "sorted", "staticmethod", "str", "sum", "super", "tuple", "zip"),
    *("StopAsyncIteration", "TimeoutError", "RecursionError", "ModuleNotFoundError", "FileNotFoundError"),
    *("FileExistsError", "PermissionError", "NotADirectoryError", "IsADirectoryError", "InterruptedError"),
    *("ConnectionError", "BrokenPipeError", "ConnectionAbortedError", "ConnectionRefusedError"),
    *("ConnectionResetError", "BlockingIOError", "ChildProcessError", "ProcessLookupError", "EncodingWarning"),
    "ResourceWarning",
)
"""Names that programs commonly use in addition to RestrictedPython's `safe_builtins`; none can break the policy."""

_GUARDED = frozenset(("getattr", "hasattr", "setattr", "delattr", "isinstance", "issubclass", "type"))


class _Limited(type):
    """Makes a class that stands for a builtin type: it limits calls and has the type's instances."""

    _original: type
    _limited: Callable[..., Any]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_limited" not in vars(cls):  # `cls` is derived from the class.
            return super().__call__(*args, **kwargs)
        return cls._limited(*args, **kwargs)

    def __instancecheck__(cls, ob: Any) -> bool:
        return isinstance(ob, cls._original) if "_limited" in vars(cls) else super().__instancecheck__(ob)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls._original) if "_limited" in vars(cls) else super().__subclasscheck__(kind)


def limited_types() -> dict[type, Any]:
    """Return RestrictedPython's limited `range`, `list` and `tuple`, by the type that each stands for."""

    def or_empty(kind: type, limited: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: limited(*args) if args else kind()

    made: dict[type, Any] = {}
    for kind in (list, tuple):
        limited = or_empty(kind, limited_builtins[kind.__name__])
        made[kind] = _Limited(kind.__name__, (kind,), {"_limited": staticmethod(limited), "_original": kind})
    names = {"_limited": staticmethod(limited_builtins["range"]), "_original": range}
    made[range] = _Limited("range", (), names)
    for stand_in in made.values():
        stand_in.__module__ = "builtins"
    return made


def builtin_names(
    guards: Guards, view: Callable[[str], Any], options: dict[str, Any], limited: dict[type, Any]
) -> dict[str, Any]:
    """Return all builtin names, without the guards that only transformed texts call.

    Args:
        guards: The policy's guards.
        view: Returns the view of a module that a program gets.
        options: The options of the policy.
        limited: The result of `limited_types`, or an empty dict.
    """
    names: dict[str, Any] = {name: vars(builtins)[name] for name in _ALWAYS if name in vars(builtins)}
    names["getattr"] = guards.getattr_by_name
    if options["use_safe_builtins"]:
        names.update({name: value for name, value in safe_builtins.items() if not name.startswith("_")})
        names.update({name: vars(builtins)[name] for name in _ORDINARY if name in vars(builtins)})
        for name in _GUARDED - {"type"}:
            names[name] = getattr(guards, "getattr_by_name" if name == "getattr" else name)
        names.update(type=guards.type_function, exit=replacements.leave, quit=replacements.leave)
    if options["use_utility_builtins"]:
        names.update({name: utility_builtins[name] for name in ("same_type", "test", "reorder", "set", "frozenset")})
        names.update({name: view(name) for name in ("string", "math", "random")}, whrandom=view("random"))
    names.update({kind.__name__: stand_in for kind, stand_in in limited.items()})
    return names
