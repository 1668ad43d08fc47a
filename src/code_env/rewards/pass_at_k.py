"""pass@k: the chance that at least one of k samples solves a task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of pass@k for a task with `c` correct answers among `n` samples.

    1 - C(n-c, k) / C(n, k), from Chen et al. 2021 (arXiv:2107.03374), computed exactly.

    Args:
        n: Samples judged.
        c: How many of them passed.
        k: Samples drawn, at most `n`.

    Raises:
        ValueError: If the numbers do not fit together.

    Example:
        >>> pass_at_k(n=5, c=2, k=1), pass_at_k(n=5, c=2, k=4)
        (0.4, 1.0)
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"0 <= c <= n and 1 <= k <= n must hold; got n={n}, c={c}, k={k}")
    every = math.comb(n, k)
    # Integers until the division, so that large n lose nothing.
    return (every - math.comb(n - c, k)) / every


@dataclass(frozen=True)
class PassAtK:
    """pass@k over tasks."""

    k: int
    """Samples drawn for each task."""
    value: float
    """Mean over the tasks."""
    standard_error: float
    """Standard error of the mean, tasks taken as a sample; 0.0 for a single task."""
    tasks: int
    """Tasks that had enough samples."""


def mean_pass_at_k(counts: Sequence[tuple[int, int]], k: int) -> PassAtK | None:
    """pass@k over tasks, each given as (samples, correct); None if no task has `k` samples.

    Example:
        >>> mean_pass_at_k([(2, 1), (2, 2)], k=1)
        PassAtK(k=1, value=0.75, standard_error=0.25, tasks=2)
    """
    values = [pass_at_k(n, c, k) for n, c in counts if n >= k]
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return PassAtK(k, mean, 0.0, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return PassAtK(k, mean, math.sqrt(variance / len(values)), len(values))
