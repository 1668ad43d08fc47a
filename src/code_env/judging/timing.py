"""Where the time went that verdicts took."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from .verdict import Verdict


@dataclass(frozen=True)
class StepTiming:
    """Where the time of a step went, of the program that took longest; all 0.0 where none was run.

    Any two are equal: how long a step takes is no part of what it comes to. Of an answer that was run more than once
    it is the last run's.
    """

    queue_s: float = field(default=0.0, compare=False)
    """Waiting for a worker, in seconds."""
    start_s: float = field(default=0.0, compare=False)
    """Starting what it needed, and clearing up."""
    run_s: float = field(default=0.0, compare=False)
    """The program's run, its tests included."""
    judge_s: float = field(default=0.0, compare=False)
    """Making a verdict of what the judge had found; it finds while the program runs."""

    @classmethod
    def of(cls, verdict: Verdict) -> StepTiming:
        """That of one verdict."""
        run = verdict.execution
        return cls(run.queue_s, run.start_s, run.wall_s, verdict.judge_s)

    def __add__(self, other: StepTiming) -> StepTiming:
        return StepTiming(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))

    def __str__(self) -> str:
        names = ("waiting for a worker", "starting", "running", "making verdicts")
        return ", ".join(f"{value:.1f} s {name}" for name, value in zip(names, dataclasses.astuple(self), strict=True))
