"""Plain data: the values that cross between a program and its tests.

`encode` turns a value into JSON; `decode` rebuilds it on the other side, where it then is an
ordinary builtin value without a trace of the program's classes. Exact types only: a subclass that
the program defines (an `int` that equals everything) is not plain. What is not plain is handed to
the encoder's `other`, which may replace it by a handle.

The reader is as strict as the writer: it bounds depth and size, knows each tag, and raises
`NotPlain` on anything else, so a forged message can be no worse than a wrong value.

In JSON, `null`, booleans, strings, finite floats, small integers and lists stand for themselves.
Everything else is an object with one key, its tag::

    {"t": [1, 2]}                 tuple          {"d": [[k, v], ...]}   dict
    {"i": "-0x1f"}                big int        {"b": "aGk="}          bytes
"""

from __future__ import annotations

import builtins
import collections
import itertools
import math
import operator
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

MAX_DEPTH = 200
"""Deepest nesting of containers; below the interpreter's recursion limit on both sides."""

MAX_NODES = 2_000_000
"""Most values in one encoded value; shared references count each time, so bombs end here."""

_SMALL = 1 << 63
_name_of = type.__dict__["__name__"].__get__


class NotPlain(Exception):
    """A value, or an encoded value, that is not plain data; the text says which and why."""


def type_name(value: object) -> str:
    """The name of a value's type, read so that the type cannot interfere."""
    return str(_name_of(type(value)))


class Encoder:
    """Encodes values, counting nodes and depth.

    Args:
        other: Called with what is not plain; returns the JSON that stands for it. Without it
            such a value raises `NotPlain`.
    """

    def __init__(self, other: Callable[[object, str], Any] | None = None) -> None:
        self._other = other
        self._nodes = 0
        self._open: set[int] = set()

    def encode(self, value: object, depth: int = 0) -> Any:
        """The JSON form of `value`.

        Raises:
            NotPlain: If it is not plain data and there is no `other`.
        """
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise NotPlain(f"more than {MAX_NODES} values")
        kind = type(value)
        if kind is str or kind is bool or value is None:
            return value
        if kind is int:
            return value if -_SMALL < value < _SMALL else {"i": hex(value)}  # type: ignore[operator, arg-type]
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}  # type: ignore[arg-type]
        encode_as = _ENCODERS.get(id(kind))
        if encode_as is None:
            encode_as = _encoder_of_structure(value)
        if encode_as is None:
            return self._refuse(value, type_name(value))
        if depth >= MAX_DEPTH:
            return self._refuse(value, f"{type_name(value)}, nested more than {MAX_DEPTH} deep")
        if id(value) in self._open:
            return self._refuse(value, f"{type_name(value)} that contains itself")
        self._open.add(id(value))
        try:
            return encode_as(self, value, depth + 1)
        finally:
            self._open.discard(id(value))

    def items(self, values: Any, depth: int) -> list[Any]:
        """Each of `values`, encoded."""
        return [self.encode(value, depth) for value in values]

    def pairs(self, mapping: Any, depth: int) -> list[list[Any]]:
        """Each key and value of a mapping of exact builtin type, encoded."""
        return [[self.encode(k, depth), self.encode(v, depth)] for k, v in mapping.items()]

    def _refuse(self, value: object, why: str) -> Any:
        if self._other is None:
            raise NotPlain(why)
        return self._other(value, why)


def encode(value: object, other: Callable[[object, str], Any] | None = None) -> Any:
    """The JSON form of `value`; see `Encoder`.

    >>> encode([1, (2, 3)])
    [1, {'t': [2, 3]}]

    Raises:
        NotPlain: If it is not plain data and there is no `other`.
    """
    return Encoder(other).encode(value)


def tags(form: Any) -> set[str]:
    """The tags in the JSON form of a value.

    >>> sorted(tags(encode((1, b"x"))))
    ['b', 't']
    """
    if isinstance(form, list):
        return {tag for item in form for tag in tags(item)}
    if isinstance(form, dict):
        return set(form) | {tag for body in form.values() for tag in tags(body)}
    return set()


