"""Comparison rules: whether a program's output or value is what a test expects.

Rules for text (`stdin` and `output` tests). White space is every character for which `str.isspace` is true. Only a
newline ends a line, so a `\\r` before a newline is white space at the end of the line:

* `exact`: the same characters.
* `trailing`: white space at the end of the whole output is ignored.
* `lines` (default): the same lines; white space at the end of a line and blank lines at the end are ignored.
* `tokens`: the same words; the white space between words is ignored.
* `numbers`: as `tokens`, but words that are numbers on both sides can differ by the tolerance.
* `unordered`: as `lines`, in any order; each line must occur equally often on both sides.

Rules for values (`call` tests):

* `equal` (default): equal as Python compares, except that a list and a tuple with equal items are
  equal (JSON has no tuples) and NaN equals NaN.
* `exact`: equal, and of the same types at every depth.
* `close`: as `equal`, but numbers can differ by the tolerance.
* `unordered`: as `equal`, but lists and tuples can be in any order at every depth; each item must
  occur equally often on both sides.
* `multiset`: as `unordered`, for the outermost list only.

Both sides are plain data here, so no comparison runs code of the program. No comparison raises an exception or takes
longer than sorting the data, whatever the program returned. Numbers are not hashed, because a program can choose
numbers with the same hash. Integers and decimals are not converted into each other beyond `_MAX_DECIMAL_PLACES`. Two
texts are read side by side, up to the first difference.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from ..wire.shown import brief

TEXT_RULES = ("exact", "trailing", "lines", "tokens", "numbers", "unordered")
"""Names of the rules for text."""

VALUE_RULES = ("exact", "equal", "close", "unordered", "multiset")
"""Names of the rules for values."""

_Tolerance = tuple[float, float]
"""The largest difference of two numbers: relative to the larger one, and absolute. To be within either is enough."""

_Ratio = tuple[int, int]
"""An exact number: its numerator, and its denominator, which is at least 1."""


def compare_text(expected: str, actual: str, rule: str, rel: float, abs_: float) -> str | None:
    """Return None if `actual` is as expected, else the difference in one line.

    >>> compare_text("1 2", "1 2  ", "lines", 0, 0)
    >>> compare_text("1 2", "1 3", "lines", 0, 0)
    "line 1: expected '1 2', got '1 3'"
    """
    if expected == actual:
        return None
    if rule == "exact":
        return _character_difference(expected, actual)
    if rule == "trailing":
        return _character_difference(expected.rstrip(), actual.rstrip())
    if rule == "lines":
        return _first_difference(_lines(expected), _lines(actual), "line")
    if rule == "unordered":
        return _line_difference(expected, actual)
    if rule == "tokens":
        return _first_difference(_words(expected), _words(actual), "word")
    close = (rel, abs_)
    return _first_difference(_words(expected), _words(actual), "word", lambda w, g: _close_words(w, g, close))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text one by one: a list of a million short lines needs much memory."""
    text, start = text.rstrip(), 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end].rstrip()
        start = end + 1
    yield text[start:]


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text))


_WORD = re.compile(r"\S+")


def _first_difference(
    want: Iterator[str], got: Iterator[str], unit: str, agree: Callable[[str, str], bool] | None = None
) -> str | None:
    for number, (w, g) in enumerate(itertools.zip_longest(want, got), start=1):
        if g is None:
            return f"{unit} {number}: {brief(w)} is missing"
        if w is None:
            return f"{unit} {number}: {brief(g)} is too much"
        if w != g and not (agree is not None and agree(w, g)):
            return f"{unit} {number}: expected {brief(w)}, got {brief(g)}"
    return None


def _character_difference(want: str, got: str) -> str | None:
    if want == got:
        return None
    # The first `same` characters of both are equal; the first `differ` characters are not.
    same, differ = 0, min(len(want), len(got)) + 1
    while differ - same > 1:
        middle = (same + differ) // 2
        if want[same:middle] == got[same:middle]:
            same = middle
        else:
            differ = middle
    return f"character {same + 1}: expected {brief(want[same:])}, got {brief(got[same:])}"


def _line_difference(expected: str, actual: str) -> str | None:
    want_text, got_text = expected.rstrip(), actual.rstrip()
    want_lines, got_lines = (text.count("\n") + 1 if text else 0 for text in (want_text, got_text))
    if want_lines != got_lines:
        return f"expected {want_lines} lines, got {got_lines}"
    for w, g in zip(sorted(_lines(want_text)), sorted(_lines(got_text)), strict=True):
        if w != g:
            return f"line {brief(w)} is missing" if w < g else f"line {brief(g)} is too much"
    return None


