"""The cache of environments: installed packages, by what was asked for and by the interpreter.

    <cache>/packages/<key>/environment.json   what is installed; written before the folder gets its name
    <cache>/packages/<key>/venv/              the virtual environment

`caches/folders.py` says what else is there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_env.caches import FolderCache
from code_env.errors import PackageError, PackagesNotPrepared

from .python import python_tag

_RECORD, _VENV = "environment.json", "venv"


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
    contents: tuple[str, ...] = ()
    """Names of what the directory with the packages holds. If one is gone, the environment is not used any more."""

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


class PackageCache(FolderCache[Environment]):
    """The environments in a cache.

    Args:
        directory: Directory of all caches; by default that of `cache_directory`.
    """

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__("packages", directory, PackageError)

    def key(self, requirements: tuple[str, ...], python: str) -> str:
        """Return the key of an environment: 24 hexadecimal digits.

        Args:
            requirements: Requirements in their normal form.
            python: Path of the interpreter.

        Raises:
            ExecutorError: If the interpreter does not answer.
        """
        text = json.dumps([requirements, python_tag(python)])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def find(self, requirements: tuple[str, ...], python: str) -> Environment:
        """Return the environment with these requirements for an interpreter.

        Raises:
            PackagesNotPrepared: If there is none; the message says how to prepare it.
            ExecutorError: If the interpreter does not answer.
        """
        found = self.whole(self.key(requirements, python), counted=True)
        if found is None:
            raise PackagesNotPrepared(
                f"the packages {', '.join(requirements)} are not prepared for {python}, or parts of them are gone; run "
                f"`code-env prepare SUITE` once for the suite, which installs them into {self.directory}"
            )
        return found

    def read(self, key: str) -> Environment | None:
        """Return the environment with this key; None if there is none that works."""
        path = self.directory / key
        try:
            record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
            lists: dict[str, Any] = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
            found = Environment(key=key, path=path, **record | lists)
            # A package, or the interpreter that it was made from, can be gone. Answers that import it would then fail.
            is_whole = set(found.contents) <= set(os.listdir(found.packages) if found.contents else ())
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        return found if is_whole and os.access(found.python, os.X_OK) else None

    def write(self, environment: Environment) -> None:
        """Write what is known of an environment into its folder."""
        fields = dataclasses.asdict(environment)
        record = {name: value for name, value in fields.items() if name not in ("key", "path")}
        target = environment.path / _RECORD
        beside = target.with_name(f"{_RECORD}.{secrets.token_hex(4)}")
        beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        beside.replace(target)

    def _files_of(self, entry: Environment) -> Path:
        return entry.prefix

    def _was_removed(self, entry: Environment) -> Exception:
        return PackagesNotPrepared(
            f"the packages {', '.join(entry.requirements)} were removed from {self.directory}; run `code-env prepare "
            "SUITE` again"
        )
