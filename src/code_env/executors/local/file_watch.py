"""Measures the files of a program at level `contained`, where it has no file system of its own that limits them.

The trainer looks through the program's directory. A program can make a look long and difficult. So a look is done in
parts of limited length, and the number of names is limited too. A look can miss files: those without a name, and those
that the program moves from a place that comes later to a place that was seen before. But all files reduce the free
space of the file system. If much of it is gone, the program is stopped, and the trainer does a close look: at once, or
if it has looked for too long lately, as soon as it may look again.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from code_env.executors.files import FreeSpace, Look, free_space_at, mapped_without_name, open_without_name
from code_env.harness.process.limits import MAX_NAMES, NAME_BYTES
from code_env.harness.process.watching import TICK_S, is_stopped

_PART = 4000
"""How many names are looked at in one part of a look; a part takes about 10 ms."""

_LOOKING = 0.1
"""The largest share of a core that looks may use."""

_LITTLE_BYTES = 8 << 20
"""A loss of this much free space causes no close look, in bytes: other processes write to the file system too."""

_MOST_STOPPED = 64
"""When this many processes of a program are stopped, a close look stops no more of them."""


class FileWatch:
    """Measures the files of one program.

    Args:
        directory: The directory that it may write to.
        allowed_bytes: How many bytes its files may hold together.
        file_bytes: How many bytes one file can hold.
        memory_bytes: How much memory the program may use, if its files are in memory and count as such; else None.
        pids: Returns the pids of its processes.
        send: Sends a signal to one of these processes.
    """

    def __init__(
        self,
        directory: Path,
        allowed_bytes: int,
        file_bytes: int,
        memory_bytes: int | None,
        pids: Callable[[], list[int]],
        send: Callable[[int, int], None],
    ) -> None:
        self._directory, self._allowed_bytes, self._file_bytes = directory, allowed_bytes, file_bytes
        self._pids, self._send = pids, send
        self._little = FreeSpace(max(allowed_bytes, _LITTLE_BYTES), MAX_NAMES)
        """How much free space may be gone before a close look."""
        if memory_bytes is not None:
            self._little = FreeSpace(*map(min, self._little, FreeSpace(memory_bytes, memory_bytes // NAME_BYTES)))
        self.held_bytes = 0
        """The size of the files that the last look found, in bytes."""
        self.names = 0
        """How many files, directories and links the last look found."""
        self._look: Look | None = None
        self._look_s = 0.0
        self._next_at = time.monotonic() + TICK_S
        self._most_free = free_space_at(directory)
        self._pause: contextlib.ExitStack | None = None
        """Keeps the program stopped until its files may be looked at; None while it may run."""

    @property
    def excess(self) -> str:
        """A text that says which limit its files exceed, if they exceed one."""
        if self.names > MAX_NAMES:
            return f"it made more than {MAX_NAMES} files and directories"
        return f"its files together passed file_bytes={self._file_bytes}"

    def exceeds(self) -> bool:
        """Look at some more of its files while the program runs; return whether they are known to exceed a limit."""
        now = time.monotonic()
        if self._pause is None and self._much_space_is_gone():
            self._pause = contextlib.ExitStack()
            self._pause.enter_context(self._stopped())
        if now < self._next_at:
            return False
        began_s = time.thread_time()
        if self._pause is not None:
            too_much, finished = self._look_closely(), True
            self._end_pause()
        else:
            too_much, finished = self._go_on()
        self._look_s += time.thread_time() - began_s
        rest_s = 0.0
        if finished:
            rest_s, self._look_s = self._look_s / _LOOKING, 0.0
        self._next_at = now + max(TICK_S, rest_s)
        return too_much

    def has_left_too_much(self) -> bool:
        """Look at all files that the program has left when it has ended; return whether they exceed a limit."""
        self.close()
        with contextlib.closing(Look(self._directory, self._allowed_bytes)) as look:
            look.finish()
        self.held_bytes, self.names = look.bytes, look.names
        return look.is_too_much

    def close(self) -> None:
        """End a look that is not finished, and let the program go on if it was stopped."""
        self._end_pause()
        self._end_look()

    def _end_look(self) -> None:
        if self._look is not None:
            self._look.close()
            self._look = None

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._pause.close()
            self._pause = None

    def _much_space_is_gone(self) -> bool:
        """Return whether more free space is gone since the last close look than this program may use."""
        free = free_space_at(self._directory)
        most = self._most_free = FreeSpace(*map(max, self._most_free, free))
        is_gone = most.bytes - free.bytes > self._little.bytes or most.names - free.names > self._little.names
        if is_gone:
            self._most_free = free
        return is_gone

    def _go_on(self) -> tuple[bool, bool]:
        """Continue the current look, or begin a look; return whether it found too much, and whether it is finished."""
        look = self._look = self._look or Look(self._directory, self._allowed_bytes)
        if not look.go_on(_PART):
            return False, False
        self._end_look()
        if not look.is_too_much:
            look.bytes += sum(open_without_name(self._pids(), self._directory).values())
        self.held_bytes, self.names = look.bytes, look.names
        return look.is_too_much, True

    def _look_closely(self) -> bool:
        """Look at all its files while it is stopped; return whether they are too much."""
        self._end_look()
        with self._stopped() as pids, contextlib.closing(Look(self._directory, self._allowed_bytes)) as look:
            look.finish()
            if not look.is_too_much:
                found = open_without_name(pids, self._directory)
                for pid in pids:
                    mapped_without_name(pid, self._directory, self._file_bytes, found)
                look.bytes += sum(found.values())
        self.held_bytes, self.names = look.bytes, look.names
        return look.is_too_much

    @contextlib.contextmanager
    def _stopped(self) -> Iterator[list[int]]:
        """Stop its processes, and yield their pids."""
        stopped: list[int] = []
        try:
            pids = self._pids()
            while new := [pid for pid in pids if pid not in stopped and not is_stopped(pid)][:_MOST_STOPPED]:
                for pid in new:
                    self._send(pid, signal.SIGSTOP)
                stopped += new
                pids = self._pids()  # This finds processes that were started meanwhile.
                if len(stopped) >= _MOST_STOPPED:
                    break
            yield pids
        finally:
            for pid in stopped:
                self._send(pid, signal.SIGCONT)
