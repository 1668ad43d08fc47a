"""The special methods of an object's class, which Python's operators and `isinstance` look for.

A handle of the object has the same special methods and no others. So `isinstance(x, Iterable)` or
`hasattr(x, "__len__")` gives the same result for the handle as for the object.
"""

from __future__ import annotations

import sys
from typing import Any

ARITHMETIC = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow")
REFLECTED = (*ARITHMETIC, "and", "or", "xor")
"""Operators that have a reflected form: for example, `__radd__` is the reflected form of `add`."""

SPECIAL = (
    *("call", "hash", "len", "iter", "next", "reversed", "contains", "getitem", "setitem", "delitem"),
    *ARITHMETIC,
    *("lshift", "rshift", "and", "or", "xor", "neg", "pos", "abs", "invert"),
    *(f"r{name}" for name in REFLECTED),
    *(f"i{name}" for name in REFLECTED),
    *("int", "float", "complex", "index", "round", "trunc", "floor", "ceil", "bytes", "fspath"),
    *("enter", "exit", "await", "aiter", "anext", "aenter", "aexit"),
    *("ilshift", "irshift"),
    *("get", "set", "delete", "set_name"),
    "bool",  # An object whose class has neither this nor `len` is true.
)
"""The special methods that not every object has, without their underscores."""

BASIC = ("eq", "ne", "lt", "le", "gt", "ge", "str", "repr", "format")
"""Special methods that every object has."""

_NAMES = {f"__{name}__": 1 << bit for bit, name in enumerate(SPECIAL)}

_type, _names_in, _bases_of = type, type.__dict__["__dict__"].__get__, type.__dict__["__mro__"].__get__


def special_methods(value: object) -> int:
    """Return the special methods of a value's class, a bit for each of `SPECIAL`; the class cannot influence this."""
    found = seen = 0
    for base in _bases_of(_type(value)):
        names = _names_in(base)
        for name, bit in _NAMES.items():
            if name in names and not seen & bit:
                seen |= bit
                # `__hash__ = None` means that the class has no `__hash__`.
                found |= bit if names[name] is not None else 0
    return found


def class_methods(value: object) -> int | None:
    """Return what can be done with a class itself, as `special_methods` does; None if it can only be called.

    >>> class_methods(int), names_of(class_methods(list))
    (None, ['call', 'hash', 'getitem', 'or', 'ror'])
    """
    if not issubclass(_type(value), _type):
        return None
    items = any("__class_getitem__" in _names_in(base) for base in _bases_of(value))
    if _type(value) is _type and not items:
        return None
    return special_methods(value) | (_NAMES["__getitem__"] if items else 0)


def names_of(methods: int) -> list[str]:
    """Return the names that the bits represent.

    >>> names_of(special_methods(len))
    ['call', 'hash']
    """
    return [name for bit, name in enumerate(SPECIAL) if methods >> bit & 1]


_module_of, _qualname_of = (type.__dict__[f"__{name}__"].__get__ for name in ("module", "qualname"))

_WITH_ABSTRACT_CLASSES = ("collections.abc", "numbers", "io", "os")
"""Modules for whose abstract classes a program may register its own."""


def class_named(module: str, name: str) -> Any:
    """Return what a loaded module has under a name, for example `re` under `Match`; None if there is nothing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found


def class_names(kind: type) -> list[list[str]]:
    """Return module and name of each class that a class derives from or is registered for, itself first.

    Classes that are not found under their names are left out.
    """
    found = [base for base in _bases_of(kind) if base is not object]
    for name in _WITH_ABSTRACT_CLASSES:
        for other in vars(sys.modules.get(name, object)).values():
            if isinstance(other, type) and hasattr(other, "_abc_impl") and other not in found:
                found += [other] if issubclass(kind, other) else []
    names = [(base, str(_module_of(base)), str(_qualname_of(base))) for base in found]
    return [[module, name] for base, module, name in names if class_named(module, name) is base]
