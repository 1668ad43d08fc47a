"""The cache of images: unpacked layers, by their content, and the trees that are made of them.

    <cache>/layers/<key>/tree/         one layer
    <cache>/layers/<key>/size          the size of its files, in bytes
    <cache>/images/<key>/root/         the root file system of an image, with links to the files of its layers
    <cache>/images/<key>/image.json    what is known of it

The links keep the files of a layer that was removed, so nothing depends on a layer once an image is complete.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from code_env.caches import MAX_BYTES, FileLock, FolderCache
from code_env.errors import ImageError, ImageNotPrepared

from . import archives, layers

_RECORD, _ROOT, _TREE, _SIZE = "image.json", "root", "tree", "size"

_NOT_SHOWN = frozenset(("dev", "proc", "run", "sandbox", "sys", "tmp", ".code_env"))
"""The jail has its own of these."""

_OCI_FILES = ("oci-layout", "index.json")

_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_NAMES_OF_PYTHON = ("python3", "python", "python3.13", "python3.12", "python3.11")


@dataclass(frozen=True)
class Image:
    """A root file system that programs can run in."""

    source: str
    """The path that the task names, absolute."""
    root: str
    """The directory with the root file system."""
    key: str = ""
    """Its name in the cache; empty for a directory, which is used as it is."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables that it sets."""
    size_bytes: int = 0
    """Size of its files. Files that images share count in each."""

    @property
    def shown(self) -> list[str]:
        """The directories and links in its root that programs see, as they see them."""
        return [f"/{name}" for name in sorted(os.listdir(self.root)) if name not in _NOT_SHOWN]

    def python(self) -> str:
        """The path of its Python, as programs see it.

        Raises:
            ImageError: If it has none in its `PATH`.
        """
        path = self.variables.get("PATH") or _DEFAULT_PATH
        for directory in path.split(":"):
            for name in _NAMES_OF_PYTHON:
                if _is_there(self.root, f"{directory}/{name}"):
                    return f"{directory}/{name}"
        raise ImageError(f"the image {self.source} has no python3 in {path}; programs need Python 3.11 or newer there")


def _is_there(root: str, path: str, depth: int = 0) -> bool:
    """Whether a path within an image leads to a file."""
    at, parts = "/", [part for part in path.split("/") if part]
    for number, part in enumerate(parts):
        here = os.path.join(at, part)
        if os.path.islink(root + here):
            target = os.path.join(at, os.readlink(root + here), *parts[number + 1 :])
            return depth < 40 and _is_there(root, os.path.normpath(target), depth + 1)
        at = here
    return os.path.isfile(root + at)


class ImageCache(FolderCache[Image]):
    """The images in a cache.

    Args:
        directory: Directory of all caches; by default that of `cache_directory`.
    """

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__("images", directory, ImageError)
        self.layers = LayerCache(directory)

    def find(self, source: str) -> Image:
        """The image of a path.

        Raises:
            ImageError: If there is nothing at the path, or it is the root of this machine.
            ImageNotPrepared: If it is an archive that is not unpacked; the message says how to do that.
        """
        path = _existing(source)
        if _is_root_file_system(path):
            return Image(str(path), str(path))
        found = self.read(_key(path))
        if found is None:
            raise ImageNotPrepared(
                f"the image {source} is not unpacked; run `code-env prepare SUITE` once for the suite, which unpacks "
                f"it into {self.directory}"
            )
        return found

    def read(self, key: str) -> Image | None:
        """The image with this key; None if there is none."""
        path = self.directory / key
        try:
            record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
            return Image(**record, key=key, root=str(path / _ROOT))
        except (OSError, ValueError, TypeError):
            return None

    def prepare(self, source: str) -> tuple[Image, bool]:
        """Unpack an image, unless it is there; return it, and whether it was unpacked now.

        Raises:
            ImageError: If it cannot be read or unpacked, or the cache cannot be written.
        """
        with contextlib.suppress(ImageNotPrepared):
            return self.find(source), False
        path = _existing(source)
        with self.making(_key(path)) as folder:
            if folder is not None:
                self._make(path, folder)
        return self.find(source), True

    def _make(self, path: Path, folder: Path) -> None:
        root = folder / _ROOT
        root.mkdir()
        root.chmod(0o755)
        with archives.opened(path) as archive, contextlib.ExitStack() as held:
            trees = []
            for layer in archive.layers:
                if layer.digest:
                    tree, lock = self.layers.tree(layer)
                    held.enter_context(lock)
                else:  # A tar of a root file system has but one layer.
                    tree = folder / _TREE
                    tree.mkdir()
                    layers.unpack(layer, tree)
                trees.append(tree)
            layers.merge(trees, root)
            shutil.rmtree(folder / _TREE, ignore_errors=True)
            image = Image(str(path), str(root), "", archive.variables, layers.size_of(root))
        fields = {name: value for name, value in dataclasses.asdict(image).items() if name not in ("key", "root")}
        (folder / _RECORD).write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")

    def _was_removed(self, entry: Image) -> Exception:
        return ImageNotPrepared(
            f"the image {entry.source} was removed from {self.directory}; run `code-env prepare SUITE` again"
        )


