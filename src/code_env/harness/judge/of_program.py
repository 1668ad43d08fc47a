"""What exceptions of the program's classes, and these classes, ask the program for.

The classes are made in `exceptions.py`. Which objects belong to such a class, what its attributes are and what its
operators do is known to the program only. It is asked through the handle of its exception or of its class, so the rules
for handles decide which of this a test may use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..wire.shapes import BASIC, SPECIAL
from .handing import ATTRIBUTES, KEPT, TEXT
from .handles import Handle, HandleMisuse, shown


class KindOfProgram(type):
    """The class of the classes that are made here. The program knows which objects that it keeps belong to them.

    An exception that is a value, such as what a function returns, is the handle of an object. `except` asks nothing.
    """

    def __instancecheck__(cls, value: object) -> bool:
        if issubclass(type(value), Handle):
            return cls._says("isinstance", value)
        return super().__instancecheck__(value)

    def __subclasscheck__(cls, kind: Any) -> bool:
        if issubclass(type(kind), Handle):
            return cls._says("issubclass", kind)
        if cls._stands_for_one() and type.__subclasscheck__(Handle, kind):
            why = "its objects belong to several classes"
            raise HandleMisuse(f'issubclass with the class of a handle: {why}; judge="shared" allows it')
        return super().__subclasscheck__(kind)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or not any("_code_env_builtin" in vars(base) for base in cls.__mro__):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return getattr(cls._handle_for(name), name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith("_") or not cls._stands_for_one():
            super().__setattr__(name, value)
        else:
            setattr(cls._handle_for(name), name, value)

    def __delattr__(cls, name: str) -> None:
        if name.startswith("_") or not cls._stands_for_one():
            super().__delattr__(name)
        else:
            delattr(cls._handle_for(name), name)

    def _handle_for(cls, name: str) -> Handle:
        cls._check_named(f"the attribute {name!r} of a class")
        handle: Handle = cls._code_env_class
        return handle

    def _check_named(cls, what: str) -> None:
        if cls._stands_for_one() and "_code_env_make" not in vars(cls):
            why = f"the tests do not name the program's {cls.__name__}"
            raise HandleMisuse(f'{what}: {why}; judge="shared" allows it')

    def _stands_for_one(cls) -> bool:
        """Whether the class represents one of the program, and is no class of the tests that derives from such one."""
        return not {"_code_env_make", "_code_env_builtin"}.isdisjoint(vars(cls))

    def _says(cls, name: str, value: Any) -> bool:
        if not cls._stands_for_one():  # The base of them all, or a class of the tests.
            return False
        cls._check_named(f"{name} of {shown(value)}")
        return value._code_env_remote.operate(name, (value, cls)) is True


class OfProgram(Exception, metaclass=KindOfProgram):
    """An exception of a class of the program. It reads from the program's exception what is not here."""

    _code_env_class: Handle
    """The handle of the program's class, in classes that the tests name."""

    def __str__(self) -> str:
        text = vars(self).get(TEXT)
        return super().__str__() if text is None else str(text)

    def __getattr__(self, name: str) -> Any:
        attributes, kept = (vars(self).get(one) for one in (ATTRIBUTES, KEPT))
        if attributes and name in attributes:
            return attributes[name]
        if kept is None or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(kept, name)


_OPERATORS = frozenset((*SPECIAL, *BASIC)) - {"str"}


def known_operators(names: Any) -> tuple[str, ...]:
    """Return those of the names, which the program has sent, that are names of special methods."""
    found = [name for name in names if isinstance(name, str)] if isinstance(names, list) else ()
    return tuple(sorted(_OPERATORS.intersection(found)))


def methods(operators: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """Return special methods that do what the handle of the program's exception does."""
    return {f"__{name}__": _method(name) for name in operators}


@functools.cache
def _method(name: str) -> Callable[..., Any]:
    def method(self: OfProgram, *args: Any) -> Any:
        kept = vars(self).get(KEPT)
        of_kept = getattr(type(kept), f"__{name}__", None)
        if kept is None or of_kept is None:
            raise HandleMisuse(f'{name} on the program\'s {type(self).__name__}; judge="shared" allows it')
        return of_kept(kept, *map(_kept_of, args))

    return method


def _kept_of(value: Any) -> Any:
    """Return the handle of the program's exception that an exception represents, if there is one; else the value."""
    kept = vars(value).get(KEPT) if isinstance(value, OfProgram) else None
    return value if kept is None else kept
