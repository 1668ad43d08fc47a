"""Reward terms as pure functions, and pass@k."""

from .at_k_training import Baseline, max_at_k_rewards, pass_at_k_rewards
from .pass_at_k import (
    PassAtK,
    estimate_pass_at_k,
    mean_pass_at_k,
    pass_at_k,
    pass_at_k_bounds,
    pass_at_k_standard_error,
)
from .terms import Measure, Term, execution, output_similarity, pass_fraction, similarity

__all__ = [
    "Baseline",
    "Measure",
    "PassAtK",
    "Term",
    "estimate_pass_at_k",
    "execution",
    "max_at_k_rewards",
    "mean_pass_at_k",
    "output_similarity",
    "pass_at_k",
    "pass_at_k_bounds",
    "pass_at_k_rewards",
    "pass_at_k_standard_error",
    "pass_fraction",
    "similarity",
]
