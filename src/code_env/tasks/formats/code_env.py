"""The package's own format: JSON lines with one task per line. `docs/task-format.md` documents each field.

JSON has fewer types than Python. In `args`, `kwargs` and `expected`, an object with a single key that begins with `$`
stands for another type, for example `{"$tuple": [1, 2]}`. Reading and writing are inverse:
`task_from_row(row_from_task(task)) == task`.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

from code_env.checks import meant, require_choice, require_known
from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.executors.program import check_path
from code_env.languages import LANGUAGES, PYTHON, find_language
from code_env.output_file import replaced_file

from ..base import DERIVED, PLAIN, REQUIRED
from ..comparison import Comparison
from ..kinds import AnyTest, AssertTest
from ..task import Task
from .fields import in_each, in_field, texts

_KINDS: dict[str, type[AnyTest]] = {kind.kind: kind for kind in get_args(AnyTest)}

_TEXT_FIELDS = ("entry_point", "language", "setup", "prefix", "reference", "judge", "image")
"""Optional fields of a task that are text."""


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format. One field may be misspelt; `task_from_row` then reports it."""
    return "id" in row and not {"prompt", "tests"}.isdisjoint(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row describes.

    Raises:
        TaskError: If the row is malformed; the message begins with the field.

    Example:
        >>> row = {"id": "x", "prompt": "Print 1.", "tests": [{"kind": "output", "expected": "1"}]}
        >>> task_from_row(row).tests[0].expected
        '1'
    """
    _check_keys(row, {"id", "prompt", "tests"}, {*_TEXT_FIELDS, "files", "limits", "metadata", "packages"}, "a row")
    fields: dict[str, Any] = {key: row[key] for key in ("id", "prompt", *_TEXT_FIELDS) if key in row}
    fields["tests"] = tuple(_tests(row["tests"], row.get("language", PYTHON.name)))
    if "files" in row:
        fields["files"] = in_field("files", lambda: _files(row["files"]))
    if "limits" in row:
        fields["limits"] = in_field("limits", lambda: Limits.from_dict(_mapping(row["limits"])))
    if "metadata" in row:
        fields["metadata"] = in_field("metadata", lambda: _mapping(row["metadata"]))
    if "packages" in row:
        fields["packages"] = tuple(texts(row, "packages"))
    return Task(**fields)


def _tests(rows: Any, language: Any) -> list[AnyTest]:
    if not isinstance(rows, list):
        raise TaskError(f"tests must be a list; got {type(rows).__name__}")
    return in_each("tests", rows, partial(_test, language))


def _test(language: Any, row: Any) -> AnyTest:
    row = _mapping(row)
    kind = row.get("kind")
    require_choice("kind", kind, _KINDS, TaskError)
    required, optional = _row_fields(kind)
    _check_keys(row, {"kind", *required}, set(optional), f"a {kind} test")
    fields = {key: value for key, value in row.items() if key != "kind"}
    for name, declared in (required | optional).items():
        if PLAIN in declared.metadata and name in fields:
            fields[name] = in_field(name, partial(_plain, fields[name]))
    if kind == AssertTest.kind and isinstance(language, str) and find_language(language) is not None:
        fields["language"] = language
    try:
        return _KINDS[kind](**fields)
    except TaskError as error:
        if kind == AssertTest.kind and isinstance(language, str) and find_language(language) is None:
            known = ", ".join(one.name for one in LANGUAGES if one.takes_calls)
            raise TaskError(
                f"assert tests are for {known}, not for the task's language {language!r}; taken as Python, {error}"
            ) from None
        raise


@functools.cache
def _row_fields(kind: str) -> tuple[dict[str, dataclasses.Field[Any]], dict[str, dataclasses.Field[Any]]]:
    """The required and the optional fields of a kind's rows, by name; the fields that all kinds share come last."""
    fields = {one.name: one for one in dataclasses.fields(_KINDS[kind]) if DERIVED not in one.metadata}
    common = {name: fields.pop(name) for name in ("hidden", "weight")}
    none = dataclasses.MISSING
    needed = {
        name: one
        for name, one in fields.items()
        if REQUIRED in one.metadata or (one.default is none and one.default_factory is none)
    }
    return needed, {name: one for name, one in fields.items() if name not in needed} | common


def _check_keys(row: Mapping[str, Any], required: set[str], optional: set[str], what: str) -> None:
    for key in row:
        if key not in required | optional:
            raise TaskError(f"{key}: {what} has no such field{meant(key, required | optional)}")
    for key in sorted(required):
        if key not in row:
            raise TaskError(f"{key}: {what} needs this field")


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
    """The value that JSON stands for, with its `$` objects resolved."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value)) if len(value) == 1 else ""
    if not tag.startswith("$"):
        return {key: _plain(item) for key, item in value.items()}
    require_known("unknown tag", [tag], _TAGS, TaskError)
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
"""The types of a tag's content, for tags whose content is not a list."""


def save_suite(suite: Iterable[Task], path: str | Path) -> None:
    """Write tasks as JSON lines that `load_suite` reads; the file is gzipped if the path ends in `.gz`.

    Args:
        suite: A suite, or any tasks.
        path: The file; an existing file is replaced.

    Raises:
        TaskError: If a task holds a value that the format cannot represent. The message names the task.
        OutputError: If the file cannot be written. In both cases a file that was there is as before.

    Example:
        >>> import tempfile
        >>> from code_env import load_suite
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     save_suite(load_suite("starter"), directory + "/copy.jsonl.gz")
        ...     list(load_suite(directory + "/copy.jsonl.gz")) == list(load_suite("starter"))
        True
    """
    path = Path(path)
    lines = [in_field(f"task {task.id!r}", partial(text_from_task, task)) + "\n" for task in suite]
    content = "".join(lines).encode()
    # mtime=0, so that the same tasks always give the same file.
    with replaced_file(path) as file:
        file.write(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def text_from_task(task: Task) -> str:
    """The row that describes a task, as JSON text on one line.

    Raises:
        TaskError: As `row_from_task`.
    """
    try:
        return json.dumps(row_from_task(task))
    except ValueError as error:  # An integer with more digits than Python converts to text.
        raise TaskError(str(error)) from None


def row_from_task(task: Task) -> dict[str, Any]:
    """The row that describes a task: the inverse of `task_from_row`. Fields with their default value are left out.

    Raises:
        TaskError: If a value has a type that the format cannot represent; the message begins with the field.

    Example:
        >>> from code_env import OutputTest
        >>> row_from_task(Task("x", "Print 1.", (OutputTest("1"),)))
        {'id': 'x', 'prompt': 'Print 1.', 'tests': [{'kind': 'output', 'expected': '1'}]}
    """
    plain = {field.name: field.default for field in dataclasses.fields(Task)}
    row: dict[str, Any] = {"id": task.id, "prompt": task.prompt}
    row |= {name: value for name in _TEXT_FIELDS if (value := getattr(task, name)) != plain[name]}
    row["tests"] = in_each("tests", task.tests, _test_row)
    if task.files:
        row["files"] = {name: _content(content) for name, content in task.files.items()}
    if task.limits != Limits():
        row["limits"] = _differing(task.limits, Limits())
    if task.packages:
        row["packages"] = list(task.packages)
    if task.metadata:
        row["metadata"] = in_field("metadata", lambda: _json_only(dict(task.metadata)))
    return row


def _differing(limits: Limits, default: Limits) -> dict[str, Any]:
    values = dataclasses.asdict(limits)
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def _content(content: bytes) -> Any:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return _tagged(content)


def _json_only(value: Any) -> Any:
    """The value, if JSON can hold it unchanged: in `metadata` there are no tags for other types."""
    kind = type(value)
    if kind is dict and all(type(key) is str for key in value):
        return {key: _json_only(item) for key, item in value.items()}
    if kind is list:
        return [_json_only(item) for item in value]
    if value is not None and kind not in (str, bool, int, float):
        raise TaskError(f"lists, objects with text keys, texts, numbers and null were expected; got {kind.__name__}")
    return value


def _test_row(test: AnyTest) -> dict[str, Any]:
    required, optional = _row_fields(test.kind)
    row: dict[str, Any] = {"kind": test.kind}
    row |= {name: in_field(name, partial(_form_of, test, required[name])) for name in sorted(required)}
    for name, declared in optional.items():
        value = getattr(test, name)
        default = declared.default if declared.default_factory is dataclasses.MISSING else declared.default_factory()
        if isinstance(value, Comparison):
            default = Comparison(str(default))
        if value != default:
            row[name] = in_field(name, partial(_form_of, test, declared))
    return row


def _form_of(test: AnyTest, declared: dataclasses.Field[Any]) -> Any:
    """The JSON that stands for a field of a test."""
    value = getattr(test, declared.name)
    if isinstance(value, Comparison):
        # Only the rule's name, if the rest has its default value.
        return value.rule if value == Comparison(value.rule) else dataclasses.asdict(value)
    if PLAIN not in declared.metadata:
        return value
    written = declared.metadata[PLAIN]
    return _tagged(value if written is None else written(value))


def _tagged(value: Any) -> Any:
    """The JSON that stands for a value: the inverse of `_plain`."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if kind is list:
        return [_tagged(item) for item in value]
    if kind is dict:
        return _dict_form(value)
    if kind is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if kind is complex:
        return {"$complex": [_tagged(value.real), _tagged(value.imag)]}
    if kind is tuple:
        return {"$tuple": [_tagged(item) for item in value]}
    if kind in (set, frozenset):
        # In a fixed order, so that the same tasks always give the same file.
        return {f"${kind.__name__}": [_tagged(item) for item in sorted(value, key=repr)]}
    raise TaskError(f"a value of a type that JSON lines have a form for was expected; got {kind.__name__}")


def _dict_form(value: dict[Any, Any]) -> Any:
    tag = next(iter(value)) if len(value) == 1 else None
    if all(type(key) is str for key in value) and not (tag is not None and tag.startswith("$")):
        return {key: _tagged(item) for key, item in value.items()}
    return {"$dict": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
