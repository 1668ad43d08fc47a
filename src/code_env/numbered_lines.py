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
from code_env.output_file import output_path, partial_path, try_lock

Row = dict[str, Any]
"""One line. Its number, from 0, is under `sample`."""


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
        cls,
        path: Path,
        is_ours: Callable[[Row], bool],
        wanted: int,
        *,
        differs: str,
        resume: bool = False,
        replace: bool = True,
    ) -> Iterator[NumberedLines]:
        """Open a file. If the block ends without an exception, the file is complete.

        Args:
            path: Where the lines are when all are there.
            is_ours: Whether a line that is there belongs to the same work. It may raise `KeyError`, `TypeError` or
                `IndexError` for a line that does not.
            wanted: How many lines there are when all are there.
            differs: What may differ in other work, in words that follow "another".
            resume: Whether to go on with the lines that are there, of an interrupted or of a finished command. A
                finished file that has all lines is not touched.
            replace: Whether a finished file may be replaced, if it is of other work or `resume` is false. An empty file
                always may.

        Raises:
            OutputError: If the file cannot be written, or if what is there must not be continued.
        """
        path = output_path(path)
        partial = partial_path(path)
        finished = path.exists() and path.stat().st_size > 0
        if partial.exists() and not resume:
            with _open(partial, "r") as opened:
                if not try_lock(opened, partial):
                    raise _is_written(path)
            raise OutputError(
                f"{partial} is of a command that was interrupted: go on with --resume, or remove the file"
            )
        if finished and not (resume or replace):
            raise OutputError(f"{path} is there already: go on with --resume, or give another --output")
        if resume and finished and not (replace and partial.exists()):
            with _open(path, "r") as opened:
                lines = cls(opened)
                if lines._read(path, is_ours) is None:
                    if not replace:
                        raise _of_other_work(path, differs)
                elif not partial.exists():
                    if lines.numbers.issuperset(range(wanted)):
                        yield lines
                        return
                    lines._copy(partial)
        with cls._growing(path, is_ours, differs) as lines:
            yield lines

    @classmethod
    @contextlib.contextmanager
    def _growing(cls, path: Path, is_ours: Callable[[Row], bool], differs: str) -> Iterator[NumberedLines]:
        """Open the `.partial` file of a file, or make one. If the block ends without an exception, both become one."""
        partial = partial_path(path)
        with _open(partial, "r+" if partial.exists() else "x+") as opened:
            if not try_lock(opened, partial):
                raise _is_written(path)
            try:
                lines = cls(opened)
                length = lines._read(partial, is_ours)
                if length is None:
                    raise _of_other_work(partial, differs)
                opened.truncate(length)
                yield lines
                lines._copy(path)
                partial.unlink(missing_ok=True)
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

    def _read(self, path: Path, is_ours: Callable[[Row], bool]) -> int | None:
        """Read the lines that a command left, without an unfinished line at the end.

        Returns:
            How long these lines are together, in bytes; None if one does not belong to this work.
        """
        begin = 0
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                number = _number_of(line, is_ours)
                if number is None or number in self._places:
                    return None
                self._places[number] = begin, len(line)
                begin += len(line)
        return begin

    def _copy(self, path: Path) -> None:
        """Put all lines into another file, in order. That file is never there with fewer lines.

        Raises:
            OutputError: If it cannot be written.
        """
        ordered = path.with_name(path.name + ".ordered")
        try:
            with ordered.open("wb") as file:
                file.writelines(self._lines())
            ordered.replace(path)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error}; all lines are in {self._file.name}") from None


def _open(path: Path, mode: str) -> FileIO:
    try:
        return FileIO(path, mode)
    except OSError as error:
        raise OutputError(f"the lines cannot be written: {error}") from None


def _is_written(path: Path) -> OutputError:
    return OutputError(f"{path}: another command is writing to it; wait for its end, or give another --output")


def _of_other_work(path: Path, differs: str) -> OutputError:
    return OutputError(f"{path} is of other work (another {differs}): give another --output, or remove the file")


def _number_of(line: bytes, is_ours: Callable[[Row], bool]) -> int | None:
    """Return the number of a line; None if the line does not belong to this work."""
    try:
        row = json.loads(line)
        number = row["sample"]
        return number if type(number) is int and number >= 0 and is_ours(row) else None
    except (ValueError, KeyError, TypeError, IndexError):
        return None
