"""Plain data that is recognized by more than its type, or whose module might not be loaded.

This file handles dates and times, decimals, fractions, namedtuples, matches, and the arrays and scalars of NumPy;
`plain.py` handles all other plain data.
"""

from __future__ import annotations

import collections
import math
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .matches import PlainMatch, parts_of

if TYPE_CHECKING:
    from .plain import Decoder, Encoder

MAX_NODES = 2_000_000
"""The most values in one encoded value. A shared value counts each time that it occurs, so that a small message cannot
expand into a huge value."""

_name_of = type.__dict__["__name__"].__get__


class NotPlain(Exception):
    """Raised for a value, or an encoded value, that is not plain data; the text says which value and why."""


def type_name(value: object) -> str:
    """Return the name of a value's type, read in a way that the type cannot influence."""
    return str(_name_of(type(value)))


def _datetime(self: Encoder, value: Any, depth: int) -> Any:
    zone = value.tzinfo
    zones = sys.modules.get("zoneinfo")
    key = None
    if zones is not None and type(zone) is vars(zones).get("ZoneInfo"):
        key = zone.key
    elif zone is not None and type(zone) is not vars(sys.modules["datetime"])["timezone"]:
        return self.refuse(value, f"{type_name(value)} with a time zone of type {type_name(zone)}")
    offset = value.utcoffset() if zone is not None else None
    parts = None if offset is None else [offset.days, offset.seconds, offset.microseconds]
    form = [type_name(value), value.replace(tzinfo=None).isoformat(), parts]
    return {"dt": form if key is None else [*form, key, value.fold]}


def text_of(data: bytes) -> str:
    """Return bytes as base64 text."""
    # Imported here because few programs need it, and every loaded module adds a cost to each fork.
    import base64

    return base64.b64encode(data).decode()


def _match(self: Encoder, value: Any, depth: int) -> Any:
    text, bounds, spans, names, last = parts_of(value)
    if type(text) not in (str, bytes):
        return self.refuse(value, f"Match in a {type_name(text)}")
    return {"ma": [self.encode(text, depth), bounds, [list(span) for span in spans], [list(n) for n in names], last]}


_ENCODERS_BY_MODULE: dict[str, dict[str, Callable[[Encoder, Any, int], Any]]] = {
    "decimal": {"Decimal": lambda e, v, d: {"de": str(v)}},
    "fractions": {"Fraction": lambda e, v, d: {"fr": [hex(v.numerator), hex(v.denominator)]}},
    "datetime": {
        "date": lambda e, v, d: {"dt": ["date", v.isoformat(), None]},
        "time": _datetime,
        "datetime": _datetime,
        "timedelta": lambda e, v, d: {"td": [v.days, v.seconds, v.microseconds]},
    },
    "re": {"Match": _match},
    f"{__package__}.matches": {"PlainMatch": _match},
}
"""Encoders for classes whose modules might not be loaded, by module and class name."""


def fields_of(kind: type, value: Any) -> tuple[str, ...] | None:
    """Return the names of a value's fields if `kind`, its class or a base of its class, is a namedtuple class."""
    if type.__getattribute__(kind, "__bases__") != (tuple,):
        return None
    fields = type.__getattribute__(kind, "__dict__").get("_fields")
    if type(fields) is tuple and all(type(f) is str for f in fields) and len(fields) == tuple.__len__(value):
        return fields
    return None


CROSSED = "_code_env_crossed"
"""The mark of a class that was made here for a namedtuple of the other side."""

_OF_NAMEDTUPLES = frozenset((*vars(collections.namedtuple("Some", ())), CROSSED))


def _encoded_namedtuple(self: Encoder, value: Any, depth: int, fields: tuple[str, ...]) -> Any:
    parts = [type_name(value), list(fields), self.items(tuple.__iter__(value), depth)]
    if self.attaches:
        own = type.__getattribute__(type(value), "__dict__").keys() - _OF_NAMEDTUPLES - frozenset(fields)
        if any(name[:2] != "__" or name in _TEXTS for name in own):
            parts.append(self.refuse(value, type_name(value)))
    return {"nt": parts}


