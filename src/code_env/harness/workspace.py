"""A working directory for each test, so that no test sees the files of another.

The serving process is started in a directory with the program and its files. Each child that runs
the answer gets a copy of it, which is removed when the child has ended.
"""

from __future__ import annotations

import contextlib
import os

_chdir, _getcwd, _getpid, _mkdir, _rmdir, _unlink, _walk = (
    os.chdir,
    os.getcwd,
    os.getpid,
    os.mkdir,
    os.rmdir,
    os.unlink,
    os.walk,
)
_open, _environ, _join = open, os.environ, os.path.join


class Workspace:
    """Makes copies of the directory that is the current one now."""

    def __init__(self) -> None:
        self._original = _getcwd()
        self._made = 0

    def copy(self) -> str:
        """Make a copy beside the original; its path."""
        self._made += 1
        target = f"{self._original}.{_getpid()}.{self._made}"
        for directory, _, names in _walk(self._original):
            copied = target + directory[len(self._original) :]
            _mkdir(copied)
            for name in names:
                with _open(_join(directory, name), "rb") as source, _open(_join(copied, name), "wb") as file:
                    file.write(source.read())
        return target

    @staticmethod
    def enter(path: str) -> None:
        """Make a copy the current directory, and the one that programs find as their home."""
        _chdir(path)
        _environ["HOME"] = _environ["TMPDIR"] = path

    @staticmethod
    def remove(path: str) -> None:
        """Remove a copy, as far as what a program did in it allows; the executor removes the rest."""
        with contextlib.suppress(Exception):
            for directory, directories, names in _walk(path, topdown=False):
                for name in names:
                    _unlink(_join(directory, name))
                for name in directories:
                    with contextlib.suppress(NotADirectoryError):
                        _rmdir(_join(directory, name))
                        continue
                    _unlink(_join(directory, name))  # A link to a directory.
            _rmdir(path)
