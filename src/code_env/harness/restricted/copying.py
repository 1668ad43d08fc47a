"""`copy` for programs: it copies an object by the object's type, and never calls `__reduce_ex__`.

The library's `copy` calls `__reduce_ex__` of an object. The result can name any state, which the library then sets on
any object. So this module copies containers, objects of the program's own classes and some types of the library, each
in its own way, and refuses all other objects. A class of the program can still define how its objects are copied, with
`__copy__` and `__deepcopy__`.
"""

from __future__ import annotations

import array
import collections
import copy
import datetime
import decimal
import enum
import fractions
import random
import re
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .refusals import ForbiddenValue

if TYPE_CHECKING:
    from .guards import Guards

_UNCHANGEABLE = frozenset(
    (
        *(type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes, range, slice),
        *(
            types.FunctionType,
            types.BuiltinFunctionType,
            types.MethodType,
            types.GenericAlias,
            types.UnionType,
            re.Pattern,
            re.Match,
        ),
        *(decimal.Decimal, fractions.Fraction, datetime.date, datetime.time, datetime.datetime),
        *(datetime.timedelta, datetime.timezone),
    )
)
"""Types for which the copy of an object is the object itself."""

_BY_THE_LIBRARY = frozenset((random.Random, array.array, decimal.Context))
"""Types that the library's `deepcopy` copies, because their objects hold only plain data."""

_VALUES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__complex__),
    (bytes, lambda ob: bytes.__getitem__(ob, slice(None))),
)
"""Types that a class can be derived from, each with a function that returns the value of an object of that class."""

_DEFAULT_FACTORY, _LONGEST, _ARGS = (
    vars(kind)[name]
    for kind, name in (
        (collections.defaultdict, "default_factory"),
        (collections.deque, "maxlen"),
        (BaseException, "args"),
    )
)
"""Descriptors that read these attributes of an object, even if its class defines them otherwise."""

Copy = Callable[[Any], Any]


class Memo:
    """The memo that a `__deepcopy__` of the program gets: it maps the `id` of an object to the copy of the object."""

    __slots__ = ("_copies",)

    def __init__(self, copies: _Copies) -> None:
        self._copies = copies

    def __getitem__(self, number: Any) -> Any:
        return self._copies.noted[number]

    def __setitem__(self, number: Any, made: Any) -> None:
        if type(number) is int:
            self._copies.noted[number] = made

    def __contains__(self, number: object) -> bool:
        return type(number) is int and number in self._copies.noted

    def get(self, number: Any, default: Any = None) -> Any:
        """Return the copy that was noted for this `id`."""
        return self._copies.noted.get(number, default)


class _Copies:
    """One copy of an object; a deep copy includes all that the object holds.

    Args:
        guards: The policy's guards, which know the program's own classes.
        deep: Whether the copy is deep.
    """

    def __init__(self, guards: Guards, *, deep: bool) -> None:
        self._guards, self._deep = guards, deep
        # Objects and their copies, by `id`. The objects are kept so that no other object gets their `id`.
        self._made: dict[int, tuple[Any, Any]] = {}
        self.noted: dict[int, Any] = {}
        """The copies that the program noted, by the `id` of the object."""

    def item(self, ob: Any) -> Any:
        """Return the value that a copy holds where the copied object holds `ob`."""
        return self.of(ob) if self._deep else ob

    def of(self, ob: Any) -> Any:
        """Return the copy of an object."""
        if id(ob) in self.noted:
            return self.noted[id(ob)]
        if id(ob) in self._made:
            return self._made[id(ob)][1]
        kind = type(ob)
        if kind in _UNCHANGEABLE or issubclass(kind, type | enum.Enum):
            return ob
        if kind in _BY_THE_LIBRARY:
            return self._note(ob, copy.deepcopy(ob))
        if self._guards.is_own_class(kind):
            return self._of_own(ob, kind)
        if kind.__module__ == "typing":  # `Stack[int]` and the like, which objects of generic classes hold.
            return ob
        if kind in _CONTAINERS or issubclass(kind, BaseException):
            return self._anew(ob, kind)
        return self._guards.refuse(ForbiddenValue, f"a {kind.__name__} cannot be copied")

    def _note(self, ob: Any, made: Any) -> Any:
        self._made[id(ob)] = (ob, made)
        return made

    def _of_own(self, ob: Any, kind: type) -> Any:
        name = "__deepcopy__" if self._deep else "__copy__"
        for base in type.__getattribute__(kind, "__mro__"):
            own = type.__getattribute__(base, "__dict__").get(name) if self._guards.is_own_class(base) else None
            if type(own) is types.FunctionType:
                return self._note(ob, own(ob, Memo(self)) if self._deep else own(ob))
        return self._anew(ob, kind)

    def _anew(self, ob: Any, kind: type) -> Any:
        base = _base_of(kind)
        if base in _BUILT:
            made = _BUILT[base](kind, ob, self.item)
            if base is tuple and kind is tuple and all(map(_is, made, ob)):
                return self._note(ob, ob)  # As the library does if no item was copied.
            self._note(ob, made)
        elif issubclass(kind, BaseException):
            args = map(self.item, _ARGS.__get__(ob))
            made = self._note(ob, _library_class(kind, self._guards).__new__(kind, *args))
        else:
            try:
                made = self._note(ob, base.__new__(kind))
            except TypeError:  # A base class makes its objects in another way.
                return self._guards.refuse(ForbiddenValue, f"a {kind.__name__} cannot be copied")
            if base in _FILLED:
                _FILLED[base](made, ob, self.item)
        self._take_names(made, ob, kind)
        return made

    def _take_names(self, made: Any, ob: Any, kind: type) -> None:
        names, own = _names_of(ob), _names_of(made)
        if names is not None and own is not None:
            for name, value in list(names.items()):
                own[name] = self.item(value)
        for base in type.__getattribute__(kind, "__mro__"):
            if self._guards.is_own_class(base):
                for slot in list(type.__getattribute__(base, "__dict__").values()):
                    if type(slot) is types.MemberDescriptorType:
                        self._take_slot(slot, made, ob)

    def _take_slot(self, slot: Any, made: Any, ob: Any) -> None:
        try:
            value = slot.__get__(ob)
        except AttributeError:  # The slot is empty.
            return
        slot.__set__(made, self.item(value))