def _factory_name(value: Any) -> str | None:
    factory = value.default_factory
    return next((name for name, known in _FACTORIES.items() if known is factory), None)


def _range(self: Encoder, value: range) -> Any:
    # Going through one takes a single built-in step, however long it is.
    if value and abs(value[-1] - value[0]) // abs(value.step) >= MAX_NODES:
        return self._refuse(value, f"range of more than {MAX_NODES} values")
    return {"rg": [hex(value.start), hex(value.stop), hex(value.step)]}


def _datetime(self: Encoder, value: Any, depth: int) -> Any:
    if value.tzinfo is not None and type(value.tzinfo) is not vars(sys.modules["datetime"])["timezone"]:
        return self._refuse(value, f"{type_name(value)} with a time zone of type {type_name(value.tzinfo)}")
    offset = value.utcoffset() if value.tzinfo is not None else None
    parts = None if offset is None else [offset.days, offset.seconds, offset.microseconds]
    return {"dt": [type_name(value), value.replace(tzinfo=None).isoformat(), parts]}


_PURE_FUNCTIONS = (
    *("abs", "all", "any", "bin", "callable", "chr", "divmod", "format", "hash", "hex", "isinstance", "issubclass"),
    *("iter", "len", "max", "min", "next", "oct", "ord", "pow", "repr", "round", "sorted", "sum"),
)
_TYPES = (
    *("bool", "bytearray", "bytes", "complex", "dict", "enumerate", "filter", "float", "frozenset", "int", "list"),
    *("map", "object", "range", "reversed", "set", "slice", "str", "tuple", "zip"),
)


def _known_callables() -> dict[str, Any]:
    """Functions and classes that are the same on both sides and touch nothing but their arguments, by name."""
    exceptions = [name for name, value in vars(builtins).items() if isinstance(value, type(Exception))]
    classes = [name for name in exceptions if issubclass(getattr(builtins, name), Exception)]
    known = {name: getattr(builtins, name) for name in (*_PURE_FUNCTIONS, *_TYPES, *classes)}
    for module in (operator, math):
        known |= {f"{module.__name__}.{name}": v for name, v in vars(module).items() if callable(v) and name[0] != "_"}
    return known


KNOWN_CALLABLES = _known_callables()
"""Functions and classes that the tests may hand over by name."""

_NAME_OF_CALLABLE = {id(value): name for name, value in KNOWN_CALLABLES.items()}


def name_of_callable(value: object) -> str | None:
    """The name under which the tests may hand over a builtin function or class; None if it is none of these."""
    return _NAME_OF_CALLABLE.get(id(value))


_BUILTIN_ITERATORS: tuple[Iterator[Any], ...] = (
    *map(iter, ([], (), {}, {}.values(), {}.items(), set(), "", "\u00e9", b"", range(0), range(1 << 70))),
    *(reversed([]), reversed({}), reversed(range(0)), iter(bytearray()), iter(collections.deque()), iter(int, 0)),
    *(map(abs, ()), filter(None, ()), zip(), enumerate(()), (_ for _ in ())),
)
_ITERATORS = frozenset(
    [id(type(one)) for one in _BUILTIN_ITERATORS] + [id(v) for v in vars(itertools).values() if isinstance(v, type)]
)


def is_iterator(value: object) -> bool:
    """Whether a value is a generator or another of Python's own iterators."""
    return id(type(value)) in _ITERATORS


def is_coroutine(value: object) -> bool:
    """Whether a value is what an `async def` function returns."""
    return type(value) is types.CoroutineType


_FACTORIES: dict[str, Any] = {t.__name__: t for t in (list, int, dict, set, str, float, tuple, bool)}


def _text_of(data: bytes) -> str:
    # Few need it, and a library that is loaded is a cost to every fork.
    import base64

    return base64.b64encode(data).decode()


