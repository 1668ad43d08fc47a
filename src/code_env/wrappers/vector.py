"""The wrappers for vector environments: the same names, arguments and entries as in `code_env.wrappers`.

They wrap the `CodeExecVectorEnv` that `gym.make_vec("CodeExec-v0", ...)` gives. `GroupPassAtKReward` is here only.
"""

from __future__ import annotations

from .groups import GroupPassAtKReward
from .ledger import EntryVectorWrapper
from .shaping import ClipArguments, GateArguments, PotentialArguments, ScheduleArguments
from .statistics import RecordPassAtKOfMany
from .terms import (
    CpuTimeArguments,
    ExecutionArguments,
    FileArguments,
    FormatArguments,
    InsightArguments,
    LengthArguments,
    MemoryArguments,
    OutputSimilarityArguments,
    PassAtKArguments,
    PassFractionArguments,
    TermArguments,
)
from .vector_encodings import CandidateActions, EncodedObservation, TemplateActions, TokenActions

__all__ = [
    "CandidateActions",
    "ClipReward",
    "CpuTimeReward",
    "EncodedObservation",
    "ExecutionReward",
    "FileReward",
    "FormatReward",
    "GateReward",
    "GroupPassAtKReward",
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


class ExecutionReward(ExecutionArguments, EntryVectorWrapper):
    """As `code_env.wrappers.ExecutionReward`, for each environment of many."""


class PassFractionReward(PassFractionArguments, EntryVectorWrapper):
    """As `code_env.wrappers.PassFractionReward`, for each environment of many."""


class OutputSimilarityReward(OutputSimilarityArguments, EntryVectorWrapper):
    """As `code_env.wrappers.OutputSimilarityReward`, for each environment of many."""


class FormatReward(FormatArguments, EntryVectorWrapper):
    """As `code_env.wrappers.FormatReward`, for each environment of many."""


class LengthReward(LengthArguments, EntryVectorWrapper):
    """As `code_env.wrappers.LengthReward`, for each environment of many."""


class CpuTimeReward(CpuTimeArguments, EntryVectorWrapper):
    """As `code_env.wrappers.CpuTimeReward`, for each environment of many."""


class MemoryReward(MemoryArguments, EntryVectorWrapper):
    """As `code_env.wrappers.MemoryReward`, for each environment of many."""


class FileReward(FileArguments, EntryVectorWrapper):
    """As `code_env.wrappers.FileReward`, for each environment of many."""


class InsightReward(InsightArguments, EntryVectorWrapper):
    """As `code_env.wrappers.InsightReward`, for each environment of many."""


class PassAtKReward(PassAtKArguments, EntryVectorWrapper):
    """As `code_env.wrappers.PassAtKReward`, for each environment of many."""


class TermReward(TermArguments, EntryVectorWrapper):
    """As `code_env.wrappers.TermReward`, for each environment of many."""


class GateReward(GateArguments, EntryVectorWrapper):
    """As `code_env.wrappers.GateReward`, for each environment of many."""


class PotentialReward(PotentialArguments, EntryVectorWrapper):
    """As `code_env.wrappers.PotentialReward`, for each environment of many."""


class ScheduledReward(ScheduleArguments, EntryVectorWrapper):
    """As `code_env.wrappers.ScheduledReward`, for each environment of many."""


class ClipReward(ClipArguments, EntryVectorWrapper):
    """As `code_env.wrappers.ClipReward`, for each environment of many."""


class RecordPassAtK(RecordPassAtKOfMany):
    """As `code_env.wrappers.RecordPassAtK`, over the last episodes of all environments together."""
