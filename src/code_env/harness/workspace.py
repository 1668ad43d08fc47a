"""A working directory for each test, so that no test sees the files of another.

The serving process is started in a directory with the program and its files. Each child that runs
the answer gets a room, a directory with a copy of it, which is removed when the child has ended. The copy
is made from what the files held at first, in memory, so what a child does to the original reaches nobody. It
is not the room itself: a child that forks children of its own makes their rooms in its own.
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
_open, _environ, _join, _dirname = open, os.environ, os.path.join, os.path.dirname

_WORK = "work"


class Workspace:
    """Makes rooms with copies of the directory that is the current one now."""

    def __init__(self) -> None:
        self._parent = _dirname(_getcwd())
        self._made = 0
        self._directories: list[str] = []
        self._files: dict[str, bytes] = {}
        for directory, _, names in _walk("."):
            self._directories.append(directory[1:])
            for name in names:
                with _open(_join(directory, name), "rb") as file:
                    self._files[_join(directory, name)[1:]] = file.read()

    def make_room(self) -> str:
        """Make a room beside the original; its path."""
        self._made += 1
        room = _join(self._parent, f"room-{_getpid()}-{self._made}")
        work = _join(room, _WORK)
        _mkdir(room)
        for directory in self._directories:
            _mkdir(work + directory)
        for path, content in self._files.items():
            with _open(work + path, "wb") as copy:
                copy.write(content)
        return room

    @staticmethod
    def enter(room: str) -> None:
        """Make a room's copy the current directory, and the one that programs find as their home."""
        path = _join(room, _WORK)
        _chdir(path)
        _environ["HOME"] = _environ["TMPDIR"] = path

    @staticmethod
    def remove(room: str) -> None:
        """Remove a room, as far as what a program did in it allows; the executor removes the rest."""
        with contextlib.suppress(Exception):
            for directory, directories, names in _walk(room, topdown=False):
                for name in names:
                    _unlink(_join(directory, name))
                for name in directories:
                    with contextlib.suppress(NotADirectoryError):
                        _rmdir(_join(directory, name))
                        continue
                    _unlink(_join(directory, name))  # A link to a directory.
            _rmdir(room)
