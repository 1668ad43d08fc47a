"""Scores a file of completions: one verdict for each sample, and pass@k over the tasks.

Samples without a verdict say nothing about the model: they are left out of pass@k, and counted separately.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.extract import Extraction, extract_code
from code_env.judging.judge import judge_each
from code_env.judging.timing import StepTiming
from code_env.judging.verdict import Outcome, Verdict
from code_env.rewards.pass_at_k import PassAtK, mean_pass_at_k
from code_env.tasks.loading import read_rows
from code_env.tasks.suite import TaskSuite


@dataclass(frozen=True)
class Sample:
    """One completion for one task."""

    task_id: str
    """Id of the task."""
    completion: str
    """The text that the model wrote."""


def read_samples(path: Path, suite: TaskSuite, field: str = "completion") -> list[Sample]:
    """Read the samples from a file of JSON lines with `task_id` and a completion.

    Raises:
        TaskError: If a row is malformed or does not name a task of the suite; the message names the file and line.
    """
    if not path.is_file():
        raise TaskError(f"{path}: there is no such file")
    samples: list[Sample] = []
    for number, row in read_rows(path):
        try:
            for name in ("task_id", field):
                if not isinstance(row.get(name), str):
                    got = type(row[name]).__name__ if name in row else "nothing"
                    hint = "; --field names another field" if name == field else ""
                    raise TaskError(f"{name}: text was expected; got {got}{hint}")
            suite.task(row["task_id"])
        except (TaskError, LookupError) as error:
            raise TaskError(f"{path}:{number}: {error}") from None
        samples.append(Sample(row["task_id"], row[field]))
    if not samples:
        raise TaskError(f"{path}: there are no samples in it")
    return samples


def reference_samples(suite: TaskSuite) -> list[Sample]:
    """The suite's own references as samples.

    Raises:
        TaskError: If a task has no reference.
    """
    for task in suite:
        if task.reference is None:
            raise TaskError(f"task {task.id!r} has no reference")
    return [Sample(task.id, task.reference or "") for task in suite]


def judge_samples(
    suite: TaskSuite, samples: Sequence[Sample], executor: Executor, extract: Extraction = "fence"
) -> Iterator[tuple[Sample, Verdict]]:
    """Judge samples; yield each sample with its verdict, in order, as soon as it has a verdict."""
    tasks = [suite.task(sample.task_id) for sample in samples]
    codes = (
        extract_code(s.completion, task.language, extract, task.entry_point)
        for s, task in zip(samples, tasks, strict=True)
    )
    for sample, verdict in zip(samples, judge_each(zip(tasks, codes, strict=True), executor), strict=True):
        yield sample, dataclasses.replace(verdict, response=sample.completion)


def sample_row(sample: Sample, verdict: Verdict) -> dict[str, Any]:
    """Return a sample's line for the results file."""
    failed = next((case for case in verdict.cases if not case.passed), None)
    error = verdict.execution.error
    return {
        "task_id": sample.task_id,
        "completion": sample.completion,
        "passed": verdict.passed,
        "outcome": str(verdict.outcome),
        "fraction": verdict.fraction,
        "tests_passed": verdict.tests_passed,
        "tests_total": verdict.tests_total,
        "judge": verdict.judge,
        "status": str(verdict.execution.status),
        "message": failed.message if failed else error.message if error else "",
    }


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


def summarize(suite: TaskSuite, results: Iterable[tuple[Sample, Verdict]], ks: Iterable[int]) -> Summary:
    """Summarize an evaluation. The results can come from an iterator; only numbers are kept from them."""
    outcomes: Counter[Outcome] = Counter()
    judges: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    seen: set[str] = set()
    without_code, example, timing = 0, None, StepTiming()
    for sample, verdict in results:
        timing += StepTiming.of(verdict)
        seen.add(sample.task_id)
        missing[sample.task_id] += not verdict.valid
        outcomes[verdict.outcome] += 1
        if not verdict.has_code:
            without_code, example = without_code + 1, example or sample
        if verdict.valid:
            judges[verdict.judge] += 1
            judged[sample.task_id] += 1
            correct[sample.task_id] += verdict.passed
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


def write_row(file: Any, row: dict[str, Any]) -> None:
    """Write one line of a results file; lone surrogates are kept as JSON escapes."""
    file.write(json.dumps(row) + "\n")
    file.flush()  # After an interrupt, the finished rows are in the file.
