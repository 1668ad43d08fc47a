"""The figures of one run in a report: what the overview shows, computed from its items."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from code_env.judging.timing import StepTiming
from code_env.judging.verdict import Outcome, Stage
from code_env.rewards.pass_at_k import mean_pass_at_k
from code_env.text import clip

from .items import Item, counts_of, last_program, why_not

_NORMAL_95 = 1.96
"""A normal distribution has 95 % of its mass within so many standard deviations of its mean."""

_MOST_BUCKETS = 50
"""The reward over time is shown as means of at most so many stretches of the run."""

_MOST_CAUSES, _CAUSE_CHARS = 20, 300
"""So many of the most frequent reasons of failures and of missing verdicts are shown; the latter are shortened to this
length."""


class RunFigures:
    """The figures of one run.

    Args:
        name: The run's name.
        ks: The values of k for pass@k.
    """

    def __init__(self, name: str, ks: Sequence[int]) -> None:
        self._name, self._ks = name, sorted(set(ks))
        self._outcomes: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._causes: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._judges: Counter[str] = Counter()
        self._abouts: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._without_code = 0
        self._timing = StepTiming()
        self._tasks: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._rewards: list[tuple[int, float, dict[str, float]]] = []

    def add(self, item: Item) -> None:
        """Count an item."""
        program = last_program(item)
        self._outcomes[outcome_of(item)] += 1
        about = item["about"]
        self._abouts[f"{about['executor']}, level {about['level']}, code_env {about['version']}"] += 1
        if "model" in about:
            self._models[about["model"]] += 1
        if item["valid"]:
            self._judges[program["judge"]] += 1
            if not item["passed"] and (why := why_not(item)):
                self._failures[why] += 1
        counts = self._tasks[item["task"]]
        counts[:] = [before + more for before, more in zip(counts, counts_of(item), strict=True)]
        terms: Counter[str] = Counter()
        for turn in item["turns"]:
            terms.update(turn["terms"])
            for one in turn["programs"]:
                self._statuses[one["status"]] += 1
                self._without_code += one["stage"] == Stage.NOTHING
                self._timing += StepTiming(**one["timing"])
                if one["outcome"] == Outcome.NO_VERDICT:
                    self._causes[clip(one["message"], _CAUSE_CHARS)] += 1
        if item["reward"] is not None and item["valid"]:
            self._rewards.append((item["number"], item["reward"], dict(terms)))

    def as_data(self) -> dict[str, Any]:
        """Return the figures as data for JSON."""
        counts = [(judged, passed, missing) for judged, passed, missing in self._tasks.values()]
        estimates = [estimate for k in self._ks if (estimate := mean_pass_at_k(counts, k)) is not None]
        return {
            "name": self._name,
            "items": sum(self._outcomes.values()),
            "outcomes": dict(self._outcomes.most_common()),
            "statuses": dict(self._statuses.most_common()),
            "judges": dict(self._judges.most_common()),
            "abouts": dict(self._abouts.most_common()),
            "models": dict(self._models.most_common()),
            "without_code": self._without_code,
            "causes": self._causes.most_common(_MOST_CAUSES),
            "failures": self._failures.most_common(_MOST_CAUSES),
            "timing": dataclasses.asdict(self._timing),
            "pass_at_k": [
                {
                    "k": one.k,
                    "value": one.value,
                    # One task says nothing of how the value varies over tasks.
                    "low": max(0.0, one.value - _NORMAL_95 * one.standard_error) if one.tasks > 1 else None,
                    "high": min(1.0, one.value + _NORMAL_95 * one.standard_error) if one.tasks > 1 else None,
                    "tasks": one.tasks,
                    "missing": one.missing,
                    "worst": one.lower,
                    "best": one.upper,
                }
                for one in estimates
            ],
            "tasks": [[task, *count] for task, count in self._tasks.items()],
            "rewards": self._reward_curve(),
        }

    def _reward_curve(self) -> dict[str, Any] | None:
        """The mean of each reward term over stretches of the run; None for a run without rewards."""
        if not self._rewards:
            return None
        ordered = sorted(self._rewards, key=lambda one: one[0])
        names = list(dict.fromkeys(name for _, _, terms in ordered for name in terms))
        size = -(-len(ordered) // _MOST_BUCKETS)
        stretches = [ordered[first : first + size] for first in range(0, len(ordered), size)]
        return {
            "mean": sum(reward for _, reward, _ in ordered) / len(ordered),
            "terms": names,
            "stretches": [
                {
                    "first": part[0][0],
                    "last": part[-1][0],
                    "means": [sum(terms.get(name, 0.0) for _, _, terms in part) / len(part) for name in names],
                }
                for part in stretches
            ],
        }


def outcome_of(item: Item) -> str:
    """The outcome of an item: that of the program that stands for it."""
    return str(Outcome.NO_VERDICT) if not item["valid"] else str(last_program(item)["outcome"])
