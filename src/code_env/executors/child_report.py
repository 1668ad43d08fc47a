"""Reads the report that a program's process writes, line by line, on a channel separate from its output.

The first line says that the sandbox works; it is written before the program is read. The next lines come from the
harness in the program's own process: the uncaught exception and, for a notebook, the results that it has shown. The
program can have written any of these lines itself, so only their form is checked, and their content is not trusted.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from code_env.harness.wire.records import characters, clean_record

from .result import CellResult, ErrorInfo

VIOLATION = "PolicyViolation"
"""Name of the error that a program gets if its text breaks a policy."""

REFUSALS = frozenset((VIOLATION, "ForbiddenAttribute", "ForbiddenImport", "ForbiddenWrite", "ForbiddenValue"))
"""Names of the errors with which a policy stops a program."""

_MOST_LINES = 10
"""How many lines are read at most, in addition to one line for each cell."""


class Report(NamedTuple):
    """The content of a process's report."""

    started: bool
    """Whether the harness started."""
    error: ErrorInfo | None = None
    """The program's uncaught exception."""
    results: tuple[Mapping[str, Any], ...] = ()
    """The results that a notebook's program has shown; for other programs the value of a variable, if requested."""
    cells: tuple[CellResult, ...] = ()
    """The results of its cells."""


def read_report(text: str, *, cells: int | None = None, alone: bool = True) -> Report:
    """Read a report from its text; lines that are not valid are skipped.

    Args:
        text: The whole text.
        cells: The number of cells of a notebook; None for a program that is not a notebook.
        alone: Whether the program has no peer; if it has a peer, only the first line is read.
    """
    # The split is limited, because a program can have added any number of lines.
    lines = text.split("\n", _MOST_LINES + (cells or 0))
    started = bool(lines[0])
    if not alone:
        return Report(started)
    records = [record for line in lines[1:] if line and isinstance(record := _parsed(line), dict)]
    error = next((found for record in records if (found := error_of(record)) is not None), None)
    if cells is None:
        return Report(started, error, next(filter(None, map(_output_of, records)), ()))
    return Report(started, error, *read_records(records))


def read_records(records: list[dict[str, Any]]) -> tuple[tuple[Mapping[str, Any], ...], tuple[CellResult, ...]]:
    """The results that a notebook's program has shown, and those of its cells; see `code_env.harness.wire.records`."""
    results: tuple[Mapping[str, Any], ...] = ()
    cells: list[CellResult] = []
    for record in filter(None, map(clean_record, records)):
        shown = _shown(record["results"])
        if record["cell"] == 0:
            results = shown
        elif record["cell"] == len(cells) + 1:
            cells.append(CellResult(shown, record["stdout"], error_of(record["error"]), record["variable"]))
    return results, tuple(cells)


def error_of(error: Any) -> ErrorInfo | None:
    """An exception as a process describes it; None if this is not such a description."""
    try:
        return ErrorInfo(**{key: characters(str(error[key])) for key in ("name", "message", "traceback")})
    except (KeyError, TypeError, RecursionError):
        return None


def _output_of(record: dict[str, Any]) -> tuple[Mapping[str, Any], ...]:
    output = record.get("output")
    if not isinstance(output, dict):
        return ()
    kinds = ("application/json", "text/plain")
    return ({kind: characters(output[kind]) for kind in kinds if isinstance(output.get(kind), str)},)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _shown(results: list[dict[str, str]]) -> tuple[Mapping[str, Any], ...]:
    shown: list[Mapping[str, Any]] = []
    for one in results:
        image = one.get("image/png")
        try:
            shown.append(one if image is None else {"image/png": binascii.a2b_base64(image)})
        except (binascii.Error, ValueError):  # It is not a valid image.
            continue
    return tuple(shown)
