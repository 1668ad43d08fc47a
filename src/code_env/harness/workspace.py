"""A working directory for each test, so that no test sees the files of another.

The serving process is started in a directory with the program and its files. Each child that runs the answer has
either that directory, if what is around it is the tests' alone, or a copy of it in a room of its own, which is removed
when the child has ended. Whatever is made anew is made from what the files held at first, in memory. A child that
forks children of its own makes their rooms beside its own.
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
_os_open, _read, _close, _READ_ONLY = os.open, os.read, os.close, os.O_RDONLY | os.O_CLOEXEC

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
    """Gives each test a directory with what is in the current one now.

    Args:
        scratch: The directory around the current one, if it holds nothing but what is the tests'. Then each test has
            the current one itself, made anew where the test before has changed anything. If not, each has a copy.
        stamped: Whether `scratch` is on a file system that stamps each change, where the kernel has stamps fine enough.
    """

    def __init__(self, scratch: str | None = None, *, stamped: bool = False) -> None:
        self._original = _getcwd()
        self._scratch, self._stamped = scratch, stamped and _HAS_FINE_STAMPS
        self._made = 0
        self._directories: list[str] = []
        self._files: dict[str, bytes] = {}
        for directory, _, names in _walk("."):
            self._directories.append(directory[1:])
            for name in names:
                with _open(_join(directory, name), "rb") as file:
                    self._files[_join(directory, name)[1:]] = file.read()
        self._paths = [self._original + name for name in (*self._directories, *self._files)]
        self._stamps: list[tuple[int, ...]] = []
        self._is_ready = scratch is not None
        self._note()

    def take_room(self) -> str:
        """A directory in which nothing has been changed; its path."""
        if self._scratch is None:
            return self.make_room()
        if not self._is_ready:
            self._fill(self._original)
            self._note()
            self._is_ready = True
        return self._original

    def make_room(self) -> str:
        """Make a copy beside the original; its path."""
        self._made += 1
        room = _join(_dirname(self._original), f"room-{_getpid()}-{self._made}")
        _mkdir(room)
        self._fill(_join(room, _WORK))
        return _join(room, _WORK)

    def _fill(self, work: str) -> None:
        for directory in self._directories:
            _mkdir(work + directory)
        for path, content in self._files.items():
            with _open(work + path, "wb") as copy:
                copy.write(content)

    def enter(self, room: str) -> None:
        """Make a room the current directory, and a copy also the one that programs find as their home."""
        _chdir(room)
        if room != self._original:
            _environ["HOME"] = _environ["TMPDIR"] = room

    def leave(self, room: str) -> None:
        """When nothing runs in a room any more: see that no later test finds what this one left."""
        if self._scratch is None:
            self.remove(room)
        elif not self._is_untouched():
            self._is_ready = False
            empty_directory(self._scratch)

    @staticmethod
    def remove(room: str) -> None:
        """Remove a copy, as far as what a program did in it allows; the executor removes the rest."""
        with contextlib.suppress(OSError):
            empty_directory(_dirname(room))
            _rmdir(_dirname(room))

    def _note(self) -> None:
        if self._stamped and self._scratch is not None:
            self._stamps = [_stamp(path) for path in (self._scratch, *self._paths)]

    def _is_untouched(self) -> bool:
        """Whether all is as it was made.

        The kernel stamps each change of a directory or an attribute. It does not stamp what is written to a file
        through a mapping, so contents are compared.
        """
        if not self._stamps or self._scratch is None:
            return False
        try:
            for path, stamp in zip((self._scratch, *self._paths), self._stamps, strict=True):
                if _stamp(path) != stamp:
                    return False
            return all(_holds(self._original + path, content) for path, content in self._files.items())
        except OSError:
            return False


def _holds(path: str, content: bytes) -> bool:
    fd = _os_open(path, _READ_ONLY)
    try:
        read = _read(fd, len(content) + 1)
        while 0 < len(read) < len(content) and (more := _read(fd, len(content) + 1 - len(read))):
            read += more
        return read == content
    finally:
        _close(fd)


def _stamp(path: str) -> tuple[int, ...]:
    found = _lstat(path)
    return found.st_ctime_ns, found.st_mode, found.st_size, found.st_ino, found.st_nlink


def _has_fine_stamps() -> bool:
    """Whether file systems stamp each change that comes after a look with a time of its own (Linux 6.13)."""
    system, _, release, *_ = os.uname() if hasattr(os, "uname") else ("", "", "")
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return system == "Linux" and numbers is not None and tuple(map(int, numbers.groups())) >= (6, 13)


_HAS_FINE_STAMPS = _has_fine_stamps()
