"""Cells as data for JSON."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from code_env.executors.result import CellResult


def shown(results: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what a cell showed: by MIME type a text, or the bytes of an image in base64."""
    return [
        {kind: base64.b64encode(data).decode() if isinstance(data, bytes) else data for kind, data in one.items()}
        for one in results
    ]


def cell_as_data(cell: CellResult) -> dict[str, Any]:
    """Return the result of a session's cell, with the names of its fields."""
    error = cell.error
    return {
        "status": str(cell.status),
        "text": cell.text,
        "stdout": cell.stdout,
        "stderr": cell.stderr,
        "results": shown(cell.results),
        "error": error and {"name": error.name, "message": error.message, "traceback": error.traceback},
        "cpu_s": cell.cpu_s,
        "wall_s": cell.wall_s,
    }
