"""The summary of an evaluation.

Samples without a verdict say nothing about the model: they are left out of pass@k, and counted separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from code_env.judging.timing import StepTiming
from code_env.judging.verdict import Outcome, Stage
from code_env.numbered_lines import Row
from code_env.rewards.pass_at_k import PassAtK, mean_pass_at_k
from code_env.tasks.suite import TaskSuite

from .samples import Sample


@dataclass(frozen=True)
class Summary:
    """The summary of an evaluation."""

    samples: int
    """How many samples were judged."""
    outcomes: dict[Outcome, int]
    """How many samples had each outcome."""
    judges: dict[str, int]
    """How many verdicts were made in each judge mode."""
    tasks: int
    """Tasks of the suite that have a sample."""
    tasks_missing: int
    """Tasks of the suite that have no sample."""
    tasks_passed: int
    """Tasks with at least one sample that passed."""
    pass_at_k: tuple[PassAtK, ...]
    """pass@k for each k for which at least one task has enough samples."""
    without_code: int = 0
    """Samples in which no code was found."""
    without_code_example: Sample | None = None
    """The first sample in which no code was found."""
    timing: StepTiming = field(default_factory=StepTiming)
    """How the time of all samples together divides into phases."""


def summarize(suite: TaskSuite, rows: Iterable[Row], ks: Iterable[int]) -> Summary:
    """Summarize an evaluation from the lines of its results file; only numbers are kept from them."""
    outcomes: Counter[Outcome] = Counter()
    judges: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    seen: set[str] = set()
    without_code, example, timing = 0, None, StepTiming()
    for row in rows:
        task_id, outcome = row["task_id"], Outcome(row["outcome"])
        timing += StepTiming(**row["timing"])
        seen.add(task_id)
        outcomes[outcome] += 1
        if row["stage"] == Stage.NOTHING:
            without_code, example = without_code + 1, example or Sample(task_id, row["completion"])
        if outcome is Outcome.NO_VERDICT:
            missing[task_id] += 1
        else:
            judges[row["judge"]] += 1
            judged[task_id] += 1
            correct[task_id] += row["passed"]
    counts = [(judged[task_id], correct[task_id], missing[task_id]) for task_id in seen]
    estimates = [mean_pass_at_k(counts, k) for k in sorted(set(ks))]
    return Summary(
        samples=sum(outcomes.values()),
        outcomes=dict(outcomes),
        judges=dict(judges),
        tasks=len(seen),
        tasks_missing=len(suite) - len(seen),
        tasks_passed=sum(count > 0 for count in correct.values()),
        pass_at_k=tuple(estimate for estimate in estimates if estimate is not None),
        without_code=without_code,
        without_code_example=example,
        timing=timing,
    )
