"""Reads the files of a report, whole or while they grow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from code_env.errors import ReportError
from code_env.output_file import partial_path

from .items import Item, item_of

_GZIP = b"\x1f\x8b"
"""How a file begins that gzip has written."""


class RunFile:
    """A results file or a file of trajectories. While it is written, it can be read again and again.

    Args:
        path: The file. If it is not there, and a command is writing it, the file with the lines so far is read.

    Raises:
        ReportError: If there is no such file, or it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        """The name of the run."""
        self._line = self._count = 0
        self._file = self._open()

    def _open(self) -> BufferedReader:
        partial = partial_path(self.path)
        try:
            return (partial if partial.exists() and not self.path.exists() else self.path).open("rb")
        except OSError as error:
            raise ReportError(f"the report's data cannot be read: {error}") from None

    def items(self) -> Iterator[Item]:
        """Yield the items that were added since the last call. A line that is not complete yet is left for later.

        A last line without a line end counts if it is complete: a part of an object is no JSON.

        Raises:
            ReportError: If a line is malformed; the message names it.
        """
        while True:
            begin = self._file.tell()
            line = self._file.readline()
            if begin == 0 and line.startswith(_GZIP):
                raise ReportError(f"{self.path}: lines of JSON were expected; it is compressed: run gunzip on it first")
            if not line or (not line.endswith(b"\n") and not _is_complete(line)):
                self._file.seek(begin)
                return
            self._line += 1
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ReportError("an object was expected")
                item = item_of(row)
            except (ValueError, RecursionError, ReportError) as error:
                raise ReportError(f"{self.path}:{self._line}: {error}") from None
            self._count += 1
            yield item

    def doubt(self) -> str | None:
        """Return what to tell of a file that does not grow, if a line was left for later or there were no items."""
        if self._file.tell() < os.fstat(self._file.fileno()).st_size:
            return f"{self.path}: its last line is cut short, or no JSON, and is left out"
        return None if self._count else f"{self.path}: there are no results in it"

    def is_replaced(self) -> bool:
        """Whether another file has taken its place, so that it must be read from its beginning."""
        try:
            there = os.stat(partial_path(self.path) if not self.path.exists() else self.path)
        except FileNotFoundError:
            return False
        mine = os.fstat(self._file.fileno())
        return (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino) or there.st_size < self._file.tell()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()


def _is_complete(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
