"""Gives each test a working directory, so that no test sees the files of another.

The serving process starts in a directory that holds the program and its files. Each child that runs the answer gets a
directory (a room). If only the tests use the directory around the original one, the room is the original directory.
Otherwise it is a copy, which is removed when the child has ended. New rooms are made from a content of the files that
is kept in memory: their first content, or their content at the last `keep_changes`. A child that forks children of its
own makes their rooms beside its own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import stat
import time
from collections.abc import Callable, Mapping
from typing import Any

_chdir, _getcwd, _getpid, _mkdir, _rmdir, _unlink = os.chdir, os.getcwd, os.getpid, os.mkdir, os.rmdir, os.unlink
_walk, _chmod, _scandir, _lstat, _rename, _clock = os.walk, os.chmod, os.scandir, os.lstat, os.rename, time.monotonic_ns
_S_ISDIR, _S_ISREG, _islice = stat.S_ISDIR, stat.S_ISREG, itertools.islice
_open, _environ, _join, _dirname = open, os.environ, os.path.join, os.path.dirname
_close, _POLLIN = os.close, getattr(select, "POLLIN", 0)
_poll: Any = getattr(select, "poll", None)

_WORK = "work"


def empty_directory(directory: str) -> None:
    """Remove everything in a directory, whatever a program that is dead by now made there.

    Nested directories are moved up before they are emptied, so the depth does not matter. Unreadable directories are
    made readable.

    Raises:
        OSError: If something cannot be removed.
    """
    _chmod(directory, 0o700)
    moved = 0
    while names := _some_names(directory):
        for name in names:
            path = _join(directory, name)
            if not _is_directory(path):
                _unlink(path)
                continue
            _chmod(path, 0o700)
            while inner_names := _some_names(path):
                for inner in inner_names:
                    below = _join(path, inner)
                    if _is_directory(below):
                        _chmod(below, 0o700)  # A move changes its `..`, so it must be writable.
                        moved += 1
                        _rename(below, _join(directory, f"moved-{_getpid()}-{moved}-{_clock()}"))
                    else:
                        _unlink(below)
            _rmdir(path)


def _some_names(directory: str) -> list[str]:
    """Return the first names in a directory, which can hold any number; none if it is empty."""
    with _scandir(directory) as entries:
        return [entry.name for entry in _islice(entries, _MANY)]


_MANY = 1000
"""How many names of a directory are read at once."""


def _is_directory(path: str) -> bool:
    return _S_ISDIR(_lstat(path).st_mode)


def read_files(top: str = ".") -> dict[str, bytes]:
    """Return the regular files in a directory and below, by path; files that cannot be read are left out."""
    files: dict[str, bytes] = {}
    for directory, _, names in _walk(top):
        for name in names:
            if len(files) == _MOST_FILES:
                return files
            path = _join(directory, name)
            with contextlib.suppress(OSError):
                if _S_ISREG(_lstat(path).st_mode):
                    with _open(path, "rb") as file:
                        files[path.removeprefix(f"{top}/")] = file.read()
    return files


_MOST_FILES = 10_000
"""The most files that are read: a program might have made any number."""


class Workspace:
    """Gives each test a directory with the current content of the current directory.

    Args:
        files: The content of the current directory, by path.
        scratch: The directory around the current one, if it holds only files of the tests. Then each test gets the
            current directory itself, made again if the test before changed anything. If None, each test gets a copy.
        notice: Returns a descriptor that becomes readable when anything changes in the directories, or None.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        scratch: str | None = None,
        notice: Callable[[list[str]], int | None] = lambda directories: None,
    ) -> None:
        self.original = _getcwd()
        """The path of the original directory."""
        self._scratch, self._notice = scratch, notice
        self._made = 0
        self._set_files(files)
        self.noticed: int | None = None
        """A descriptor that becomes readable when anything changes in the original directory, if there is one."""
        self._changes: Any = None
        self._is_ready = scratch is not None

    def _set_files(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        """The content of each new room, by path."""
        self._directories = [""]
        for path in files:
            parts = path.split("/")
            for depth in range(1, len(parts)):
                above = "/" + "/".join(parts[:depth])
                if above not in self._directories:
                    self._directories.append(above)

    def keep_changes(self) -> None:
        """Give all rooms that are made from now on the present content of the original directory."""
        self._set_files(read_files(self.original))

    def take_room(self) -> str:
        """Return the path of a directory in which nothing has been changed."""
        if self._scratch is None:
            return self.make_room()
        if not self._is_ready:
            self._fill(self.original)
            _chdir(self.original)
            self._is_ready = True
        if self._changes is None:
            self._watch_changes()
        return self.original

    def _watch_changes(self) -> None:
        if self.noticed is not None:
            _close(self.noticed)
        around = [] if self._scratch is None else [self._scratch]
        self.noticed = self._notice([*around, *(self.original + name for name in self._directories)])
        if self.noticed is not None:
            self._changes = _poll()
            self._changes.register(self.noticed, _POLLIN)

    def make_room(self) -> str:
        """Make a copy beside the original, and return its path."""
        self._made += 1
        room = _join(_dirname(self.original), f"room-{_getpid()}-{self._made}")
        _mkdir(room)
        self._fill(_join(room, _WORK))
        return _join(room, _WORK)

    def _fill(self, work: str) -> None:
        for directory in self._directories:
            _mkdir(work + directory)
        for path, content in self.files.items():
            with _open(f"{work}/{path}", "wb") as copy:
                copy.write(content)

    def enter(self, room: str) -> None:
        """Make a room the current directory; if it is a copy, also set `HOME` and `TMPDIR` to it."""
        _chdir(room)
        if room != self.original:
            _environ["HOME"] = _environ["TMPDIR"] = room

    def leave(self, room: str) -> None:
        """Clean up a room in which nothing runs any more, so that no later test finds what this test left."""
        if self._scratch is None:
            self.remove(room)
        elif self._changes is None or self._changes.poll(0):
            self._changes, self._is_ready = None, False
            empty_directory(self._scratch)

    @staticmethod
    def remove(room: str) -> None:
        """Remove a copy, as far as the program's changes in it allow; the executor removes the rest."""
        with contextlib.suppress(OSError):
            empty_directory(_dirname(room))
            _rmdir(_dirname(room))
