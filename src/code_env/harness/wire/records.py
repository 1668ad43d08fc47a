"""What a notebook has shown, as its program's process tells it.

There is a record for the program, and one for each cell::

    {"cell": 0, "results": [{"text/plain": "5"}, {"image/png": "<base64>"}]}
    {"cell": 1, "results": [], "stdout": "5\n", "error": null, "variable": "5"}

Cell 0 is the program. Of each other there is also what it wrote to standard output, which may come on the program's own
standard output too, the exception that ended it, and the variable `result` if it sets that. All of this is data, for
which the program could put any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..process.limits import MAX_TEXT

MAX_RECORDS_BYTES = 8 << 20
"""What all records of a program may hold together; what would pass it is left out."""

MOST_RESULTS = 1000
"""How many results of a program or a cell are kept."""

Record = dict[str, Any]


def clean_record(record: Any) -> Record | None:
    """A record with all in it of the right shape, if it is one at all; a program may have written it.

    What is not of that shape is left out. No text holds what is no character.
    """
    if not isinstance(record, dict) or type(record.get("cell")) is not int:
        return None
    shown = record.get("results")
    items = shown[:MOST_RESULTS] if isinstance(shown, list) else []
    clean: Record = {"cell": record["cell"], "results": [one for item in items if (one := _clean_item(item))]}
    if record["cell"] != 0:
        error = record.get("error")
        clean["stdout"] = _clean_text(record.get("stdout")) or ""
        clean["variable"] = _clean_text(record.get("variable"))
        clean["error"] = None
        if error is not None:
            told = error if isinstance(error, dict) else {}
            names = ("name", "message", "traceback")
            clean["error"] = {name: (_clean_text(told.get(name)) or "")[:MAX_TEXT] for name in names}
    return clean


def _clean_item(item: Any) -> dict[str, str] | None:
    if not isinstance(item, dict):
        return None
    for kind in ("text/plain", "image/png"):
        data = _clean_text(item.get(kind))
        if data is not None:
            return {kind: data}
    return None


def _clean_text(value: Any) -> str | None:
    return characters(value) if isinstance(value, str) else None


def characters(text: str) -> str:
    """A text in which what is no character is replaced, as in a program's output.

    Example:
        >>> characters("a\\ud800b")
        'a?b'
    """
    return text.encode("utf-8", "replace").decode()


def text_of_cell(results: Iterable[Mapping[str, Any]], stdout: str, variable: str | None) -> str:
    """What a cell gave, as text: its last expression, else what it printed, else the variable `result`.

    Args:
        results: What it has shown, by MIME type.
        stdout: What it wrote to standard output.
        variable: The variable as text, if it has set it.
    """
    values = [shown["text/plain"] for shown in results if "text/plain" in shown]
    if values:
        return str(values[-1])
    return stdout if stdout.strip() or variable is None else variable
