"""Tars, by which files get into boxes and out of them."""

from __future__ import annotations

import contextlib
import io
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

_SCRIPTS = (".sh", ".py")


@contextlib.contextmanager
def packed(paths: Mapping[str, Path], *, runnable: bool = True) -> Iterator[IO[bytes]]:
    """A tar of directories and files of this machine, by their paths in a box.

    Args:
        paths: Which.
        runnable: Whether everybody there may run the files; by default yes.
    """

    def changed(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mode |= 0o755 if runnable else 0
        return owned_by_root(member)

    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, path in paths.items():
                tar.add(path, name.lstrip("/"), filter=changed)
        file.seek(0)
        yield file


@contextlib.contextmanager
def packed_text(path: str, text: str) -> Iterator[IO[bytes]]:
    """A tar of one file, with this text."""
    content = text.encode("utf-8", "replace")
    member = tarfile.TarInfo(path.lstrip("/"))
    member.size = len(content)
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            tar.addfile(member, io.BytesIO(content))
        file.seek(0)
        yield file


def owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Make a file root's."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def texts_in(file: IO[bytes]) -> dict[str, str]:
    """The texts of the files in a tar, by their paths; those of what is no file are empty."""
    file.seek(0)
    with tarfile.open(fileobj=file) as tar:
        return {
            f"/{member.name}": _content(tar, member if member.isfile() else None).decode("utf-8", "replace")
            for member in tar
        }


def scripts_in(file: IO[bytes]) -> list[str]:
    """The paths of the scripts in a tar, but for empty ones, which some tests touch."""
    file.seek(0)
    with tarfile.open(fileobj=file) as tar:
        return [f"/{member.name}" for member in tar if _is_script(member) and member.size]


def changed_scripts(before: IO[bytes], after: IO[bytes]) -> list[str]:
    """The scripts in a tar that another one does not have as they are there."""
    before.seek(0)
    after.seek(0)
    with tarfile.open(fileobj=before) as tar, tarfile.open(fileobj=after) as left:
        scripts = {member.name: member for member in tar if _is_script(member)}
        for member in left:
            script = scripts.get(member.name)
            # Code under test can have written very much: what differs in size is not read.
            same_size = script is not None and member.isfile() and member.size == script.size
            if same_size and _content(left, member) == _content(tar, script):
                del scripts[member.name]
    return sorted(f"/{name}" for name in scripts)


def _is_script(member: tarfile.TarInfo) -> bool:
    return member.isfile() and member.name.endswith(_SCRIPTS)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> bytes:
    file = None if member is None else tar.extractfile(member)
    return b"" if file is None else file.read()
