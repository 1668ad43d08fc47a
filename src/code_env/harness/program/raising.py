"""Describes an exception of the program as data, in the program's process; `exceptions.py` rebuilds it for the tests.

It adds these fields to those of every error report, see `describe_error`::

    {"builtin": "ValueError",       the nearest builtin class       "args": [...] or None, if they are not plain
     "builtins": ["KeyError", ...], all nearest ones, if several
     "classes": ["Mine", ...],      names of its own classes        "attributes": {"code": 5}, those that are plain
     "operators": ["eq", ...],      special methods of its own classes
     "given": 3,                    number of a class of the tests  "library": [["json", "JSONDecodeError"], ...]
     "object": {"h": [...]},        the exception itself, if it can do more than the fields above tell
     "objects": {"at": {...}, ...}, attributes of an exception of a builtin class that are objects
     "notes": [...], "cause": {...}, "context": {...} or "cause", "suppress": true, "group": [{...}, ...]}
    {"m": 4, "cause": {...}}        an exception of the tests itself; [4, {...}] if the program set attributes of it
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from ..wire.plain import Encoder, NotPlain, encode
from ..wire.shapes import BASIC, SPECIAL
from .borrowing import Borrowed
from .main_module import describe_error

_MOST_BASES = 20
"""The most classes of an exception that are reported."""

_MOST_PARTS = 100
"""The most exceptions of a group, the most attributes and the most notes that are reported."""

_type, _isinstance, _vars, _str, _list = type, isinstance, vars, str, list
_issubclass = issubclass
_BaseException, _OSError, _Group = BaseException, OSError, BaseExceptionGroup
_builtins = dict(vars(builtins))
_module_of, _qualname_of = (_type.__dict__[f"__{name}__"].__get__ for name in ("module", "qualname"))
_names_in, _Slot = _type.__dict__["__dict__"].__get__, types.MemberDescriptorType
_MEMBERS = (types.FunctionType, property, classmethod, staticmethod)
_OPERATORS = {f"__{name}__": name for name in (*SPECIAL, *BASIC) if name != "str"}
"""The special methods that are reported. The text that a class shows is a part of the report already."""
_LEVELS = 3
"""How far the causes and contexts of an exception are reported."""

_IN_SLOTS = (
    (ImportError, ("name", "path")),
    (NameError, ("name",)),
    (AttributeError, ("name",)),
    (SyntaxError, ("msg", "filename", "lineno", "offset", "text", "end_lineno", "end_offset")),
)
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


def names_of_bases(kind: type) -> tuple[list[str], list[str], list[str]]:
    """Return the names of an exception class's bases that are not builtin, of its builtin bases, and of its operators.

    For the last ones, see `_operators`.
    """
    own = _own_classes(kind)
    names = [_type.__getattribute__(base, "__name__") for base in own if base is not kind]
    return names, builtin_bases(kind), _operators(own)


def _operators(own: list[type]) -> list[str]:
    """Return the names of the special methods that these classes define, as in `SPECIAL` and `BASIC`."""
    found: dict[str, Any] = {}
    for base in own:
        for name, value in _names_in(base).items():
            if name in _OPERATORS:
                found.setdefault(_OPERATORS[name], value)
    return [name for name, value in found.items() if value is not None]


def _own_classes(kind: type) -> list[type]:
    """Return a class and those that it derives from, without builtin ones."""
    bases = _type.__getattribute__(kind, "__mro__")[:_MOST_BASES]
    return [base for base in bases if _builtins.get(_type.__getattribute__(base, "__name__")) is not base]


Keep = Callable[[object, str], Any]
"""Returns the form of an object that stays here; the text names the object in messages."""


def report_of(error: Any, borrowed: Borrowed, keep: Keep, levels: int = _LEVELS) -> dict[str, Any]:
    """Return the report of an exception, and of as many levels of its causes and contexts."""
    kind = _type(error)
    report: dict[str, Any] = {**describe_error(error), "builtin": nearest_builtin(kind), "args": None}
    number = borrowed.number_of(error)
    if number is not None:
        led_to = _led_to(error, borrowed, keep, levels - 1) if levels and error.__cause__ is not None else {}
        led_to.pop("context", None)  # It is often only what the program was handling.
        changed = borrowed.changed(error)
        return {**report, **led_to, "m": [number, changed] if changed else number}
    # Values that are not plain data are left out, and attributes of the program's own that raise.
    try:  # noqa: SIM105 (this runs in the program's process, which might have replaced what a context manager needs)
        report["args"] = encode(_list(_arguments(error)))
    except _BaseException:
        pass
    try:
        own = _own_classes(kind)
        if own:
            report |= _classes(kind, own, borrowed)
        attributes, is_all = _attributes(error, own)
        if attributes:
            report["attributes"] = attributes
        notes = getattr(error, "__notes__", None)
        if notes:
            report["notes"] = [note for note in _list(notes)[:_MOST_PARTS] if _type(note) is _str]
        if levels and _isinstance(error, _Group):
            report["group"] = [report_of(part, borrowed, keep, levels) for part in error.exceptions[:_MOST_PARTS]]
            report["args"] = [error.message]
        if levels:
            report |= _led_to(error, borrowed, keep, levels - 1)
        if own and (not is_all or "operators" in report):
            report["object"] = keep(error, kind.__name__)
            _let_frames_go(error)
        elif not own and not is_all:
            report["objects"] = _objects(error, keep)
    except _BaseException:
        pass
    return report


def _led_to(error: BaseException, borrowed: Borrowed, keep: Keep, levels: int) -> dict[str, Any]:
    """Return the reports of the exceptions that led to an exception."""
    found: dict[str, Any] = {"suppress": True} if error.__suppress_context__ else {}
    if error.__cause__ is not None:
        found["cause"] = report_of(error.__cause__, borrowed, keep, levels)
    if error.__context__ is not None:
        same = error.__context__ is error.__cause__
        found["context"] = "cause" if same else report_of(error.__context__, borrowed, keep, levels)
    return found


def _let_frames_go(error: BaseException) -> None:
    """Release the frames of an exception that is kept. They would keep the variables of the program's functions."""
    chained: BaseException | None = error
    for _ in range(_MOST_PARTS):
        if chained is None:
            break
        chained.__traceback__ = None
        chained = chained.__cause__ or chained.__context__


