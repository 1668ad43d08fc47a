"""The cache of images: the trees that are made of their layers.

    <cache>/images/<key>/root/         the root file system of an image, with links to the files of its layers
    <cache>/images/<key>/image.json    the other fields of its `Image`

`caches/folders.py` says what else is there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from code_env.caches import FolderCache, size_of
from code_env.errors import ImageError, ImageNotPrepared

from . import archives, engines, layers
from .build_context import BuildContext
from .build_file import is_build_file
from .building import Build, base_of
from .image import Image
from .layer_cache import LayerCache
from .trees import own

_RECORD, _ROOT, _TREE = "image.json", "root", "tree"

_PATHS = ("/", "./", "../", "~")
"""A source that begins with one of these is a path, never the name of an image."""


class ImageCache(FolderCache[Image]):
    """The images in a cache.

    Args:
        directory: Directory of all caches; by default that of `cache_directory`.
    """

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__("images", directory, ImageError)
        self.layers = LayerCache(directory)

    def find(self, source: str) -> Image:
        """Return the image of a path or a name.

        Raises:
            ImageError: If there is nothing of that path or name, or it is the root of this machine.
            ImageNotPrepared: If it is not in the cache; the message says how to put it there.
        """
        path = _existing(source)
        if path is not None and _is_root_file_system(path):
            return Image(str(path), str(path))
        found = self.whole(_key(source, path), counted=True)
        if found is not None:
            return found
        if path is None and engines.find() is None:
            raise ImageError(f"{_no_such(source)}. Install podman or docker to pull an image by its name")
        raise ImageNotPrepared(
            f"the image {source} is not in {self.directory}, or parts of it are gone; run `code-env prepare SUITE` "
            "once for the suite, which unpacks, builds or pulls it"
        )

    def read(self, key: str) -> Image | None:
        """Return the image with this key; None if there is none."""
        path = self.directory / key
        try:
            record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
            return Image(**record, key=key, root=str(path / _ROOT))
        except (OSError, ValueError, TypeError):
            return None

    def prepare(self, source: str, *, network: bool = False) -> tuple[Image, bool]:
        """Make an image, unless it is there; return it, and whether it was made now.

        Args:
            source: Its path or name.
            network: Whether the RUN steps of a build file may reach the network.

        Raises:
            ImageError: If it cannot be read, built or pulled, or the cache cannot be written.
        """
        path = _existing(source)
        if path is not None and _is_root_file_system(path):
            return self.find(source), False
        key = _key(source, path)
        there = self.whole(key)
        if there is not None:
            return there, False
        with self.making(key) as folder:
            made = folder is not None
            if folder is not None:
                root = folder / _ROOT
                root.mkdir()
                root.chmod(0o755)
                variables, directory = self._make(source, path, folder, network=network)
                own(root)
                size_bytes = size_of(root)
                image = Image(source if path is None else str(path), "", "", variables, directory, size_bytes)
                fields = dataclasses.asdict(image).items()
                record = {name: value for name, value in fields if name not in ("key", "root")}
                (folder / _RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return self.find(source), made

    def _make(self, source: str, path: Path | None, folder: Path, *, network: bool) -> tuple[Mapping[str, str], str]:
        """Fill the root of an image, and return the variables that it sets and its working directory."""
        if path is None:
            with tempfile.TemporaryDirectory(dir=folder) as directory:
                return self._unpack(engines.save(source, Path(directory)), folder)
        if not is_build_file(path):
            return self._unpack(path, folder)
        with contextlib.ExitStack() as held:
            build = Build(path, partial(self._base, held), network=network)
            layers.merge([build.tree(self.layers, held)], folder / _ROOT)
        return build.variables, build.directory

    def _base(self, held: contextlib.ExitStack, source: str) -> Image:
        """Return the image that a build file begins with."""
        path = _existing(source)
        if path is not None and is_build_file(path):
            raise ImageError(f"{source} is a build file; FROM needs an image that is built already")
        image, _ = self.prepare(source)
        if image.key:
            held.enter_context(self.hold(image))
        return image

    def _unpack(self, path: Path, folder: Path) -> tuple[Mapping[str, str], str]:
        with archives.opened(path, folder) as archive, contextlib.ExitStack() as held:
            try:
                trees = [self._layer(layer, folder, held) for layer in archive.layers]
                layers.merge(trees, folder / _ROOT)
            except ImageError as error:
                raise ImageError(f"the image {path}: {error}") from error
            shutil.rmtree(folder / _TREE, ignore_errors=True)
            return archive.variables, archive.directory

    def _layer(self, layer: archives.Layer, folder: Path, held: contextlib.ExitStack) -> Path:
        """Return the unpacked tree of a layer."""
        if layer.digest:
            tree, lock = self.layers.tree(layer.digest[:24], partial(layers.unpack, layer))
            held.enter_context(lock)
        else:  # A tar of a root file system has only one layer.
            tree = folder / _TREE
            tree.mkdir()
            layers.unpack(layer, tree)
        return tree

    def _files_of(self, entry: Image) -> Path:
        return Path(entry.root)

    def _was_removed(self, entry: Image) -> Exception:
        return ImageNotPrepared(
            f"the image {entry.source} was removed from {self.directory}; run `code-env prepare SUITE` again"
        )


def _existing(source: str) -> Path | None:
    """Return the path of an image; None if the source is a name, because no such path exists.

    Raises:
        ImageError: If it can only be a path and does not exist, or if it is the root of this machine.
    """
    if not source:
        raise ImageError("the name of an image must not be empty")
    path = Path(source).expanduser().absolute()
    if not path.exists():
        if source.startswith(_PATHS) or not re.fullmatch(r"[\w./:@-]+", source):
            raise ImageError(_no_such(source))
        return None
    if path.resolve() == Path("/"):
        raise ImageError("the image / would show programs all of this machine")
    return path


def _no_such(source: str) -> str:
    return (
        f"the image {source} does not exist; give the path of a directory with a root file system, of an OCI layout, "
        "of a tar of either, of what `docker save` wrote, or of a build file"
    )


def _is_root_file_system(path: Path) -> bool:
    return path.is_dir() and not all((path / name).is_file() for name in archives.OCI_FILES)


def _key(source: str, path: Path | None) -> str:
    """Return the key of an image in the cache, which changes with its archive or its build file's directory.

    Raises:
        ImageError: If a file that it depends on cannot be read.
    """
    try:
        state: list[object] = ["name", source] if path is None else [str(path.resolve()), *_state(path)]
    except OSError as error:
        raise ImageError(f"the image {source} cannot be read: {error}") from error
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:24]


def _state(path: Path) -> list[object]:
    if not is_build_file(path):
        changing = (path / archives.OCI_INDEX if path.is_dir() else path).stat()
        return [changing.st_size, changing.st_mtime_ns]
    state: list[object] = [path.stat().st_mtime_ns, *BuildContext(path.parent, path.name).state()]
    with contextlib.suppress(ImageError):  # Making the image reports the error.
        base = base_of(path)
        found = None if base is None else _existing(base)
        if base is not None and (found is None or not _is_root_file_system(found)):
            state.append(_key(base, found))
    return state
