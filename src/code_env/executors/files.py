"""The working directory of a program, from outside: files put in, measured, removed.

A program has worked in it, so every name may be a link, a FIFO or a directory by now, and
none is followed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from code_env.harness.process.limits import MAX_NAMES
from code_env.harness.process.watching import directory_of

from .program import MAX_LIMIT

_FEW = 200
"""How many names a directory may hold for this process to remove it by itself: it may hold a descriptor for each."""

_REMOVAL_S = 30.0
"""How long the removal of a working directory may take, in seconds."""


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a directory, with the directories that lead to them."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def is_in_memory(path: Path) -> bool:
    """Whether what is written to files there is held in memory."""
    device = os.stat(path).st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file]
    return any(mount[2] == name and mount[mount.index("-") + 1] in ("tmpfs", "ramfs") for mount in mounts)


class Room(NamedTuple):
    """What a file system has left."""

    bytes: int
    names: int
    """How many files and directories more it can hold; 0 where it does not say."""


def room_at(path: Path) -> Room:
    """What the file system there has left."""
    status = os.statvfs(path)
    return Room(status.f_bfree * status.f_frsize, status.f_ffree)


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Look:
    """One look at what lies below a directory, in parts; it follows no link, and holds two descriptors at the most.

    Args:
        directory: The directory.
        enough: Bytes on disk after which there is too much, and nothing more is looked at.
    """

    def __init__(self, directory: Path, enough: int) -> None:
        self.bytes = self.names = 0
        self._directory, self._enough = directory, enough
        self._is_hidden = False
        self._linked: set[tuple[int, int]] = set()
        self._walk = self._walked()

    @property
    def is_too_much(self) -> bool:
        """Whether there are too many bytes or names; what may not be looked into is too much."""
        return self._is_hidden or self.bytes > self._enough or self.names > MAX_NAMES

    def go_on(self, names: int) -> bool:
        """Look at so many names more; whether that was the end."""
        try:
            for _ in range(names):
                if next(self._walk, self) is self or self.is_too_much:
                    return True
        except PermissionError:
            self._is_hidden = True  # What is hidden has no right to be.
            return True
        except OSError:
            return True  # The program moves things meanwhile; they are looked at again.
        return False

    def finish(self) -> None:
        """Look at all the rest."""
        while not self.go_on(MAX_NAMES):
            pass

    def close(self) -> None:
        """Look no more."""
        self._walk.close()

    def _walked(self) -> Generator[None, None, None]:
        """Walk down and up again; one step for each name."""
        above: list[tuple[tuple[int, int], list[str]]] = []
        fd = os.open(self._directory, _DIRECTORY)
        try:
            below = yield from self._count(fd)
            while below or above:
                if not below:
                    there, below = above.pop()
                    fd = _move(fd, "..")
                    if _identity(fd) != there:
                        return  # It was moved.
                    continue
                here = _identity(fd)
                try:
                    fd = _move(fd, below.pop())
                except (FileNotFoundError, NotADirectoryError):
                    continue
                above.append((here, below))
                below = yield from self._count(fd)
        finally:
            os.close(fd)

    def _count(self, fd: int) -> Generator[None, None, list[str]]:
        """Count what is in a directory; the directories in it."""
        directories = []
        with os.scandir(fd) as entries:
            for entry in entries:
                self.names += 1
                with contextlib.suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(entry.name)
                    else:
                        self._add(entry.stat(follow_symlinks=False))
                yield
        return directories

    def _add(self, status: os.stat_result) -> None:
        if status.st_nlink > 1:
            if (status.st_dev, status.st_ino) in self._linked:
                return
            self._linked.add((status.st_dev, status.st_ino))
        self.bytes += 512 * status.st_blocks


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _move(fd: int, name: str) -> int:
    """The descriptor of a directory beside or below another, in place of that one's."""
    there = os.open(name, _DIRECTORY, dir_fd=fd)
    os.close(fd)
    return there


def open_without_name(pids: Iterable[int]) -> dict[tuple[int, int], int]:
    """Bytes on disk of files that processes hold open and that no directory lists any more, by device and inode."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"{directory_of(pid)}/fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(entry.path)
                    if status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                        found[status.st_dev, status.st_ino] = 512 * status.st_blocks
    return found


def mapped_without_name(pid: int, directory: Path, most: int, found: dict[tuple[int, int], int]) -> None:
    """Add files that a process has mapped, that lay below a directory, and that no directory lists any more.

    Args:
        pid: The process.
        directory: The directory.
        most: Bytes that one of them may hold: what counts where this process may not ask.
        found: What is known already, by device and inode; they are added there.
    """
    start, end = os.fsencode(f"{directory}/"), b" (deleted)\n"
    with contextlib.suppress(OSError), open(f"{directory_of(pid)}/maps", "rb") as maps:
        for line in maps:
            if not line.endswith(end):
                continue
            where, _, _, _, inode, path = line.split(maxsplit=5)
            if not path.startswith(start):
                continue
            low, _, high = where.partition(b"-")
            try:
                status = os.stat(f"/proc/{pid}/map_files/{int(low, 16):x}-{int(high, 16):x}")
                found[status.st_dev, status.st_ino] = 512 * status.st_blocks
            except FileNotFoundError:
                continue
            except OSError:
                if int(inode) not in {known for _, known in found}:
                    found[0, int(inode)] = most


def remove_directory(directory: Path) -> None:
    """Remove a directory that a program has worked in; whatever it did there is no reason to fail."""
    with contextlib.suppress(Exception), contextlib.closing(Look(directory, MAX_LIMIT)) as look:
        if look.go_on(_FEW):
            shutil.rmtree(directory)
    if directory.exists():
        # Too much or too deep for this process, or made unreadable: the system's tools know what to do.
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run([*command, str(directory)], capture_output=True, timeout=_REMOVAL_S, check=False)
