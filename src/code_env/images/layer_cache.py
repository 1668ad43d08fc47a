"""The cache of layers: trees that images are made of, by their content or by what makes them.

    <cache>/layers/<key>/tree/         one layer
    <cache>/layers/<key>/size          the size of its files, in bytes

Nothing depends on a layer once an image is complete: the image has links of its own to the files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from code_env.caches import FileLock, FolderCache, size_of
from code_env.errors import ImageError

_TREE, _SIZE = "tree", "size"


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
        """Return the layer with this key; None if there is none."""
        path = self.directory / key
        try:
            return _Tree(key, path / _TREE, int((path / _SIZE).read_text()))
        except (OSError, ValueError):
            return None

    def _files_of(self, entry: _Tree) -> Path:
        return entry.path

    def tree(self, key: str, make: Callable[[Path], object]) -> tuple[Path, FileLock]:
        """Return the directory of a layer, and a lock that keeps the layer in the cache.

        Args:
            key: Its key.
            make: Called with the directory to fill, if the layer is not in the cache.

        Raises:
            ImageError: If it cannot be made, or the cache cannot be written.
        """
        # Only a layer that is not there is made. To make one takes its lock for one process alone, so a process that
        # already holds the layer would wait forever.
        if self.whole(key, counted=True) is None:
            with self.making(key) as folder:
                if folder is not None:
                    (folder / _TREE).mkdir()
                    (folder / _TREE).chmod(0o755)  # `mkdir` alone would apply the umask.
                    make(folder / _TREE)
                    (folder / _SIZE).write_text(str(size_of(folder / _TREE)))
        found = _Tree(key, self.directory / key / _TREE)
        return found.path, self.hold(found)

    def _was_removed(self, entry: _Tree) -> Exception:
        return ImageError(f"{entry.path} was removed while it was used; prepare the image again")