_INTEGER = re.compile(r"[+-]?[0-9]++")
_REAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE]([+-]?[0-9]++))?")
"""The pattern of a number. Python's `int` and `float` also accept `1_000` and the digits of other scripts."""

_INFINITE = re.compile(r"\+?(-?)inf(?:inity)?", re.IGNORECASE)
_NAN_WORD = re.compile(r"[+-]?nan", re.IGNORECASE)

_MAX_DIGITS = 4000
"""The longest word that is read exactly, in characters. Python refuses to read integers with many more digits."""


def _close_words(want: str, got: str, close: _Tolerance) -> bool:
    """Whether two words that differ are numbers within the tolerance."""
    left, right = _read_number(want), _read_number(got)
    if left is None or right is None:
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _close_ratios(left, right, close)
    left, right = (_to_float(side) if isinstance(side, tuple) else side for side in (left, right))
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    if math.isinf(left) or math.isinf(right):
        # A number that is too large for a float is not an infinity.
        return left == right and bool(_INFINITE.fullmatch(want)) and bool(_INFINITE.fullmatch(got))
    return math.isclose(left, right, rel_tol=close[0], abs_tol=close[1])


def _read_number(word: str) -> _Ratio | float | None:
    """Read the number in a word: exact if it is not too long, else the nearest float. None if it is not a number."""
    real = _REAL.fullmatch(word)
    if real is not None:
        if len(word) <= _MAX_DIGITS:
            if _INTEGER.fullmatch(word):
                return int(word), 1
            if len(real[1] or "") <= 4:  # A number with a longer exponent is beyond every float.
                exact: _Ratio | None = _decimal_ratio(decimal.Decimal(word))
                if exact is not None:
                    return exact
        return float(word)
    infinite = _INFINITE.fullmatch(word)
    if infinite is not None:
        return -math.inf if infinite[1] else math.inf
    return math.nan if _NAN_WORD.fullmatch(word) else None


def _to_float(ratio: _Ratio) -> float:
    try:
        return ratio[0] / ratio[1]
    except OverflowError:
        return math.inf if ratio[0] > 0 else -math.inf


def compare_values(expected: Any, actual: Any, rule: str, rel: float, abs_: float) -> bool:
    """Whether `actual` is as expected under a rule for values; never raises for plain data.

    >>> compare_values([1, 2], (1, 2), "equal", 0, 0)
    True
    >>> compare_values([1, 2], (1, 2), "exact", 0, 0)
    False
    """
    try:
        expected, actual = _without_numpy(expected), _without_numpy(actual)
        if rule == "exact":
            return _canonical(expected, typed=True) == _canonical(actual, typed=True)
        if rule == "unordered":
            return _canonical(expected, free=True) == _canonical(actual, free=True)
        if rule == "multiset" and isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
            if len(expected) != len(actual):
                return False
            if _all_ints(expected) and _all_ints(actual):
                return sorted(expected) == sorted(actual)
            return sorted(map(_canonical, expected)) == sorted(map(_canonical, actual))
        return _same(expected, actual, (rel, abs_) if rule == "close" else None)
    # Values that are not plain data, or are beyond the bounds of a number's type, are not equal.
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return False


_MAX_ARRAY_NODES = 1 << 24
"""The most lists and items that an array can become. An array of shape (10**9, 0) is small, but becomes 10**9 lists."""


