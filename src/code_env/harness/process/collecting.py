"""Reads files that a program has left in its working directory.

The program might have made any name a link, a FIFO or a directory. Links are not followed, and only regular files are
read.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable


def collect_files(directory: int, names: Iterable[str], most_bytes: int) -> dict[str, bytes]:
    """Return the contents of regular files by name, without missing files and files that would exceed the total.

    Args:
        directory: Descriptor of the working directory.
        names: Relative paths.
        most_bytes: The most bytes that all files together can have.
    """
    found: dict[str, bytes] = {}
    left = most_bytes
    for name in names:
        content = _read(directory, name.split("/"), left)
        if content is not None:
            found[name] = content
            left -= len(content)
    return found


def _read(directory: int, parts: list[str], most_bytes: int) -> bytes | None:
    with contextlib.ExitStack() as opened:
        try:
            for part in parts[:-1]:
                directory = os.open(part or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                opened.callback(os.close, directory)
            # A FIFO would block the open.
            fd = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
            opened.callback(os.close, fd)
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
                return None
            # Joined at the end: each `bytes + bytes` copies all that was read before. The file can still grow.
            pieces, left = list[bytes](), most_bytes + 1
            while left and (piece := os.read(fd, min(1 << 20, left))):
                pieces.append(piece)
                left -= len(piece)
        # A file that is missing, a link or unreadable, or whose name is too long, counts as missing.
        except OSError:
            return None
    return b"".join(pieces) if left else None
