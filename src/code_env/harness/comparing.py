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
import reprlib
import sys
from typing import Any

TEXT_RULES = ("exact", "lines", "tokens", "numbers")
"""Names of the rules for text."""

VALUE_RULES = ("exact", "equal", "close", "unordered")
"""Names of the rules for values."""

MAX_BRIEF = 300
"""Longest form in which a value appears in a message, in characters."""

_NUMBERS = (int, float, complex)
_COMPARABLE = (
    (set, frozenset),
    (bytes, bytearray),
    (int, float, complex, decimal.Decimal, fractions.Fraction),
)
"""Types whose values Python may find equal across types, beside lists and tuples, and mappings."""


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
    try:
        return _close(float(want), float(got), rel, abs_)
    except ValueError:
        return False


def compare_values(expected: Any, actual: Any, rule: str, rel: float, abs_: float) -> bool:
    """Whether `actual` is what is expected, under a rule for values.

    >>> compare_values([1, 2], (1, 2), "equal", 0, 0)
    True
    >>> compare_values([1, 2], (1, 2), "exact", 0, 0)
    False
    """
    actual = _without_numpy(actual)
    expected = _without_numpy(expected)
    if rule == "exact":
        return _same(expected, actual, exact=True)
    if rule == "unordered" and isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        if len(expected) != len(actual):
            return False
        return collections.Counter(map(_frozen, expected)) == collections.Counter(map(_frozen, actual))
    return _same(expected, actual, close=(rel, abs_) if rule == "close" else None)


def _without_numpy(value: Any) -> Any:
    """NumPy's arrays and scalars as the builtin values that a test writes down."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return value
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.tolist()
    if type(value) in (list, tuple):
        return type(value)(map(_without_numpy, value))
    if type(value) is dict:
        return {_without_numpy(k): _without_numpy(v) for k, v in value.items()}
    return value


def _same(want: Any, got: Any, *, exact: bool = False, close: tuple[float, float] | None = None) -> bool:
    if exact and type(want) is not type(got):
        return False
    if isinstance(want, _NUMBERS) and isinstance(got, _NUMBERS):
        both_nan = bool(want != want and got != got)
        return bool(want == got) or both_nan or (close is not None and _close(want, got, *close))
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        return len(want) == len(got) and all(
            _same(w, g, exact=exact, close=close) for w, g in zip(want, got, strict=True)
        )
    if isinstance(want, dict) and isinstance(got, dict):
        return len(want) == len(got) and all(
            key in got and _same(want[key], got[key], exact=exact, close=close) for key in want
        )
    alike = any(isinstance(want, kinds) and isinstance(got, kinds) for kinds in _COMPARABLE)
    try:
        return (alike or type(want) is type(got)) and bool(want == got)
    except ArithmeticError:  # A signalling NaN among decimals.
        return False


def _close(want: Any, got: Any, rel: float, abs_: float) -> bool:
    try:
        if isinstance(want, complex) or isinstance(got, complex):
            return bool(abs(want - got) <= max(rel * max(abs(want), abs(got)), abs_))
        return math.isclose(want, got, rel_tol=rel, abs_tol=abs_)
    except OverflowError:  # An integer beyond every float; only an equal one is close.
        return bool(want == got)


def _frozen(value: Any) -> Any:
    """A hashable stand-in that is equal for values that are `equal`."""
    if isinstance(value, list | tuple):
        return ("sequence", tuple(map(_frozen, value)))
    if isinstance(value, dict):
        return ("mapping", frozenset((_frozen(k), _frozen(v)) for k, v in value.items()))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(map(_frozen, value)))
    if isinstance(value, bytearray | collections.deque):
        return (type(value).__name__, tuple(value))
    if isinstance(value, float) and value != value:
        return "NaN"
    return (None, value) if isinstance(value, _NUMBERS) else (type(value), value)


class _Brief(reprlib.Repr):
    """Short forms of values that may be huge; never fails."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 6
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 30
        self.maxdeque = self.maxarray = 30
        self.maxstring = self.maxother = self.maxlong = MAX_BRIEF

    def repr_int(self, value: int, level: int) -> str:
        if value.bit_length() > 4 * MAX_BRIEF:  # Beyond the digits that Python converts by default.
            return f"<integer of {value.bit_length()} bits>"
        return super().repr_int(value, level)


_BRIEF = _Brief()


def brief(value: object) -> str:
    """A short form of a plain value for a message.

    >>> brief([1] * 1000)[:9]
    '[1, 1, 1,'
    """
    try:
        text = _BRIEF.repr(value)
    except (ValueError, ArithmeticError, RecursionError):
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MAX_BRIEF else f"{text[: MAX_BRIEF - 4]} ..."
