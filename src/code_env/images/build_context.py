"""The files that a build file can copy: those of its directory that `.dockerignore` does not leave out.

The cache is left out too if it lies in that directory, because each build changes it.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from pathlib import Path

from code_env.caches import cache_directory
from code_env.errors import ImageError

_IGNORE_FILE = ".dockerignore"


class BuildContext:
    """The directory of a build file.

    Args:
        root: The directory.
        build_file: The name of the build file there; if None, no `.dockerignore` is read.

    Raises:
        ImageError: If the file that says what is left out cannot be read.
    """

    def __init__(self, root: Path, build_file: str | None = None) -> None:
        self.root = root.resolve()
        self._cache = cache_directory().resolve()
        own = self.root / f"{build_file}{_IGNORE_FILE}"  # It replaces the one for all build files of the directory.
        self._rules = [] if build_file is None else _rules(own if own.exists() else self.root / _IGNORE_FILE)

    def files(self, below: Path | None = None) -> list[Path]:
        """Return all files, links and empty directories, in order, without those that are left out.

        Args:
            below: A directory of the context, or one file; all of it by default.
        """
        start = below or self.root
        if start.is_symlink() or not start.is_dir():
            return [start] if _is_kept(start) and not self._is_left_out(start) else []
        found = []
        for directory, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if Path(directory, name) != self._cache)
            links = [name for name in folders if os.path.islink(os.path.join(directory, name))]
            found += [Path(directory, name) for name in sorted([*names, *links])]
            if not folders and not names:
                found.append(Path(directory))
        return [path for path in found if _is_kept(path) and not self._is_left_out(path)]

    def state(self) -> list[tuple[str, int, int, int]]:
        """Return values that change when a file of the context does: each path, size, mode and time of change."""
        found = []
        for path in self.files():
            about = path.lstat()
            found.append((str(path.relative_to(self.root)), about.st_size, about.st_mode, about.st_mtime_ns))
        return found

    def matching(self, pattern: str) -> list[tuple[Path, str]]:
        """Return the files and directories of the context that a source of COPY names, and the name of each.

        Links are followed.
        """
        inside = os.path.normpath(f"/{pattern}").lstrip("/")
        named = sorted(glob.glob(glob.escape(str(self.root)) + f"/{inside}", include_hidden=True))
        found = [(Path(path).resolve(), os.path.basename(os.path.normpath(path))) for path in named]
        return [(path, name) for path, name in found if path.is_relative_to(self.root) and self._has(path)]

    def _has(self, path: Path) -> bool:
        return path == self.root or bool(self.files(path))

    def _is_left_out(self, path: Path) -> bool:
        if path.is_relative_to(self._cache):
            return True
        name = path.relative_to(self.root).as_posix()
        left_out = False
        for keeps, pattern in self._rules:
            if pattern.match(name):
                left_out = not keeps
        return left_out


def digest_of(paths: list[tuple[Path, str]]) -> str:
    """Return the SHA-256 of files and of the names that they get."""
    digest = hashlib.sha256()
    for path, name in paths:
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else b"" if path.is_dir() else _content(path)
        digest.update(repr((name, path.is_symlink(), os.access(path, os.X_OK), content)).encode())
    return digest.hexdigest()


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _is_kept(path: Path) -> bool:
    """Return whether a path is that of a file, a directory or a link. To read a pipe could take forever."""
    return path.is_symlink() or path.is_file() or path.is_dir()


def _rules(path: Path) -> list[tuple[bool, re.Pattern[str]]]:
    """Return for each line whether it keeps files, and the expression for them and for everything below them.

    The format: https://docs.docker.com/build/concepts/context/#dockerignore-files.

    Raises:
        ImageError: If the file cannot be read.
    """
    found = []
    try:
        for line in map(str.strip, path.read_text(encoding="utf-8-sig").split("\n")):
            if line and not line.startswith("#"):
                pattern = os.path.normpath("/" + line.removeprefix("!").strip()).strip("/")
                found.append((line.startswith("!"), re.compile(f"{_expression(pattern)}(/.*)?$")))
    except FileNotFoundError:
        pass
    except (OSError, ValueError, re.error) as error:
        raise ImageError(f"{path} cannot be read: {error}") from error
    return found


def _expression(pattern: str) -> str:
    words = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    return "".join(words.get(part, part if part.startswith("[") else re.escape(part)) for part in parts)
