"""Busy loops beside a measurement, and a measurement that other work on the machine disturbs less."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

LOOPS = 16

# A loop looks every so often whether we are still there, so that none outlives us.
_LOOP = "import os\nwhile os.getppid() == {parent}:\n    for _ in range(10**6): pass"


FIRST = -20
"""The priority of what goes before all else, as `nice` counts it."""


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let this process and those that it starts go before others, as far as the machine allows that to us."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, FIRST)
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


@contextlib.contextmanager
def busy_loops(count: int = LOOPS) -> Iterator[None]:
    """Keep so many processes busy."""
    command = [sys.executable, "-S", "-c", _LOOP.format(parent=os.getpid())]
    # Linux can share cores out among sessions: as one session, all loops together would count as one process.
    loops = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
