"""Pieces of HTML for notebooks. Every text is escaped: it may come from a program, a model or a data set."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from code_env.text import clip, printable

_MOST_CHARS = 2000
"""A piece of text is shown with at most so many characters."""

MOST_ROWS = 10
"""A table shows at most so many rows, and says how many more there are."""


def text(value: object) -> str:
    """Return a value as escaped text that is not too long.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(printable(clip(str(value), _MOST_CHARS)))


def titled(title: object, *parts: str) -> str:
    """Return pieces of HTML below a title."""
    return f"<div><strong>{text(title)}</strong>{''.join(parts)}</div>"


def block(value: object) -> str:
    """Return text that keeps its spaces and lines, such as a program."""
    return f"<pre>{text(value)}</pre>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], count: int) -> str:
    """Return a table.

    Args:
        columns: The names of its columns.
        rows: Its first rows; of each, the values of the columns.
        count: How many rows there are in all.
    """
    shown = [f"<tr>{''.join(f'<td>{text(value)}</td>' for value in row)}</tr>" for row in rows]
    head = "".join(f"<th>{text(name)}</th>" for name in columns)
    more = f"<p>{count - len(shown)} more</p>" if count > len(shown) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(shown)}</tbody></table>{more}"
