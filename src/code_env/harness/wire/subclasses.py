"""Encodes objects of subclasses of builtin types: the content of the builtin base crosses in place of the object.

The content is read with the base's own methods. It is exact data, without anything that the subclass overrides. So a
false `__eq__`, `__iter__` or `items` has no effect.

* `any_subclass` is for `call` tests, which only compare data. It encodes the content of any subclass.
* `content_for` gives the content where the tests use an operator that the subclass does not define.
* `Members.alike` is for `assert` tests, which can use what a class adds to its base. It encodes members of
  enumerations, and objects of a class that adds nothing. Any other object stays where it is, and a handle crosses.

A class adds nothing if its text and its instances define only how to make the instances and how to show them. A member
of an enumeration crosses with the names and values of all members of its class, if they have builtin values and the
class has no methods. The other side makes a class with the same members. If a member returns to the side that has its
class, that side gets the original member.
"""

from __future__ import annotations

import collections
import collections.abc
import sys
from collections.abc import Callable
from typing import Any

from .plain import Decoder, EncodeAs, encode
from .structures import NotPlain, fields_of, type_name

_ALL = slice(None)

_CONTENT: dict[type, Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: lambda v: bytes.__getitem__(v, _ALL),
    bytearray: lambda v: bytearray.__getitem__(v, _ALL),
    list: lambda v: list.__getitem__(v, _ALL),
    tuple: lambda v: tuple.__getitem__(v, _ALL),
    set: lambda v: set(set.__iter__(v)),
    frozenset: lambda v: frozenset(frozenset.__iter__(v)),
    collections.Counter: lambda v: collections.Counter(dict(dict.items(v))),
    collections.OrderedDict: lambda v: collections.OrderedDict(collections.OrderedDict.items(v)),
    collections.defaultdict: lambda v: collections.defaultdict(None, dict.items(v)),
    dict: lambda v: dict(dict.items(v)),
    collections.deque: lambda v: collections.deque(collections.deque.__iter__(v), v.maxlen),
}
"""Functions that return the content of an object of a subclass, read with the base's own methods, by base."""

_BY_IDENTITY = {id(base): content for base, content in _CONTENT.items()}

_COMPARED_AS: dict[int, Callable[[Any], Any]] = {
    id(collections.abc.Mapping): lambda v: dict(v.items()),
    id(collections.abc.Set): set,
    id(collections.UserList): lambda v: v.data,
    id(collections.UserString): lambda v: v.data,
}
"""Functions that return what an object is compared as, by the id of the class that defines how."""

_ADD_NOTHING = frozenset(
    (
        *("__module__", "__qualname__", "__doc__", "__annotations__", "__annotate__", "__annotate_func__"),
        *("__slots__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__", "__orig_bases__"),
        *("__parameters__", "__init__", "__new__", "__repr__", "__reduce__", "__classcell__", "__match_args__"),
    )
)
"""Names that a class can define and still be used like its base."""

_MOST_MEMBERS = 100

_KINDS_OF_ENUMERATION = ("IntFlag", "IntEnum", "StrEnum")
_VALUES_OF_ENUMERATION: dict[str, type] = {"int": int, "str": str, "float": float, "bytes": bytes}
_ENUMERATIONS_BY_NAME = {"HTTPStatus": "http", "HTTPMethod": "http"}


def _bases(kind: type) -> tuple[type, ...]:
    bases: tuple[type, ...] = type.__getattribute__(kind, "__mro__")
    return bases


def _names_in(kind: type) -> Any:
    return type.__getattribute__(kind, "__dict__")


def any_subclass(value: object) -> EncodeAs | None:
    """Return the encoder that writes an object of any subclass of a builtin type as its base's content, or None."""
    for base in _bases(type(value))[1:]:
        content = _BY_IDENTITY.get(id(base))
        if content is not None:
            return lambda e, v, d: e.encode(content(v), d)
        fields = fields_of(base, value)
        if fields is not None:
            return lambda e, v, d: {"nt": [base.__name__, list(fields), e.items(tuple.__iter__(v), d)]}
    return None


def content_for(value: object, operator: str) -> list[Any] | None:
    """Return in a list the content with which an operator of an object computes, as the object's class defines it.

    The list is empty if the operator is that of `object`. The result is None if another class than a builtin one
    defines the operator.

    Example:
        >>> class Stack(list):
        ...     pass
        >>> content_for(Stack([1]), "eq"), content_for(Stack, "eq"), content_for(Stack, "add")
        ([[1]], [], None)
    """
    for name in (f"__{operator}__", "__eq__") if operator == "ne" else (f"__{operator}__",):
        owner = next((base for base in _bases(type(value)) if name in _names_in(base)), None)
        if owner is not object:
            break
    else:
        return []
    content = _BY_IDENTITY.get(id(owner))
    if content is None and operator in ("eq", "ne", "lt", "le", "gt", "ge"):
        content = _COMPARED_AS.get(id(owner))
    return None if content is None else [content(value)]


