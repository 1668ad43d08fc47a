"""Measures what tests refuse: with mutants of references, and what graders refuse: with tasks that are impossible."""

from .answers import look_at_answers
from .impossible import ImpossibleSuite, impossible_suite
from .mutants import mutants
from .score import MutationScore, Survivor, TaskScore, mutation_score

__all__ = [
    "ImpossibleSuite",
    "MutationScore",
    "Survivor",
    "TaskScore",
    "impossible_suite",
    "look_at_answers",
    "mutants",
    "mutation_score",
]
