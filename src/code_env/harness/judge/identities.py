"""Decides which values of a result are parts of the arguments, where the tests check identity.

The program says so, see `program/identities.py`. It is not trusted: a value of the result stands for a part of the
arguments only if both are plain data, of one type and equal. So it can claim no more than that it returns a value that
it was given and has in fact returned. Only tests with `is`, `id` or `assertIs` ask for this.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..wire.identities import MAX_SAME, items_of
from ..wire.plain import NotPlain, encode


def claimed(told: Any, given: list[Any]) -> list[tuple[Any, Any]]:
    """Return pairs of a place in the result and the part of the arguments that lies there, as a reply says.

    The function looks at the arguments, so it comes before the changes that the reply makes to them.
    """
    found = []
    for one in told[:MAX_SAME] if type(told) is list else ():
        if type(one) is list and len(one) == 2:
            found += [(one[0], original) for original in _at(given, one[1])]
    return found


def confirmed(claims: list[tuple[Any, Any]], value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of a part of the result and the equal part of the arguments that it is."""
    for path, original in claims:
        for part in _at(value, path):
            if part is not original and _are_equal(part, original):
                yield part, original


def _at(value: Any, path: Any) -> list[Any]:
    """Return what lies at a place, in a list; an empty list if there is no such place."""
    for at in path if type(path) is list else [None]:
        items = items_of(value)
        if type(at) is not int or not 0 <= at < len(items):
            return []
        value = next(itertools.islice(items, at, None))
    return [value]


def _are_equal(part: Any, original: Any) -> bool:
    both_tuples = issubclass(type(part), tuple) and issubclass(type(original), tuple)  # Namedtuples are made anew.
    if type(part) is not type(original) and not both_tuples:
        return False
    try:
        encode(part), encode(original)  # Only data may be compared.
    except (NotPlain, TypeError):
        return False
    return bool(part == original)