_ENCODERS_BY_TYPE: dict[type, Callable[[Encoder, Any, int], Any]] = {
    list: lambda e, v, d: e.items(v, d),
    tuple: lambda e, v, d: {"t": e.items(v, d)},
    dict: lambda e, v, d: {"d": e.pairs(v, d)},
    set: lambda e, v, d: {"s": e.items(v, d)},
    frozenset: lambda e, v, d: {"fs": e.items(v, d)},
    bytes: lambda e, v, d: {"b": _text_of(v)},
    bytearray: lambda e, v, d: {"ba": _text_of(v)},
    complex: lambda e, v, d: {"c": [repr(v.real), repr(v.imag)]},
    type({}.keys()): lambda e, v, d: {"dk": e.items(v, d)},
    type({}.values()): lambda e, v, d: {"dv": e.items(v, d)},
    type({}.items()): lambda e, v, d: {"di": [[e.encode(k, d), e.encode(i, d)] for k, i in v]},
    range: lambda e, v, d: _range(e, v),
    collections.Counter: lambda e, v, d: {"ct": e.pairs(v, d)},
    collections.OrderedDict: lambda e, v, d: {"od": e.pairs(v, d)},
    collections.defaultdict: lambda e, v, d: {"dd": [_factory_name(v), e.pairs(v, d)]},
    collections.deque: lambda e, v, d: {"dq": [v.maxlen, e.items(v, d)]},
}

_ENCODERS_BY_MODULE: dict[str, dict[str, Callable[[Encoder, Any, int], Any]]] = {
    "decimal": {"Decimal": lambda e, v, d: {"de": str(v)}},
    "fractions": {"Fraction": lambda e, v, d: {"fr": [hex(v.numerator), hex(v.denominator)]}},
    "datetime": {
        "date": lambda e, v, d: {"dt": ["date", v.isoformat(), None]},
        "time": _datetime,
        "datetime": _datetime,
        "timedelta": lambda e, v, d: {"td": [v.days, v.seconds, v.microseconds]},
    },
}
"""Those of classes of modules that need not be loaded, by module and name."""


# By identity: a class of the program may bring a metaclass with a hash of its own.
_ENCODERS = {id(kind): encode_as for kind, encode_as in _ENCODERS_BY_TYPE.items()}


def _encoder_of_structure(value: object) -> Callable[[Encoder, Any, int], Any] | None:
    """How to encode what is plain by more than its type: a namedtuple, or NumPy's arrays and scalars."""
    kind = type(value)
    if type.__getattribute__(kind, "__bases__") == (tuple,):
        fields = type.__getattribute__(kind, "__dict__").get("_fields")
        if type(fields) is tuple and all(type(f) is str for f in fields) and len(fields) == tuple.__len__(value):  # type: ignore[arg-type]
            return lambda e, v, d: {"nt": [type_name(v), list(fields), e.items(tuple.__iter__(v), d)]}
    for module_name, encoders in _ENCODERS_BY_MODULE.items():
        module = sys.modules.get(module_name)
        if module is not None and kind is vars(module).get(type_name(value)):
            return encoders.get(type_name(value))
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is vars(numpy).get(type_name(value)):
        if kind is numpy.ndarray and value.dtype.kind in _NUMPY_KINDS:  # type: ignore[attr-defined]
            return lambda e, v, d: {"np": [v.dtype.str, list(v.shape), _text_of(v.tobytes())]}
        if issubclass(kind, numpy.generic) and value.dtype.kind in _NUMPY_KINDS:  # type: ignore[attr-defined]
            return lambda e, v, d: {"ns": [v.dtype.str, _text_of(v.tobytes())]}
    return None


_NUMPY_KINDS = frozenset("biufcSUmM")


REFERENCES = ("h", "r", "it", "co", "cb", "bn")
"""Tags of what is not plain: a handle, a handle come back, an iterator, a coroutine, a function of the tests, and a
builtin function or class. The last two go from the tests to the program only."""


