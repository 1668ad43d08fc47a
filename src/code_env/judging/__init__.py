"""Judges answers blind: a program never sees an expected value."""

from .judge import ajudge, ajudge_many, judge, judge_each, judge_many
from .validation import ValidationFinding, validate
from .verdict import CaseResult, Outcome, Verdict

__all__ = [
    "CaseResult",
    "Outcome",
    "ValidationFinding",
    "Verdict",
    "ajudge",
    "ajudge_many",
    "judge",
    "judge_each",
    "judge_many",
    "validate",
]
