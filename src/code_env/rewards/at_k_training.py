"""Rewards for single samples that train for pass@k: Walder and Karkhanis 2025 (arXiv:2505.15201).

If the aim is one right answer among k samples, rewarding each sample on its own is wrong. The functions here turn the
results of n samples of one task (n at least k) into n rewards. Multiply each sample's reward by the gradient of its
log-probability: the sum of these products is an unbiased estimate of the gradient of the expected best of k samples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal, get_args

from code_env.checks import require_choice

Baseline = Literal["auto", "loo", "loo-1", "none"]
"""The baseline that is subtracted from each sample's reward. It depends on the other samples only, so that the estimate
stays unbiased:

- `loo`: the mean reward that the other samples would have without this sample. It needs n above k; if only k samples or
  fewer have a verdict, `loo-1` is used instead.
- `loo-1`: for each set of k samples that contains this sample, the best score of the other k - 1 samples. It has the
  least variance. For k = 1 it is 0.
- `none`: no baseline.
- `auto`: `loo-1`, or `loo` for k = 1.
"""


def pass_at_k_rewards(passed: Sequence[bool | None], k: int, baseline: Baseline = "auto") -> list[float | None]:
    """The reward of each sample of a task in training for pass@k; see `max_at_k_rewards`.

    Args:
        passed: Whether each sample passed; None for a sample without a verdict.
        k: The number k in pass@k: at least one of k samples should pass.
        baseline: The baseline that is subtracted; see `max_at_k_rewards`.

    Raises:
        ValueError: If `k` is below 1 or above the number of samples, or the baseline is unknown.

    Example:
        >>> pass_at_k_rewards([True, False, False, None], k=2, baseline="none")
        [0.6666666666666666, 0.3333333333333333, 0.3333333333333333, None]
    """
    return max_at_k_rewards([None if one is None else float(bool(one)) for one in passed], k, baseline)


def max_at_k_rewards(scores: Sequence[float | None], k: int, baseline: Baseline = "auto") -> list[float | None]:
    """The reward of each sample of a task in training for the best score of k samples.

    Without a baseline, the reward of a sample is a mean over all sets of k samples: a set that contains the sample
    counts with the best score in the set, and any other set counts with 0. The rewards are for a sum over samples; if a
    trainer takes the mean, multiply them by n. Do not normalize them by the standard deviation of the group afterwards.

    Args:
        scores: Score of each sample; None for a sample without a verdict, which is left out and gets None. If fewer
            than `k` samples have a verdict, the rewards are those for the best of these samples.
        k: The number of samples of which the best counts.
        baseline: The baseline that is subtracted from each reward. `loo`: the mean reward that the other samples would
            have without this sample. `loo-1`: for each set of k samples that contains this sample, the best score of
            the other k - 1 samples. `none`: no baseline. `auto`: `loo` for k = 1, otherwise `loo-1`.

    Raises:
        ValueError: If `k` is below 1 or above the number of samples, or the baseline is unknown.

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
    """The rewards of samples that are in ascending order of score."""
    n = len(ordered)
    every = math.comb(n, k)
    # The sample at `place` is the best of C(place, k - 1) sets. Of these, C(place - 1, k - 2) contain any given sample
    # below it.
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
    """For each place, the sum of the values after it."""
    return [*reversed(list(itertools.accumulate(values[:0:-1]))), 0.0]


def _best_without(ordered: list[float], k: int) -> list[float]:
    """For each sample, the mean of the best score over all sets of k other samples."""
    n = len(ordered)
    if k == 0:
        return [0.0] * n
    every = math.comb(n - 1, k)
    weights = [math.comb(place, k - 1) / every for place in range(n - 1)]
    below = [0.0, *itertools.accumulate(weight * score for weight, score in zip(weights, ordered, strict=False))]
    # The index of each sample after the omitted sample becomes smaller by 1.
    behind = _sums_above([0.0, *(weight * score for weight, score in zip(weights, ordered[1:], strict=True))])
    return [below[place] + behind[place] for place in range(n)]
