"""A working directory for each test, so that no test sees the files of another.

The serving process is started in a directory with the program and its files. Each child that runs
the answer gets a room, a directory with a copy of it, which is removed when the child has ended, unless nothing in it
has changed. The copy is made from what the files held at first, in memory, so what a child does to the original
reaches nobody. It is not the room itself: a child that forks children of its own makes their rooms in its own.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time

_chdir, _getcwd, _getpid, _mkdir, _rmdir, _unlink = os.chdir, os.getcwd, os.getpid, os.mkdir, os.rmdir, os.unlink
_walk, _chmod, _listdir, _lstat, _rename, _clock = os.walk, os.chmod, os.listdir, os.lstat, os.rename, time.monotonic_ns
_S_ISDIR = stat.S_ISDIR
_open, _environ, _join, _dirname = open, os.environ, os.path.join, os.path.dirname

_WORK = "work"


def empty_directory(directory: str) -> None:
    """Remove all that is in a directory, whatever a program that is dead by now made there.

    Directories within directories are moved up before they are emptied, so that depth is no matter, and those that
    were made unreadable are made readable.

    Raises:
        OSError: If something cannot be removed.
    """
    _chmod(directory, 0o700)
    moved = 0
    while names := _listdir(directory):
        for name in names:
            path = _join(directory, name)
            if not _is_directory(path):
                _unlink(path)
                continue
            _chmod(path, 0o700)
            for inner in _listdir(path):
                below = _join(path, inner)
                if _is_directory(below):
                    _chmod(below, 0o700)  # To be moved it must be writable: its `..` changes.
                    moved += 1
                    _rename(below, _join(directory, f"moved-{_getpid()}-{moved}-{_clock()}"))
                else:
                    _unlink(below)
            _rmdir(path)


def _is_directory(path: str) -> bool:
    return _S_ISDIR(_lstat(path).st_mode)


class Workspace:
    """Makes rooms with copies of the directory that is the current one now.

    Args:
        scratch: A directory that holds nothing but what is the tests', so that all in it may go when a test has ended.
        stamped: Whether `scratch` is on a file system that stamps each change, where the kernel has stamps fine enough.
    """

    def __init__(self, scratch: str | None = None, *, stamped: bool = False) -> None:
        self._parent = _dirname(_getcwd())
        self._scratch, self._stamped = scratch, stamped and _HAS_FINE_STAMPS
        self._made = 0
        self._directories: list[str] = []
        self._files: dict[str, bytes] = {}
        self._kept: str | None = None
        self._stamps: dict[str, tuple[int, ...]] = {}
        for directory, _, names in _walk("."):
            self._directories.append(directory[1:])
            for name in names:
                with _open(_join(directory, name), "rb") as file:
                    self._files[_join(directory, name)[1:]] = file.read()

    def take_room(self) -> str:
        """A room in which nothing has been changed: the last one if that is so, else one that is made; its path."""
        if self._kept is not None:
            return self._kept
        room = self.make_room()
        if self._stamped:
            self._stamps = {path: _stamp(path) for path in self._paths(room)}
        return room

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

    def leave(self, room: str) -> None:
        """When nothing runs in a room any more: keep it for the next test if it is as it was, else remove it."""
        self._kept = room if self._is_untouched(room) else None
        if self._kept is None and self._scratch is not None:
            empty_directory(self._scratch)
        elif self._kept is None:
            self.remove(room)

    def _paths(self, room: str) -> list[str]:
        work = _join(room, _WORK)
        own = [work + name for name in (*self._directories, *self._files)]
        return [room, *own] if self._scratch is None else [self._scratch, room, *own]

    def _is_untouched(self, room: str) -> bool:
        """Whether all in a room is as it was made.

        The kernel stamps each change of a directory or an attribute. It does not stamp what is written to a file
        through a mapping, so contents are compared.
        """
        try:
            if not self._stamps or any(_stamp(path) != self._stamps.get(path) for path in self._paths(room)):
                return False
            for path, content in self._files.items():
                with _open(_join(room, _WORK) + path, "rb", 0) as file:
                    if file.read() != content:
                        return False
        except OSError:
            return False
        return True

    @staticmethod
    def remove(room: str) -> None:
        """Remove a room, as far as what a program did in it allows; the executor removes the rest."""
        with contextlib.suppress(OSError):
            empty_directory(room)
            _rmdir(room)


def _stamp(path: str) -> tuple[int, ...]:
    found = _lstat(path)
    return found.st_ctime_ns, found.st_mode, found.st_size, found.st_ino, found.st_nlink


def _has_fine_stamps() -> bool:
    """Whether file systems stamp each change that comes after a look with a time of its own (Linux 6.13)."""
    system, _, release, *_ = os.uname() if hasattr(os, "uname") else ("", "", "")
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return system == "Linux" and numbers is not None and tuple(map(int, numbers.groups())) >= (6, 13)


_HAS_FINE_STAMPS = _has_fine_stamps()
