"""The wrappers for vector environments: the same names, arguments and entries as in `code_env.wrappers`.

They wrap the `CodeExecVectorEnv` that `gym.make_vec("CodeExec-v0", ...)` returns. `GroupPassAtKReward` is only here.
"""

from __future__ import annotations

from .groups import GroupPassAtKReward
from .rewards import VectorCpuTimeReward as CpuTimeReward
from .rewards import VectorExecutionReward as ExecutionReward
from .rewards import VectorFileReward as FileReward
from .rewards import VectorFormatReward as FormatReward
from .rewards import VectorInsightReward as InsightReward
from .rewards import VectorLengthReward as LengthReward
from .rewards import VectorMemoryReward as MemoryReward
from .rewards import VectorOutputSimilarityReward as OutputSimilarityReward
from .rewards import VectorPassAtKReward as PassAtKReward
from .rewards import VectorPassFractionReward as PassFractionReward
from .rewards import VectorTermReward as TermReward
from .shaping import VectorClipReward as ClipReward
from .shaping import VectorGateReward as GateReward
from .shaping import VectorPotentialReward as PotentialReward
from .shaping import VectorScheduledReward as ScheduledReward
from .statistics import VectorRecordMetrics as RecordMetrics
from .statistics import VectorRecordPassAtK as RecordPassAtK
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
    "RecordMetrics",
    "RecordPassAtK",
    "ScheduledReward",
    "TemplateActions",
    "TermReward",
    "TokenActions",
]
