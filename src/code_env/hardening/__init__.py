"""Measures what a suite's tests refuse, with mutants of its references."""

from .mutants import mutants
from .score import MutationScore, Survivor, TaskScore, mutation_score

__all__ = ["MutationScore", "Survivor", "TaskScore", "mutants", "mutation_score"]