def _arguments(error: Any) -> Any:
    # The `args` of an `OSError` do not include the file's name.
    if _isinstance(error, _OSError) and error.filename is not None and len(error.args) == 2:
        more = [] if error.filename2 is None else [None, error.filename2]
        return [*error.args, error.filename, *more]
    return error.args


def _classes(kind: type, own: list[type], borrowed: Borrowed) -> dict[str, Any]:
    """Return the classes as which a test can catch an exception of class `kind`."""
    bases = _type.__getattribute__(kind, "__mro__")[:_MOST_BASES]
    found: dict[str, Any] = {"classes": [_type.__getattribute__(base, "__name__") for base in bases]}
    builtin, operators = builtin_bases(kind), _operators(own)
    if len(builtin) > 1:
        found["builtins"] = builtin
    if operators:
        found["operators"] = operators
    for base in own:
        number = borrowed.number_of(base)
        if number is not None:
            return {**found, "given": number}
    named = [[_module_of(base), _qualname_of(base)] for base in own]
    library = [one for one in named if _type(one[0]) is _str and one[0] not in ("solution", "__main__")]
    return {**found, "library": library} if library else found


def _objects(error: BaseException, keep: Keep) -> dict[str, Any]:
    """Return the attributes of an exception of a builtin class that are no plain data."""
    found = {}
    for name, value in _list(_vars(error).items())[:_MOST_PARTS]:
        if _type(name) is _str and name != "__notes__" and value is not error:
            try:
                encode(value)
            except NotPlain:
                found[name] = Encoder(keep).encode(value)
    return found


def _attributes(error: BaseException, own: list[type]) -> tuple[dict[str, Any], bool]:
    """Return the attributes of an exception and its classes that are plain data, and whether there are no others."""
    found: dict[str, Any] = dict(_vars(error))
    for kind, names in _IN_SLOTS:
        if _isinstance(error, kind):
            found |= {name: value for name in names if (value := getattr(error, name, None)) is not None}
    for base in own:
        for name, value in _names_in(base).items():
            if name[:1] != "_" or name == "__getattr__":
                found.setdefault(name, value)
    attributes, is_all = {}, all(_issubclass(base, _BaseException) for base in own)
    for name, value in _list(found.items())[:_MOST_PARTS]:
        try:
            if _type(value) in _MEMBERS:
                is_all = False
            elif _type(name) is _str and name != "__notes__":
                attributes[name] = encode(getattr(error, name) if _type(value) is _Slot else value)
        except _BaseException:
            is_all = False
    return attributes, is_all
