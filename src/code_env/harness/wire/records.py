"""The records of what a notebook showed, as the program's process sends them.

There is one record for the program, and one for each cell::

    {"cell": 0, "results": [{"text/plain": "5", "text/html": "<b>5</b>"}, {"image/png": "<base64>"}]}
    {"cell": 1, "results": [], "stdout": "5\n", "error": null, "variable": "5"}

Cell 0 is the program. The record of every other cell also holds what the cell wrote to standard output, the exception
that ended it, and the variable `result` if the cell sets it. The output of a cell can also come on the program's own
standard output. All of this is data that the program can forge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..process.limits import MAX_TEXT

MAX_RECORDS_BYTES = 8 << 20
"""The most bytes of results in all records of a program together. A result that would exceed this is left out."""

MOST_RESULTS = 1000
"""The most results of a program or a cell that are kept."""

Record = dict[str, Any]


def clean_record(record: Any) -> Record | None:
    """Return a record in which everything has the right shape, or None if it is not a record.

    A program can have written the record. Parts that do not have the right shape are left out. In every text, lone
    surrogates are replaced.
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
    for kinds in (("text/plain", "text/html"), ("image/png",)):
        texts = {kind: data for kind in kinds if (data := _clean_text(item.get(kind))) is not None}
        if kinds[0] in texts:
            return texts
    return None


def _clean_text(value: Any) -> str | None:
    return characters(value) if isinstance(value, str) else None


def characters(text: str) -> str:
    """Return a text in which lone surrogates are replaced, as in a program's output.

    Example:
        >>> characters("a\\ud800b")
        'a?b'
    """
    return text.encode("utf-8", "replace").decode()


def text_of_cell(results: Iterable[Mapping[str, Any]], stdout: str, variable: str | None) -> str:
    """Return the result of a cell as text: its last expression, else what it printed, else the variable `result`.

    Args:
        results: What the cell showed, by MIME type.
        stdout: What the cell wrote to standard output.
        variable: The variable as text, if the cell set the variable.
    """
    values = [shown["text/plain"] for shown in results if "text/plain" in shown]
    if values:
        return str(values[-1])
    return stdout if stdout.strip() or variable is None else variable
