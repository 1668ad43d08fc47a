"""Judges answers blind: a program never sees an expected value."""

from .findings import FindingKind, Validation, ValidationFinding
from .judge import ajudge, ajudge_many, judge, judge_each, judge_many
from .timing import StepTiming
from .validation import validate
from .verdict import CaseResult, Outcome, Stage, Verdict

__all__ = [
    "CaseResult",
    "FindingKind",
    "Outcome",
    "Stage",
    "StepTiming",
    "Validation",
    "ValidationFinding",
    "Verdict",
    "ajudge",
    "ajudge_many",
    "judge",
    "judge_each",
    "judge_many",
    "validate",
]
