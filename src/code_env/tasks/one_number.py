"""Converts values for languages that have a single type of number, a 64-bit float, and lists instead of tuples."""

from __future__ import annotations

from typing import Any

_WHOLE = 1 << 53
"""Up to this size, every whole number is a 64-bit float."""


def one_number(form: Any) -> Any:
    """An encoded value as it comes back from a language in which 3.0 is 3 and a tuple is a list.

    In a set and in a key of a mapping, a tuple stays one: a list cannot be there.

    Example:
        >>> one_number({"t": [3.0, {"fs": [{"t": [1, 2]}]}]})
        [3, {'s': [{'t': [1, 2]}]}]
    """
    if isinstance(form, float) and form.is_integer():
        return int(form)
    if isinstance(form, list):
        return [one_number(item) for item in form]
    if not isinstance(form, dict):
        return form
    ((tag, body),) = form.items()
    if tag == "t":
        return one_number(body)
    if tag in ("s", "fs"):
        return {"s": [_hashable(item) for item in body]}
    if tag in ("d", "od", "ct"):
        return {tag: [[_hashable(key), one_number(value)] for key, value in body]}
    return {tag: one_number(body)}


def _hashable(form: Any) -> Any:
    is_tuple = isinstance(form, dict) and "t" in form
    return {"t": [_hashable(item) for item in form["t"]]} if is_tuple else one_number(form)


def exact(form: Any) -> Any:
    """The encoded value, with hexadecimal text for those whole numbers alone that a 64-bit float would round.

    Example:
        >>> exact([10**16, 10**16 + 1])
        [10000000000000000, {'i': '0x2386f26fc10001'}]
    """
    if isinstance(form, list):
        return [exact(item) for item in form]
    if isinstance(form, dict):
        return _unless_rounded(int(form["i"], 16)) if "i" in form else {tag: exact(body) for tag, body in form.items()}
    return _unless_rounded(form) if type(form) is int else form


def _unless_rounded(value: int) -> Any:
    if abs(value) <= _WHOLE:
        return value
    try:
        return value if value == int(float(value)) else {"i": hex(value)}
    except OverflowError:
        return {"i": hex(value)}
