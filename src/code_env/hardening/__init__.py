"""Measures what tests refuse, with mutants of references, and adds tests; makes tasks that nobody can solve."""

from code_env.field_docs import show_fields

from .answers import look_at_answers
from .harden import HardenedSuite, HardenedTask, harden
from .impossible import ImpossibleSuite, impossible_suite
from .mutants import mutants
from .score import MutationScore, Survivor, TaskScore, mutation_score

__all__ = [
    "HardenedSuite",
    "HardenedTask",
    "ImpossibleSuite",
    "MutationScore",
    "Survivor",
    "TaskScore",
    "harden",
    "impossible_suite",
    "look_at_answers",
    "mutants",
    "mutation_score",
]

for _name in __all__:
    show_fields(globals()[_name])
