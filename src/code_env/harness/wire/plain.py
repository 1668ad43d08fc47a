"""Plain data: the values that cross between a program and its tests.

`encode` turns a value into JSON. `decode` rebuilds it on the other side as an ordinary builtin value, which keeps
nothing of the program's classes. An object of a subclass that the program defines (for example an `int` that equals
everything) is not plain; `subclasses.py` says when the content of its base crosses instead. The encoder passes values
that are not plain data to `other`, which can replace them by handles.

The decoder is as strict as the encoder: it bounds depth and size, knows each tag, and raises `NotPlain` for anything
else. So a forged message can do no more harm than a wrong value.

In JSON, `null`, booleans, strings, finite floats, small integers and lists represent themselves. Every other value is
an object with one key, its tag::

    {"t": [1, 2]}                 tuple          {"d": [[k, v], ...]}   dict
    {"i": "-0x1f"}                big int        {"b": "aGk="}          bytes
    {"sa": 3}                     a container that has crossed before, see `containers.py`
"""

from __future__ import annotations

import collections
import math
import operator
from collections.abc import Callable
from typing import Any

from .containers import MAX_DEPTH as MAX_DEPTH
from .containers import MUTABLE_TAGS, Containers
from .structures import DECODERS as _STRUCTURES
from .structures import MAX_NODES as MAX_NODES
from .structures import NotPlain as NotPlain
from .structures import data_of, encoder_of_structure, int_of, text_of
from .structures import type_name as type_name

SMALL = 1 << 63
"""Integers whose absolute value is below this represent themselves."""


class Encoder:
    """Encodes values, counting nodes and depth.

    Args:
        other: Called with a value that is not plain data, and with its name for messages; returns the JSON that
            represents it. Without this argument, the encoder raises `NotPlain`.
        subclass: Called with a value of none of the known types. Returns the function that encodes the value if the
            value is of a subclass that crosses as something else, otherwise None.
        known: The containers of the exchange that the values belong to. Without this argument, a shared container
            crosses as copies.
    """

    def __init__(
        self,
        other: Callable[[object, str], Any] | None = None,
        subclass: Callable[[object], EncodeAs | None] | None = None,
        known: Containers | None = None,
    ) -> None:
        self._other, self._subclass, self._known = other, subclass, known
        self.attaches = False
        """Whether `other` also gives the object itself for a namedtuple whose class has methods."""
        self._nodes = 0
        self._open: set[int] = set()

    def encode(self, value: object, depth: int = 0, *, content: bool = False) -> Any:
        """Return the JSON form of `value`.

        Args:
            value: The value.
            depth: How deep the value is nested.
            content: Whether to encode the content of a container even if the container has crossed before.

        Raises:
            NotPlain: If the value is not plain data and there is no `other`.
        """
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise NotPlain(f"more than {MAX_NODES} values")
        kind = type(value)
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            return value if -SMALL < value < SMALL else {"i": hex(value)}  # type: ignore[operator, arg-type]
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}  # type: ignore[arg-type]
        known = self._known
        is_new, count = False, 0
        if known is not None:
            if known.instead:
                value = known.instead.get(id(value), value)
            number, count = known.number_of(value), len(known.values)
            if number is not None and not content and id(value) not in self._open:
                return {"sa": number}
            is_new = number is None
        encode_as = _ENCODERS.get(id(kind)) or encoder_of_structure(value)
        if encode_as is None and self._subclass is not None:
            encode_as, is_new = self._subclass(value), False  # The content has its own number.
        if encode_as is None:
            return self.refuse(value, type_name(value))
        if depth >= MAX_DEPTH:
            return self.refuse(value, f"{type_name(value)}, nested more than {MAX_DEPTH} deep")
        if id(value) in self._open:
            return self.refuse(value, f"{type_name(value)} that contains itself")
        self._open.add(id(value))
        try:
            form = encode_as(self, value, depth + 1)
        finally:
            self._open.discard(id(value))
        if known is not None:
            if type(form) is dict and not REFERENCES.isdisjoint(form):
                known.cut(count)  # The containers in it do not cross.
            elif is_new and can_change(form):
                known.add(value)
        return form

    def items(self, values: Any, depth: int) -> list[Any]:
        """Return the forms of `values`."""
        return [self.encode(value, depth) for value in values]

    def pairs(self, mapping: Any, depth: int) -> list[list[Any]]:
        """Return the forms of each key and value of a mapping, whose type must be exactly a builtin type."""
        return [[self.encode(k, depth), self.encode(v, depth)] for k, v in mapping.items()]

    def data_only(self, value: object, depth: int) -> Any:
        """Return the form of a value in which `other` replaces nothing.

        Raises:
            NotPlain: If a part of the value is not plain data.
        """
        other, self._other = self._other, None
        try:
            return self.encode(value, depth)
        finally:
            self._other = other

    def refuse(self, value: object, why: str) -> Any:
        """Return the JSON that represents a value that is not plain; `why` names the value in messages.

        Raises:
            NotPlain: If there is no `other`.
        """
        if self._other is None:
            raise NotPlain(why)
        return self._other(value, why)


