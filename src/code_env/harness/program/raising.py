"""Describes an exception of the program as data, in the program's process; `exceptions.py` rebuilds it for the tests.

It adds these fields to those of every error report, see `describe_error`::

    {"builtin": "ValueError",       the nearest builtin class       "args": [...] or None, if they are not plain
     "builtins": ["KeyError", ...], all nearest ones, if several
     "classes": ["Mine", ...],      names of its own classes        "attributes": {"code": 5}, those that are plain
     "given": 3,                    number of a class of the tests  "standard": ["json", "JSONDecodeError"]
     "notes": [...], "cause": {...}, "group": [{...}, ...]}
    {"m": 4}                        an exception of the tests itself
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from ..wire.plain import encode
from .borrowing import Borrowed
from .main_module import describe_error

_MOST_BASES = 20
"""The most classes of an exception that are reported."""

_MOST_PARTS = 100
"""The most exceptions of a group, the most attributes and the most notes that are reported."""

_type, _isinstance, _vars, _str, _list = type, isinstance, vars, str, list
_BaseException, _OSError, _Group = BaseException, OSError, BaseExceptionGroup
_builtins, _stdlib = dict(vars(builtins)), sys.stdlib_module_names
_IN_SLOTS = ((ImportError, ("name", "path")), (NameError, ("name",)), (AttributeError, ("name",)))
"""The attributes that builtin classes keep in addition to their arguments."""


def nearest_builtin(kind: type) -> str:
    """Return the name of the nearest builtin class that a class derives from, or of the class if it is builtin."""
    for base in _type.__getattribute__(kind, "__mro__"):
        name: str = _type.__getattribute__(base, "__name__")
        if _builtins.get(name) is base:
            return name
    return "Exception"


def builtin_bases(kind: type) -> list[str]:
    """Return the names of the builtin bases of a class, without those that another one derives from."""
    found: list[type] = []
    for base in _type.__getattribute__(kind, "__mro__"):
        known = _builtins.get(_type.__getattribute__(base, "__name__")) is base
        if known and not any(base in one.__mro__ for one in found):
            found.append(base)
    return [base.__name__ for base in found]


def names_of_bases(kind: type) -> tuple[list[str], list[str]]:
    """Return the names of an exception class's bases, up to the nearest builtin base, and of all its builtin bases."""
    names: list[str] = []
    for base in _type.__getattribute__(kind, "__mro__")[1 : _MOST_BASES + 1]:
        name = _type.__getattribute__(base, "__name__")
        if _builtins.get(name) is base:
            break
        names.append(name)
    return names, builtin_bases(kind)


def report_of(error: Any, borrowed: Borrowed, levels: int = 1) -> dict[str, Any]:
    """Return the report of an exception, and of as many levels of its causes."""
    kind = _type(error)
    report: dict[str, Any] = {**describe_error(error), "builtin": nearest_builtin(kind), "args": None}
    number = borrowed.number_of(error)
    if number is not None:
        return {**report, "m": number}
    # Values that are not plain data are left out, and attributes of the program's own that raise.
    try:  # noqa: SIM105 (this runs in the program's process, which might have replaced what a context manager needs)
        report["args"] = encode(_list(_arguments(error)))
    except _BaseException:
        pass
    try:
        if kind is not _builtins.get(kind.__name__):
            report |= _classes(kind, borrowed)
        attributes = _attributes(error)
        if attributes:
            report["attributes"] = attributes
        notes = getattr(error, "__notes__", None)
        if notes:
            report["notes"] = [note for note in _list(notes)[:_MOST_PARTS] if _type(note) is _str]
        if levels and _isinstance(error, _Group):
            report["group"] = [report_of(part, borrowed, levels) for part in error.exceptions[:_MOST_PARTS]]
            report["args"] = [error.message]
        if levels and error.__cause__ is not None:
            report["cause"] = report_of(error.__cause__, borrowed, levels - 1)
    except _BaseException:
        pass
    return report


def _arguments(error: Any) -> Any:
    # The `args` of an `OSError` do not include the file's name.
    if _isinstance(error, _OSError) and error.filename is not None and len(error.args) == 2:
        more = [] if error.filename2 is None else [None, error.filename2]
        return [*error.args, error.filename, *more]
    return error.args


def _classes(kind: type, borrowed: Borrowed) -> dict[str, Any]:
    """Return the classes as which a test can catch an exception of class `kind`."""
    found: dict[str, Any] = {}
    bases = _type.__getattribute__(kind, "__mro__")[:_MOST_BASES]
    found["classes"] = [_type.__getattribute__(base, "__name__") for base in bases]
    builtin = builtin_bases(kind)
    if len(builtin) > 1:
        found["builtins"] = builtin
    for base in bases:
        number = borrowed.number_of(base)
        if number is not None:
            return {**found, "given": number}
        module, name = base.__module__, _type.__getattribute__(base, "__name__")
        if _builtins.get(name) is base:
            break
        if _type(module) is _str and module.partition(".")[0] in _stdlib:
            return {**found, "standard": [module, name]}
    return found


def _attributes(error: BaseException) -> dict[str, Any]:
    found: dict[str, Any] = dict(_vars(error))
    for kind, names in _IN_SLOTS:
        if _isinstance(error, kind):
            found |= {name: value for name in names if (value := getattr(error, name, None)) is not None}
    attributes = {}
    for name, value in _list(found.items())[:_MOST_PARTS]:
        try:
            if _type(name) is _str and name != "__notes__":
                attributes[name] = encode(value)
        except _BaseException:
            continue
    return attributes
