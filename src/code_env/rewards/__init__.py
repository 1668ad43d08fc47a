"""Reward terms as pure functions, and pass@k."""

from .at_k_training import Baseline, max_at_k_rewards, pass_at_k_rewards
from .economy import brevity, cpu_economy, memory_economy
from .pass_at_k import (
    PassAtK,
    estimate_pass_at_k,
    mean_pass_at_k,
    pass_at_k,
    pass_at_k_bounds,
    pass_at_k_standard_error,
)
from .similarity import Measure, similarity
from .terms import Term, execution, file_operations, insights, output_similarity, pass_fraction, well_formed

__all__ = [
    "Baseline",
    "Measure",
    "PassAtK",
    "Term",
    "brevity",
    "cpu_economy",
    "estimate_pass_at_k",
    "execution",
    "file_operations",
    "insights",
    "max_at_k_rewards",
    "mean_pass_at_k",
    "memory_economy",
    "output_similarity",
    "pass_at_k",
    "pass_at_k_bounds",
    "pass_at_k_rewards",
    "pass_at_k_standard_error",
    "pass_fraction",
    "similarity",
    "well_formed",
]
