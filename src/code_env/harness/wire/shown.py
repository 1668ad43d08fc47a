"""Shows values and long texts in messages, in a short form, whatever their size."""

from __future__ import annotations

import collections
import fractions
from collections.abc import Iterable, Iterator
from typing import Any

MAX_ENDS_CHARS = 32_768
"""The most characters of an output that a report keeps at each end of the output."""

MAX_TEXT_CHARS = 1000
"""The most characters of an expected text, or of a cell's or a file's text, that a report keeps at each end."""

SHOWN = "_code_env_shown"
"""The method that gives the text for messages, of a class whose `__repr__` does more than to give a text."""

MAX_BRIEF = 300
"""The longest form of a value in a message, in characters."""


def ends(text: str, chars: int) -> str:
    """Return the text, or its first and last `chars` characters with a note between them.

    >>> ends("abcdefghij", 2)
    'ab\\n... 6 characters left out ...\\nij'
    """
    if len(text) <= 2 * chars:
        return text
    return f"{text[:chars]}\n... {len(text) - 2 * chars} characters left out ...\n{text[-chars:]}"


def brief(value: object) -> str:
    """Return a short form of a plain value for a message, on one line; never fails, whatever the size.

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
    """Yield the representation of a value piece by piece, so that only the part that is shown is built."""
    kind = type(value)
    shown = getattr(kind, SHOWN, None)
    if shown is not None:
        yield shown(value)
    elif kind is int:
        # Python refuses to convert integers with very many digits.
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
