"""Sets limits and signals of a process before it runs a program.

Every descendant inherits the limits, and an ordinary user cannot raise them again. They are coarse (CPU time counts in
whole seconds); `watching.py` is exact.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import signal
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

try:
    import resource
except ImportError:  # Windows has none; no executor of ours runs there, but the package imports.
    resource = None  # type: ignore[assignment]

MAX_STREAM_BYTES = 16 * 1024 * 1024
"""The most bytes that a program may write to one stream; more ends it with status `output_limit`."""

MAX_NAMES = 65_536
"""The most files, directories and links that a program may have: each takes kernel memory, even if it is small."""

NAME_BYTES = 1536
"""Kernel memory for a file, directory or link in a file system in memory, beside its content, in bytes."""

MAX_TASKS = 1024
"""The most processes and threads that a program may have together."""

BROKEN_EXIT_CODE = 98
"""Exit code of a child in which the harness's own code failed because of what the program did to it."""

MAX_TEXT = 8192
"""The longest message or traceback of an error that is reported in full, in characters."""

WHOLE_RUN = 10
"""A judged run as a whole may use this many times the CPU time and wall time of one test."""


class ProcessLimits(NamedTuple):
    """What one process that runs a program may use; `code_env.Limits` explains the fields."""

    cpu_s: float
    wall_s: float
    memory_bytes: int
    file_bytes: int
    total_cpu_s: float | None = None

    @functools.lru_cache(maxsize=64)  # noqa: B019 (a few numbers each)
    def rlimits(self) -> list[tuple[int, int, int]]:
        """Return the limits that the kernel can enforce on a process: resource, soft limit, hard limit."""
        if resource is None:
            return []
        # Higher than the allowed time: the kernel counts in ticks, which on a busy or virtual machine run ahead of
        # the time that was used, by fractions of a second. The watching process acts first, and is exact.
        seconds = math.ceil(1.5 * self.cpu_s) + 1
        limits = [
            # Hard above soft: at the soft limit the process gets a signal that it can handle, at the
            # hard limit the kernel kills it.
            (resource.RLIMIT_CPU, seconds, seconds + 1),
            (resource.RLIMIT_FSIZE, self.file_bytes, self.file_bytes),
            (resource.RLIMIT_CORE, 0, 0),
        ]
        if sys.platform == "linux":
            # This only stops one giant allocation. It is four times the limit, plus room for libraries, because
            # it counts the address space of thread stacks, which honest programs never touch. The limit itself is
            # on resident memory and is watched from outside.
            data = 4 * self.memory_bytes + (256 << 20)
            limits.append((resource.RLIMIT_DATA, data, data))
        return limits

    def of_whole_run(self, largest_input: int) -> ProcessLimits:
        """Return the limits of the process that serves the tests: its own work grows with their number.

        Args:
            largest_input: The size of the largest file that is put into a test's directory, in bytes. The process
                copies such files, and the limit on files that a test writes must not prevent that.
        """
        file_bytes = max(self.file_bytes, largest_input)
        return self._replace(cpu_s=WHOLE_RUN * self.cpu_s, wall_s=WHOLE_RUN * self.wall_s, file_bytes=file_bytes)

    def of_tests(self) -> list[tuple[int, int, int]]:
        """Return `rlimits` for processes that this one starts, without the limits that they inherit from this one.

        CPU time is left out too: the process that starts a test watches its CPU time. The kernel's limit is only for
        the case that nobody watches any more, and for that case this process's own limit is good enough.
        """
        own = [one for one in self.rlimits() if one[0] != resource.RLIMIT_CPU]
        return [one for one in own if resource.getrlimit(one[0]) != one[1:]]

    def apply(self) -> None:
        """Set the limits on this process, none above its current hard limits."""
        for which, soft, hard in self.rlimits():
            # Some systems know a limit and refuse to set it; the watching process does not depend on it.
            with contextlib.suppress(ValueError, OSError, OverflowError):
                resource.setrlimit(which, at_most(which, soft, hard))


def at_most(which: int, soft: int, hard: int) -> tuple[int, int]:
    """Return a soft and a hard limit, both at most this process's hard limit, which it may not raise."""
    current = resource.getrlimit(which)[1]
    return (soft, hard) if current == resource.RLIM_INFINITY else (min(soft, current), min(hard, current))


def lower_limit(which: int, most: int) -> None:
    """Set the soft and the hard limit of a resource on this process, unless its hard limit is lower already."""
    resource.setrlimit(which, at_most(which, most, most))


setrlimit: Any = getattr(resource, "setrlimit", None)
"""`resource.setrlimit`, bound before a program can replace it."""


def set_limits(rlimits: Iterable[tuple[int, int, int]]) -> None:
    """Set a soft and a hard limit for each resource on this process, none above its current hard limits.

    Raises:
        OSError, ValueError: If the kernel refuses.
    """
    for which, soft, hard in rlimits:
        try:
            setrlimit(which, (soft, hard))
        except ValueError:  # The current hard limit is lower. That is rare, so it is read only then.
            setrlimit(which, at_most(which, soft, hard))


def cpu_limit_s() -> float:
    """Return how much CPU time the kernel lets this process use in its life, in seconds."""
    if resource is None:
        return math.inf
    soft = resource.getrlimit(resource.RLIMIT_CPU)[0]
    return math.inf if soft == resource.RLIM_INFINITY else float(soft)


def peak_bytes() -> int:
    """Return the most memory that this process has held at once, in bytes; 0 where unknown."""
    if resource is None:
        return 0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def restore_signals() -> None:
    """Handle signals like a program that a shell starts in the foreground.

    A process inherits which signals its parent ignores and blocks. A trainer in the background ignores SIGINT, and a
    trainer under `nohup` ignores SIGHUP; a program must not notice that.
    """
    for number in signal.valid_signals() - _PYTHON_IGNORES:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


_PYTHON_IGNORES = {signal.SIGPIPE, signal.SIGXFSZ} if os.name == "posix" else set()
"""The signals that every Python process ignores from its start."""


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, where the kernel can (Linux).

    A fork does not inherit this, so each process makes this request for itself.

    Args:
        parent: The parent's pid. If the current parent is another process, the parent has ended already.
    """
    if sys.platform == "linux":
        _prctl()(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


_PR_SET_PDEATHSIG = 1


@functools.cache
def _prctl() -> Any:
    # Imported at the first use, before any program runs; a forked child finds it loaded.
    import ctypes

    return ctypes.CDLL(None).prctl
