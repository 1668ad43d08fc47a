"""Records what happens to some files of a box while a command runs there.

A kept file is one that no process should change. A change is recorded even if the file is later as it was before.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable

from . import linux

TOO_MANY = ""
"""An entry among the names of written files: the kernel has dropped some notices."""

_EVENT = struct.Struct("iIII")

_MOST_READS = 256
"""Enough for all notices that the kernel keeps. Without a limit, a process that writes all the time would keep a reader
busy forever."""

_WRITTEN = linux.MODIFIED | linux.CLOSED_AFTER_WRITING
_REPLACED = linux.CREATED | linux.DELETED | linux.MOVED | linux.MOVED_ITSELF


class Notices:
    """Collects what the kernel reports of files.

    Args:
        watched: Directories. It is recorded which of their files are closed after writing.
        kept: Existing files that no process should change.

    Raises:
        OSError: If the kernel grants no more inotify instances or watches.
    """

    def __init__(self, watched: Iterable[str], kept: Iterable[str]) -> None:
        self.writes: list[str] = []
        """The names of files in the watched directories, one for each time that a file was closed after writing."""
        self.touched: set[str] = set()
        """The kept files that were changed or replaced, and directories above them that were moved."""
        self._kept = set(kept)
        self.fd = linux.notice_changes(list(watched))
        directories: set[str] = set()
        for path in self._kept:
            while (path := os.path.dirname(path)) not in directories and path != "/":
                directories.add(path)
        self._files = {linux.notice(self.fd, path, _WRITTEN): path for path in self._kept}
        self._directories = {linux.notice(self.fd, path, _REPLACED): path for path in directories}

    def read(self) -> None:
        """Add what has happened since the last call."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_READS):
                events = os.read(self.fd, 1 << 16)
                while events:
                    watch, mask, _, length = _EVENT.unpack_from(events)
                    self._note(watch, mask, events[_EVENT.size : _EVENT.size + length].rstrip(b"\0"))
                    events = events[_EVENT.size + length :]

    def _note(self, watch: int, mask: int, name: bytes) -> None:
        if mask & linux.NOTICES_DROPPED:
            self.writes.append(TOO_MANY)
        elif watch in self._files:
            if mask & _WRITTEN:
                self.touched.add(self._files[watch])
        elif watch in self._directories:
            path = self._directories[watch]
            changed = f"{path}/{os.fsdecode(name)}" if name else path
            if changed in self._kept or (not name and mask & linux.MOVED_ITSELF):
                self.touched.add(changed)
        elif mask & linux.CLOSED_AFTER_WRITING:
            self.writes.append(name.decode("utf-8", "replace"))