def _is(one: object, other: object) -> bool:
    return one is other


def _names_of(ob: Any) -> dict[str, Any] | None:
    try:
        names = object.__getattribute__(ob, "__dict__")
    except (AttributeError, TypeError):
        return None
    return names if type(names) is dict else None


def _library_class(kind: type, guards: Guards) -> Any:
    return next(base for base in type.__getattribute__(kind, "__mro__") if not guards.is_own_class(base))


def _base_of(kind: type) -> Any:
    return next((base for base in (*_BUILT, *_FILLED) if issubclass(kind, base)), object)


def _fill_dict(base: Any) -> Callable[[Any, Any, Copy], None]:
    def fill(made: Any, ob: Any, item: Copy) -> None:
        for key, value in list(base.items(ob)):
            base.__setitem__(made, item(key), item(value))

    return fill


def _fill_defaultdict(made: Any, ob: Any, item: Copy) -> None:
    collections.defaultdict.__init__(made, _DEFAULT_FACTORY.__get__(ob))
    _fill_dict(dict)(made, ob, item)


def _fill_deque(made: Any, ob: Any, item: Copy) -> None:
    collections.deque.__init__(made, [item(one) for one in collections.deque.__iter__(ob)], _LONGEST.__get__(ob))


_BUILT: dict[type, Callable[[type, Any, Copy], Any]] = {
    tuple: lambda kind, ob, item: tuple.__new__(kind, [item(one) for one in tuple.__iter__(ob)]),
    frozenset: lambda kind, ob, item: frozenset.__new__(kind, [item(one) for one in frozenset.__iter__(ob)]),
    **{base: lambda kind, ob, _, base=base, value=value: base.__new__(kind, value(ob)) for base, value in _VALUES},  # type: ignore[misc]
}
"""Types whose objects are made together with the items that they hold, each with a function that makes a copy."""

_FILLED: dict[type, Callable[[Any, Any, Copy], None]] = {
    list: lambda made, ob, item: list.extend(made, [item(one) for one in list.__iter__(ob)]),
    set: lambda made, ob, item: set.update(made, [item(one) for one in set.__iter__(ob)]),
    bytearray: lambda made, ob, _: bytearray.extend(made, bytearray.__getitem__(ob, slice(None))),
    collections.deque: _fill_deque,
    collections.defaultdict: _fill_defaultdict,
    collections.OrderedDict: _fill_dict(collections.OrderedDict),
    dict: _fill_dict(dict),
}
"""Types whose objects are made empty and then filled, each with a function that fills a copy.

A subclass comes before its base class.
"""

_CONTAINERS = frozenset((*_BUILT, *_FILLED, collections.Counter))


def copy_functions(guards: Guards) -> dict[str, Any]:
    """Return the names that programs get of `copy`."""

    def shallow(x: Any, /) -> Any:
        return _Copies(guards, deep=False).of(x)

    def deep(x: Any, memo: Any = None, /) -> Any:
        return (memo._copies if type(memo) is Memo else _Copies(guards, deep=True)).of(x)

    return {"copy": shallow, "deepcopy": deep, "Error": copy.Error}