def encode(value: object, other: Callable[[object, str], Any] | None = None) -> Any:
    """Return the JSON form of `value`; see `Encoder`.

    >>> encode([1, (2, 3)])
    [1, {'t': [2, 3]}]

    Raises:
        NotPlain: If the value is not plain data and there is no `other`.
    """
    return Encoder(other).encode(value)


def can_change(form: Any) -> bool:
    """Return whether a form represents a container that can change."""
    return type(form) is list or (type(form) is dict and not MUTABLE_TAGS.isdisjoint(form))


_IMMUTABLE_TAGS = frozenset(
    (
        *("i", "f", "b", "c", "rg", "de", "fr", "dt", "td", "ns", "r", "bn", "en", "ma"),
        *("cb", "it", "co", "cl", "ec", "er", "ob", "sl"),
    )
)


def may_hold_changes(form: Any) -> bool:
    """Return whether the value of a form can change, or can hold a value that can change."""
    return type(form) is list or (type(form) is dict and not _IMMUTABLE_TAGS.issuperset(form))


def lasting_number(form: Any) -> int | None:
    """Return the number of the iterator, generator or coroutine that a form represents; None for any other form."""
    if type(form) is dict and len(form) == 1:
        ((tag, body),) = form.items()
        if tag in ("it", "ge", "co") and type(body) is int:
            return body
    return None


def tags(form: Any) -> set[str]:
    """Return the tags in the JSON form of a value.

    >>> sorted(tags(encode((1, b"x"))))
    ['b', 't']
    """
    if isinstance(form, list):
        return {tag for item in form for tag in tags(item)}
    if isinstance(form, dict):
        return set(form) | {tag for body in form.values() for tag in tags(body)}
    return set()


def _factory(self: Encoder, value: Any, depth: int) -> Any:
    factory = value.default_factory
    name = next((name for name, known in _FACTORIES.items() if known is factory), None)
    if name is not None or factory is None:
        return name
    try:
        return self.refuse(factory, type_name(factory))
    except (NotPlain, TypeError):  # It cannot be handed over.
        return None


def _decoded_defaultdict(self: Decoder, body: Any, depth: int) -> Any:
    form, pairs = body
    try:
        factory = _FACTORIES[form] if type(form) is str else self.decode(form, depth)
    except NotPlain:  # A function, where only data crosses.
        factory = None
    return collections.defaultdict(factory, self.pairs(pairs, depth))


def _is_too_long(value: range) -> bool:
    """Return whether a range has too many values: one builtin operation goes through all of them."""
    return bool(value) and abs(value[-1] - value[0]) // abs(value.step) >= MAX_NODES  # `len` fails for very long ones.


def _range(self: Encoder, value: range) -> Any:
    if _is_too_long(value):
        return self.refuse(value, f"range of more than {MAX_NODES} values")
    return {"rg": [hex(value.start), hex(value.stop), hex(value.step)]}


_FACTORIES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (*(list, int, dict, set, str, float, tuple, bool), *(bytes, frozenset, collections.Counter))
}


EncodeAs = Callable[[Encoder, Any, int], Any]
"""Encodes one kind of value. The number says how deep the parts of the value are nested."""

