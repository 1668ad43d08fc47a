"""The directories of a session's branches, and their files as they were after a cell.

Each branch has a room: a file system in memory of its own, below a directory whose name no program can guess or list. A
program knows the names of the rooms in which it has run, or a program that it was forked from. So a branch that goes on
from a kept state gets another room, with copies of the files.

In every room, `SCRATCH` leads to the room itself, because it is a link to a descriptor. So `/tmp`, `TMPDIR` and `HOME`
are the same in all branches, and each finds its own files there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping, Set
from typing import NamedTuple, NoReturn

from code_env.harness.process.limits import MAX_NAMES
from code_env.harness.program.kept_cells import ROOM

from . import landlock, linux, namespaces

_POOL = 512
"""How many rooms one session and its branches can have at a time."""

_ABOVE = os.path.dirname(namespaces.SCRATCH)
_FLAGS = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC | linux.MS_NOATIME
_NAME_BYTES = 16
_INNER = "run"
_WORK = namespaces.WORK_NAME


class Unkeepable(Exception):
    """There is something in a room that cannot be copied; the message names it."""


class Entry(NamedTuple):
    """A file, a directory or a link."""

    mode: int
    """Its kind and its permissions, as in `stat`."""
    changed_ns: int
    """When its content was changed last, by its own account, in nanoseconds."""
    content: bytes
    """The content of a file, or the target of a link."""


Files = Mapping[str, Entry]
"""What is in a room: by path relative to it, each directory before what is in it."""


class _Mark(NamedTuple):
    """What changes if a file is changed. The kernel sets the time of the change, and no program can."""

    inode: int
    mode: int
    size: int
    changed_ns: int


class Room:
    """One room.

    Args:
        name: Its directory.
    """

    def __init__(self, name: str) -> None:
        self.path = f"{name}/{_INNER}"
        """Where its file system is mounted."""
        self.files: Files | None = None
        """What it holds, if that is known."""
        self._marks: dict[str, _Mark] = {}
        self._mounted = False

    def fill(self, files: Files, size: int) -> None:
        """Replace everything in it.

        Args:
            files: What it shall hold.
            size: How much it may hold in all, in bytes.

        Raises:
            OSError: If the kernel refuses.
        """
        self.empty()
        linux.mount("code_env", self.path, "tmpfs", _FLAGS, f"size={size},nr_inodes={MAX_NAMES},mode=700")
        self._mounted = True
        for path, entry in files.items():
            _make(f"{self.path}/{path}", entry)
        for path, entry in reversed(list(files.items())):  # What is made in a directory changes its time.
            _finish(f"{self.path}/{path}", entry)
        self._marks, self.files = self._look(), files

    def open(self) -> int:
        """Return a new descriptor of its directory."""
        return os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def look(self, most_bytes: int) -> Files:
        """Return what it holds now, when no program runs in it; the same object as before if nothing was changed.

        Raises:
            Unkeepable: If something cannot be copied.
        """
        try:
            marks = self._look()
            if self.files is None or marks != self._marks:
                if sum(mark.size for mark in marks.values() if stat.S_ISREG(mark.mode)) > most_bytes:
                    raise Unkeepable(f"files of more than {most_bytes} bytes, counted with their holes")
                before = self.files or {}
                self.files = {
                    path: before[path] if self._marks.get(path) == mark and path in before else self._read(path, mark)
                    for path, mark in marks.items()
                }
                self._marks = marks
        except OSError as error:
            raise Unkeepable(f"a file that cannot be read ({error.strerror})") from error
        return self.files

    def empty(self) -> None:
        """Take its file system away."""
        if self._mounted:
            linux.umount(self.path)
        self._mounted, self.files, self._marks = False, None, {}

    def _look(self) -> dict[str, _Mark]:
        marks: dict[str, _Mark] = {}
        directories = [""]
        while directories:
            inside = directories.pop()
            with os.scandir(f"{self.path}/{inside}") as entries:
                for entry in entries:
                    path, status = inside + entry.name, entry.stat(follow_symlinks=False)
                    marks[path] = _Mark(status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns)
                    if stat.S_ISDIR(status.st_mode):
                        directories.append(f"{path}/")
        return marks

    def _read(self, path: str, mark: _Mark) -> Entry:
        full = f"{self.path}/{path}"
        changed_ns = os.lstat(full).st_mtime_ns
        if stat.S_ISDIR(mark.mode):
            return Entry(mark.mode, changed_ns, b"")
        if stat.S_ISLNK(mark.mode):
            return Entry(mark.mode, changed_ns, os.fsencode(os.readlink(full)))
        if not stat.S_ISREG(mark.mode):
            raise Unkeepable(f"the FIFO or socket {os.path.basename(path)}")
        with open(full, "rb") as file:
            return Entry(mark.mode, changed_ns, file.read())


def _make(path: str, entry: Entry) -> None:
    if stat.S_ISDIR(entry.mode):
        os.mkdir(path)
    elif stat.S_ISLNK(entry.mode):
        os.symlink(entry.content, path)
    else:
        with open(path, "xb") as file:
            file.write(entry.content)


def _finish(path: str, entry: Entry) -> None:
    if not stat.S_ISLNK(entry.mode):
        os.chmod(path, stat.S_IMODE(entry.mode))
        os.utime(path, ns=(entry.changed_ns, entry.changed_ns))


def files_from(contents: Mapping[str, bytes]) -> Files:
    """Return the files with which a session begins.

    Args:
        contents: Contents by path, relative to the directory in which the session begins.
    """
    files = {_WORK: Entry(stat.S_IFDIR | 0o755, 0, b"")}
    for path, content in contents.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            files.setdefault("/".join((_WORK, *parts[:depth])), Entry(stat.S_IFDIR | 0o755, 0, b""))
        files[f"{_WORK}/{path}"] = Entry(stat.S_IFREG | 0o644, 0, content)
    return files


def file_in(files: Files, path: str) -> bytes | None:
    """Return the content of a regular file, by its path relative to the directory in which the session began."""
    entry = files.get(f"{_WORK}/{path}")
    return entry.content if entry is not None and stat.S_ISREG(entry.mode) else None


class Rooms:
    """All rooms of one worker. The names are made by another process, so that no fork of this one holds them.

    Args:
        rules: Gets a rule for each room.

    Raises:
        OSError: If the kernel refuses.
    """

    def __init__(self, rules: landlock.Ruleset) -> None:
        linux.mount("code_env", _ABOVE, "tmpfs", _FLAGS, "size=2m,mode=700")
        os.symlink(f"/proc/self/fd/{ROOM}", namespaces.SCRATCH)
        self._names, write_fd = os.pipe()
        pid = os.fork()
        if pid == 0:
            _make_rooms(rules, write_fd)
        os.close(write_fd)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            raise OSError("the rooms of a session cannot be made")
        # Now nobody changes the modes of these directories. What is mounted below can still be written to.
        linux.make_read_only(_ABOVE)
        self._free: list[Room] = []
        self._used: list[Room] = []

    def begin(self) -> None:
        """Learn the names, when the first process of the session has been forked."""
        with open(self._names) as file:
            self._free = [Room(f"{_ABOVE}/{name}") for name in file.read().split()]

    def take(self, known: Set[Room]) -> Room | None:
        """Return a free room; None if there is none.

        Args:
            known: The rooms that living processes know.
        """
        if not self._free:
            self._free = [room for room in self._used if room not in known]
            self._used = [room for room in self._used if room in known]
        return self._free.pop() if self._free else None

    def give_back(self, room: Room) -> None:
        """Take what is in a room away. It is free when no living process knows it."""
        with contextlib.suppress(OSError):
            room.empty()
        self._used.append(room)


def _make_rooms(rules: landlock.Ruleset, write_fd: int) -> NoReturn:
    code = 1
    try:
        names = [secrets.token_hex(_NAME_BYTES) for _ in range(_POOL)]
        for name in names:
            os.makedirs(f"{_ABOVE}/{name}/{_INNER}")
            rules.allow(f"{_ABOVE}/{name}", landlock.WORK)
        os.write(write_fd, "\n".join(names).encode())
        code = 0
    finally:
        os._exit(code)
