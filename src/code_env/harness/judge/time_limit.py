"""A limit on the time that the peer works on a program's data."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from .handles import TimeIsUp

_AGAIN_S = 0.1
"""The time between repetitions of the exception, for code that caught it, in seconds."""


def _time_is_up(*_: object) -> None:
    raise TimeIsUp("looking at what came back took too long")


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in the body after `seconds` of this process's CPU time.

    Python handles signals between its own steps, so a long call of a built-in function runs to its end. The executor's
    limits on the peer are the last resort.
    """
    signal.signal(signal.SIGPROF, _time_is_up)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