OBJECT = "_code_env_object"
"""The attribute of a namedtuple in which the tests keep the program's object, where its class has methods."""

_TEXTS = ("__str__", "__format__")


def object_of(value: Any) -> Any:
    """Return the handle of the program's object if a namedtuple has come with it; else None."""
    return vars(value).get(OBJECT) if OBJECT in vars(type(value)) else None


def _refuse_change(value: Any, name: str, *_: Any) -> Any:
    raise AttributeError(f"can't set attribute {name!r}")


def _read(value: Any, name: str) -> Any:
    known = object_of(value)
    if known is None:
        raise AttributeError(f"{type_name(value)!r} object has no attribute {name!r}")
    return getattr(known, name)


def _text_by(function: Callable[..., str], otherwise: Callable[..., str]) -> Callable[..., str]:
    def text(value: Any, *args: Any) -> str:
        known = object_of(value)
        return otherwise(value, *args) if known is None else function(known, *args)

    return text


def _with_object(kind: Any) -> Any:
    """Return the class of a namedtuple that comes with the program's object, from which it reads all but its fields."""
    members: dict[str, Any] = {
        "__getattr__": _read,
        "__setattr__": _refuse_change,
        "__delattr__": _refuse_change,
        "__str__": _text_by(str, kind.__repr__),
        "__repr__": _text_by(repr, kind.__repr__),
        "__format__": _text_by(format, object.__format__),
        OBJECT: None,
    }
    return type(kind.__name__, (kind,), members)


def encoder_of_structure(value: object) -> Callable[[Encoder, Any, int], Any] | None:
    """Return the encoder of a value that this file handles, for example a namedtuple; None for other values."""
    kind = type(value)
    fields = fields_of(kind, value)
    if fields is not None:
        return lambda e, v, d: _encoded_namedtuple(e, v, d, fields)
    if OBJECT in type.__getattribute__(kind, "__dict__"):
        return lambda e, v, d: e.refuse(object_of(v), type_name(v))
    for module_name, encoders in _ENCODERS_BY_MODULE.items():
        module = sys.modules.get(module_name)
        if module is not None and kind is vars(module).get(type_name(value)):
            return encoders.get(type_name(value))
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is vars(numpy).get(type_name(value)):
        if kind is numpy.ndarray and value.dtype.kind in _NUMPY_KINDS:  # type: ignore[attr-defined]
            return lambda e, v, d: {"np": [v.dtype.str, list(v.shape), text_of(v.tobytes())]}
        if kind is numpy.ndarray and value.dtype.kind == "O":  # type: ignore[attr-defined]
            return _array_of_objects
        if issubclass(kind, numpy.generic) and value.dtype.kind in _NUMPY_KINDS:  # type: ignore[attr-defined]
            return lambda e, v, d: {"ns": [v.dtype.str, text_of(v.tobytes())]}
    return None


_NUMPY_KINDS = frozenset("biufcSUmM")


def _array_of_objects(self: Encoder, value: Any, depth: int) -> Any:
    try:
        # Only data: when NumPy compares an array, it would call methods of an object of the program in it.
        return {"no": [list(value.shape), [self.data_only(item, depth) for item in value.ravel().tolist()]]}
    except NotPlain as error:
        return self.refuse(value, f"ndarray that holds a {error}")


def data_of(body: Any) -> bytes:
    """Return the bytes that `text_of` encoded.

    Raises:
        NotPlain: If the text is not base64.
    """
    import base64

    try:
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise NotPlain("malformed base64") from error


def int_of(body: Any) -> int:
    """Return the integer that a hexadecimal text represents."""
    return int(body, 16)


_MAX_FRACTION_BITS = 1 << 20
"""The longest numerator or denominator of a fraction, in bits. The time to reduce a fraction grows with the square of
the length; at this length it is about a second."""


def _decimal(body: Any) -> Any:
    import decimal

    return decimal.Decimal(str(body))


def _fraction(body: Any) -> Any:
    import fractions

    numerator, denominator = map(int_of, body)
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
    if len(body) == 5:
        return _in_zone(moment, *body[2:])
    if body[2] is None:
        return moment
    return moment.replace(tzinfo=datetime.timezone(_duration(body[2])))


