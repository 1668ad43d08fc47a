"""Rewards for single samples that train for pass@k: Walder and Karkhanis 2025 (arXiv:2505.15201).

A policy that is to have one right answer among k is not to be rewarded for each by itself. The functions here turn the
results of n samples of one task, n at least k, into n rewards such that the sum of each sample's reward times the
gradient of its log-probability is an unbiased estimate of the gradient of the expected best of k samples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal, get_args

from code_env.checks import require_choice

Baseline = Literal["auto", "loo", "loo-1", "none"]
"""What is taken off each sample's reward, from the other samples only, so that the estimate stays unbiased:

- `loo`: what the others' rewards would be without it, on average; needs n above k (where samples without a verdict
  leave no more than k, `loo-1` is taken).
- `loo-1`: for each set of k that it is in, the best of the k - 1 others; the least variance. Nothing for k = 1.
- `none`: nothing.
- `auto`: `loo-1`, and for k = 1 `loo`.
"""


def pass_at_k_rewards(passed: Sequence[bool | None], k: int, baseline: Baseline = "auto") -> list[float | None]:
    """For each sample of a task its reward in training for pass@k; see `max_at_k_rewards`.

    Args:
        passed: Whether each sample passed; None for one without a verdict.
        k: Of how many samples one is to pass.
        baseline: What is taken off.

    Raises:
        ValueError: If `k` is below 1 or above the number of samples, or there is no such baseline.

    Example:
        >>> pass_at_k_rewards([True, False, False, None], k=2, baseline="none")
        [0.6666666666666666, 0.3333333333333333, 0.3333333333333333, None]
    """
    return max_at_k_rewards([None if one is None else float(bool(one)) for one in passed], k, baseline)


def max_at_k_rewards(scores: Sequence[float | None], k: int, baseline: Baseline = "auto") -> list[float | None]:
    """For each sample of a task its reward in training for the best score of k samples.

    Without a baseline, the reward of a sample is the mean, over all sets of k samples, of the best score of the set if
    the sample is in it, else 0. It is meant for a sum over samples; where a trainer takes the mean, multiply by n. No
    normalization by the group's deviation should follow.

    Args:
        scores: Score of each sample; None for one without a verdict, which is left out: it counts for nothing and
            gets None. If fewer than `k` samples have one, it is the best of those that is trained for.
        k: Of how many samples the best counts.
        baseline: What is taken off.

    Raises:
        ValueError: If `k` is below 1 or above the number of samples, or there is no such baseline.

    Example:
        >>> max_at_k_rewards([0.0, 1.0, 0.5], k=1, baseline="none")
        [0.0, 0.3333333333333333, 0.16666666666666666]
        >>> max_at_k_rewards([0.0, 1.0, 0.5], k=3)
        [0.0, 0.5, 0.0]
    """
    if type(k) is not int or not 1 <= k <= len(scores):
        raise ValueError(f"k must be a whole number from 1 to the number of samples, {len(scores)}; got {k!r}")
    require_choice("baseline", baseline, get_args(Baseline), ValueError)
    if not all(math.isfinite(score) for score in scores if score is not None):
        raise ValueError(f"scores must be finite numbers, or None where there is no verdict; got {list(scores)!r}")
    if baseline == "loo" and k == len(scores):
        raise ValueError(f"baseline 'loo' needs more samples than k={k}; take 'loo-1'")
    values = sorted((float(score), index) for index, score in enumerate(scores) if score is not None)
    rewards: list[float | None] = [None] * len(scores)
    if values:
        ordered = [score for score, _ in values]
        for (_, index), reward in zip(values, _rewards(ordered, min(k, len(values)), baseline), strict=True):
            rewards[index] = reward
    return rewards


def _rewards(ordered: list[float], k: int, baseline: Baseline) -> list[float]:
    """Of samples in ascending order of score."""
    n = len(ordered)
    every = math.comb(n, k)
    # Of the sets with the sample at `place`, it is the best of so many, and one at `better` is of so many.
    own = [math.comb(place, k - 1) / every * score for place, score in enumerate(ordered)]
    others = [
        math.comb(place - 1, k - 2) / every * score if k > 1 and place else 0.0 for place, score in enumerate(ordered)
    ]
    above = _sums_above(others)
    plain = [own[place] + above[place] for place in range(n)]
    if baseline == "auto":
        baseline = "loo-1" if k > 1 else "loo"
    if baseline == "none" or n == 1:
        return plain
    if baseline == "loo" and k < n:
        return [one - k / (n - 1) * best for one, best in zip(plain, _best_without(ordered, k), strict=True)]
    return [one - k / n * best for one, best in zip(plain, _best_without(ordered, k - 1), strict=True)]


def _sums_above(values: list[float]) -> list[float]:
    """For each place the sum of the values behind it."""
    return [*reversed(list(itertools.accumulate(values[:0:-1]))), 0.0]


def _best_without(ordered: list[float], k: int) -> list[float]:
    """For each sample the mean, over all sets of k of the others, of the best score."""
    n = len(ordered)
    if k == 0:
        return [0.0] * n
    every = math.comb(n - 1, k)
    weights = [math.comb(place, k - 1) / every for place in range(n - 1)]
    below = [0.0, *itertools.accumulate(weight * score for weight, score in zip(weights, ordered, strict=False))]
    # Who comes behind the one that is left out moves up by a place.
    behind = _sums_above([0.0, *(weight * score for weight, score in zip(weights, ordered[1:], strict=True))])
    return [below[place] + behind[place] for place in range(n)]
