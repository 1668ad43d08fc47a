"""The package's own format: one task a line, as JSON. `docs/task-format.md` documents each field.

JSON has fewer types than Python; in `args`, `kwargs` and `expected` an object with one key that
begins with `$` stands for another type, as in `{"$tuple": [1, 2]}`.
"""

from __future__ import annotations

import base64
import difflib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from code_env.errors import TaskError
from code_env.executors.program import Limits, check_path

from .kinds import AnyTest, AssertTest, CallTest, OutputTest, StdinTest
from .task import Task

_T = TypeVar("_T")

_KINDS: dict[str, type[AnyTest]] = {k.kind: k for k in (StdinTest, OutputTest, CallTest, AssertTest)}

_REQUIRED = {
    "stdin": {"stdin", "stdout"},
    "output": {"expected"},
    "call": {"args", "expected"},
    "assert": {"code"},
}
_OPTIONAL = {
    "stdin": {"compare"},
    "output": {"compare"},
    "call": {"kwargs", "compare"},
    "assert": set[str](),
}


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row describes.

    Raises:
        TaskError: If the row is malformed; the message begins with the field.

    Example:
        >>> row = {"id": "x", "prompt": "Print 1.", "tests": [{"kind": "output", "expected": "1"}]}
        >>> task_from_row(row).tests[0].expected
        '1'
    """
    text_fields = {"entry_point", "language", "setup", "prefix", "reference", "judge"}
    _check_keys(row, {"id", "prompt", "tests"}, text_fields | {"files", "limits", "metadata"}, "a row")
    fields: dict[str, Any] = {key: row[key] for key in ("id", "prompt", *text_fields) if key in row}
    fields["tests"] = tuple(_tests(row["tests"]))
    if "files" in row:
        fields["files"] = _in_field("files", lambda: _files(row["files"]))
    if "limits" in row:
        fields["limits"] = _in_field("limits", lambda: Limits.from_dict(_mapping(row["limits"])))
    if "metadata" in row:
        fields["metadata"] = _in_field("metadata", lambda: _mapping(row["metadata"]))
    return Task(**fields)


def _tests(rows: Any) -> list[AnyTest]:
    if not isinstance(rows, list):
        raise TaskError(f"tests must be a list; got {type(rows).__name__}")
    return [_in_field(f"tests[{index}]", lambda row=row: _test(row)) for index, row in enumerate(rows)]  # type: ignore[misc]


def _test(row: Any) -> AnyTest:
    row = _mapping(row)
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise TaskError(f"kind must be one of {', '.join(_KINDS)}; got {kind!r}")
    _check_keys(row, {"kind"} | _REQUIRED[kind], _OPTIONAL[kind] | {"hidden", "weight"}, f"a {kind} test")
    fields = {key: value for key, value in row.items() if key != "kind"}
    if kind == "call":
        for key in ("args", "kwargs", "expected"):
            if key in fields:
                fields[key] = _in_field(key, lambda key=key: _plain(fields[key]))  # type: ignore[misc]
    return _KINDS[kind](**fields)


def _check_keys(row: Mapping[str, Any], required: set[str], optional: set[str], what: str) -> None:
    for key in row:
        if key not in required | optional:
            near = difflib.get_close_matches(key, required | optional, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TaskError(f"{key}: {what} has no such field{hint}")
    for key in sorted(required):
        if key not in row:
            raise TaskError(f"{key}: {what} needs this field")


def _in_field(name: str, make: Callable[[], _T]) -> _T:
    try:
        return make()
    except TaskError as error:
        raise TaskError(f"{name}: {error}") from None
    except RecursionError:
        raise TaskError(f"{name}: nested too deep") from None


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TaskError(f"an object was expected; got {type(value).__name__}")
    return value


def _files(value: Any) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name, content in _mapping(value).items():
        plain = _plain(content)
        if not isinstance(plain, str | bytes):
            raise TaskError(f'{name}: text or {{"$bytes": ...}} was expected; got {type(plain).__name__}')
        try:
            files[name] = plain.encode() if isinstance(plain, str) else plain
            check_path(name)
        except (UnicodeEncodeError, TaskError) as error:
            raise TaskError(f"{name}: {error}") from None
    return files


def _plain(value: Any) -> Any:
    """The value that JSON stands for, its `$` objects resolved."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value)) if len(value) == 1 else ""
    if not tag.startswith("$"):
        return {key: _plain(item) for key, item in value.items()}
    if tag not in _TAGS:
        raise TaskError(f"unknown tag {tag!r}; known are {', '.join(_TAGS)}")
    content = _plain(value[tag])
    if not isinstance(content, _TAG_CONTENT.get(tag, list)):
        raise TaskError(f"{tag}: a list was expected; got {type(content).__name__}")
    try:
        return _TAGS[tag](content)
    except (TypeError, ValueError, OverflowError) as error:
        raise TaskError(f"{tag}: {error}") from None


_TAGS: dict[str, Callable[[Any], Any]] = {
    "$tuple": tuple,
    "$set": set,
    "$frozenset": frozenset,
    "$dict": dict,
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$float": float,
    "$complex": lambda parts: complex(*parts),
}

_TAG_CONTENT: dict[str, tuple[type, ...]] = {"$bytes": (str,), "$float": (str, int, float)}
"""What stands behind a tag, where it is not a list."""