class Decoder:
    """Rebuilds values from JSON that may have been forged.

    Args:
        reference: Called with the tag and the payload of one of `REFERENCES`; returns what stands
            for it here. Without it such a tag raises `NotPlain`.
    """

    def __init__(self, reference: Callable[[str, Any], object] | None = None) -> None:
        self._reference = reference

    def decode(self, form: Any, depth: int = 0) -> Any:
        """The value that `form` stands for.

        Raises:
            NotPlain: If `form` is not an encoded value.
        """
        kind = type(form)
        if kind is str or kind is bool or kind is int or kind is float or form is None:
            return form
        if depth > MAX_DEPTH:
            raise NotPlain(f"nested more than {MAX_DEPTH} deep")
        if kind is list:
            return self.items(form, depth)
        if kind is not dict or len(form) != 1:
            raise NotPlain("not an encoded value")
        ((tag, body),) = form.items()
        if tag in REFERENCES:
            if self._reference is None:
                raise NotPlain("a handle where none is known")
            return self._reference(tag, body)
        decode_as = _DECODERS.get(tag)
        if decode_as is None:
            raise NotPlain(f"unknown tag {tag[:20]!r}")
        try:
            return decode_as(self, body, depth)
        except NotPlain:
            raise
        # Whatever a malformed body provokes in a constructor is the sender's fault.
        except Exception as error:
            raise NotPlain(f"malformed {tag!r}: {type(error).__name__}") from error

    def items(self, forms: Any, depth: int) -> list[Any]:
        """Each of a list of encoded values."""
        if type(forms) is not list:
            raise NotPlain("a list was expected")
        return [self.decode(form, depth + 1) for form in forms]

    def pairs(self, forms: Any, depth: int) -> list[tuple[Any, Any]]:
        """The key and value pairs of an encoded mapping."""
        decoded = [(self.decode(k, depth + 1), self.decode(v, depth + 1)) for k, v in forms]
        if len(decoded) > _MAX_ALIKE:
            _hashable([key for key, _ in decoded])
        return decoded


def decode(form: Any, reference: Callable[[str, Any], object] | None = None) -> Any:
    """The value that `form` stands for; see `Decoder`.

    >>> decode({"t": [1, {"s": [2]}]})
    (1, {2})

    Raises:
        NotPlain: If `form` is not an encoded value.
    """
    return Decoder(reference).decode(form)


def _bytes(body: Any) -> bytes:
    import base64

    try:
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise NotPlain("malformed base64") from error


_MAX_ALIKE = 1000
"""Most members of a set or mapping with the same hash: finding a place for each takes the square of that."""


def _hashable(members: list[Any]) -> list[Any]:
    """The members of a set or mapping, if they are not chosen to hash alike: one built-in step of minutes."""
    if len(members) > _MAX_ALIKE:
        hashes = sorted(map(hash, members))
        if any(map(operator.eq, hashes, hashes[_MAX_ALIKE:])):
            raise NotPlain(f"more than {_MAX_ALIKE} members with the same hash")
    return members


def _decoded_range(body: Any) -> range:
    value = range(*map(_int, body))
    if value and abs(value[-1] - value[0]) // abs(value.step) >= MAX_NODES:
        raise NotPlain(f"a range of more than {MAX_NODES} values")
    return value


def _int(body: Any) -> int:
    return int(body, 16)


_MAX_FRACTION_BITS = 1 << 20
"""Longest numerator or denominator of a fraction; cancelling takes the square of that: here a second."""


def _decimal(body: Any) -> Any:
    import decimal

    return decimal.Decimal(str(body))


def _fraction(body: Any) -> Any:
    import fractions

    numerator, denominator = map(_int, body)
    if max(numerator.bit_length(), denominator.bit_length()) > _MAX_FRACTION_BITS:
        raise NotPlain(f"a fraction of more than {_MAX_FRACTION_BITS} bits")
    return fractions.Fraction(numerator, denominator)


