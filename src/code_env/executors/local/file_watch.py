"""Watches how much a program has in files where no file system of its own bounds that: at level `contained`.

The trainer looks at the program's directory. A program may make a look as long and as difficult as it can, so each part
of one is bounded, and names count as bytes do. What no look finds (files without a name, or moved from where the
look will be to where it has been) shows in the room that is left in the file system: where much of that is gone, the
program is stopped for a moment and looked at closely.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from code_env.executors.files import Look, Room, mapped_without_name, open_without_name, room_at
from code_env.harness.process.limits import MAX_NAMES
from code_env.harness.process.watching import TICK_S, is_stopped

_PART = 4000
"""How many names are looked at in one part of a look; that takes some 10 ms."""

_LOOKING = 0.1
"""Which part of a core looks may take."""

_LITTLE_BYTES = 8 << 20
"""How much room may be gone without that anybody looks closely: others write to the file system too."""

_MOST_STOPPED = 64
"""How many processes of a program are stopped for a close look."""


class FileWatch:
    """What one program has in files.

    Args:
        directory: Where it may write.
        allowed_bytes: How many bytes they may hold.
        file_bytes: How many bytes one file can hold.
        pids: Gives its processes.
        send: Sends a signal to one of them.
    """

    def __init__(
        self,
        directory: Path,
        allowed_bytes: int,
        file_bytes: int,
        pids: Callable[[], list[int]],
        send: Callable[[int, int], None],
    ) -> None:
        self._directory, self._allowed_bytes, self._file_bytes = directory, allowed_bytes, file_bytes
        self._pids, self._send = pids, send
        self.held_bytes = 0
        """What the last look has found."""
        self._names = 0
        self._look: Look | None = None
        self._look_s = 0.0
        self._next_at = time.monotonic() + TICK_S
        self._most_room = room_at(directory)

    @property
    def excess(self) -> str:
        """What it has too much of, if that is so."""
        if self._names > MAX_NAMES:
            return f"it made more than {MAX_NAMES} files and directories"
        return f"its files together passed file_bytes={self._file_bytes}"

    def passes(self) -> bool:
        """While it runs: whether it has more than it may, as far as that has been found by now."""
        now = time.monotonic()
        if now < self._next_at:
            return False
        began_s = time.thread_time()
        if self._much_room_is_gone():
            passes, over = self._look_closely(), True
        else:
            passes, over = self._go_on()
        self._look_s += time.thread_time() - began_s
        rest_s = 0.0
        if over:
            rest_s, self._look_s = self._look_s / _LOOKING, 0.0
        self._next_at = now + max(TICK_S, rest_s)
        return passes

    def passed(self) -> bool:
        """When it has ended: whether it has left more than it may."""
        self.close()
        with contextlib.closing(Look(self._directory, self._allowed_bytes)) as look:
            look.finish()
        self.held_bytes, self._names = look.bytes, look.names
        return look.is_too_much

    def close(self) -> None:
        """Leave a look that is not over."""
        if self._look is not None:
            self._look.close()
            self._look = None

    def _much_room_is_gone(self) -> bool:
        """Whether the file system has lost more since the last close look than this program may have."""
        room = room_at(self._directory)
        most = self._most_room = Room(*map(max, self._most_room, room))
        little = max(self._allowed_bytes, _LITTLE_BYTES)
        is_gone = most.bytes - room.bytes > little or most.names - room.names > MAX_NAMES
        if is_gone:
            self._most_room = room
        return is_gone

    def _go_on(self) -> tuple[bool, bool]:
        """Go on with the look that was begun, or begin one: whether it found too much, and whether it is over."""
        look = self._look = self._look or Look(self._directory, self._allowed_bytes)
        if not look.go_on(_PART):
            return False, False
        self.close()
        if not look.is_too_much:
            look.bytes += sum(open_without_name(self._pids()).values())
        self.held_bytes, self._names = look.bytes, look.names
        return look.is_too_much, True

    def _look_closely(self) -> bool:
        """Look at all that it has, while it does nothing; whether that is too much."""
        self.close()
        with self._stopped() as pids, contextlib.closing(Look(self._directory, self._allowed_bytes)) as look:
            look.finish()
            if not look.is_too_much:
                found = open_without_name(pids)
                for pid in pids:
                    mapped_without_name(pid, self._directory, self._file_bytes, found)
                look.bytes += sum(found.values())
        self.held_bytes, self._names = look.bytes, look.names
        return look.is_too_much

    @contextlib.contextmanager
    def _stopped(self) -> Iterator[list[int]]:
        """Have its processes do nothing; those that there are."""
        stopped: list[int] = []
        try:
            pids = self._pids()
            while new := [pid for pid in pids if pid not in stopped and not is_stopped(pid)][:_MOST_STOPPED]:
                for pid in new:
                    self._send(pid, signal.SIGSTOP)
                stopped += new
                pids = self._pids()  # Those that it has started meanwhile.
                if len(stopped) >= _MOST_STOPPED:
                    break
            yield pids
        finally:
            for pid in stopped:
                self._send(pid, signal.SIGCONT)
