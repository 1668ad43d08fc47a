"""What a command writes as a whole: a file replaces a regular file when all is written; a folder replaces nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from io import FileIO
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


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Make a folder that gets the name `path` if the block ends without an exception, and is removed otherwise.

    Raises:
        OutputError: If something other than an empty folder is there, or the folder cannot be written.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise OutputError(f"{path} is there already; remove it, or give another --output")
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def try_lock(file: FileIO, path: Path) -> bool:
    """Lock an open file until it is closed; return False if another holder has it, or has removed it meanwhile."""
    try:
        import fcntl
    except ImportError:  # Without locks, the user must not start two commands for one file.
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False