_ENCODERS_BY_TYPE: dict[type, EncodeAs] = {
    list: lambda e, v, d: e.items(v, d),
    tuple: lambda e, v, d: {"t": e.items(v, d)},
    dict: lambda e, v, d: {"d": e.pairs(v, d)},
    set: lambda e, v, d: {"s": e.items(v, d)},
    frozenset: lambda e, v, d: {"fs": e.items(v, d)},
    bytes: lambda e, v, d: {"b": text_of(v)},
    bytearray: lambda e, v, d: {"ba": text_of(v)},
    complex: lambda e, v, d: {"c": [repr(v.real), repr(v.imag)]},
    type({}.keys()): lambda e, v, d: {"dk": e.items(v, d)},
    type({}.values()): lambda e, v, d: {"dv": e.items(v, d)},
    type({}.items()): lambda e, v, d: {"di": [[e.encode(k, d), e.encode(i, d)] for k, i in v]},
    type(collections.OrderedDict().keys()): lambda e, v, d: {"dk": e.items(v, d)},
    type(collections.OrderedDict().values()): lambda e, v, d: {"dv": e.items(v, d)},
    type(collections.OrderedDict().items()): lambda e, v, d: {"di": [[e.encode(k, d), e.encode(i, d)] for k, i in v]},
    range: lambda e, v, d: _range(e, v),
    collections.Counter: lambda e, v, d: {"ct": e.pairs(v, d)},
    collections.OrderedDict: lambda e, v, d: {"od": e.pairs(v, d)},
    collections.defaultdict: lambda e, v, d: {"dd": [_factory(e, v, d), e.pairs(v, d)]},
    collections.deque: lambda e, v, d: {"dq": [v.maxlen, e.items(v, d)]},
}

# The keys are ids, because a class of the program can have a metaclass with its own hash.
_ENCODERS = {id(kind): encode_as for kind, encode_as in _ENCODERS_BY_TYPE.items()}


REFERENCES = frozenset(("h", "r", "it", "ge", "co", "cb", "cl", "ec", "er", "ob", "sl", "m", "bn", "en"))
"""Tags of values that are not plain data.

`h` is a handle, and `r` an object of the program that comes back to it. `it`, `ge` and `co` are an iterator, a
generator and a coroutine. `cb`, `cl`, `ec`, `er`, `ob` and `sl` are a function, a class, a class of exceptions, an
exception, another object and a slice of the tests, and `m` is an object of the tests that comes back to them. A slice
of the program has the tag `sl` too, and is data. `bn` is an object with a builtin name, `en` a member of an
enumeration.
"""


class Decoder:
    """Rebuilds values from JSON that can be forged.

    Args:
        reference: Called with a tag of `REFERENCES` and its payload; returns the value that represents it on this
            side. Without this argument, the decoder raises `NotPlain` for these tags.
        known: The containers of the exchange that the values belong to.
    """

    def __init__(self, reference: Callable[[str, Any], object] | None = None, known: Containers | None = None) -> None:
        self._reference, self._known = reference, known

    def within(self, known: Containers) -> Decoder:
        """Return the same decoder for the values of one exchange."""
        return Decoder(self._reference, known)

    def decode(self, form: Any, depth: int = 0) -> Any:
        """Return the value that `form` represents.

        Raises:
            NotPlain: If `form` is not an encoded value.
        """
        kind = type(form)
        if kind is str or kind is bool or kind is int or kind is float or form is None:
            return form
        if depth > MAX_DEPTH:
            raise NotPlain(f"nested more than {MAX_DEPTH} deep")
        if kind is list:
            values = self.items(form, depth)
            if self._known is not None:
                self._known.add(values)
            return values
        if kind is not dict or len(form) != 1:
            raise NotPlain("not an encoded value")
        ((tag, body),) = form.items()
        if tag in REFERENCES:
            if self._reference is None:
                raise NotPlain("a handle where none is known")
            return self._reference(tag, body)
        if tag == "sa" and self._known is not None:
            return self._known.again(body, depth)
        decode_as = _DECODERS.get(tag)
        if decode_as is None:
            raise NotPlain(f"unknown tag {tag[:20]!r}")
        try:
            value = decode_as(self, body, depth)
        except NotPlain:
            raise
        # Every exception that a malformed body causes in a constructor is the sender's fault.
        except Exception as error:
            raise NotPlain(f"malformed {tag!r}: {type(error).__name__}") from error
        if self._known is not None and tag in MUTABLE_TAGS:
            self._known.add(value)
        return value

    def content(self, form: Any) -> Any:
        """Return the new content of a container of the exchange, which keeps its number.

        Raises:
            NotPlain: If `form` is not an encoded value.
        """
        known = self._known
        count = 0 if known is None else len(known.values)
        value = self.decode(form)
        if known is not None and len(known.values) > count and known.values[-1] is value:
            known.cut(len(known.values) - 1)
        return value

    def data_only(self, form: Any, depth: int) -> Any:
        """Return the value that `form` represents, if the form holds no tag of `REFERENCES`.

        Raises:
            NotPlain: If the form holds one of these tags, or is not an encoded value.
        """
        reference, self._reference = self._reference, None
        try:
            return self.decode(form, depth)
        finally:
            self._reference = reference

    def items(self, forms: Any, depth: int) -> list[Any]:
        """Return the values of a list of forms."""
        if type(forms) is not list:
            raise NotPlain("a list was expected")
        return [self.decode(form, depth + 1) for form in forms]

    def pairs(self, forms: Any, depth: int) -> list[tuple[Any, Any]]:
        """Return the key and value pairs of an encoded mapping."""
        decoded = [(self.decode(k, depth + 1), self.decode(v, depth + 1)) for k, v in forms]
        if len(decoded) > _MAX_ALIKE:
            _hashable([key for key, _ in decoded])
        return decoded


