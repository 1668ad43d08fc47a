"""Gymnasium wrappers of this package; `code_env.wrappers.vector` has their twins for vector environments."""

from .rewards import (
    ClipReward,
    ExecutionReward,
    FormatReward,
    GateReward,
    LengthReward,
    OutputSimilarityReward,
    PassAtKReward,
    PassFractionReward,
    PotentialReward,
    ScheduledReward,
    TermReward,
)
from .statistics import RecordPassAtK

__all__ = [
    "ClipReward",
    "ExecutionReward",
    "FormatReward",
    "GateReward",
    "LengthReward",
    "OutputSimilarityReward",
    "PassAtKReward",
    "PassFractionReward",
    "PotentialReward",
    "RecordPassAtK",
    "ScheduledReward",
    "TermReward",
]
