"""Reads archives of images: what layers they hold, in their order, and what the image sets for its programs.

Three kinds are read: an OCI image layout (a directory or a tar), what `docker save` and `podman save` write, and a tar
of a root file system. All can be compressed.

The formats: https://github.com/opencontainers/image-spec (`image-layout.md`, `manifest.md`, `layer.md`) and
https://github.com/moby/docker-image-spec.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import platform
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol, cast

from code_env.errors import ImageError

_DOCKER_MANIFEST = "manifest.json"

OCI_INDEX = "index.json"
"""The file of an OCI layout that lists its content. It changes when the content does."""

OCI_FILES = ("oci-layout", OCI_INDEX)
"""The files that each OCI layout has."""

UNREADABLE = (
    *(OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(LookupError, TypeError, AttributeError, ValueError, RecursionError),  # The content has an unexpected form.
)
"""The exceptions of reading a file that is damaged, or is no archive or layer."""

_SHA256 = re.compile("sha256:([0-9a-f]{64})")

_ZSTD = re.compile(rb"(?:\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)")
"""How a file of zstd begins: with a frame of data, or with a skippable frame."""

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Names of this machine's architecture in manifests."""


def is_of_the_disk(error: BaseException) -> bool:
    """Return whether an error is a failure to write, so that it says nothing of the archive that was read."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True)
class Layer:
    """One layer: a tar that says what it adds to the layers below it, and what it removes from them."""

    digest: str
    """The SHA-256 of the tar before its compression; empty if the archive does not say."""
    open: Callable[[], IO[bytes]]
    """Opens the tar, which can be compressed."""


def layer_of(path: Path) -> Layer:
    """Return a file as a layer; its digest is not known."""
    return Layer("", lambda: path.open("rb"))


@dataclass(frozen=True)
class Archive:
    """An image as an archive holds it."""

    layers: tuple[Layer, ...]
    """Its layers, the lowest first."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables that it sets."""
    directory: str = "/"
    """Its working directory."""


@contextlib.contextmanager
def opened(path: Path, scratch: Path) -> Iterator[Archive]:
    """Read what an archive holds; its layers can be opened until the block ends.

    Args:
        path: The archive.
        scratch: A directory for what is decompressed meanwhile.

    Raises:
        ImageError: If its kind is not known, if it is damaged, or if it does not hold exactly one image.
        OSError: If the disk is full.
    """
    with contextlib.ExitStack() as stack:
        try:
            archive = _read(path, stack, scratch)
        except UNREADABLE as error:
            if is_of_the_disk(error):
                raise
            raise ImageError(f"{path} cannot be read as an image: {type(error).__name__}: {error}") from error
        yield archive


def _read(path: Path, stack: contextlib.ExitStack, scratch: Path) -> Archive:
    if path.is_dir():
        return _oci(_Folder(path), path)
    file = stack.enter_context(path.open("rb"))
    plain = decompressed(file)
    if plain is not file:  # Its parts are read in any order. In a compressed file that is slow or impossible.
        packed = plain
        plain = stack.enter_context(tempfile.TemporaryFile(dir=scratch))  # noqa: SIM115 (the stack closes it)
        shutil.copyfileobj(packed, plain)
        plain.seek(0)
    tar = stack.enter_context(tarfile.open(fileobj=plain, mode="r:"))  # noqa: SIM115 (the stack closes it)
    inside = _Tar(tar)
    if inside.has(_DOCKER_MANIFEST):
        return _docker(inside, path)
    if all(map(inside.has, OCI_FILES)):
        return _oci(inside, path)
    return Archive((layer_of(path),))


class _Inside(Protocol):
    """The files of an archive."""

    def has(self, name: str) -> bool: ...

    def open(self, name: str) -> IO[bytes]: ...


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def has(self, name: str) -> bool:
        return (self._path / name).is_file()

    def open(self, name: str) -> IO[bytes]:
        return (self._path / name).open("rb")


class _Tar:
    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._members = {member.name.removeprefix("./"): member for member in tar}

    def has(self, name: str) -> bool:
        return name in self._members

    def open(self, name: str) -> IO[bytes]:
        found = self._tar.extractfile(self._members[name])
        if found is None:
            raise ValueError(f"{name} is no file")
        return found


def _json(inside: _Inside, name: str) -> Any:
    with inside.open(name) as file:
        return json.loads(file.read())