def _without_numpy(value: Any) -> Any:
    """Return the value with NumPy's arrays and scalars replaced by builtin values, as a test writes them."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return value
    if isinstance(value, numpy.ndarray | numpy.generic):
        if sum(itertools.accumulate(value.shape, lambda a, b: a * b)) > _MAX_ARRAY_NODES:
            raise ValueError("an array too large to compare")
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


_NUMBERS = (int, float, complex, decimal.Decimal, fractions.Fraction)


_PLAINEST = frozenset({int, str, bool, bytes, type(None)})
"""Two values of one of these types are the same if they are equal in Python. Most data consists of these types."""


def _same(want: Any, got: Any, close: _Tolerance | None) -> bool:
    kind = type(want)
    if kind is type(got) and kind in _PLAINEST and want == got:
        return True
    if isinstance(want, _NUMBERS) and isinstance(got, _NUMBERS):
        return _same_number(want, got, close)
    for kinds in ((list, tuple), (collections.deque,)):
        if isinstance(want, kinds) and isinstance(got, kinds):
            return len(want) == len(got) and all(_same(w, g, close) for w, g in zip(want, got, strict=True))
    if isinstance(want, collections.Counter) and isinstance(got, collections.Counter):
        # A `Counter` counts 0 for a missing item, so items that it counts 0 times are left out.
        return _same_items([i for i in want.items() if i[1] != 0], [i for i in got.items() if i[1] != 0], close)
    if isinstance(want, collections.OrderedDict) and isinstance(got, collections.OrderedDict):
        return _same(list(want.items()), list(got.items()), close)
    if isinstance(want, dict) and isinstance(got, dict):
        if set(map(type, want)) <= {str}:  # Texts with the same hash are hard to find.
            return len(want) == len(got) and all(key in got and _same(want[key], got[key], close) for key in want)
        return _same_items(want.items(), got.items(), close)
    return _canonical(want) == _canonical(got)


def _same_items(want: Iterable[Any], got: Iterable[Any], close: _Tolerance | None) -> bool:
    """Whether two mappings have the same keys with the same values, in any order."""
    left, right = (sorted(((_canonical(k), v) for k, v in side), key=itemgetter(0)) for side in (want, got))
    if len(left) != len(right):
        return False
    return all(wk == gk and _same(w, g, close) for (wk, w), (gk, g) in zip(left, right, strict=True))


def _same_number(want: Any, got: Any, close: _Tolerance | None) -> bool:
    if type(want) is float and type(got) is float:
        if close is not None:
            return math.isclose(want, got, rel_tol=close[0], abs_tol=close[1]) or (want != want and got != got)
        return want == got or (want != want and got != got)
    left, right = _number(want), _number(got)
    if left == right:
        return True
    if close is None:
        return False
    if isinstance(want, complex) or isinstance(got, complex):
        return _close_complex(complex(want), complex(got), close)
    left_ratio, right_ratio = _ratio(left), _ratio(right)
    return left_ratio is not None and right_ratio is not None and _close_ratios(left_ratio, right_ratio, close)


def _close_complex(want: complex, got: complex, close: _Tolerance) -> bool:
    want, got = want / 4, got / 4  # So that no distance is too large for a float.
    if not all(map(math.isfinite, (want.real, want.imag, got.real, got.imag))):
        return False
    return abs(want - got) <= max(close[0] * max(abs(want), abs(got)), close[1] / 4)


_MAX_RATIO_BITS = 1 << 18
"""The most bits of two fractions that are compared within a tolerance; multiplying longer ones takes too long."""


def _close_ratios(want: _Ratio, got: _Ratio, close: _Tolerance) -> bool:
    """Whether two exact numbers are within the tolerance.

    They are not compared as floats, because as floats neighbouring large integers are equal.
    """
    (a, b), (c, d) = want, got
    if not b == d == 1:
        if sum(n.bit_length() for n in (a, b, c, d)) > _MAX_RATIO_BITS:
            return a == c and b == d
        a, c = a * d, c * b
    rel, rel_scale = close[0].as_integer_ratio()
    abs_, abs_scale = close[1].as_integer_ratio()
    distance = abs(a - c)
    return distance * rel_scale <= rel * max(abs(a), abs(c)) or distance * abs_scale <= abs_ * b * d


# The tags of `_write`, in the order in which values of different kinds are sorted.
_NONE, _NUMBER, _RATIO, _DECIMAL, _COMPLEX, _NAN, _TEXT, _BYTES, _RANGE = range(9)
_DATE, _DATETIME, _AWARE, _TIME, _AWARE_TIME, _DELTA, _SEQUENCE, _DEQUE, _SET, _MAPPING = range(9, 19)


def _canonical(value: Any, typed: bool = False, free: bool = False) -> list[Any]:
    """Return a form of a value that can be compared and sorted. Values that are `equal` have the same form.

    Args:
        value: Plain data.
        typed: Whether only values that are `exact` have the same form.
        free: Whether the form ignores the order in lists and tuples.

    Raises:
        TypeError: If the value is not plain data.
    """
    form: list[Any] = []
    _write(value, form, typed, free)
    return form


def _write(value: Any, form: list[Any], typed: bool, free: bool) -> None:
    """Append a value to a form: a tag, and then the entries that belong to this tag.

    Forms can be sorted: the first entries in which two forms differ are of one type, because the tags before them are
    equal.
    """
    kind = type(value)
    if typed:
        form.append(f"{kind.__name__}{getattr(value, '_fields', '')}")
    if kind is str:
        form += (_TEXT, value)
    elif value is None:
        form.append(_NONE)
    elif isinstance(value, _NUMBERS):
        form += _number(value)
    elif isinstance(value, list | tuple):
        form += (_SEQUENCE, len(value))
        if free and _all_ints(value):
            value = sorted(value)
            free = False
        if free:
            _write_sorted([(item,) for item in value], form, typed, free)
        else:
            for item in value:
                _write(item, form, typed, free)
    elif isinstance(value, dict):
        form += (_MAPPING, len(value))
        if typed and kind is collections.OrderedDict:
            for pair in value.items():
                for item in pair:
                    _write(item, form, typed, free)
        else:
            _write_sorted(value.items(), form, typed, free)
    elif isinstance(value, set | frozenset):
        form += (_SET, len(value))
        _write_sorted([(item,) for item in value], form, typed, free)
    elif isinstance(value, collections.deque):
        form += (_DEQUE, len(value))
        for item in value:
            _write(item, form, typed, free)
    elif isinstance(value, bytes | bytearray):
        form += (_BYTES, bytes(value))
    elif kind is range:
        length = max(0, -((value.start - value.stop) // value.step))
        form += (_RANGE, length, *(value.start, value.step)[: min(length, 2)])
    else:
        form += _moment(value)


def _all_ints(items: Iterable[Any]) -> bool:
    """Whether all items are integers. These sort as their canonical forms do, which need ten times the memory."""
    return set(map(type, items)) <= {int}


def _write_sorted(groups: Iterable[tuple[Any, ...]], form: list[Any], typed: bool, free: bool) -> None:
    parts: list[list[Any]] = []
    for group in groups:
        part: list[Any] = []
        for item in group:
            _write(item, part, typed, free)
        parts.append(part)
    parts.sort()
    for part in parts:
        form += part


def _moment(value: Any) -> tuple[Any, ...]:
    kind = type(value)
    if kind is datetime.timedelta:
        return (_DELTA, value)
    if kind is datetime.date:
        return (_DATE, value.toordinal())
    if kind is datetime.datetime:
        since = value.replace(tzinfo=None) - datetime.datetime.min
        offset = value.utcoffset()
        return (_DATETIME, since) if offset is None else (_AWARE, since - offset)
    if kind is datetime.time:
        since = datetime.timedelta(0, (value.hour * 60 + value.minute) * 60 + value.second, value.microsecond)
        offset = value.utcoffset()
        return (_TIME, since) if offset is None else (_AWARE_TIME, since - offset)
    raise TypeError(f"no plain data: {kind.__name__}")


def _number(value: Any) -> tuple[Any, ...]:
    """Return the canonical form of a number. It holds integers and floats as they are: Python compares them exactly."""
    if isinstance(value, int):
        return (_NUMBER, value)
    if isinstance(value, float):
        return (_NUMBER, value) if value == value else (_NAN,)
    if isinstance(value, fractions.Fraction):
        return _ratio_form(value.numerator, value.denominator)
    if isinstance(value, complex):
        real = _number(value.real)
        return real if value.imag == 0 else (_COMPLEX, *real, *_number(value.imag))
    if value.is_nan():
        return (_NAN,)
    if value.is_infinite():
        return (_NUMBER, math.copysign(math.inf, value))
    ratio = _decimal_ratio(value)
    return (_DECIMAL, str(value.normalize(_WIDE))) if ratio is None else _ratio_form(*ratio)


def _ratio_form(numerator: int, denominator: int) -> tuple[Any, ...]:
    """Return the form of a fraction in lowest terms."""
    if denominator == 1:
        return (_NUMBER, numerator)
    power_of_two = denominator & (denominator - 1) == 0
    if power_of_two and denominator.bit_length() <= 1075 and numerator.bit_length() <= 53:
        return (_NUMBER, numerator / denominator)  # A float can have exactly this value.
    return (_RATIO, numerator, denominator)


def _ratio(form: tuple[Any, ...]) -> _Ratio | None:
    """Return the exact number of a canonical form; None if there is none, or if it is too large to work with."""
    if form[0] == _RATIO:
        return form[1], form[2]
    if form[0] == _NUMBER and (isinstance(form[1], int) or math.isfinite(form[1])):
        ratio: _Ratio = form[1].as_integer_ratio()
        return ratio
    return None


_MAX_DECIMAL_PLACES = 1000
"""Decimals with more digits, or further from 1, equal decimals only: converting them to a ratio takes too long."""

_WIDE = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def _decimal_ratio(value: decimal.Decimal) -> _Ratio | None:
    """Return a finite decimal as an exact number; None if it is too long or too far from 1."""
    if not value:
        return 0, 1
    if abs(value.adjusted()) > _MAX_DECIMAL_PLACES:
        return None
    value = value.normalize(_WIDE)
    if len(str(value)) > 2 * _MAX_DECIMAL_PLACES:
        return None
    return value.as_integer_ratio()
