"""Paths as clients write them, and where they are on this machine.

A sandbox's disk is its home directory, /home/user: relative paths and ~ begin there. What lies elsewhere
does not exist, and cannot be made.
"""

import posixpath
from pathlib import Path

from .sandbox import HOME, Sandbox


class NoSuchPath(Exception):
    """The path is outside of the sandbox's home."""


def resolve(path: str) -> str:
    """The absolute path that a client means."""
    if path == "~" or path.startswith("~/"):
        path = HOME + path[1:]
    return posixpath.normpath(posixpath.join(HOME, path))


def to_host(sandbox: Sandbox, path: str) -> Path:
    """Where a path is on this machine.

    Raises:
        NoSuchPath: If it is outside of the sandbox's home. Paths on this machine below it are accepted.
    """
    whole = resolve(path)
    if whole == HOME or whole.startswith(HOME + "/"):
        return sandbox.home / whole[len(HOME) + 1 :]
    # What a program in the sandbox found out with pwd or $HOME.
    if Path(whole).is_relative_to(sandbox.home):
        return Path(whole)
    raise NoSuchPath(whole)


def from_host(sandbox: Sandbox, path: Path) -> str:
    """What a client calls a path on this machine."""
    return posixpath.normpath(posixpath.join(HOME, path.relative_to(sandbox.home).as_posix()))