class Members:
    """Encodes and rebuilds members of enumerations, and objects of subclasses that add nothing to their base."""

    def __init__(self) -> None:
        self._classes: dict[str, Any] = {}

    def alike(self, value: object) -> EncodeAs | None:
        """Return the encoder of an object of a subclass, if the other side can use the result like the object."""
        kind, enum = type(value), sys.modules.get("enum")
        bases = _bases(kind)
        if enum is not None and enum.Enum in bases:
            return self._encoder_of_member(value, kind)
        for index, base in enumerate(bases[1:], start=1):
            if id(base) in _BY_IDENTITY or fields_of(base, value) is not None:
                return any_subclass(value) if _adds_nothing(value, bases[:index]) else None
        return None

    def _encoder_of_member(self, value: Any, kind: type) -> EncodeAs | None:
        name = type_name(value)
        module = sys.modules.get(_ENUMERATIONS_BY_NAME.get(name, ""))
        if module is not None and vars(module).get(name) is kind:
            return lambda e, v, d: {"en": [name, name, [], v._value_]}
        try:
            body = _members(value, kind)
            key = _key_of(body)
        except (NotPlain, AttributeError):
            return None
        self._classes[key] = kind  # The original class, also in place of a class that `_made` returned.
        return lambda e, v, d: {"en": body}

    def member(self, body: Any) -> Any:
        """Return the member that a body of the tag `en` represents.

        Raises:
            NotPlain: If the body represents no member.
        """
        try:
            sort, name, pairs, form = body
            if sort in _ENUMERATIONS_BY_NAME:
                import http

                return getattr(http, sort)(Decoder().decode(form))
            key = _key_of(body)
            if key not in self._classes:
                if len(self._classes) >= 1000:  # A program that invents classes must not fill the judge's memory.
                    self._classes.clear()
                self._classes[key] = _made(sort, name, pairs)
            return self._classes[key](_value(form))
        except NotPlain:
            raise
        except Exception as error:
            raise NotPlain(f"a malformed member of an enumeration: {type(error).__name__}") from error


def _key_of(body: Any) -> str:
    """Return a key that is different for different classes of enumerations."""
    return repr(body[:3])


def _adds_nothing(value: object, classes: tuple[type, ...]) -> bool:
    for kind in classes:
        names = _names_in(kind)
        if not _ADD_NOTHING.issuperset(names) or names.get("__slots__"):
            return False
    try:
        return not object.__getattribute__(value, "__dict__")
    except AttributeError:
        return True


def _members(value: Any, kind: Any) -> list[Any]:
    """Return the body of the tag `en` for a member.

    Raises:
        NotPlain: If its class has methods, too many members, or members whose values are not plain.
    """
    bases = _bases(kind)
    members = _names_in(kind)["_member_map_"]
    base = next((base for base in bases if base in (int, str, float, bytes)), None)
    if base is None or len(members) > _MOST_MEMBERS:
        raise NotPlain(type_name(value))
    for one in bases:
        if _names_in(one).get("__module__", "builtins") not in ("enum", "builtins"):
            added = [name for name in _names_in(one) if name[:1] != "_" and name not in members]
            # Names that begin with an underscore are not checked. The other side decides how a member is shown, and
            # this side decides from which values a member can be made.
            if added:
                raise NotPlain(f"{type_name(value)} with {added[0]!r}")
    enum = sys.modules["enum"]
    sort = next((name for name in _KINDS_OF_ENUMERATION if getattr(enum, name) in bases), base.__name__)
    pairs = [[name, _form(base, member)] for name, member in members.items()]
    return [sort, type_name(value), pairs, _form(base, value)]


def _form(base: type, member: Any) -> Any:
    value = member._value_
    if type(value) is not base or _CONTENT[base](member) != value:
        raise NotPlain(f"{type_name(member)} whose members are more than their values")
    form = encode(value)
    _value(form)
    return form


def _value(form: Any) -> Any:
    value = Decoder().decode(form)
    # `enum` goes through all bits of a flag, which takes time.
    if type(value) not in _VALUES_OF_ENUMERATION.values() or (type(value) is int and not -(1 << 64) < value < 1 << 64):
        raise NotPlain("a value that no member has")
    return value


def _made(sort: str, name: str, pairs: Any) -> Any:
    """Return a new class of members with these names and values."""
    import enum

    if len(pairs) > _MOST_MEMBERS or not all(_is_name(text) for text in (name, *(name for name, _ in pairs))):
        raise NotPlain("a malformed enumeration")
    members = [(name, _value(form)) for name, form in pairs]
    if sort in _KINDS_OF_ENUMERATION:
        return getattr(enum, sort)(name, members, module="solution")
    return enum.Enum(name, members, module="solution", type=_VALUES_OF_ENUMERATION[sort])


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and text.isidentifier() and text[:1] != "_" and len(text) <= 100
