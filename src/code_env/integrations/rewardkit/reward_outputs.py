"""The return values of RewardKit's rewards: a score, and metrics that explain the score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class MetricRewardOutput:
    """One metric."""

    score: float
    """From 0 to 1."""
    reason: str = ""
    """The reason for the score. It can show expected values, so do not show it to the policy."""


@dataclass(frozen=True)
class RewardOutput:
    """A score with its metrics.

    Example:
        >>> RewardOutput(1.0, {"output_match": MetricRewardOutput(1.0, "the same")}).to_dict()
        {'score': 1.0, 'reason': '', 'metrics': {'output_match': {'score': 1.0, 'reason': 'the same'}}}
    """

    score: float
    """From 0 to 1."""
    metrics: Mapping[str, MetricRewardOutput] = field(default_factory=dict)
    """Metrics by name."""
    reason: str = ""
    """The score in words."""

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        metrics = {name: {"score": metric.score, "reason": metric.reason} for name, metric in self.metrics.items()}
        return {"score": self.score, "reason": self.reason, "metrics": metrics}
