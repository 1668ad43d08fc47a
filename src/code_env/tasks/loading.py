"""Finds a suite by name or path, and reads it in one of the known formats."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from code_env.checks import meant, require_choice
from code_env.environments.definitions import (
    EnvironmentDefinition,
    environment_names,
    is_environment,
    load_definition,
    read_definition,
)
from code_env.errors import SuiteNotFound, TaskError

from .formats import FORMATS, DirectoryFormat, RowFormat, format_of_directory, format_of_row
from .suite import TaskSuite
from .task import Task

SuiteSource = str | Path | Iterable[Task | Mapping[str, Any]]
"""The forms in which a suite may be given: a name, a path, or tasks and rows of tasks. A `TaskSuite` is also
allowed."""

_BEGIN_BYTES = 4096
"""How much of a file is looked at to see whether it is one JSON array."""


def load_suite(name_or_path: SuiteSource, format: str | None = None) -> TaskSuite:
    """Load the suite with a name, the suite in a file or directory, or make a suite of tasks.

    Args:
        name_or_path: The name of an environment that has tasks (`starter`), or the path of a file
            of JSON lines, plain or gzipped, or of a directory of problem packages or of Harbor's folders; or the tasks
            themselves or their rows, in a list or a `datasets.Dataset`. A path may begin with its format:
            `harbor:tasks`.
        format: One of the formats in `docs/formats.md`. If None, the format is detected from the first row, or from the
            directory's layout.

    Raises:
        SuiteNotFound: If no environment, file or directory has this name or path.
        TaskError: If a row is malformed; the message names file, line and field.

    Example:
        >>> len(load_suite("starter"))
        40
        >>> load_suite([{"id": "one", "prompt": "Print 1.", "tests": [{"kind": "output", "expected": "1"}]}])
        <TaskSuite 'rows', 1 tasks>
    """
    if format is not None:
        require_choice("format", format, FORMATS, TaskError)
    if isinstance(name_or_path, TaskSuite):
        return name_or_path
    if not isinstance(name_or_path, str | Path):
        return _suite_of_rows(name_or_path, format)
    found, format = _find(name_or_path, format)
    if isinstance(found, EnvironmentDefinition):
        return _suite_of(found)
    name = found.resolve().name if found.is_dir() else found.name.split(".")[0]
    return TaskSuite(name, _read(found, format))


def suite_path(name_or_path: str | Path, format: str | None = None) -> Path | None:
    """The file or directory that the tasks of a suite are read from; None if they are on the hub.

    Raises:
        SuiteNotFound: As `load_suite`.
        TaskError: If an `env.toml` is malformed.
    """
    found, _ = _find(name_or_path, format)
    return found.path if isinstance(found, EnvironmentDefinition) else found


def _find(name_or_path: str | Path, format: str | None) -> tuple[EnvironmentDefinition | Path, str | None]:
    """What a name or path leads to, and its format where that is known."""
    text = str(name_or_path)
    named, colon, rest = text.partition(":")
    if colon and named in FORMATS and format is None and isinstance(name_or_path, str):
        text, name_or_path, format = rest, rest, named
    path = Path(name_or_path)
    is_named = text in environment_names() and not colon
    is_directory = bool(text) and _is(path, Path.is_dir)
    if is_named or (is_directory and is_environment(path)):
        if format is not None:
            raise TaskError(f"format: {text!r} is an environment, and its env.toml names its format; got {format!r}")
        return load_definition(text) if is_named else read_definition(path), None
    if not is_directory and not _is(path, Path.is_file):
        raise _not_found(text, "neither a file nor a known suite")
    if is_directory and format is None and format_of_directory(path) is None:
        raise _not_found(
            text,
            "a directory without env.toml, without problem packages (problem.yaml, or */problem.yaml) and without "
            "Harbor's folders (task.toml, or */task.toml)",
        )
    return path, format


def _suite_of_rows(rows: Iterable[Task | Mapping[str, Any]], format: str | None) -> TaskSuite:
    if isinstance(rows, Mapping):
        raise TaskError(f"a list of tasks or rows was expected; got a mapping of {', '.join(map(str, rows))}; name one")
    if not isinstance(rows, Iterable):
        raise TaskError(f"a name, a path, or a list of tasks or rows was expected; got {type(rows).__name__}")
    name = getattr(getattr(rows, "info", None), "dataset_name", None)  # A `datasets.Dataset` has it.
    return TaskSuite(str(name or "rows"), _tasks_of(enumerate(rows, start=1), "rows", format))


def _suite_of(definition: EnvironmentDefinition) -> TaskSuite:
    if definition.format is not None:
        require_choice(f"environment {definition.name!r}: format", definition.format, FORMATS, TaskError)
    source, path = definition.source, definition.path
    if path is not None:
        tasks = _read(path, definition.format)
    elif source is not None:
        tasks = _tasks_of(source.rows(), source.hub, definition.format)
    else:
        raise SuiteNotFound(f"environment {definition.name!r} has neither a file of tasks nor a source")
    return TaskSuite(definition.name, [definition.complete(task) for task in tasks])


def _not_found(text: str, what: str) -> SuiteNotFound:
    known = environment_names()
    hint = meant(text.lower(), known)
    if not hint and text.count("/") == 1 and not Path(text).suffix and not _is(Path(text).parent, Path.is_dir):
        # A data set on the hub has such a name.
        hint = f"; for rows on the Hugging Face hub: load_suite(datasets.load_dataset({text!r}, split=...))"
    return SuiteNotFound(
        f"{text!r} is {what}; known suites are {', '.join(known)}; a path leads to a file of JSON lines{hint}"
    )


def _is(path: Path, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(path)
    except (OSError, ValueError):  # The name is too long, or contains a NUL.
        return False


def require_file(path: Path) -> None:
    """Check that a path is that of a file of rows.

    Raises:
        TaskError: If it is not.
    """
    if not path.is_file():
        what = "a directory" if path.is_dir() else "no regular file"
        expected = f"a file of JSON lines was expected, and this is {what}"
        raise TaskError(f"{path}: {expected if path.exists() else 'there is no such file'}")


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of JSON lines with their line numbers, without empty lines.

    A file whose name ends in `.json`, or `.json.gz`, may also be one JSON array; its rows are
    numbered from 1.

    Raises:
        TaskError: If there is no such file, or a line is not a JSON object; the message names file and line.
    """
    require_file(path)
    opener = gzip.open if path.suffix == ".gz" else open
    number = 1
    try:
        with opener(path, "rb") as file:
            begin = file.read(_BEGIN_BYTES).removeprefix(codecs.BOM_UTF8).lstrip()
            if path.name.removesuffix(".gz").endswith(".json") and begin.startswith(b"["):
                file.seek(0)
                for number, row in enumerate(json.loads(file.read().removeprefix(codecs.BOM_UTF8)), start=1):
                    yield number, _object(row)
                return
            file.seek(0)
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _row(line)
    except (ValueError, OSError, EOFError, RecursionError, zlib.error) as error:
        raise TaskError(f"{path}:{number}: {error}") from None


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"not JSON in UTF-8: {error}") from None
    return _object(row)


