"""Changes trees of files that become the root file system of an image."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from code_env.errors import ImageError

_MOST_LINKS = 40


def resolved_in(root: str | Path, path: str) -> str:
    """Return where a path leads within a root file system: an absolute path without links.

    Links are followed as for a program in there, so none leads out. Parts that do not exist are kept as they are.

    Raises:
        ImageError: If links lead round in circles.
    """
    done, left, links = "/", [part for part in path.split("/") if part], 0
    while left:
        part = left.pop(0)
        if part in (".", ".."):
            done = done if part == "." else os.path.dirname(done)
            continue
        here = os.path.join(done, part)
        if os.path.islink(f"{root}{here}"):
            links += 1
            if links > _MOST_LINKS:
                raise ImageError(f"the links of {path} lead round in circles")
            target = os.readlink(f"{root}{here}")
            done = "/" if target.startswith("/") else done
            left = [part for part in target.split("/") if part] + left
        else:
            done = here
    return done


def program_in(tree: str | Path, name: str, path: str) -> str:
    """Return the path of a program in a root file system.

    Args:
        tree: The root file system.
        name: The program's name, or its path.
        path: Where to look for a name.

    Raises:
        ImageError: If there is none.
    """
    for candidate in [name] if "/" in name else [f"{directory}/{name}" for directory in path.split(":")]:
        place = f"{tree}{resolved_in(tree, candidate)}"
        if os.path.isfile(place) and os.stat(place).st_mode & 0o111:
            return candidate
    raise ImageError(f"the image has no program {name}")


class Copied:
    """A copy of a tree that a step changes. Afterwards it can share the files that did not change with the original.

    Args:
        source: The original.
        target: The directory for the copy, which exists.
    """

    def __init__(self, source: Path, target: Path) -> None:
        self._source, self._target = source, target
        self._unchanged: dict[str, tuple[int, int]] = {}
        owner = _owner()
        _own(str(target), owner)
        for directory, folders, names in os.walk(source):
            below = os.path.relpath(directory, source)
            for name in [*folders, *names]:
                path = os.path.normpath(os.path.join(below, name))
                self._copy(os.path.join(directory, name), path, owner)

    def _copy(self, source: str, path: str, owner: tuple[int, int]) -> None:
        target, mode = str(self._target / path), os.lstat(source).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(source), target)
        elif stat.S_ISDIR(mode):
            os.mkdir(target)
            os.chmod(target, 0o755)
        elif stat.S_ISREG(mode):
            shutil.copy2(source, target)
        else:
            return
        _own(target, owner)
        if stat.S_ISREG(mode):
            self._unchanged[path] = _identity(target)

    def finish(self, *, link: bool) -> None:
        """Make all files readable, and remove everything that is neither a file, a directory nor a link.

        Args:
            link: Whether to replace files that did not change by hard links to those of the original.
        """
        for directory, folders, names in os.walk(self._target):
            os.chmod(directory, 0o755)
            for path in (os.path.join(directory, name) for name in folders):
                if not os.path.islink(path):  # Before the walk looks into it.
                    os.chmod(path, 0o755)
            for name in names:
                self._finish(os.path.join(directory, name), link=link)

    def _finish(self, path: str, *, link: bool) -> None:
        about = os.lstat(path)
        if stat.S_ISLNK(about.st_mode):
            return
        if not stat.S_ISREG(about.st_mode):
            os.unlink(path)
            return
        below = os.path.relpath(path, self._target)
        if link and self._unchanged.get(below) == _identity(path):
            os.unlink(path)
            os.link(self._source / below, path)
            return
        os.chmod(path, 0o755 if about.st_mode & 0o111 else 0o644)


def own(tree: Path) -> None:
    """Give a tree to the user that boxes run as."""
    owner = _owner()
    _own(str(tree), owner)
    for directory, folders, names in os.walk(tree):
        for name in [*folders, *names]:
            _own(os.path.join(directory, name), owner)


def _owner() -> tuple[int, int]:
    from code_env.executors.local.users import box_user  # Not above: the executors import this package.

    return box_user()


def _own(path: str, owner: tuple[int, int]) -> None:
    if os.geteuid() == 0:
        os.chown(path, *owner, follow_symlinks=False)


def _identity(path: str) -> tuple[int, int]:
    """Return values that change when a file is replaced or changed. No program can set the second one (ctime)."""
    about = os.lstat(path)
    return about.st_ino, about.st_ctime_ns
