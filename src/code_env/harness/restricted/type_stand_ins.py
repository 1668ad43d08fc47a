"""Objects that programs have in place of types: `type`, `abc.ABCMeta`, and the classes that class patterns name."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .refusals import ForbiddenValue

if TYPE_CHECKING:
    from .guards import Guards

_isinstance = isinstance


class AbstractMeta:
    """Stands for `abc.ABCMeta` in programs, which can use it only as a metaclass."""

    __slots__ = ("_refuse",)

    def __init__(self, refuse: Callable[[type[Exception], str], Any]) -> None:
        self._refuse = refuse

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse the call."""
        return self._refuse(ForbiddenValue, "abc.ABCMeta is a metaclass here, for class statements only")


class TypeFunction:
    """Stands for `type` in programs: a function of one argument."""

    __slots__ = ("_refuse", "_type_of")
    __name__ = "type"

    def __init__(self, type_of: Callable[[Any], Any], refuse: Callable[[type[Exception], str], Any]) -> None:
        self._type_of, self._refuse = type_of, refuse

    def __call__(self, ob: Any, /, *more: Any) -> Any:
        """Return the type of an object."""
        if more:
            rule = "type() takes one argument here: classes are made by class statements"
            self._refuse(ForbiddenValue, rule)
        return self._type_of(ob)

    # An alias of `typing.Type`, because an alias of `type` itself could be called with three arguments.
    def __getitem__(self, item: Any) -> Any:
        return typing.Type[item]  # noqa: UP006

    def __or__(self, other: Any) -> Any:
        return typing.Union[typing.Type, other]  # noqa: UP006, UP007

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, typing.Type]  # noqa: UP006, UP007

    def __repr__(self) -> str:
        return "<class 'type'>"

    def __copy__(self) -> TypeFunction:
        return self

    def __deepcopy__(self, memo: object) -> TypeFunction:
        return self


class Patterns:
    """The values that the patterns of one `match` statement name; each value is an attribute."""

    __slots__ = ("_thunks",)

    def __init__(self, thunks: tuple[Callable[[], Any], ...]) -> None:
        self._thunks = thunks

    def __getattr__(self, name: str) -> Any:
        return self._thunks[int(name[1:])]()


class PatternMeta(type):
    """Makes a class that stands for another class in a pattern."""

    real: Any
    names: tuple[str, ...]
    guards: Guards

    def __instancecheck__(cls, ob: Any) -> bool:
        if not _isinstance(ob, cls.real):
            return False
        cls.guards.look_at(ob, cls.names)
        return True
