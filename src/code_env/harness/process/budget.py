"""Limits the CPU time that all tests of an answer use together.

An answer that loops would loop in each of its tests. So after the first test that exceeds its CPU time, all further
tests together may use as much as one test, and after the second no more tests run. Only CPU time counts: a busy machine
makes no difference, and a test that waits uses none. Nothing changes for an answer whose tests all stay below the
limit, unless all tests together have a limit from the start.
"""

from __future__ import annotations

import math

from .limits import ProcessLimits

_LEAST = 0.5
"""A test that timed out, but not by waiting, has used at least this share of its CPU time. The exact share that is
measured depends on which process ended the test."""


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
        """Whether the CPU time that one test uses reduces what is left for the others."""
        return self._left_s < math.inf

    def next_limits(self) -> ProcessLimits | None:
        """Return the limits of the next test; None if no CPU time is left and the test must not run."""
        if self._left_s >= self.limits.cpu_s:
            return self.limits
        return self.limits._replace(cpu_s=self._left_s) if self._left_s > 0 else None

    def note(self, status: str, cpu_s: float) -> None:
        """Record how a test ended, and the CPU time that it used, in seconds."""
        had_s = min(self.limits.cpu_s, self._left_s)
        self._left_s -= cpu_s
        if status == "timeout" and cpu_s >= _LEAST * had_s:
            # Independent of the CPU time that a test which timed out seems to have left: that is chance.
            is_last = self._has_timed_out or had_s < self.limits.cpu_s
            self._left_s = 0.0 if is_last else min(self._left_s, self.limits.cpu_s)
            self._has_timed_out = True


CUT, UNRUN = "cut", "unrun"
"""The value of `rest` for a test that had only the CPU time that was left, and for a test when none was left."""

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
"""The ending that is reported for a test that was not run."""
