"""Reward terms as pure functions, and pass@k."""

from .pass_at_k import PassAtK, mean_pass_at_k, pass_at_k
from .terms import Measure, Term, execution, output_similarity, pass_fraction, similarity

__all__ = [
    "Measure",
    "PassAtK",
    "Term",
    "execution",
    "mean_pass_at_k",
    "output_similarity",
    "pass_at_k",
    "pass_fraction",
    "similarity",
]
