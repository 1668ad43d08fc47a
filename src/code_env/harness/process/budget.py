"""What the tests of an answer may use together.

An answer that loops would do so in each of its tests. So after the first that timed out for its CPU time, all further
tests together may use as much as one test may, and after the second no more is run. CPU time alone counts, so that a
busy machine makes no difference, and a test that waits uses nothing of it. An answer whose every test stays below the
limit never comes here, unless there is a limit for all tests together from the start.
"""

from __future__ import annotations

import math

from .limits import ProcessLimits

_LEAST = 0.5
"""Which part of its CPU time a test has used at the least that did not time out by waiting; what is known of the rest
depends on who ended it."""


class Budget:
    """The tests of one answer, in their order.

    Args:
        limits: What one test may use.
    """

    def __init__(self, limits: ProcessLimits) -> None:
        self.limits = limits
        self._left_s = math.inf if limits.total_cpu_s is None else limits.total_cpu_s
        self._has_timed_out = False

    @property
    def is_shared(self) -> bool:
        """Whether what one test uses is no longer there for the others."""
        return self._left_s < math.inf

    def next_limits(self) -> ProcessLimits | None:
        """What the next test may use; None if it is not to be run, because nothing is left."""
        if self._left_s >= self.limits.cpu_s:
            return self.limits
        return self.limits._replace(cpu_s=self._left_s) if self._left_s > 0 else None

    def note(self, status: str, cpu_s: float) -> None:
        """Note how a test ended, and the CPU time that it used, in seconds."""
        had_s = min(self.limits.cpu_s, self._left_s)
        self._left_s -= cpu_s
        if status == "timeout" and cpu_s >= _LEAST * had_s:
            # Whatever one that timed out is found to have left: that is chance.
            is_last = self._has_timed_out or had_s < self.limits.cpu_s
            self._left_s = 0.0 if is_last else min(self._left_s, self.limits.cpu_s)
            self._has_timed_out = True


CUT, UNRUN = "cut", "unrun"
"""What is said of a test that had no more than was left, and of one for which nothing was."""

NOT_RUN = {
    "status": "timeout",
    "exit_code": None,
    "signal": None,
    "cpu_s": 0.0,
    "wall_s": 0.0,
    "rest": UNRUN,
    "error": None,
    "stderr": "",
}
"""How a test ended that was not run."""
