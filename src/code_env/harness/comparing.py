"""Comparison rules: whether what a program gave is what a test expects.

Rules for text (`stdin` and `output` tests):

* `exact`: the same characters.
* `lines` (default): the same lines; white space at a line's end and blank lines at the end are free.
* `tokens`: the same words; all white space is free.
* `numbers`: as `tokens`, and words that are numbers on both sides may differ by the tolerance.

Rules for values (`call` tests):

* `equal` (default): equal as Python compares, except that a list and a tuple with equal items are
  equal (JSON knows no tuples) and NaN equals NaN.
* `exact`: equal, with the same types throughout.
* `close`: as `equal`, numbers within the tolerance.
* `unordered`: as `equal`, but the order of the outermost list is free; each item counts as often as
  it occurs.

Both sides are plain data here, so no comparison runs code of the program, and each takes time in
proportion to the data.
"""

from __future__ import annotations

import collections
import decimal
import fractions
import math
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

TEXT_RULES = ("exact", "lines", "tokens", "numbers")
"""Names of the rules for text."""

VALUE_RULES = ("exact", "equal", "close", "unordered")
"""Names of the rules for values."""

MAX_ENDS_CHARS = 32_768
"""How much of an output is kept at each end for those who want to see it, in characters."""

MAX_BRIEF = 300
"""Longest form in which a value appears in a message, in characters."""

_NUMBERS = (int, float, complex, decimal.Decimal, fractions.Fraction)
_ALIKE = ((set, frozenset), (bytes, bytearray))
"""Types whose values Python finds equal across types, beside numbers, sequences and mappings."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MAX_DIGITS = 4000
"""Longest word that is taken for an integer; Python converts no more digits than about that."""


def compare_text(expected: str, actual: str, rule: str, rel: float, abs_: float) -> str | None:
    """None if `actual` is as expected, else the difference in one line.

    >>> compare_text("1 2", "1 2  ", "lines", 0, 0)
    >>> compare_text("1 2", "1 3", "lines", 0, 0)
    "line 1: expected '1 2', got '1 3'"
    """
    if rule == "exact":
        return None if expected == actual else _first_difference([expected], [actual], "output")
    if rule == "lines":
        return _first_difference(_lines(expected), _lines(actual), "line")
    want, got = expected.split(), actual.split()
    if rule == "numbers" and len(want) == len(got):
        want = [w if not _close_words(w, g, rel, abs_) else g for w, g in zip(want, got, strict=True)]
    return _first_difference(want, got, "word")


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _first_difference(want: list[str], got: list[str], unit: str) -> str | None:
    if want == got:
        return None
    for number, (w, g) in enumerate(zip(want, got, strict=False), start=1):
        if w != g:
            return f"{unit} {number}: expected {brief(w)}, got {brief(g)}"
    longer, what = (want, "is missing") if len(want) > len(got) else (got, "is too much")
    return f"{unit} {min(len(want), len(got)) + 1}: {brief(longer[min(len(want), len(got))])} {what}"


def _close_words(want: str, got: str, rel: float, abs_: float) -> bool:
    if _INTEGER.fullmatch(want) and _INTEGER.fullmatch(got) and max(len(want), len(got)) <= _MAX_DIGITS:
        left, right = int(want), int(got)
        # Exact: as floats, neighbouring large integers are the same.
        allowed = max(fractions.Fraction(rel) * max(abs(left), abs(right)), fractions.Fraction(abs_))
        return abs(left - right) <= allowed
    try:
        left_float, right_float = float(want), float(got)
    except ValueError:
        return False
    if math.isinf(left_float) or math.isinf(right_float):
        return want.lower().lstrip("+") == got.lower().lstrip("+")
    both_nan = math.isnan(left_float) and math.isnan(right_float)
    return both_nan or math.isclose(left_float, right_float, rel_tol=rel, abs_tol=abs_)


def compare_values(expected: Any, actual: Any, rule: str, rel: float, abs_: float) -> bool:
    """Whether `actual` is what is expected, under a rule for values; never raises for plain data.

    >>> compare_values([1, 2], (1, 2), "equal", 0, 0)
    True
    >>> compare_values([1, 2], (1, 2), "exact", 0, 0)
    False
    """
    try:
        expected, actual = _without_numpy(expected), _without_numpy(actual)
        if rule == "exact":
            return bool(_frozen(expected, typed=True) == _frozen(actual, typed=True))
        if rule == "unordered" and isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
            return collections.Counter(map(_frozen, expected)) == collections.Counter(map(_frozen, actual))
        return _same(expected, actual, (rel, abs_) if rule == "close" else None)
    # What cannot even be compared (a signalling NaN, an unhashable item) is not equal.
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return False


def _without_numpy(value: Any) -> Any:
    """The value with NumPy's arrays and scalars as the builtin values that a test writes down."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return value
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.tolist()
    kind = type(value)
    if isinstance(value, dict):
        items = {_without_numpy(k): _without_numpy(v) for k, v in value.items()}
        return collections.defaultdict(None, items) if kind is collections.defaultdict else kind(items)
    if hasattr(value, "_fields"):
        return kind(*map(_without_numpy, value))
    if isinstance(value, list | tuple | set | frozenset | collections.deque):
        return kind(map(_without_numpy, value))
    return value