def decode(form: Any, reference: Callable[[str, Any], object] | None = None) -> Any:
    """Return the value that `form` represents; see `Decoder`.

    >>> decode({"t": [1, {"s": [2]}]})
    (1, {2})

    Raises:
        NotPlain: If `form` is not an encoded value.
    """
    return Decoder(reference).decode(form)


_MAX_ALIKE = 1000
"""The most members of a set or mapping with the same hash. The time to insert them grows with the square of this."""


def _hashable(members: list[Any]) -> list[Any]:
    """Return the members of a set or mapping; refuse members that are chosen to have the same hash.

    To insert these members would be one builtin operation that takes minutes.
    """
    if len(members) > _MAX_ALIKE:
        hashes = sorted(map(hash, members))
        if any(map(operator.eq, hashes, hashes[_MAX_ALIKE:])):
            raise NotPlain(f"more than {_MAX_ALIKE} members with the same hash")
    return members


def _decoded_range(body: Any) -> range:
    value = range(*map(int_of, body))
    if _is_too_long(value):
        raise NotPlain(f"a range of more than {MAX_NODES} values")
    return value


_DECODERS: dict[str, Callable[[Decoder, Any, int], Any]] = {
    "i": lambda s, b, d: int_of(b),
    "f": lambda s, b, d: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[b],
    "t": lambda s, b, d: tuple(s.items(b, d)),
    "d": lambda s, b, d: dict(s.pairs(b, d)),
    "s": lambda s, b, d: set(_hashable(s.items(b, d))),
    "fs": lambda s, b, d: frozenset(_hashable(s.items(b, d))),
    "b": lambda s, b, d: data_of(b),
    "ba": lambda s, b, d: bytearray(data_of(b)),
    "c": lambda s, b, d: complex(float(b[0]), float(b[1])),
    "rg": lambda s, b, d: _decoded_range(b),
    "dk": lambda s, b, d: dict.fromkeys(_hashable(s.items(b, d))).keys(),
    "dv": lambda s, b, d: dict(enumerate(s.items(b, d))).values(),
    "di": lambda s, b, d: dict(s.pairs(b, d)).items(),
    "ct": lambda s, b, d: collections.Counter(dict(s.pairs(b, d))),
    "od": lambda s, b, d: collections.OrderedDict(s.pairs(b, d)),
    "dd": _decoded_defaultdict,
    "il": lambda s, b, d: iter(s.items(b, d)),
    "dq": lambda s, b, d: collections.deque(s.items(b[1], d), None if b[0] is None else int(b[0])),
    **_STRUCTURES,
}