@dataclass(frozen=True)
class _Tree:
    key: str
    path: Path
    size_bytes: int = 0


class LayerCache(FolderCache[_Tree]):
    """The layers in a cache.

    Args:
        directory: Directory of all caches.
    """

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__("layers", directory, ImageError)

    def read(self, key: str) -> _Tree | None:
        """The layer with this key; None if there is none."""
        path = self.directory / key
        try:
            return _Tree(key, path / _TREE, int((path / _SIZE).read_text()))
        except (OSError, ValueError):
            return None

    def tree(self, layer: archives.Layer) -> tuple[Path, FileLock]:
        """The directory of a layer, which is unpacked unless it is there, and a lock that keeps it.

        Raises:
            ImageError: If it cannot be unpacked, or the cache cannot be written.
        """
        key = layer.digest[:24]
        with self.making(key) as folder:
            if folder is not None:
                (folder / _TREE).mkdir()
                layers.unpack(layer, folder / _TREE)
                (folder / _SIZE).write_text(str(layers.size_of(folder / _TREE)))
        found = _Tree(key, self.directory / key / _TREE)
        return found.path, self.hold(found)

    def _was_removed(self, entry: _Tree) -> Exception:
        return ImageError(f"{entry.path} was removed while it was used; prepare the image again")


def _existing(source: str) -> Path:
    path = Path(source).expanduser().absolute()
    if not path.exists():
        raise ImageError(
            f"the image {source} does not exist; give the path of a directory with a root file system, of an OCI "
            "layout, of a tar of either, or of what `docker save` wrote"
        )
    if path.resolve() == Path("/"):
        raise ImageError("the image / would show programs all of this machine")
    return path


def _is_root_file_system(path: Path) -> bool:
    return path.is_dir() and not all((path / name).is_file() for name in _OCI_FILES)


def _key(path: Path) -> str:
    """The name of an archive's image in the cache. An archive that has changed has another."""
    changing = path / _OCI_FILES[1] if path.is_dir() else path
    state = changing.stat()
    text = json.dumps([str(path.resolve()), state.st_size, state.st_mtime_ns])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def prepare_images(
    sources: Iterable[str],
    *,
    cache: ImageCache | None = None,
    max_bytes: int = MAX_BYTES,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> tuple[list[Image], int]:
    """Unpack images into the cache; what is there is not unpacked again.

    Afterwards images that were not used for long are removed if the cache has become too large, but none of these.

    Args:
        sources: Their paths, as tasks name them.
        cache: Where to unpack; the user's cache by default.
        max_bytes: How large the cache may become; the layers may become as large again.
        progress: Called before each image with how many are done, how many there are, and what comes next.

    Returns:
        The images, each once, and how many of them were unpacked now.

    Raises:
        ImageError: If one cannot be read or unpacked, or the cache cannot be written.
    """
    cache, wanted = cache or ImageCache(), list(dict.fromkeys(sources))
    images, unpacked = [], 0
    with contextlib.ExitStack() as held:
        for number, source in enumerate(wanted):
            progress(number, len(wanted), source)
            image, is_new = cache.prepare(source)
            if image.key:
                held.enter_context(cache.hold(image))
            unpacked += is_new
            images.append(image)
        progress(len(wanted), len(wanted), "")
        if unpacked:
            cache.prune(max_bytes)
            cache.layers.prune(max_bytes)
    return images, unpacked
