"""Files that a command writes as a whole: what was there is replaced when all is written, and only a regular file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from code_env.errors import OutputError


def output_path(path: Path) -> Path:
    """Return where a file of this name is written to: links are followed.

    Raises:
        OutputError: If something else than a regular file is there.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file; give another --output")
    return path


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[IO[str]]:
    """Open a file for text that takes the place of `path` if the block ends without an exception.

    Raises:
        OutputError: If it cannot be written.
    """
    path = output_path(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            yield file
        unfinished.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
