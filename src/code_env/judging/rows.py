"""What a line of a results file or of a trajectory says of a judged program: enough to see why it failed."""

from __future__ import annotations

import dataclasses
from typing import Any, TypedDict

from code_env.executors.base import Executor
from code_env.executors.registry import name_of
from code_env.tasks.kinds import AssertTest
from code_env.tasks.task import Task
from code_env.text import clip
from code_env.version import VERSION

from .timing import StepTiming
from .verdict import CaseResult, Verdict

_MOST_CASES = 20
"""The most cases that did not pass which a line describes."""

_MOST_CHARS = 4000
"""The most characters of an output in a line; the middle of a longer output is left out."""

_EXAMPLE_CHARS = 1000
"""The most characters of a test in a line."""


def judged_by(executor: Executor) -> dict[str, str]:
    """Return what judged programs, as data for JSON: the executor's name, its level, the version of this package."""
    return {"executor": name_of(executor), "level": executor.describe().level, "version": VERSION}


class VerdictRow(TypedDict):
    """A verdict as data for JSON. The names are those of `Verdict` and its execution, unless a comment says more."""

    language: str
    code: str
    passed: bool
    outcome: str
    stage: str | None
    fraction: float | None
    tests_passed: int
    tests_total: int
    judge: str
    status: str
    message: str  # Why the first case failed, or the program's own error.
    failed_cases: list[dict[str, Any]]  # The first of them.
    stdout: str  # Shortened, as `stderr` is.
    stderr: str
    cpu_s: float
    peak_memory_bytes: int
    timing: dict[str, float]  # The fields of `StepTiming`.


def verdict_row(task: Task, verdict: Verdict) -> VerdictRow:
    """Return a verdict as data for JSON. The response that the program was extracted from is not in it.

    Args:
        task: The task that was answered.
        verdict: The verdict.
    """
    failed = [case for case in verdict.cases if not case.passed]
    execution, error = verdict.execution, verdict.execution.error
    return {
        "language": task.language,
        "code": verdict.code,
        "passed": verdict.passed,
        "outcome": str(verdict.outcome),
        "stage": None if verdict.stage is None else str(verdict.stage),
        "fraction": verdict.fraction,
        "tests_passed": verdict.tests_passed,
        "tests_total": verdict.tests_total,
        "judge": verdict.judge,
        "status": str(execution.status),
        "message": failed[0].message if failed else error.message if error else "",
        "failed_cases": [_case_row(task, case) for case in failed[:_MOST_CASES]],
        "stdout": clip(execution.stdout, _MOST_CHARS),
        "stderr": clip(execution.stderr, _MOST_CHARS),
        "cpu_s": execution.cpu_s,
        "peak_memory_bytes": execution.peak_memory_bytes,
        "timing": dataclasses.asdict(StepTiming.of(verdict)),
    }


def _case_row(task: Task, case: CaseResult) -> dict[str, Any]:
    test = task.tests[case.test]
    # The source of an assert is what the case expects.
    example = "" if isinstance(test, AssertTest) else clip(test.example(task.entry_point or ""), _EXAMPLE_CHARS)
    return {
        "test": case.test,
        "case": case.case,
        "kind": test.kind,
        "hidden": case.hidden,
        "example": example,
        "status": str(case.status),
        "message": case.message,
        "expected": case.expected,
        "actual": case.actual,
        "stderr": clip(case.stderr, _MOST_CHARS),
        "cpu_s": case.cpu_s,
    }
