"""Decides on the forks and signals of a session's processes."""

from __future__ import annotations

import errno
import os
import time

from code_env.harness.process.forks import ForkGate

from . import seccomp

_SIGNALS = seccomp.signal_calls()


class SessionGate(ForkGate):
    """The listener of all processes of a session: each may fork when it was told to, and signal itself."""

    def __init__(self) -> None:
        super().__init__(0)
        self.expected: set[int] = set()
        """Processes that were told to fork, and have not done so yet."""
        self.spent_s: dict[int, float] = {}
        """CPU time that this process has spent on calls of a process, in seconds."""

    def _refusal(self, thread: int, call: int, argument: int) -> int:
        if call in _SIGNALS:
            return 0 if _belongs(argument & 0xFFFFFFFF, thread) else errno.EPERM
        if thread in self.expected:
            self.expected.remove(thread)
            return 0
        return super()._refusal(thread, call, argument)

    def _charge(self, thread: int, began_s: float) -> None:
        process = _process_of(thread)
        if process is not None:
            self.spent_s[process] = self.spent_s.get(process, 0.0) + time.thread_time() - began_s


def _belongs(target: int, thread: int) -> bool:
    """Return whether a process or a thread belongs to the process of another thread."""
    return os.path.exists(f"/proc/{thread}/task/{target}")


def _process_of(thread: int) -> int | None:
    try:
        with open(f"/proc/{thread}/status", "rb") as file:
            for line in file:
                if line.startswith(b"Tgid:"):
                    return int(line[5:])
    except OSError:
        pass
    return None