_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,3}")


def _in_zone(moment: Any, offset: Any, key: Any, fold: Any) -> Any:
    """Return a moment in the time zone with this key; if that zone is unknown here or differs, with this offset."""
    import datetime
    import zoneinfo

    if not isinstance(key, str) or not _ZONE.fullmatch(key) or fold not in (0, 1):
        raise NotPlain("a malformed time zone")
    fixed = None if offset is None else datetime.timezone(_duration(offset))
    try:
        known = moment.replace(tzinfo=zoneinfo.ZoneInfo(key), fold=fold)
    except (zoneinfo.ZoneInfoNotFoundError, OSError):
        return moment.replace(tzinfo=fixed)
    same = known.utcoffset() == (None if fixed is None else fixed.utcoffset(None))
    return known if same else moment.replace(tzinfo=fixed)


def _decoded_match(self: Decoder, body: Any, depth: int) -> Any:
    text, *places = body
    return PlainMatch(self.decode(text, depth), *places)


_named: dict[tuple[str, tuple[str, ...]], Any] = {}


_NO_FIELDS = frozenset(("h", "bn", "m"))
"""Tags of values that can be called."""


def _namedtuple(self: Decoder, body: Any, depth: int) -> Any:
    name, fields, values, *attached = body
    key = (str(name), tuple(map(str, fields)))
    # Tests that expect text would call a field as if it were a method of the text: `f(x).startswith("a")`.
    if any(type(form) is dict and not _NO_FIELDS.isdisjoint(form) for form in values):
        raise NotPlain("a namedtuple with a field that can be called")
    if len(key[1]) > 100:
        raise NotPlain("a namedtuple with more than 100 fields")
    if key not in _named:
        if len(_named) >= 1000:  # A program that invents classes must not fill the judge's memory.
            _named.clear()
        kind = collections.namedtuple(key[0], key[1], rename=True)  # type: ignore[misc]
        if kind._fields != key[1]:
            raise NotPlain("a namedtuple whose fields are not names")
        setattr(kind, CROSSED, True)
        _named[key] = kind, _with_object(kind)
    plain, with_object = _named[key]
    if not attached:
        return plain(*self.items(values, depth))
    made = with_object(*self.items(values, depth))
    vars(made)[OBJECT] = self.decode(attached[0], depth)
    return made


def _array(dtype_name: Any, shape: list[int], data: Any) -> Any:
    import numpy

    if not isinstance(dtype_name, str) or not _DTYPE.fullmatch(dtype_name) or any(n < 0 for n in shape):
        raise NotPlain("a malformed array")
    dtype = numpy.dtype(dtype_name)
    if dtype.itemsize == 0 or 0 in shape:
        return numpy.zeros(shape, dtype)
    return numpy.frombuffer(data_of(data), dtype).reshape(shape).copy()


def _decoded_array_of_objects(self: Decoder, body: Any, depth: int) -> Any:
    import numpy

    shape, forms = body
    items = [self.data_only(form, depth) for form in forms]
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) != len(items):
        raise NotPlain("a malformed array")
    array = numpy.empty(len(items), object)
    for index, item in enumerate(items):  # Assigned together, lists of equal length would become a dimension.
        array[index] = item
    return array.reshape(shape)


_DTYPE = re.compile(r"[<>|][biufcSUmM][0-9]{1,6}(\[[0-9]*[a-zA-Z]{1,2}\])?")


DECODERS: dict[str, Callable[[Decoder, Any, int], Any]] = {
    "de": lambda s, b, d: _decimal(b),
    "fr": lambda s, b, d: _fraction(b),
    "dt": lambda s, b, d: _moment(b),
    "td": lambda s, b, d: _duration(b),
    "ma": _decoded_match,
    "nt": _namedtuple,
    "np": lambda s, b, d: _array(b[0], [int(n) for n in b[1]], b[2]),
    "no": _decoded_array_of_objects,
    "ns": lambda s, b, d: _array(b[0], [1], b[1])[0],
}
