"""Unpacks layers, and lays them over each other.

Somebody else made the layers, so none may write outside of its directory. A layer is unpacked into a directory of its
own, with the files that say what it removes (`.wh.NAME`, and `.wh..wh..opq` for all that lower layers have in a
directory). The image's tree then has links to the same files, so layers that several images share are on the disk once.

Owners, set-user-ID bits and devices are dropped: everything is readable by programs, which run as an ordinary user.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from tarfile import HeaderError, ReadError
from typing import IO, Self

from code_env.errors import ImageError

from .archives import UNREADABLE, Hashing, Layer, decompressed, is_of_the_disk

_REMOVED, _OPAQUE = ".wh.", ".wh..wh..opq"

_END: type[HeaderError] = tarfile.EOFHeaderError  # type: ignore[attr-defined]  # Not in the stubs.

_MOST_DEEP = 256
"""How deep directories may be nested: the functions that change or remove a tree are recursive."""


def unpack(layer: Layer, target: Path) -> None:
    """Unpack a layer.

    Args:
        layer: The layer.
        target: The directory for it, which exists.

    Raises:
        ImageError: If it is damaged, or wants to write outside of its directory.
        OSError: If the disk is full.
    """
    try:
        with layer.open() as file:
            stream = Hashing(decompressed(file))
            _unpack(stream, target, tarfile.TarInfo if layer.digest else _Whole)
            # Read to the end even without a digest: compressed data has its checksum there.
            if stream.digest() != layer.digest != "":
                raise ImageError(f"a layer is damaged: its SHA-256 is not {layer.digest}")
    except UNREADABLE as error:
        if is_of_the_disk(error):
            raise
        raise ImageError(f"a layer cannot be unpacked: {type(error).__name__}: {error}") from error


class _Whole(tarfile.TarInfo):
    """A member of a tar without a digest. `tarfile` alone would take a damaged or missing header for the tar's end."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        """Read a member.

        Raises:
            ReadError: If there is neither a member nor the end.
        """
        try:
            return super().fromtarfile(tarfile)
        except _END:
            raise
        except HeaderError as error:
            raise ReadError(f"the tar is damaged, or cut off, at byte {tarfile.offset}: {error}") from error


def _unpack(stream: Hashing, target: Path, members: type[tarfile.TarInfo]) -> None:
    # Not `tarfile`'s own extraction: its filters came with Python 3.11.4, and it would set owners and modes.
    root = os.path.realpath(target)
    with tarfile.open(fileobj=_as_file(stream), mode="r|", tarinfo=members) as tar:
        for member in tar:
            path = _within(root, member.name)
            _removed_by(os.path.basename(path))  # Raises if the layer removes something that it may not.
            if member.isdir():
                if os.path.islink(path) or not os.path.isdir(path):
                    _remove(path)
                os.makedirs(path, exist_ok=True)
            elif path == root:  # A link in place of the directory would show its target as the layer.
                raise ImageError(f"a layer puts something in place of its own directory: {member.name}")
            elif member.islnk() and path == _within(root, member.linkname):
                continue  # A file that was packed twice.
            elif member.issym() or member.islnk() or member.isfile():
                os.makedirs(os.path.dirname(path), exist_ok=True)
                _remove(path)
                if member.issym():
                    os.symlink(member.linkname, path)
                elif member.islnk():
                    os.link(_within(root, member.linkname), path, follow_symlinks=False)
                else:
                    _write(tar.extractfile(member), path)
                    os.chmod(path, 0o755 if member.mode & 0o111 else 0o644)
                    # `make` compares these times, and Python those of a module and of its compiled file.
                    with contextlib.suppress(OverflowError, OSError):  # A time that this file system does not have.
                        os.utime(path, (member.mtime, member.mtime))


def _as_file(stream: Hashing) -> IO[bytes]:
    return stream  # type: ignore[return-value]  # A tar that is read as a stream needs `read` only.


def _write(content: IO[bytes] | None, path: str) -> None:
    with open(path, "xb") as file:
        shutil.copyfileobj(content or io.BytesIO(), file)


def _within(root: str, name: str) -> str:
    """Return the path of a member, which must lie in the layer's directory even if a link is on the way.

    Raises:
        ImageError: If it does not, or lies too deep.
    """
    inside = os.path.normpath(f"/{name}").lstrip("/")
    path = os.path.join(root, inside) if inside else root
    if ".." in name.split("/") or not _is_in(root, os.path.dirname(path) if inside else root):
        raise ImageError(f"a layer leads out of its directory: {name}")
    if inside.count("/") > _MOST_DEEP:
        raise ImageError(f"a layer has more than {_MOST_DEEP} directories in each other: {name:.100}")
    return path


def _is_in(root: str, path: str) -> bool:
    return f"{os.path.realpath(path)}/".startswith(f"{root}/")


def merge(layers: Iterable[Path], root: Path) -> None:
    """Lay unpacked layers over each other.

    Args:
        layers: Their directories, the lowest first.
        root: The directory for the result, on the same file system.
    """
    for layer in layers:
        _lay(str(layer), str(root))


def _lay(source: str, target: str) -> None:
    if os.path.islink(target) or not os.path.isdir(target):
        _remove(target)
        os.mkdir(target)
        os.chmod(target, 0o755)  # `mkdir` alone would apply the umask.
    entries = list(os.scandir(source))
    names = {entry.name for entry in entries}
    if _OPAQUE in names:
        for name in os.listdir(target):
            _remove(f"{target}/{name}")
    for name in names - {_OPAQUE}:
        if name.startswith(_REMOVED):
            _remove(f"{target}/{_removed_by(name)}")
    for entry in entries:
        if entry.name.startswith(_REMOVED):
            continue
        path = f"{target}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            _lay(entry.path, path)
        else:
            _remove(path)
            _share(entry.path, path)


def _removed_by(name: str) -> str:
    """Return what a file in a layer removes from lower layers, by its name; an ordinary file replaces its own name.

    Raises:
        ImageError: If that would be the directory itself, or the one above.
    """
    removed = name.removeprefix(_REMOVED)
    if removed in ("", ".", ".."):
        raise ImageError(f"a layer removes what has no name of its own: {name}")
    return removed


def _share(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EMLINK, errno.EXDEV, errno.EPERM):  # Too many links, or a system without them.
            raise
        shutil.copy2(source, target, follow_symlinks=False)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
