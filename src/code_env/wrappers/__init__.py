"""Gymnasium wrappers of this package."""

from .rewards import ExecutionReward, OutputSimilarityReward, PassFractionReward, TermReward

__all__ = ["ExecutionReward", "OutputSimilarityReward", "PassFractionReward", "TermReward"]
