"""What a program's process says of it, line by line, beside its output.

The first line says that the sandbox works, before the program is looked at. What follows is the harness's in the
program's own process: its uncaught exception, and of a notebook what it has shown. The program may have written any of
that itself, so only its shape is trusted.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from code_env.harness.wire.records import characters, clean_record

from .result import CellResult, ErrorInfo

VIOLATION = "PolicyViolation"
"""Name of the error of a program whose text breaks a policy."""

REFUSALS = frozenset((VIOLATION, "ForbiddenAttribute", "ForbiddenImport", "ForbiddenWrite", "ForbiddenValue"))
"""Names of the errors by which a policy stops a program."""

_MOST_LINES = 10
"""How many lines are read, beside those of cells."""


class Report(NamedTuple):
    """What a process said."""

    started: bool
    """Whether the harness came up."""
    error: ErrorInfo | None = None
    """The program's uncaught exception."""
    results: tuple[Mapping[str, Any], ...] = ()
    """What a notebook's program has shown; of another the value of a variable, if that was asked for."""
    cells: tuple[CellResult, ...] = ()
    """What its cells gave."""


def read_report(text: str, *, cells: int | None = None, alone: bool = True) -> Report:
    """The report in a text; lines that are none are passed over.

    Args:
        text: All that came.
        cells: With how many cells a notebook was run; None for a program that is none.
        alone: Whether anything beyond the first line is expected.
    """
    # A program may have added any number of lines.
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
    """What a notebook's program has shown, and what its cells gave; see `code_env.harness.wire.records`."""
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
    """An exception as a process describes it, if this is one."""
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
        except (binascii.Error, ValueError):  # It is none.
            continue
    return tuple(shown)
