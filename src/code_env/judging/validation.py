"""Proves a suite before use: each reference scores 1.0, an empty answer 0.0, and doing nothing does not pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from code_env.executors.base import Executor
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import Task

from .judge import judge_many
from .verdict import Verdict

_BATCH = 16
"""Tasks judged at a time, so that progress shows."""


@dataclass(frozen=True)
class ValidationFinding:
    """What is wrong with one task."""

    task_id: str
    """The task."""
    problem: str
    """What is wrong, in a sentence."""


def validate(
    suite: TaskSuite, executor: Executor, *, progress: Callable[[int], object] = lambda done: None
) -> list[ValidationFinding]:
    """Prove that each reference scores 1.0, an empty answer 0.0, and one that does nothing does not pass.

    Args:
        suite: The tasks.
        executor: Where references run.
        progress: Called with the number of tasks done.

    Returns:
        What is wrong; empty if the suite is sound.

    Example:
        >>> from code_env import load_suite, make_executor
        >>> with make_executor("local") as executor:
        ...     validate(load_suite("starter")[:2], executor)
        []
    """
    findings: list[ValidationFinding] = []
    for start in range(0, len(suite), _BATCH):
        tasks = list(suite[start : start + _BATCH])
        with_reference = [task for task in tasks if task.reference is not None]
        references = judge_many([(task, task.reference or "") for task in with_reference], executor)
        empty = judge_many([(task, "") for task in tasks], executor)
        idle = judge_many([(task, _doing_nothing(task)) for task in tasks], executor)
        findings += [
            ValidationFinding(t.id, "it has no reference to prove it with") for t in tasks if t.reference is None
        ]
        for task, verdict in zip(with_reference, references, strict=True):
            if not verdict.passed:
                findings.append(ValidationFinding(task.id, f"its reference does not pass: {_why(verdict)}"))
        for task, verdict in zip(tasks, empty, strict=True):
            if verdict.fraction != 0.0:
                findings.append(ValidationFinding(task.id, f"an empty answer scores {verdict.fraction}, not 0.0"))
        for task, verdict in zip(tasks, idle, strict=True):
            if verdict.passed:
                findings.append(ValidationFinding(task.id, "a program that does nothing passes"))
        progress(min(start + _BATCH, len(suite)))
    return findings


def _doing_nothing(task: Task) -> str:
    return f"def {task.entry_point}(*args, **kwargs):\n    pass\n" if task.entry_point else "pass\n"


def _why(verdict: Verdict) -> str:
    failed = next((case for case in verdict.cases if not case.passed), None)
    if failed is not None:
        return f"tests[{failed.test}]: {failed.message}"
    error = verdict.execution.error
    return f"no verdict: {error.message if error else verdict.execution.status}"
