"""A cache of folders, by their keys.

    <cache>/<kind>/<key>/              a folder that is complete
    <cache>/<kind>/<key>.lock          held alone by who makes or removes it, shared by who uses it
    <cache>/<kind>/<key>.*.partial     a folder that is not finished
    <cache>/<kind>/<key>.*.removed     a folder that is being removed

A key is 24 hexadecimal digits. Whatever has another name is somebody else's, and is left alone.

A folder is renamed to its key when it is complete. So a folder that a failed or killed process began is never taken for
a complete one. The process that holds the lock alone removes what others left unfinished.
"""

from __future__ import annotations

import abc
import contextlib
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from code_env.errors import CacheError

from .locks import FileLock

CACHE_VARIABLE = "CODE_ENV_CACHE"
"""The environment variable with the directory of the caches."""

MAX_BYTES = 20 << 30
"""How large a cache may become unless told otherwise, in bytes."""

_KEY = re.compile(r"[0-9a-f]{24}")
_BESIDE = re.compile(rf"({_KEY.pattern})\.(?:lock|[0-9a-f]{{8}}\.(?:partial|removed))")
"""The names that this module gives to what lies beside a folder."""


def cache_directory() -> Path:
    """The directory of the caches: `$CODE_ENV_CACHE`, else `code_env` in the user's directory for caches."""
    given = os.environ.get(CACHE_VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(given).expanduser().absolute() if given else Path(base).expanduser().absolute() / "code_env"


class Entry(Protocol):
    """What is known of a folder."""

    @property
    def key(self) -> str:
        """Its name in the cache."""
        ...

    @property
    def size_bytes(self) -> int:
        """Size of its files."""
        ...


E = TypeVar("E", bound=Entry)

_known_whole: set[Path] = set()
"""The folders whose files this process has counted."""


class FolderCache(abc.ABC, Generic[E]):
    """The folders of one kind.

    Args:
        kind: Name of their directory.
        directory: Directory of all caches; by default that of `cache_directory`.
        error: The exception for a cache that cannot be written.
    """

    def __init__(self, kind: str, directory: Path | None, error: type[CacheError] = CacheError) -> None:
        self.directory = (directory or cache_directory()) / kind
        self._error = error

    @abc.abstractmethod
    def read(self, key: str) -> E | None:
        """What is known of the folder with this key; None if there is none that works."""

    @abc.abstractmethod
    def _files_of(self, entry: E) -> Path:
        """The directory with the files whose size is known of a folder."""

    def whole(self, key: str, *, counted: bool = False) -> E | None:
        """What is known of the folder with this key; None if there is none that works, or some of its files are gone.

        Args:
            key: The key.
            counted: Whether it is enough that this process has once counted the files.
        """
        found = self.read(key)
        if found is None or (counted and self._files_of(found) in _known_whole):
            return found
        try:
            held = size_of(self._files_of(found))
        except FileNotFoundError:  # Another process removes the folder.
            return None
        if held < found.size_bytes:  # Who cleans up old files can have removed them.
            return None
        _known_whole.add(self._files_of(found))
        return found

    @abc.abstractmethod
    def _was_removed(self, entry: E) -> Exception:
        """The exception for a folder that was removed meanwhile."""

    def hold(self, entry: E) -> FileLock:
        """Keep a folder from being removed until the lock is closed, and note that it is used.

        Raises:
            CodeEnvError: If it was removed meanwhile, as the cache's class says; the message says how to make it again.
        """
        path = self._lock_of(entry.key)
        try:
            lock = FileLock.take(path, shared=True, wait=True) or FileLock(-1)
        except OSError:  # In a cache that is read-only nothing is removed either.
            lock = FileLock(-1)
        if self.read(entry.key) is None:
            lock.close()
            raise self._was_removed(entry)
        with contextlib.suppress(OSError):
            os.utime(path)
        return lock

    @contextlib.contextmanager
    def making(self, key: str) -> Iterator[Path | None]:
        """Yield a folder to fill; it gets its name if the block ends without an exception.

        Others wait meanwhile. What earlier attempts left is removed. Yields None if the folder is there, because
        another process has made it.

        Raises:
            CacheError: If the cache cannot be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with FileLock.take(self._lock_of(key), shared=False, wait=True) or contextlib.nullcontext():
                partial = self._beside(key, "partial")
                try:
                    if self.whole(key) is not None:
                        yield None
                        return
                    self._sweep(key)
                    partial.mkdir()
                    partial.chmod(0o755)  # `mkdir` alone would apply the umask, and programs run as another user.
                    yield partial
                    self._remove(key)  # What is there does not work.
                    partial.rename(self.directory / key)
                finally:
                    _delete(partial)
                    if not (self.directory / key).exists():
                        self._remove_lock(key)
        except OSError as error:
            raise self._error(
                f"{self.directory} cannot be written: {error}; ${CACHE_VARIABLE} names another directory"
            ) from error

    def entries(self) -> list[E]:
        """All folders, the most recently used first."""
        names = [path.name for path in self._paths() if _KEY.fullmatch(path.name)]
        found = [one for name in names if (one := self.read(name)) is not None]
        return sorted(found, key=lambda one: (-self.used_at(one), one.key))

    def used_at(self, entry: E) -> float:
        """When a folder was used last, in seconds since the epoch; 0 where unknown."""
        try:
            return self._lock_of(entry.key).stat().st_mtime
        except OSError:
            return 0.0

    def prune(self, max_bytes: int = MAX_BYTES) -> list[E]:
        """Remove folders, the least recently used first, until the rest is small enough.

        What failed attempts left is removed too. A folder that somebody uses is never removed.

        Args:
            max_bytes: How large the rest may be, in bytes.

        Returns:
            What was removed.
        """
        known = self.entries()
        excess = sum(one.size_bytes for one in known) - max_bytes
        removed = []
        for one in reversed(known):
            if excess > 0 and self._remove_unless_used(one.key):
                removed.append(one)
                excess -= one.size_bytes
        kept = {one.key for one in known}
        # A folder has its lock beside it as long as it is there, so this finds those too that do not work.
        for key in {found[1] for path in self._paths() if (found := _BESIDE.fullmatch(path.name))} - kept:
            self._remove_unless_used(key)
        return removed

    def _remove_unless_used(self, key: str) -> bool:
        with contextlib.suppress(OSError):  # What belongs to another user is left.
            lock = FileLock.take(self._lock_of(key), shared=False, wait=False)
            if lock is not None:
                with lock:
                    self._remove(key)
                    self._sweep(key)
                    self._remove_lock(key)
                return True
        return False

    def _remove_lock(self, key: str) -> None:
        """Remove the lock of a folder that is gone. Who waits for it notices that, and takes the next."""
        self._lock_of(key).unlink(missing_ok=True)

    def _remove(self, key: str) -> None:
        """Remove a folder; the caller holds its lock. Without its name, nobody takes half of it for a whole."""
        removed = self._beside(key, "removed")
        with contextlib.suppress(FileNotFoundError):
            (self.directory / key).rename(removed)
        _delete(removed)

    def _sweep(self, key: str) -> None:
        for path in self._paths():
            found = _BESIDE.fullmatch(path.name)
            if found is not None and found[1] == key and path.suffix != ".lock":
                _delete(path)

    def _paths(self) -> Iterable[Path]:
        try:
            return sorted(self.directory.iterdir())
        except OSError:
            return ()

    def _lock_of(self, key: str) -> Path:
        return self.directory / f"{key}.lock"

    def _beside(self, key: str, what: str) -> Path:
        return self.directory / f"{key}.{secrets.token_hex(4)}.{what}"


def size_of(directory: Path) -> int:
    """The size of all files below a directory, in bytes."""
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(directory) for name in names)


def _delete(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # A step of a build can leave directories that are too deep in each other for it.
        subprocess.run(["rm", "-rf", "--", folder], stdin=subprocess.DEVNULL, capture_output=True, check=False)
