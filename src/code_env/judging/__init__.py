"""Judges answers blind: a program never sees an expected value."""

from .judge import ajudge, ajudge_many, judge, judge_as_completed, judge_each, judge_many
from .timing import StepTiming
from .verdict import CaseResult, Outcome, Stage, Verdict

__all__ = [
    "CaseResult",
    "Outcome",
    "Stage",
    "StepTiming",
    "Verdict",
    "ajudge",
    "ajudge_many",
    "judge",
    "judge_as_completed",
    "judge_each",
    "judge_many",
]
