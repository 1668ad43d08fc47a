"""Converts values for languages that have a single type of number, a 64-bit float, and lists instead of tuples."""

from __future__ import annotations

from typing import Any

_WHOLE = 1 << 53
"""From this size on, every 64-bit float is a whole number."""


def one_number(form: Any) -> Any:
    """An encoded value as it comes back from a language in which 3.0 is 3 and a tuple is a list."""
    if isinstance(form, float) and form.is_integer() and abs(form) < _WHOLE:
        return int(form)
    if isinstance(form, list):
        return [one_number(item) for item in form]
    if isinstance(form, dict):
        return one_number(form["t"]) if "t" in form else {tag: one_number(body) for tag, body in form.items()}
    return form


def exact(form: Any) -> Any:
    """The encoded value, with hexadecimal text for each whole number that a 64-bit float would round."""
    if type(form) is int and abs(form) >= _WHOLE:
        return {"i": hex(form)}
    if isinstance(form, list):
        return [exact(item) for item in form]
    return {tag: exact(body) for tag, body in form.items()} if isinstance(form, dict) else form
