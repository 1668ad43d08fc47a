"""Unpacks layers, and lays them over each other.

A layer is unpacked into a directory of its own, with the files that say what it removes (`.wh.NAME`, and `.wh..wh..opq`
for all that lower layers have in a directory). The image's tree then has links to the same files, so layers that
several images share are on the disk once.

Owners, set-user-ID bits and devices are dropped: everything is readable by programs, which run as an ordinary user.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from code_env.errors import ImageError

from .archives import Hashing, Layer, decompressed

_REMOVED, _OPAQUE = ".wh.", ".wh..wh..opq"


def unpack(layer: Layer, target: Path) -> None:
    """Unpack a layer.

    Args:
        layer: The layer.
        target: The directory for it, which exists.

    Raises:
        ImageError: If it is damaged, or wants to write outside of its directory.
    """
    with layer.open() as file:
        stream = Hashing(decompressed(file))
        try:
            _unpack(stream, target)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise ImageError(f"a layer cannot be unpacked: {error}") from error
        if layer.digest and stream.digest() != layer.digest:
            raise ImageError(f"a layer is damaged: its SHA-256 is not {layer.digest}")


def _unpack(stream: Hashing, target: Path) -> None:
    # Not `tarfile`'s own extraction: its filters came with Python 3.11.4, and it would set owners and modes.
    root = os.path.realpath(target)
    with tarfile.open(fileobj=_as_file(stream), mode="r|") as tar:
        for member in tar:
            path = _within(root, member.name)
            if member.isdir():
                os.makedirs(path, exist_ok=True)
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


def _as_file(stream: Hashing) -> IO[bytes]:
    return stream  # type: ignore[return-value]  # A tar that is read as a stream needs `read` only.


def _write(content: IO[bytes] | None, path: str) -> None:
    with open(path, "xb") as file:
        shutil.copyfileobj(content or io.BytesIO(), file)


def _within(root: str, name: str) -> str:
    """The path of a member, which must lie in the layer's directory, also if a link is on the way.

    Raises:
        ImageError: If it does not.
    """
    path = os.path.join(root, os.path.normpath(f"/{name}").lstrip("/"))
    if ".." in name.split("/") or not _is_in(root, os.path.dirname(path) if path != root else root):
        raise ImageError(f"a layer leads out of its directory: {name}")
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
            _remove(f"{target}/{name.removeprefix(_REMOVED)}")
    for entry in entries:
        if entry.name.startswith(_REMOVED):
            continue
        path = f"{target}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            _lay(entry.path, path)
        else:
            _remove(path)
            _share(entry.path, path)


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


def size_of(directory: Path) -> int:
    """The size of all files below a directory, in bytes."""
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(directory) for name in names)