def _same(want: Any, got: Any, close: tuple[float, float] | None) -> bool:
    if isinstance(want, _NUMBERS) and isinstance(got, _NUMBERS):
        return _same_number(want, got, close)
    for kinds in ((list, tuple), (collections.deque,)):
        if isinstance(want, kinds) and isinstance(got, kinds):
            return len(want) == len(got) and all(_same(w, g, close) for w, g in zip(want, got, strict=True))
    if isinstance(want, collections.Counter) and isinstance(got, collections.Counter):
        return all(_same(want[key], got[key], close) for key in {*want, *got})
    if isinstance(want, collections.OrderedDict) and isinstance(got, collections.OrderedDict):
        return _same(list(want.items()), list(got.items()), close)
    if isinstance(want, dict) and isinstance(got, dict):
        return len(want) == len(got) and all(key in got and _same(want[key], got[key], close) for key in want)
    alike = any(isinstance(want, kinds) and isinstance(got, kinds) for kinds in _ALIKE)
    return (alike or type(want) is type(got)) and bool(want == got)


def _same_number(want: Any, got: Any, close: tuple[float, float] | None) -> bool:
    if isinstance(want, complex) or isinstance(got, complex):
        if close is not None and abs(want - got) <= max(close[0] * max(abs(want), abs(got)), close[1]):
            return True
        return _same_number(want.real, got.real, None) and _same_number(want.imag, got.imag, None)
    if want == got or (want != want and got != got):
        return True
    try:
        return close is not None and math.isclose(want, got, rel_tol=close[0], abs_tol=close[1])
    except (OverflowError, ValueError):  # An integer beyond every float; only an equal one is close.
        return False


def _frozen(value: Any, typed: bool = False) -> Any:
    """A hashable stand-in, equal for values that are `equal`; with `typed`, that are `exact`."""
    kind: Any = type(value).__name__ if typed else None
    if isinstance(value, list | tuple):
        return (kind or "sequence", tuple(_frozen(item, typed) for item in value))
    if isinstance(value, dict):
        pairs = [(_frozen(k, typed), _frozen(v, typed)) for k, v in value.items()]
        ordered = isinstance(value, collections.OrderedDict) and typed
        return (kind or "mapping", tuple(pairs) if ordered else frozenset(pairs))
    if isinstance(value, set | frozenset):
        return (kind or "set", frozenset(_frozen(item, typed) for item in value))
    if isinstance(value, collections.deque):
        return (kind or "deque", tuple(_frozen(item, typed) for item in value))
    if isinstance(value, bytes | bytearray):
        return (kind or "bytes", bytes(value))
    if value != value:
        return (kind, "NaN")
    return (kind if isinstance(value, _NUMBERS) else type(value), value)


def ends(text: str, chars: int) -> str:
    """The text, or its first and last `chars` characters with a note between.

    >>> ends("abcdefghij", 2)
    'ab\\n... 6 characters left out ...\\nij'
    """
    if len(text) <= 2 * chars:
        return text
    return f"{text[:chars]}\n... {len(text) - 2 * chars} characters left out ...\n{text[-chars:]}"


def brief(value: object) -> str:
    """A short form of a plain value for a message, on one line; never fails, whatever the size.

    >>> brief([1] * 1000)[:9]
    '[1, 1, 1,'
    """
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > MAX_BRIEF:
            return f"{text[: MAX_BRIEF - 4]} ..."
    return text


def _pieces(value: Any) -> Iterator[str]:
    """The representation of a value piece by piece, so that only what is shown is made."""
    kind = type(value)
    if kind is int:
        # Beyond these digits Python refuses to convert.
        yield repr(value) if value.bit_length() < 4 * MAX_BRIEF else f"<integer of {value.bit_length()} bits>"
    elif kind in (str, bytes, bytearray):
        yield repr(value[: MAX_BRIEF + 1])
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from _joined(f"{kind.__name__}(", value, ")")
    elif isinstance(value, list | tuple | set | frozenset | collections.deque):
        opening, closing = _BRACKETS.get(kind, (f"{kind.__name__}([", "])"))
        yield from _joined(opening, value, ",)" if kind is tuple and len(value) == 1 else closing)
    elif isinstance(value, dict):
        opening, closing = ("{", "}") if kind is dict else (f"{kind.__name__}({{", "})")
        yield opening
        for number, (key, item) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _pieces(key)
            yield ": "
            yield from _pieces(item)
        yield closing
    elif kind is fractions.Fraction:
        yield from _joined("Fraction(", (value.numerator, value.denominator), ")")
    elif kind is range:
        yield from _joined("range(", (value.start, value.stop, value.step), ")")
    else:
        try:
            yield " ".join(repr(value).split())
        except (ValueError, ArithmeticError, RecursionError):
            yield f"<{kind.__name__}>"


def _joined(opening: str, items: Iterable[Any], closing: str) -> Iterator[str]:
    yield opening
    for number, item in enumerate(items):
        yield ", " if number else ""
        yield from _pieces(item)
    yield closing


_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}")}