def _docker(inside: _Inside, path: Path) -> Archive:
    images = _json(inside, _DOCKER_MANIFEST)
    if len(images) != 1:
        tags = ", ".join(tag for image in images for tag in image.get("RepoTags") or ["without a name"])
        raise ImageError(f"{path} holds {len(images)} images ({tags}); save one alone")
    return _archive(inside, images[0]["Layers"], _json(inside, images[0]["Config"]), path)


def _oci(inside: _Inside, path: Path) -> Archive:
    entries, seen = _json(inside, OCI_INDEX)["manifests"], 0
    while True:
        # Two names of one image are two entries with one digest.
        wanted = {entry["digest"]: entry for entry in entries if _is_for_this_machine(entry.get("platform"))}
        if len(wanted) != 1:
            names = [_name_of(entry) for entry in wanted.values()]
            told = f" ({', '.join(names)}); save one alone" if names else "; one was expected"
            raise ImageError(f"{path} holds {len(names)} images for this machine{told}")
        manifest, seen = _described(inside, *wanted.values()), seen + 1
        if "layers" in manifest:
            break
        if seen > 3:
            raise ImageError(f"{path} has an index that leads to no image")
        entries = manifest["manifests"]
    names = [_blob(layer) for layer in manifest["layers"]]
    return _archive(inside, names, _described(inside, manifest["config"]), path)


def _name_of(entry: Mapping[str, Any]) -> str:
    named = entry.get("annotations") or {}
    return str(named.get("org.opencontainers.image.ref.name", "without a name"))


def _blob(described: Mapping[str, Any]) -> str:
    found = _SHA256.fullmatch(described["digest"])
    if found is None:  # It becomes part of a path.
        raise ValueError(f"a SHA-256 was expected; got {described['digest']!r:.100}")
    return f"blobs/sha256/{found[1]}"


def _described(inside: _Inside, described: Mapping[str, Any]) -> Any:
    """Return the JSON in a blob, whose digest must be the one in its description."""
    name = _blob(described)
    with inside.open(name) as file:
        content = file.read()
    if not name.endswith(hashlib.sha256(content).hexdigest()):
        raise ValueError(f"{name} has another SHA-256 than its name says")
    return json.loads(content)


def _is_for_this_machine(described: Mapping[str, str] | None) -> bool:
    return not described or _machine(described) == this_machine()


def _machine(described: Mapping[str, Any]) -> str:
    return f"{described.get('os')}/{described.get('architecture')}"


def this_machine() -> str:
    """Return the platform of this machine, as build files and manifests name it: for example `linux/amd64`."""
    return f"linux/{_MACHINES.get(platform.machine(), platform.machine())}"


def _archive(inside: _Inside, names: list[str], config: Mapping[str, Any], path: Path) -> Archive:
    if "architecture" in config and _machine(config) != this_machine():
        raise ImageError(f"the image {path} is for {_machine(config)}, and this machine is {this_machine()}")
    layers = []
    for name, identifier in zip(names, config["rootfs"]["diff_ids"], strict=True):
        found = _SHA256.fullmatch(identifier)
        if found is None:  # It becomes part of a path in the cache.
            raise ValueError(f"a layer's SHA-256 was expected; got {identifier!r:.100}")
        layers.append(Layer(found[1], partial(inside.open, name)))
    settings = config.get("config") or {}
    variables = [one.partition("=") for one in settings.get("Env") or ()]
    return Archive(tuple(layers), {name: value for name, _, value in variables}, str(settings.get("WorkingDir") or "/"))


def decompressed(file: IO[bytes]) -> IO[bytes]:
    """Return a stream with the content of a file, which can be compressed by gzip, bzip2, xz or zstd.

    Raises:
        ImageError: If it is compressed by zstd, and nothing here can read that.
    """
    start = file.read(6)
    file.seek(-len(start), os.SEEK_CUR)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if start.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if start.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(file)
    if _ZSTD.match(start):
        return _from_zstd(file)
    return file


def _from_zstd(file: IO[bytes]) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise ImageError("it is compressed by zstd: install code-exec-env[images], or save it with gzip") from None
    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)

    class Reader(io.RawIOBase):
        """Raises `OSError` for damaged content, as the other formats do."""

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            try:
                return int(reader.readinto(buffer))
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from error

    return io.BufferedReader(Reader())


class Hashing:
    """Reads a stream from its beginning to its end, and computes its SHA-256.

    Args:
        file: The stream.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Read bytes, as a file."""
        data = self._file.read(size)
        self._digest.update(data)
        return data

    def digest(self) -> str:
        """Read the rest of the stream, and return the digest of all of it."""
        while self.read(1 << 20):
            pass
        return self._digest.hexdigest()
