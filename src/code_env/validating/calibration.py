"""Sets a task's time limits by what its reference takes on this host.

A published limit was meant for some other machine, and mostly for another language. With limits measured here, a slow
host does not fail answers that are slow but right, and a fast one does not wait for endless loops.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

from code_env.executors.program import MAX_SECONDS, Limits
from code_env.executors.result import ExecutionResult
from code_env.tasks.task import (
    LEAST_REFERENCE_CPU_S,
    LEAST_REFERENCE_MEMORY_BYTES,
    REFERENCE_CPU_S,
    REFERENCE_MEMORY_BYTES,
)

FACTOR = 10.0
"""How many times the reference's time an answer may take."""

LEAST_CPU_S = 1.0
"""Least CPU time that calibration sets, in seconds: short measurements are mostly noise."""

WALL_PER_CPU = 3.0
"""Least time on the clock that calibration sets, in times of the CPU time."""

_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def calibrated(
    limits: Limits,
    cpu_s: float,
    wall_s: float,
    *,
    factor: float = FACTOR,
    least_s: float = LEAST_CPU_S,
    suffice: bool = True,
) -> Limits:
    """Limits by what a reference took.

    `cpu_s` becomes `factor` times the measured time, at least `least_s`, rounded up to 1, 1.5, 2, 3, 4, 5, 6 or 8 times
    a power of ten; no more than stated, unless that did not suffice. `wall_s` keeps its proportion to it, and is at
    least three times of it; a reference that waits gets `factor` times its wait, by the same rule.

    Args:
        limits: As stated.
        cpu_s: CPU time that the reference took, in seconds.
        wall_s: Time on the clock that it took, in seconds.
        factor: How many times of it an answer may take.
        least_s: Least CPU time to set, in seconds.
        suffice: Whether the stated limits suffice for the reference.

    Example:
        >>> calibrated(Limits(cpu_s=5, wall_s=20), cpu_s=0.12, wall_s=0.2)  # doctest: +ELLIPSIS
        Limits(cpu_s=1.5, wall_s=6.0, ...)
        >>> calibrated(Limits(cpu_s=5, wall_s=20), cpu_s=2.0, wall_s=3.0).cpu_s
        5.0
        >>> calibrated(Limits(cpu_s=5, wall_s=20), cpu_s=6.0, wall_s=7.0, suffice=False).cpu_s
        60.0
    """
    most_cpu_s, most_wall_s = (limits.cpu_s, limits.wall_s) if suffice else (MAX_SECONDS, MAX_SECONDS)
    cpu_limit = min(most_cpu_s, rounded_up(max(least_s, factor * cpu_s)))
    if suffice and cpu_limit == limits.cpu_s:
        return limits
    in_proportion = limits.wall_s * cpu_limit / limits.cpu_s
    waiting = min(most_wall_s, rounded_up(factor * wall_s))
    wall_limit = min(MAX_SECONDS, max(in_proportion, WALL_PER_CPU * cpu_limit, waiting))
    return dataclasses.replace(limits, cpu_s=cpu_limit, wall_s=round(wall_limit, 3))


def taken(runs: Sequence[ExecutionResult]) -> dict[str, float]:
    """What a reference took, for its task's metadata: the median CPU time, the most memory.

    Args:
        runs: Judged runs of it.

    Example:
        >>> from code_env import Status
        >>> taken([ExecutionResult(Status.OK, cpu_s=cpu_s, peak_memory_bytes=10**8) for cpu_s in (0.4, 0.1, 0.2)])
        {'reference_cpu_s': 0.2, 'reference_memory_bytes': 100000000}
    """
    return {
        REFERENCE_CPU_S: max(LEAST_REFERENCE_CPU_S, round(statistics.median(run.cpu_s for run in runs), 3)),
        REFERENCE_MEMORY_BYTES: max(LEAST_REFERENCE_MEMORY_BYTES, *(run.peak_memory_bytes for run in runs)),
    }


def rounded_up(seconds: float) -> float:
    """The next time above, or at, a time that is 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten.

    Example:
        >>> [rounded_up(seconds) for seconds in (0.9, 1.0, 1.01, 4.2, 17.0)]
        [1.0, 1.0, 1.5, 5.0, 20.0]
    """
    if seconds <= 0:
        return 0.0
    power = math.floor(math.log10(seconds))
    candidates = (float(f"{step}e{power}") for step in _STEPS)
    return next((candidate for candidate in candidates if candidate >= seconds), float(f"1e{power + 1}"))
