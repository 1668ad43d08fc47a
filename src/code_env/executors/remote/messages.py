"""The frames that a `remote` executor and a server exchange over a WebSocket, as data for JSON; nothing is pickled.

The server begins with `{"hello": {...}}`, see `Hello`. Then the executor sends `{"cancel": [number]}`, and
`{"programs": {number: program}, "peers": {digest: program}, "forget": [digest]}`. A program names its peer by its
digest (`peers.py`). The server answers with `{"results": {number: result}}` as programs end, and with
`{"refused": {number: reason}}` for those that it cannot run. A program of which the server says nothing before the
connection ends has to be run again.

Bytes are `{"base64": text}`; other rich outputs are `{"value": data}`. Fields with their default value are left out.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Isolation
from code_env.executors.limits import Limits
from code_env.executors.program import Program
from code_env.executors.result import CellResult, ErrorInfo, ExecutionResult, Status


@dataclass(frozen=True)
class Hello:
    """What a server says of itself."""

    isolation: Isolation
    """What its executor isolates and enforces."""
    workers: int
    """How many programs it runs at a time."""
    most_bytes: int
    """The size of the largest frame that it takes, in bytes."""
    version: str
    """The version of this package there."""

    def as_data(self) -> dict[str, Any]:
        """Return it as data."""
        isolation = vars(self.isolation)
        sets = {name: sorted(value) for name, value in isolation.items() if isinstance(value, frozenset)}
        return {"hello": vars(self) | {"isolation": isolation | sets}}

    @classmethod
    def from_data(cls, data: Any) -> Hello:
        """Return what a server says. Fields of a later version are left out.

        Raises:
            TaskError: If the data is malformed.
        """
        try:
            said = _known(cls, data["hello"])
            isolation = _known(Isolation, said["isolation"])
            sets = {name: frozenset(value) for name, value in isolation.items() if isinstance(value, list)}
            return cls(**said | {"isolation": Isolation(**isolation | sets)})
        except (KeyError, TypeError, AttributeError) as error:
            raise TaskError(f"a server's hello was expected; {type(error).__name__}: {error}") from None


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: data[field.name] for field in dataclasses.fields(kind)}


def program_data(program: Program) -> dict[str, Any]:
    """Return a program without its peer as data."""
    return _fields(program)


def program_from(row: Mapping[str, Any], peer: Program | None) -> Program:
    """Return the program that data describes, with its peer.

    Raises:
        KeyError: If the data is malformed. So do `TypeError`, `ValueError`, `AttributeError` and `TaskError`.
    """
    values = dict(row)
    for name in ("argv", "collect", "cells", "history", "imports", "packages"):
        if name in values:
            values[name] = tuple(values[name])
    if "files" in values:
        values["files"] = {path: _from_bytes(content) for path, content in values["files"].items()}
    if "limits" in values:
        values["limits"] = Limits.from_dict(values["limits"])
    if values.get("image"):
        raise TaskError("a program from elsewhere names an image, which could be any directory of this machine")
    return Program(**values | {"peer": peer})


def result_data(result: ExecutionResult) -> dict[str, Any]:
    """Return a result as data."""
    row = _fields(result)
    if result.error is not None:
        row["error"] = _fields(result.error)
    if result.peer is not None:
        row["peer"] = result_data(result.peer)
    if result.cells:
        row["cells"] = [
            _fields(cell) | ({} if cell.error is None else {"error": _fields(cell.error)}) for cell in result.cells
        ]
    return row


def result_from(data: Any) -> ExecutionResult:
    """Return the result that data describes.

    Raises:
        KeyError: If the data is malformed. So do `TypeError`, `ValueError` and `AttributeError`.
    """
    values = dict(data)
    values["status"] = Status(values["status"])
    if "results" in values:
        values["results"] = _outputs(values["results"])
    if "files" in values:
        values["files"] = {path: _from_bytes(content) for path, content in values["files"].items()}
    if "error" in values:
        values["error"] = ErrorInfo(**values["error"])
    if "cells" in values:
        values["cells"] = tuple(_cell(row) for row in values["cells"])
    if "peer" in values:
        values["peer"] = result_from(values["peer"])
    return ExecutionResult(**values)


def _fields(value: Program | ExecutionResult | ErrorInfo | CellResult) -> dict[str, Any]:
    """The fields that differ from their defaults; those that hold other objects are left to the caller."""
    row: dict[str, Any] = {}
    for name, default in _DEFAULTS[type(value)].items():
        field = getattr(value, name)
        if field == default or name in ("peer", "error") or (name == "cells" and isinstance(value, ExecutionResult)):
            continue
        if name == "limits":
            field = _changed_limits(field)
        elif name == "files":
            field = {path: _as_bytes(content) for path, content in field.items()}
        elif name == "results":
            field = [
                {kind: _as_bytes(data) if isinstance(data, bytes) else {"value": data} for kind, data in output.items()}
                for output in field
            ]
        row[name] = field
    return row


def _changed_limits(limits: Limits) -> dict[str, Any]:
    return {name: value for name, value in vars(limits).items() if value != getattr(_LIMITS, name)}


def _cell(row: Mapping[str, Any]) -> CellResult:
    values = dict(row)
    if "results" in values:
        values["results"] = _outputs(values["results"])
    if "error" in values:
        values["error"] = ErrorInfo(**values["error"])
    if "status" in values:
        values["status"] = Status(values["status"])
    return CellResult(**values)


def _outputs(outputs: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        {kind: data["value"] if "value" in data else _from_bytes(data) for kind, data in output.items()}
        for output in outputs
    )


def _as_bytes(content: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(content).decode()}


def _from_bytes(data: Mapping[str, str]) -> bytes:
    return base64.b64decode(data["base64"], validate=True)


def _defaults(kind: type[Any]) -> dict[str, Any]:
    """The default of each field of a class; what no value equals for a field without one."""
    return {
        field.name: field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        for field in dataclasses.fields(kind)
    }


_LIMITS = Limits()
_DEFAULTS = {kind: _defaults(kind) for kind in (Program, ExecutionResult, ErrorInfo, CellResult)}
