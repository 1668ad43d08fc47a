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
from collections.abc import Iterable, Mapping
from pathlib import Path

from code_env.harness.watching import directory_of

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


def bytes_below(directory: Path, enough: int) -> int:
    """Bytes on disk that files below a directory take, each once, counted until there are more than enough.

    A directory that may not be looked into counts as more than enough.
    """
    total = 0
    linked: set[tuple[int, int]] = set()
    try:
        for _, _, names, fd in os.fwalk(directory, onerror=_raise):
            for name in names:
                with contextlib.suppress(OSError):
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    if status.st_nlink > 1:
                        if (status.st_dev, status.st_ino) in linked:
                            continue
                        linked.add((status.st_dev, status.st_ino))
                    total += 512 * status.st_blocks
            if total > enough:
                break
    except PermissionError:
        return enough + 1  # What is hidden has no right to be.
    except (OSError, RecursionError):
        return total  # The program moves things meanwhile; they are looked at again.
    return total


def _raise(error: OSError) -> None:
    raise error


def bytes_without_name(pids: Iterable[int]) -> int:
    """Bytes on disk of files that processes hold open and that no directory lists any more."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"{directory_of(pid)}/fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(entry.path)
                    if status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                        found[status.st_dev, status.st_ino] = 512 * status.st_blocks
    return sum(found.values())


def remove_directory(directory: Path) -> None:
    """Remove a directory that a program has worked in; whatever it did there is no reason to fail."""
    with contextlib.suppress(Exception):
        shutil.rmtree(directory)
    if directory.exists():
        # Too deep for Python, or made unreadable: the system's tools know what to do.
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run([*command, str(directory)], capture_output=True, timeout=_REMOVAL_S, check=False)
