"""A file of numbered JSON lines, each of which is kept from the moment it is written.

While the file grows, the lines are in a file whose name ends in `.partial`, in the order in which they came. When all
are there, they are put in the order of their numbers, under the file's own name. A command that fails before its first
line leaves no file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from code_env.errors import OutputError
from code_env.output_file import output_path

Row = dict[str, Any]
"""One line. Its number, from 0, is under `sample`."""


def partial_path(path: Path) -> Path:
    """Return the file in which the lines of a file are while it grows."""
    return path.with_name(path.name + ".partial")


class NumberedLines:
    """A file of numbered lines that is being written.

    Args:
        file: The file for lines in the order in which they come, open for reading and writing without a buffer.
    """

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._places: dict[int, tuple[int, int]] = {}
        """Where each line begins, and its length, in bytes."""

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls, path: Path, is_ours: Callable[[Row], bool], *, resume: bool = False, replace: bool = True
    ) -> Iterator[NumberedLines]:
        """Open a file. If the block ends without an exception, the file is complete.

        Args:
            path: Where the lines are when all are there.
            is_ours: Whether a line that an interrupted command left belongs to the same work. It may raise `KeyError`,
                `TypeError` or `IndexError` for a line that does not.
            resume: Whether to go on where a command was interrupted.
            replace: Whether a finished file may be replaced. An empty file always is.

        Raises:
            OutputError: If the file cannot be written, or if what is there must not be continued.
        """
        path = output_path(path)
        partial = partial_path(path)
        if partial.exists() and not resume:
            raise OutputError(
                f"{partial} is of a command that was interrupted: go on with --resume, or remove the file"
            )
        if not (resume or replace) and path.exists() and path.stat().st_size:
            raise OutputError(f"{path} is there already: go on with --resume, or give another --output")
        try:
            opened = FileIO(partial, "r+" if partial.exists() else "x+")
        except OSError as error:
            raise OutputError(f"the lines cannot be written: {error}") from None
        with opened:
            try:
                lines = cls(opened)
                lines._read(partial, is_ours)
                yield lines
                lines._complete(path, partial)
            finally:
                if os.fstat(opened.fileno()).st_size == 0:  # A file without lines would only refuse the next command.
                    partial.unlink(missing_ok=True)

    @property
    def numbers(self) -> set[int]:
        """The numbers of the lines that are there."""
        return set(self._places)

    def write(self, row: Row) -> None:
        """Write a line.

        Raises:
            OutputError: If it cannot be written.
        """
        line = json.dumps(row).encode() + b"\n"  # Lone surrogates are kept as JSON escapes.
        begin = self._file.seek(0, os.SEEK_END)
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise OutputError(f"the lines cannot be written: {error}; go on with --resume when they can") from None
        self._places[row["sample"]] = begin, len(line)

    def rows(self) -> Iterator[Row]:
        """Yield the lines that are there, in the order of their numbers."""
        for line in self._lines():
            yield json.loads(line)

    def _lines(self) -> Iterator[bytes]:
        for number in sorted(self._places):
            begin, length = self._places[number]
            yield os.pread(self._file.fileno(), length, begin)

    def _read(self, partial: Path, is_ours: Callable[[Row], bool]) -> None:
        """Read the lines that an interrupted command left; remove an unfinished line at the end.

        Raises:
            OutputError: If a line does not belong to this work.
        """
        begin = 0
        with partial.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                number = _number_of(line, is_ours)
                if number is None or number in self._places:
                    raise OutputError(f"{partial} is of other work: remove the file, or give another --output")
                self._places[number] = begin, len(line)
                begin += len(line)
        self._file.truncate(begin)

    def _complete(self, path: Path, partial: Path) -> None:
        """Put all lines under the file's own name, in order.

        Raises:
            OutputError: If they cannot be written there.
        """
        ordered = path.with_name(path.name + ".ordered")
        try:
            with ordered.open("wb") as file:
                file.writelines(self._lines())
            ordered.replace(path)
            partial.unlink()
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error}; all lines are in {partial}") from None


def _number_of(line: bytes, is_ours: Callable[[Row], bool]) -> int | None:
    """Return the number of a line; None if the line does not belong to this work."""
    try:
        row = json.loads(line)
        number = row["sample"]
        return number if type(number) is int and number >= 0 and is_ours(row) else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None
