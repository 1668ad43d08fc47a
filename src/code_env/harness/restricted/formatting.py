"""`str.format` for programs: it reads each attribute that a field names through the guards."""

from __future__ import annotations

import _string  # type: ignore[import-not-found]
from collections.abc import Callable
from typing import Any

_MOST_NESTED = 2


def format_text(get: Callable[[Any, str], Any], text: Any, named: Any, args: tuple[Any, ...] = ()) -> str:
    """Format a text.

    Args:
        get: Returns an attribute, or refuses it.
        text: The text. For an object of the program's own class, this is the text that the object holds.
        named: Arguments by name: any object that has items.
        args: Arguments by number.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: As `str.format` does.
    """
    if not isinstance(text, str):
        raise TypeError(f"a text was expected, not {type(text).__name__}")
    return _Formatter(get, named, args).format(str.__str__(text), _MOST_NESTED)


class _Formatter:
    def __init__(self, get: Callable[[Any, str], Any], named: Any, args: tuple[Any, ...]) -> None:
        self._get, self._named, self._args = get, named, args
        self._next: int | None = 0

    def format(self, text: str, depth: int) -> str:
        if depth == 0:
            raise ValueError("Max string recursion exceeded")
        parts = []
        for literal, field, spec, conversion in _string.formatter_parser(text):
            parts.append(literal)
            if field is not None:
                value = _converted(self._value(field), conversion)
                parts.append(format(value, self.format(spec, depth - 1) if "{" in spec else spec))
        return "".join(parts)

    def _value(self, field: str) -> Any:
        first, rest = _string.formatter_field_name_split(field)
        if first == "":
            if self._next is None:
                raise ValueError("cannot switch from manual field specification to automatic field numbering")
            first, self._next = self._next, self._next + 1
        elif type(first) is int:
            if self._next:
                raise ValueError("cannot switch from automatic field numbering to manual field specification")
            self._next = None
        if type(first) is int and first >= len(self._args):
            raise IndexError(f"Replacement index {first} out of range for positional args tuple")
        value = self._args[first] if type(first) is int else self._named[first]
        for is_attribute, key in rest:
            value = self._get(value, key) if is_attribute else value[key]
        return value


def _converted(value: Any, conversion: str | None) -> Any:
    if conversion is None:
        return value
    if conversion not in ("s", "r", "a"):
        raise ValueError(f"Unknown conversion specifier {conversion!r}")
    convert: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}
    return convert[conversion](value)
