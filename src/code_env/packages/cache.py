"""The cache of environments: installed packages, by what was asked for and by the interpreter.

    <cache>/packages/<key>/environment.json   what is installed; written before the folder gets its name
    <cache>/packages/<key>/venv/              the virtual environment
    <cache>/packages/<key>.lock               held alone by who installs or removes, shared by who uses it
    <cache>/packages/<key>.*.partial          an installation that is not finished
    <cache>/packages/<key>.*.removed          an environment that is being removed

An environment gets its name only when it is complete, by a rename. So an installation that failed or was killed is
never taken for an environment. Whoever holds the lock alone removes what such installations left.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_env.errors import PackageError, PackagesNotPrepared

from .locks import FileLock
from .python import python_tag

CACHE_VARIABLE = "CODE_ENV_CACHE"
"""The environment variable with the directory of the cache."""

_GIB = 1 << 30

MAX_BYTES = 20 * _GIB
"""How large the cache may become unless told otherwise, in bytes."""

_RECORD, _VENV = "environment.json", "venv"


def cache_directory() -> Path:
    """The directory of the cache: `$CODE_ENV_CACHE`, else `code_env` in the user's directory for caches."""
    given = os.environ.get(CACHE_VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(given).expanduser().absolute() if given else Path(base).expanduser().absolute() / "code_env"


@dataclass(frozen=True)
class Environment:
    """Packages that are installed."""

    key: str
    """Its name in the cache: a digest of the requirements and the interpreter."""
    path: Path
    """Its folder."""
    requirements: tuple[str, ...]
    """What was asked for."""
    versions: Mapping[str, str]
    """All packages that are installed, and the version of each."""
    modules: tuple[str, ...]
    """Modules that a server imports once for all programs: the packages asked for, and what the tasks import."""
    site_packages: str
    """The directory with the packages, relative to the virtual environment."""
    size_bytes: int
    """Size of its files. Files that `uv` shares between environments count in each."""

    @property
    def prefix(self) -> Path:
        """The virtual environment."""
        return self.path / _VENV

    @property
    def python(self) -> Path:
        """The interpreter of the virtual environment."""
        return self.prefix / "bin" / "python"

    @property
    def packages(self) -> Path:
        """The directory with the packages."""
        return self.prefix / self.site_packages


class PackageCache:
    """The environments in a cache.

    Args:
        directory: Directory of the cache; by default that of `cache_directory`.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (directory or cache_directory()) / "packages"

    def key(self, requirements: tuple[str, ...], python: str) -> str:
        """The name of an environment: 24 hexadecimal digits.

        Args:
            requirements: Requirements in their normal form.
            python: Path of the interpreter.

        Raises:
            ExecutorError: If the interpreter does not answer.
        """
        text = json.dumps([requirements, python_tag(python)])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def find(self, requirements: tuple[str, ...], python: str) -> Environment:
        """The environment with these requirements for an interpreter.

        Raises:
            PackagesNotPrepared: If there is none; the message says how to prepare it.
            ExecutorError: If the interpreter does not answer.
        """
        found = self.read(self.key(requirements, python))
        if found is None:
            raise PackagesNotPrepared(
                f"the packages {', '.join(requirements)} are not prepared for {python}; run `code-env prepare SUITE` "
                f"once for the suite, which installs them into {self.directory}"
            )
        return found

    def read(self, key: str) -> Environment | None:
        """The environment of a name; None if there is none that works."""
        path = self.directory / key
        try:
            record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
            lists: dict[str, Any] = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
            found = Environment(key=key, path=path, **record | lists)
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        # The interpreter that it was made from can be gone.
        return found if os.access(found.python, os.X_OK) else None

    def write(self, environment: Environment) -> None:
        """Write what is known of an environment into its folder."""
        fields = dataclasses.asdict(environment)
        record = {name: value for name, value in fields.items() if name not in ("key", "path")}
        target = environment.path / _RECORD
        beside = target.with_name(f"{_RECORD}.{secrets.token_hex(4)}")
        beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        beside.replace(target)

    def hold(self, environment: Environment) -> FileLock:
        """Keep an environment from being removed until the lock is closed, and note that it is used.

        Raises:
            PackagesNotPrepared: If it was removed meanwhile.
        """
        path = self._lock_of(environment.key)
        try:
            lock = FileLock.take(path, shared=True, wait=True) or FileLock(-1)
        except OSError:  # In a cache that is read-only nothing is removed either.
            lock = FileLock(-1)
        if self.read(environment.key) is None:
            lock.close()
            raise PackagesNotPrepared(
                f"the packages {', '.join(environment.requirements)} were removed from {self.directory}; run `code-env "
                "prepare SUITE` again"
            )
        with contextlib.suppress(OSError):
            os.utime(path)
        return lock

    @contextlib.contextmanager
    def installing(self, key: str) -> Iterator[Path | None]:
        """Yield a folder to install into; it becomes the environment if the block ends without an exception.

        Others wait meanwhile. What earlier installations of this environment left is removed. Yields None if the
        environment is there, because another process has installed it.

        Raises:
            PackageError: If the cache cannot be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = FileLock.take(self._lock_of(key), shared=False, wait=True)
            partial = self._beside(key, "partial")
            partial.mkdir()
            partial.chmod(0o755)  # `mkdir` alone would apply the umask, and programs run as another user.
        except OSError as error:
            raise PackageError(
                f"{self.directory} cannot be written: {error}; ${CACHE_VARIABLE} names another directory"
            ) from error
        with lock or contextlib.nullcontext():
            try:
                if self.read(key) is not None:
                    yield None
                    return
                self._sweep(key, but=partial)
                yield partial
                self._remove(key)  # What is there does not work.
                partial.rename(self.directory / key)
            finally:
                shutil.rmtree(partial, ignore_errors=True)

    def environments(self) -> list[Environment]:
        """All environments, the most recently used first."""
        names = [path.name for path in self._paths() if path.is_dir() and "." not in path.name]
        found = [one for name in names if (one := self.read(name)) is not None]
        return sorted(found, key=lambda one: (-self.used_at(one), one.key))

    def used_at(self, environment: Environment) -> float:
        """When an environment was used last, in seconds since the epoch; 0 where unknown."""
        try:
            return self._lock_of(environment.key).stat().st_mtime
        except OSError:
            return 0.0

    def prune(self, max_bytes: int = MAX_BYTES) -> list[Environment]:
        """Remove environments, the least recently used first, until the rest is small enough.

        What failed installations left is removed too. An environment that somebody uses is never removed.

        Args:
            max_bytes: How large the rest may be, in bytes.

        Returns:
            What was removed.
        """
        known = self.environments()
        excess = sum(one.size_bytes for one in known) - max_bytes
        removed = []
        for one in reversed(known):
            if excess > 0 and self._remove_unless_used(one.key):
                removed.append(one)
                excess -= one.size_bytes
        kept = {one.key for one in known}
        for key in {path.name.partition(".")[0] for path in self._paths()} - kept:
            self._remove_unless_used(key)
        return removed

    def clear(self) -> list[Environment]:
        """Remove all environments that nobody uses; return those that were removed."""
        return self.prune(0)

    def _remove_unless_used(self, key: str) -> bool:
        try:
            lock = FileLock.take(self._lock_of(key), shared=False, wait=False)
        except OSError:
            return False
        if lock is None:
            return False
        with lock:
            self._remove(key)
            self._sweep(key)
            # Who waits for the lock of a removed file notices that, and takes the next.
            self._lock_of(key).unlink(missing_ok=True)
        return True

    def _remove(self, key: str) -> None:
        """Remove an environment; the caller holds its lock. Without its name, nobody takes half of it for a whole."""
        removed = self._beside(key, "removed")
        with contextlib.suppress(FileNotFoundError):
            (self.directory / key).rename(removed)
        shutil.rmtree(removed, ignore_errors=True)

    def _sweep(self, key: str, but: Path | None = None) -> None:
        for path in self._paths():
            if path != but and path.name.startswith(f"{key}.") and path.suffix in (".partial", ".removed"):
                shutil.rmtree(path, ignore_errors=True)

    def _paths(self) -> Iterable[Path]:
        try:
            return sorted(self.directory.iterdir())
        except OSError:
            return ()

    def _lock_of(self, key: str) -> Path:
        return self.directory / f"{key}.lock"

    def _beside(self, key: str, what: str) -> Path:
        return self.directory / f"{key}.{secrets.token_hex(4)}.{what}"
