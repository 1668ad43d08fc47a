"""What a command writes as a whole: a file replaces a regular file when all is written; a folder replaces nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import IO

from code_env.errors import OutputError

PARTIAL_SUFFIX = ".partial"


def partial_path(path: Path) -> Path:
    """Return the file in which the lines of a file are while it grows."""
    return path.parent / f"{path.name}{PARTIAL_SUFFIX}"


def require_other(path: Path, others: Iterable[Path | None]) -> None:
    """Refuse to write a file that the same work reads, or writes already.

    Args:
        path: The file that is to be written.
        others: The files that it must not be, nor the files in which they grow; None for none.

    Raises:
        OutputError: If it is one of them, perhaps by a link.
    """
    for other in filter(None, others):
        if any(_is_same(one, two) for one in (path, partial_path(path)) for two in (other, partial_path(other))):
            raise OutputError(f"{path} would replace {other}, which is read or written too; give another path")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # One is not there.
        return os.path.realpath(one) == os.path.realpath(other)


def output_path(path: Path) -> Path:
    """Return where a file of this name is written to: links are followed.

    Raises:
        OutputError: If something else than a regular file is there, or its folder is not.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file; give another path")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: {path.parent} is no folder; make it, or give another path")
    return path


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` if the block ends without an exception.

    Raises:
        OutputError: If it cannot be written.
    """
    path = output_path(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
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
        raise OutputError(f"{path} is there already; remove it, or give another path")
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
