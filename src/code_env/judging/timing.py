"""How the time to reach a verdict divides into phases."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from .verdict import Verdict


@dataclass(frozen=True)
class StepTiming:
    """How the time of a step divides into phases, for the program that took longest; all 0.0 if no program was run.

    Any two objects of this class compare equal, because the time of a step is not part of its outcome. If an answer
    was run more than once, the times are those of the last run.
    """

    queue_s: float = field(default=0.0, compare=False)
    """Time of waiting for a worker, in seconds."""
    start_s: float = field(default=0.0, compare=False)
    """Time to start what the program needs and to clean up, in seconds."""
    run_s: float = field(default=0.0, compare=False)
    """Wall time of the program's run, with its tests, in seconds."""
    judge_s: float = field(default=0.0, compare=False)
    """Time to make a verdict from the judge's report, in seconds. The judge's own work is in `run_s`: it runs at the
    same time as the program."""

    @classmethod
    def of(cls, verdict: Verdict) -> StepTiming:
        """The timing of one verdict."""
        run = verdict.execution
        return cls(run.queue_s, run.start_s, run.wall_s, verdict.judge_s)

    def __add__(self, other: StepTiming) -> StepTiming:
        return StepTiming(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))

    def __str__(self) -> str:
        names = ("waiting for a worker", "starting", "running", "making verdicts")
        return ", ".join(f"{value:.1f} s {name}" for name, value in zip(names, dataclasses.astuple(self), strict=True))