def _duration(body: Any) -> Any:
    import datetime

    return datetime.timedelta(*map(int, body))


def _moment(body: Any) -> Any:
    import datetime

    classes: dict[str, Any] = {"date": datetime.date, "time": datetime.time, "datetime": datetime.datetime}
    moment = classes[body[0]].fromisoformat(body[1])
    if body[2] is None:
        return moment
    return moment.replace(tzinfo=datetime.timezone(_duration(body[2])))


_named: dict[tuple[str, tuple[str, ...]], Any] = {}


def _namedtuple(self: Decoder, body: Any, depth: int) -> Any:
    name, fields, values = body
    key = (str(name), tuple(map(str, fields)))
    # Tests that expect text would take such a field for a method of it: `f(x).startswith("a")`.
    if any(type(form) is dict and "h" in form for form in values):
        raise NotPlain("a namedtuple with an object of the program for a field")
    if len(key[1]) > 100:
        raise NotPlain("a namedtuple with more than 100 fields")
    if key not in _named:
        if len(_named) >= 1000:  # A program that makes up kinds must not fill the judge's memory.
            _named.clear()
        kind = collections.namedtuple(key[0], key[1], rename=True)  # type: ignore[misc]
        if kind._fields != key[1]:
            raise NotPlain("a namedtuple with fields that are no names")
        _named[key] = kind
    return _named[key](*self.items(values, depth))


def _array(dtype_name: Any, shape: list[int], data: Any) -> Any:
    import numpy

    if not isinstance(dtype_name, str) or not _DTYPE.fullmatch(dtype_name) or any(n < 0 for n in shape):
        raise NotPlain("a malformed array")
    dtype = numpy.dtype(dtype_name)
    if dtype.itemsize == 0 or 0 in shape:
        return numpy.zeros(shape, dtype)
    return numpy.frombuffer(_bytes(data), dtype).reshape(shape).copy()


_DTYPE = re.compile(r"[<>|][biufcSUmM][0-9]{1,6}(\[[0-9]*[a-zA-Z]{1,2}\])?")


_DECODERS: dict[str, Callable[[Decoder, Any, int], Any]] = {
    "i": lambda s, b, d: _int(b),
    "f": lambda s, b, d: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[b],
    "t": lambda s, b, d: tuple(s.items(b, d)),
    "d": lambda s, b, d: dict(s.pairs(b, d)),
    "s": lambda s, b, d: set(_hashable(s.items(b, d))),
    "fs": lambda s, b, d: frozenset(_hashable(s.items(b, d))),
    "b": lambda s, b, d: _bytes(b),
    "ba": lambda s, b, d: bytearray(_bytes(b)),
    "c": lambda s, b, d: complex(float(b[0]), float(b[1])),
    "rg": lambda s, b, d: _decoded_range(b),
    "dk": lambda s, b, d: dict.fromkeys(_hashable(s.items(b, d))).keys(),
    "dv": lambda s, b, d: dict(enumerate(s.items(b, d))).values(),
    "di": lambda s, b, d: dict(s.pairs(b, d)).items(),
    "ct": lambda s, b, d: collections.Counter(dict(s.pairs(b, d))),
    "od": lambda s, b, d: collections.OrderedDict(s.pairs(b, d)),
    "dd": lambda s, b, d: collections.defaultdict(None if b[0] is None else _FACTORIES[b[0]], s.pairs(b[1], d)),
    "il": lambda s, b, d: iter(s.items(b, d)),
    "dq": lambda s, b, d: collections.deque(s.items(b[1], d), None if b[0] is None else int(b[0])),
    "de": lambda s, b, d: _decimal(b),
    "fr": lambda s, b, d: _fraction(b),
    "dt": lambda s, b, d: _moment(b),
    "td": lambda s, b, d: _duration(b),
    "nt": _namedtuple,
    "np": lambda s, b, d: _array(b[0], [int(n) for n in b[1]], b[2]),
    "ns": lambda s, b, d: _array(b[0], [1], b[1])[0],
}
