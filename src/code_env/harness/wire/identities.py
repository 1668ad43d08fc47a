"""The places in values by which a program says that a result has a part of its arguments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

MAX_SAME = 100
"""The most such parts that one reply names."""


def items_of(value: Any) -> Collection[Any]:
    """Return the items of a list or a tuple, or the values of a dict, in their order; nothing for other values."""
    kind = type(value)
    if kind is dict:
        return value.values()  # type: ignore[no-any-return]
    return value if kind is list or issubclass(kind, tuple) else ()