def _object(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TaskError(f"an object was expected; got {type(row).__name__}")
    return row


def _read(path: Path, format: str | None) -> list[Task]:
    tasks = _read_directory(path, format) if path.is_dir() else _read_file(path, format)
    if not tasks:
        raise TaskError(f"{path}: there are no tasks in it")
    return tasks


def _read_directory(path: Path, format: str | None) -> list[Task]:
    reader = FORMATS.get(format or format_of_directory(path) or "")
    if not isinstance(reader, DirectoryFormat):
        wanted = "" if format is None else f" for format {format!r}"
        raise TaskError(f"{path}: a file of JSON lines was expected{wanted}; got a directory")
    return list(reader.read(path))


def _read_file(path: Path, format: str | None) -> list[Task]:
    return _tasks_of(read_rows(path), str(path), format)


def _tasks_of(rows: Iterable[tuple[int, Task | Mapping[str, Any]]], origin: str, format: str | None) -> list[Task]:
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for number, row in rows:
        try:
            if isinstance(row, Task):
                task = row
            elif isinstance(row, Mapping):
                format = format or _format_of(row)
                reader = FORMATS[format]
                if not isinstance(reader, RowFormat):
                    raise TaskError(f"a directory was expected for format {format!r}; got a file")
                task = reader.read(row)
            else:
                raise TaskError(f"a task or a row was expected; got {type(row).__name__}")
            if task.id in lines:
                raise TaskError(f"id: {task.id!r} is the id of line {lines[task.id]}, too")
            lines[task.id] = number
            tasks.append(task)
        except TaskError as error:
            raise TaskError(f"{origin}:{number}: {error}") from None
    return tasks


def _format_of(row: Mapping[str, Any]) -> str:
    found = format_of_row(row)
    if found is None:
        names = ", ".join(name for name, reader in FORMATS.items() if isinstance(reader, RowFormat))
        raise TaskError(
            f"fields of one of the formats {names} were expected; got {', '.join(row) or 'none'}; "
            "docs/formats.md lists each format's fields, and format= (the option --format of a command) names one; "
            "code_env's own rows have id, prompt and tests"
        )
    return found
