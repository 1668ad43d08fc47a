"""Gymnasium wrappers of this package; `code_env.wrappers.vector` has their twins for vector environments."""

from .encodings import CandidateActions, EncodedObservation, TemplateActions, TokenActions
from .rewards import (
    ClipReward,
    CpuTimeReward,
    ExecutionReward,
    FileReward,
    FormatReward,
    GateReward,
    InsightReward,
    LengthReward,
    MemoryReward,
    OutputSimilarityReward,
    PassAtKReward,
    PassFractionReward,
    PotentialReward,
    ScheduledReward,
    TermReward,
)
from .statistics import RecordPassAtK

__all__ = [
    "CandidateActions",
    "ClipReward",
    "CpuTimeReward",
    "EncodedObservation",
    "ExecutionReward",
    "FileReward",
    "FormatReward",
    "GateReward",
    "InsightReward",
    "LengthReward",
    "MemoryReward",
    "OutputSimilarityReward",
    "PassAtKReward",
    "PassFractionReward",
    "PotentialReward",
    "RecordPassAtK",
    "ScheduledReward",
    "TemplateActions",
    "TermReward",
    "TokenActions",
]
