"""Finds a suite by name or path, and reads it in one of the known formats."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from code_env.errors import SuiteNotFound, TaskError

from . import humaneval, jsonl
from .definitions import environment_names, load_definition
from .suite import TaskSuite
from .task import Task

FORMATS: dict[str, Callable[[Mapping[str, Any]], Task]] = {
    "code_env": jsonl.task_from_row,
    "humaneval": humaneval.task_from_row,
}
"""Reader of one row, by the format's name."""


def load_suite(name_or_path: str | Path, format: str | None = None) -> TaskSuite:
    """The suite with that name, or in that file.

    Args:
        name_or_path: The name of an environment that has tasks (`starter`), or the path of a file
            of JSON lines, plain or gzipped.
        format: `code_env` or `humaneval`; found out from the first row if None.

    Raises:
        SuiteNotFound: If there is neither such an environment nor such a file.
        TaskError: If a row is malformed; the message names file, line and field.

    Example:
        >>> len(load_suite("starter"))
        40
    """
    if format is not None and format not in FORMATS:
        raise TaskError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    text = str(name_or_path)
    if text in environment_names():
        definition = load_definition(text)
        tasks = _read(definition.suite_path, definition.format)
        return TaskSuite(text, [definition.with_limits(task) for task in tasks])
    path = Path(name_or_path)
    if not _is_file(path):
        what = "a directory" if text and os.path.isdir(text) else "neither a file nor a known suite"
        known = ", ".join(environment_names())
        raise SuiteNotFound(f"{text!r} is {what}; known suites are {known}; a path leads to a file of JSON lines")
    return TaskSuite(path.name.split(".")[0], _read(path, format))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # A name too long, or with a NUL.
        return False


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of JSON lines with their line numbers, empty lines left out.

    Raises:
        TaskError: If a line is not a JSON object; the message names file and line.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    number = 1
    try:
        with opener(path, "rb") as file:
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
    if not isinstance(row, dict):
        raise TaskError(f"an object was expected; got {type(row).__name__}")
    return row


def _read(path: Path, format: str | None) -> list[Task]:
    tasks: list[Task] = []
    lines: dict[str, int] = {}
    for number, row in read_rows(path):
        if format is None:
            format = "humaneval" if set(humaneval.FIELDS) <= set(row) else "code_env"
        try:
            task = FORMATS[format](row)
            if task.id in lines:
                raise TaskError(f"id: {task.id!r} is the id of line {lines[task.id]}, too")
            lines[task.id] = number
            tasks.append(task)
        except TaskError as error:
            raise TaskError(f"{path}:{number}: {error}") from None
    if not tasks:
        raise TaskError(f"{path}: there are no tasks in it")
    return tasks
