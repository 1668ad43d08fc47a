"""Creates files without a name, which give a program data that it can read and cannot change."""

from __future__ import annotations

import fcntl
import os

_ADD_SEALS, _ALL_SEALS = 1033, 0b1111  # fcntl(2): no more seals, no shrinking, growing or writing.


def memory_file(name: str, data: bytes) -> int:
    """Return a descriptor that reads `data` from its start, and cannot be written or made longer (Linux).

    Args:
        name: The file's name in /proc.
        data: The content.

    Raises:
        OSError: If no descriptor or no memory is available.
    """
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        written = os.write(fd, data)
        while written < len(data):
            written += os.write(fd, data[written:])
        os.lseek(fd, 0, os.SEEK_SET)
        fcntl.fcntl(fd, _ADD_SEALS, _ALL_SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd
