"""The working directory of a program, as the executor handles it: write files, measure, remove.

The program has worked in this directory, so any name can now be a link, a FIFO or a directory. No link
is followed.
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
from code_env.harness.process.memory import directory_of

from .limits import MAX_LIMIT

_FEW = 200
"""Up to this many names, this process removes a directory by itself: it can need one file descriptor for each name."""

_REMOVAL_S = 30.0
"""How long each command that removes a working directory may take, in seconds."""


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a directory, and create the directories in their paths."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def is_in_memory(path: Path) -> bool:
    """Whether files there are kept in memory (tmpfs or ramfs)."""
    device = os.stat(path).st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file]
    return any(mount[2] == name and mount[mount.index("-") + 1] in ("tmpfs", "ramfs") for mount in mounts)


class FreeSpace(NamedTuple):
    """The free space of a file system."""

    bytes: int
    names: int
    """How many more files and directories it can hold; 0 if the file system does not say."""


def free_space_at(path: Path) -> FreeSpace:
    """The free space of the file system that holds a path."""
    status = os.statvfs(path)
    return FreeSpace(status.f_bfree * status.f_frsize, status.f_ffree)


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


_FREE_BYTES = 64 << 10
"""How much all directories may take together before it counts, in bytes: on most disks, sixteen are free."""

_DIRECTORY_BYTES = 4096
"""What a directory takes at least, as on most disks: one in memory takes nothing, and each has to be opened."""


class Look:
    """Measures the contents of a directory, in small parts. It follows no link, and holds at most two file descriptors.

    Args:
        directory: The directory.
        enough: The largest number of bytes on disk that is allowed; the measurement stops as soon as there are more.
    """

    def __init__(self, directory: Path, enough: int) -> None:
        self.bytes = self.names = self._in_directories = 0
        self._directory, self._enough = directory, enough
        self._is_hidden = False
        self._linked: set[tuple[int, int]] = set()
        self._walk = self._walked()

    @property
    def is_too_much(self) -> bool:
        """Whether there are too many bytes or names; a directory that cannot be read counts as too much."""
        return self._is_hidden or self.bytes > self._enough or self.names > MAX_NAMES

    def go_on(self, names: int) -> bool:
        """Look at this many more names; return whether the measurement is finished."""
        try:
            for _ in range(names):
                if next(self._walk, self) is self or self.is_too_much:
                    return True
        except PermissionError:
            self._is_hidden = True  # A program must not hide its files from the executor.
            return True
        except OSError:
            return True  # The program moves files at the same time; a later measurement will see them.
        return False

    def finish(self) -> None:
        """Look at all names that are left."""
        while not self.go_on(MAX_NAMES):
            pass

    def close(self) -> None:
        """End the measurement, and close its file descriptors."""
        self._walk.close()

    def _walked(self) -> Generator[None, None, None]:
        """Walk through the directory tree, down and up again; it yields once for each name."""
        above: list[tuple[tuple[int, int], list[str], int | None]] = []
        fd, mode = os.open(self._directory, _DIRECTORY), None
        try:
            below = yield from self._count(fd)
            while below or above:
                if not below:
                    fd = _leave(fd, mode)
                    there, below, mode = above.pop()
                    if _identity(fd) != there:
                        return  # The program has moved the directory.
                    continue
                here, mode_here = _identity(fd), mode
                try:
                    fd, mode = _enter(fd, below.pop())
                except (FileNotFoundError, NotADirectoryError):
                    continue
                above.append((here, below, mode_here))
                below = yield from self._count(fd)
        finally:
            os.close(fd)

    def _count(self, fd: int) -> Generator[None, None, list[str]]:
        """Count the entries of a directory; return the names of the directories among them."""
        directories = []
        free = max(0, _FREE_BYTES - self._in_directories)
        taken = max(512 * os.fstat(fd).st_blocks, _DIRECTORY_BYTES)
        self._in_directories += taken
        self.bytes += max(0, taken - free)
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


def _enter(fd: int, name: str) -> tuple[int, int | None]:
    """Close the file descriptor of a directory; return that of a directory in it, and the mode to restore, if any.

    A program of this process's own user can make directories that this user may not read. These are made readable for
    as long as the look is in them.
    """
    try:
        there = os.open(name, _DIRECTORY, dir_fd=fd)
    except PermissionError:
        unread = os.open(name, os.O_PATH | _DIRECTORY, dir_fd=fd)
        try:
            mode = os.fstat(unread).st_mode
            os.chmod(f"/proc/self/fd/{unread}", 0o700)
            there = os.open(f"/proc/self/fd/{unread}/.", _DIRECTORY)
        finally:
            os.close(unread)
    else:
        status = os.fstat(there)
        mode = status.st_mode if status.st_uid == os.geteuid() and not status.st_mode & stat.S_IXUSR else 0
        if mode:
            os.fchmod(there, 0o700)
    os.close(fd)
    return there, stat.S_IMODE(mode) if mode else None


def _leave(fd: int, mode: int | None) -> int:
    """Close the file descriptor of a directory, and restore its mode; return the descriptor of its parent."""
    there = os.open("..", _DIRECTORY, dir_fd=fd)
    if mode is not None:
        os.fchmod(fd, mode)
    os.close(fd)
    return there


def open_without_name(pids: Iterable[int], directory: Path) -> dict[tuple[int, int], int]:
    """Bytes on disk of deleted files that processes still hold open, by device and inode.

    Only files of the directory's file system count: the input of a program can be a file without a name too.
    """
    found: dict[tuple[int, int], int] = {}
    device = os.stat(directory).st_dev
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"{directory_of(pid)}/fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(entry.path)
                    if status.st_nlink == 0 and status.st_dev == device and stat.S_ISREG(status.st_mode):
                        found[status.st_dev, status.st_ino] = 512 * status.st_blocks
    return found


def mapped_without_name(pid: int, directory: Path, most: int, found: dict[tuple[int, int], int]) -> None:
    """Add the deleted files of a directory that a process still has mapped into memory.

    Args:
        pid: The process.
        directory: The directory in which the files lay.
        most: The largest size of such a file, in bytes: it counts if this process may not ask for the real size.
        found: Bytes on disk of the files that are known already, by device and inode; the files are added here.
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
    """Remove a directory that a program has worked in. It does not raise, whatever the program did there."""
    with contextlib.suppress(Exception), contextlib.closing(Look(directory, MAX_LIMIT)) as look:
        if look.go_on(_FEW):
            shutil.rmtree(directory)
    if directory.exists():
        # The directory is too large or too deep for this process, or not readable: use the system's tools.
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run([*command, str(directory)], capture_output=True, timeout=_REMOVAL_S, check=False)
