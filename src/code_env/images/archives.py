"""Reads archives of images: what layers they hold, in their order, and what the image sets for its programs.

Three kinds are read: an OCI image layout (a directory or a tar), what `docker save` and `podman save` write, and a tar
of a root file system. All can be compressed.

The formats: https://github.com/opencontainers/image-spec (`image-layout.md`, `manifest.md`, `layer.md`) and
https://github.com/moby/docker-image-spec.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import platform
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol, cast

from code_env.errors import ImageError

_OCI_INDEX, _DOCKER_MANIFEST = "index.json", "manifest.json"

_SHA256 = re.compile("sha256:([0-9a-f]{64})")

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Names of this machine's architecture in manifests."""


@dataclass(frozen=True)
class Layer:
    """One layer: a tar with what it adds to the layers below it, and what it removes from them."""

    digest: str
    """The SHA-256 of the tar before its compression; empty if the archive does not tell it."""
    open: Callable[[], IO[bytes]]
    """Opens the tar, which can be compressed."""


def layer_of(path: Path) -> Layer:
    """The layer that is a file of its own."""
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
def opened(path: Path) -> Iterator[Archive]:
    """Read what an archive holds; its layers can be opened until the block ends.

    Raises:
        ImageError: If its kind is not known, if it is damaged, or if it does not hold exactly one image.
    """
    with contextlib.ExitStack() as stack:
        try:
            archive = _read(path, stack)
        except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
            raise ImageError(f"{path} cannot be read as an image: {error}") from error
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise ImageError(f"{path} is damaged, or no image: {type(error).__name__}: {error}") from error
        yield archive


def _read(path: Path, stack: contextlib.ExitStack) -> Archive:
    if path.is_dir():
        return _oci(_Folder(path), path)
    file = stack.enter_context(path.open("rb"))
    plain = decompressed(file)
    if plain is not file:  # Its parts are read in any order, which a compressed file does not allow, or slowly.
        packed, plain = plain, stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
        shutil.copyfileobj(packed, plain)
        plain.seek(0)
    tar = stack.enter_context(tarfile.open(fileobj=plain))  # noqa: SIM115 (the stack closes it)
    inside = _Tar(tar)
    if inside.has(_DOCKER_MANIFEST):
        return _docker(inside, path)
    if inside.has(_OCI_INDEX):
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
    return _archive(inside, images[0]["Layers"], _json(inside, images[0]["Config"]))


def _oci(inside: _Inside, path: Path) -> Archive:
    entries, seen = _json(inside, _OCI_INDEX)["manifests"], 0
    while True:
        wanted = [entry for entry in entries if _is_for_this_machine(entry.get("platform"))]
        if len(wanted) != 1:
            raise ImageError(f"{path} holds {len(wanted)} images for this machine; one was expected")
        manifest, seen = _json(inside, _blob(wanted[0])), seen + 1
        if "layers" in manifest:
            break
        if seen > 3:
            raise ImageError(f"{path} has an index that leads to no image")
        entries = manifest["manifests"]
    return _archive(inside, [_blob(layer) for layer in manifest["layers"]], _json(inside, _blob(manifest["config"])))


def _blob(described: Mapping[str, Any]) -> str:
    algorithm, _, digest = described["digest"].partition(":")
    return f"blobs/{algorithm}/{digest}"


def _is_for_this_machine(described: Mapping[str, str] | None) -> bool:
    if described is None:
        return True
    machine = platform.machine()
    return described.get("os") == "linux" and described.get("architecture") == _MACHINES.get(machine, machine)


def _archive(inside: _Inside, names: list[str], config: Mapping[str, Any]) -> Archive:
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
    """The content of a file that can be compressed by gzip, bzip2, xz or zstd.

    Raises:
        ImageError: If it is compressed by zstd, and nothing here can read that.
    """
    start = file.read(6)
    file.seek(-len(start), 1)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if start.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if start.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(file)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return _from_zstd(file)
    return file


def _from_zstd(file: IO[bytes]) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise ImageError("it is compressed by zstd: install code-exec-env[images], or save it with gzip") from None
    reader: IO[bytes] = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return reader


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
        """Read what is left, and return the digest of all."""
        while self.read(1 << 20):
            pass
        return self._digest.hexdigest()
