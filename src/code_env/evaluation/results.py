"""The lines of the results file: one for each sample, with all that is needed to see why it failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from code_env.judging.timing import StepTiming
from code_env.judging.verdict import CaseResult, Verdict
from code_env.numbered_lines import Row
from code_env.text import clip

from .samples import Sample

_MOST_CASES = 20
"""A line describes at most so many of the cases that did not pass."""

_MOST_CHARS = 4000
"""A line holds at most so many characters of an output; the middle of a longer output is left out."""


def sample_row(number: int, sample: Sample, verdict: Verdict, about: Mapping[str, str]) -> Row:
    """Return a sample's line for the results file.

    Args:
        number: The number of the sample, from 0.
        sample: The sample.
        verdict: Its verdict.
        about: What is the same for all samples: the executor, its level of isolation, the version of this package.
    """
    failed = [case for case in verdict.cases if not case.passed]
    execution, error = verdict.execution, verdict.execution.error
    return {
        "sample": number,
        "task_id": sample.task_id,
        "completion": sample.completion,
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
        "failed_cases": [_case_row(case) for case in failed[:_MOST_CASES]],
        "stdout": clip(execution.stdout, _MOST_CHARS),
        "stderr": clip(execution.stderr, _MOST_CHARS),
        "cpu_s": execution.cpu_s,
        "peak_memory_bytes": execution.peak_memory_bytes,
        "timing": dataclasses.asdict(StepTiming.of(verdict)),
        **about,
    }


def _case_row(case: CaseResult) -> Row:
    return {
        "test": case.test,
        "case": case.case,
        "hidden": case.hidden,
        "status": str(case.status),
        "message": case.message,
        "expected": case.expected,
        "actual": case.actual,
        "stderr": clip(case.stderr, _MOST_CHARS),
        "cpu_s": case.cpu_s,
    }
