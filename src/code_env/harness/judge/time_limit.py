"""The peer's limits on time: how long it waits for a program, and how long it works on a program's data."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from ..process.limits import WHOLE_RUN
from .handles import TimeIsUp

GRACE_S = 2.0
"""Seconds that the peer has beyond the limit on wall time: to wait, or as CPU time to work on a program's data."""

PATIENCE = WHOLE_RUN
"""The peer waits this many times the limit on wall time. This is a last resort: other processes enforce the limit, and
they add the time that the program waited for a core."""

_AGAIN_S = 0.1
"""The time between repetitions of the exception, for code that caught it, in seconds."""


def patience_s(wall_s: float) -> float:
    """Return how long to wait for a program with this limit on wall time, in seconds."""
    return PATIENCE * wall_s + GRACE_S


def _time_is_up(*_: object) -> None:
    raise TimeIsUp("looking at what came back took too long")


@contextlib.contextmanager
def time_limit(wall_s: float) -> Iterator[None]:
    """Raise `TimeIsUp` in the body if it uses more CPU time of this process than `wall_s` and `GRACE_S` together.

    Python handles signals between its own steps, so a long call of a built-in function runs to its end. The executor's
    limits on the peer are the last resort.
    """
    signal.signal(signal.SIGPROF, _time_is_up)
    signal.setitimer(signal.ITIMER_PROF, wall_s + GRACE_S, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
