"""Watches from outside what a process uses, and tells how it ended.

Whoever waits for a process reads its CPU clock, which is exact and which the process cannot touch,
and its resident memory. Nothing that the process does can lift these limits.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from .limits import ProcessLimits

# Bound here because a program may share this process and replace them in their modules.
_clock_gettime, _monotonic = getattr(time, "clock_gettime", None), time.monotonic
_pidfd_open: Callable[[int], int] | None = getattr(os, "pidfd_open", None)

TICK_S = 0.02
"""How often a running process's clock and memory are looked at, in seconds."""


def open_pidfd(pid: int) -> int | None:
    """A descriptor that can be read when a child has ended, where the kernel has such (Linux)."""
    if _pidfd_open is None:
        return None
    try:
        return _pidfd_open(pid)
    except OSError:
        return None


def cpu_seconds(pid: int) -> float | None:
    """CPU time that process `pid` has used so far, all threads, or None where unknown.

    On Linux a process's CPU clock has an id made from its pid (clock_getcpuclockid(3)).
    """
    if sys.platform != "linux" or _clock_gettime is None:
        return None
    try:
        return float(_clock_gettime(((~pid) << 3) | 2))
    except OSError:
        return None


def resident_bytes(pid: int) -> int | None:
    """Anonymous, shared and tmpfs memory that `pid` holds now, or None where unknown."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            fields = dict(line.split(b":", 1) for line in status if b":" in line)
        return 1024 * sum(int(fields[name].split()[0]) for name in (b"RssAnon", b"RssShmem"))
    except (OSError, KeyError, ValueError):
        return None


class Watch:
    """Watches from outside what one process uses.

    Args:
        pid: The process.
        limits: What it may use.
    """

    def __init__(self, pid: int, limits: ProcessLimits) -> None:
        self.pid, self.limits = pid, limits
        self.peak_bytes = 0
        self._started = self._last_look = _monotonic()

    @property
    def wall_s(self) -> float:
        """Seconds since the start, or since `restart`."""
        return _monotonic() - self._started

    def restart(self) -> None:
        """Give the process its whole wall time anew."""
        self._started = _monotonic()

    def wait_s(self) -> float:
        """How long one may wait before the next look."""
        return max(0.0, min(TICK_S, self.limits.wall_s - self.wall_s))

    def overrun(self) -> str | None:
        """`timeout` or `memory` if the process has used more than it may, else None."""
        now = _monotonic()
        if now - self._started > self.limits.wall_s:
            return "timeout"
        if now - self._last_look < TICK_S:
            return None
        self._last_look = now
        cpu_s = cpu_seconds(self.pid)
        if cpu_s is not None and cpu_s > self.limits.cpu_s:
            return "timeout"
        resident = resident_bytes(self.pid)
        if resident is not None:
            self.peak_bytes = max(self.peak_bytes, resident)
            if resident > self.limits.memory_bytes:
                return "memory"
        return None


def how_it_ended(status: int, cpu_s: float, limits: ProcessLimits, ended_for: str | None) -> dict[str, Any]:
    """A wait status in the design's words: `status`, `exit_code`, `signal`.

    Args:
        status: What `waitpid` gave.
        cpu_s: CPU time that the process used, in seconds.
        limits: What it was allowed.
        ended_for: `timeout`, `memory` or `output_limit` if the waiter killed it for that.
    """
    exit_code = os.waitstatus_to_exitcode(status)
    number = -exit_code if exit_code < 0 else None
    # The kernel's own count, by which it kills, runs a few ms ahead of what it reports afterwards.
    kernel_timeout = number in (signal.SIGXCPU, signal.SIGKILL) and cpu_s >= 0.9 * limits.cpu_s
    if ended_for is not None:
        word = ended_for
    elif kernel_timeout:
        word = "timeout"
    elif number is not None:
        word = "signal"
    else:
        word = "ok" if exit_code == 0 else "error"
    return {"status": word, "exit_code": None if number else exit_code, "signal": number}
