"""Sets a task's time limits from the time that its reference takes on this host.

A published limit was chosen for another machine, and often for another language. With limits measured on this host, a
slow host does not fail answers that are correct but slow, and a fast host does not wait long for endless loops.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

from code_env.executors.limits import MAX_SECONDS, Limits
from code_env.executors.result import ExecutionResult
from code_env.tasks.task import (
    LEAST_REFERENCE_CPU_S,
    LEAST_REFERENCE_MEMORY_BYTES,
    REFERENCE_CPU_S,
    REFERENCE_MEMORY_BYTES,
)

FACTOR = 10.0
"""The time limit of an answer, as a multiple of the reference's time."""

LEAST_CPU_S = 1.0
"""The smallest CPU time limit that calibration sets, in seconds: very short measurements are mostly noise."""

WALL_PER_CPU = 3.0
"""The smallest wall time limit that calibration sets, as a multiple of the CPU time limit."""

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
    """Make limits from the time that a reference took.

    The new `cpu_s` is `factor` times the measured CPU time, but at least `least_s`, rounded up to 1, 1.5, 2, 3, 4, 5, 6
    or 8 times a power of ten. It is not larger than the stated limit, unless the stated limits were too small. The
    new `wall_s` keeps the proportion to `cpu_s` that was stated, and is at least three times `cpu_s`. If the reference
    waits, `wall_s` is also at least `factor` times its wall time, by the same rule.

    Args:
        limits: The limits that the task states.
        cpu_s: CPU time that the reference took, in seconds.
        wall_s: Wall time that the reference took, in seconds.
        factor: The time limit of an answer, as a multiple of the reference's time.
        least_s: The smallest CPU time limit to set, in seconds.
        suffice: Whether the stated limits are large enough for the reference.

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
    """The time and memory that a reference took, for its task's metadata: the median CPU time, the largest memory.

    Args:
        runs: Judged runs of the reference.

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
    """Round a time up to 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten.

    Example:
        >>> [rounded_up(seconds) for seconds in (0.9, 1.0, 1.01, 4.2, 17.0)]
        [1.0, 1.0, 1.5, 5.0, 20.0]
    """
    if seconds <= 0:
        return 0.0
    power = math.floor(math.log10(seconds))
    candidates = (float(f"{step}e{power}") for step in _STEPS)
    return next((candidate for candidate in candidates if candidate >= seconds), float(f"1e{power + 1}"))
