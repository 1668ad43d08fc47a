"""Reward terms for right answers that use few resources: length, CPU time and memory, compared with the reference.

Only an answer that passes every test gets a value above 0, so an answer gains nothing by leaving work out. The executor
measures what an answer used, from outside its process.
"""

from __future__ import annotations

from code_env.judging.verdict import Verdict
from code_env.tasks.task import (
    LEAST_REFERENCE_CPU_S,
    LEAST_REFERENCE_MEMORY_BYTES,
    REFERENCE_CPU_S,
    REFERENCE_MEMORY_BYTES,
    Task,
)


def brevity(task: Task, verdict: Verdict, free: float = 1.0, most: float = 3.0) -> float:
    """How short a right answer is: 1.0 up to `free` times the reference's length, 0.0 from `most` times its length on.

    In between, the value falls linearly. An answer that does not pass, and a task without a reference, score 0.0.
    """
    if not verdict.passed or not task.reference:
        return 0.0
    return _falling(len(verdict.code) / len(task.reference), free, most)


def cpu_economy(task: Task, verdict: Verdict, free: float = 1.5, most: float = 10.0) -> float:
    """How little CPU time a right answer takes: 1.0 up to `free` times the reference's time, 0.0 from `most` times on.

    In between, the value falls linearly. The reference's time is the task's `metadata["reference_cpu_s"]`, which
    `code-env validate --calibrate --write FILE` measures on this host. An answer that does not pass, and a task without
    that time, score 0.0.
    """
    return _beside(task, verdict, REFERENCE_CPU_S, verdict.execution.cpu_s, LEAST_REFERENCE_CPU_S, free, most)


def memory_economy(task: Task, verdict: Verdict, free: float = 1.5, most: float = 10.0) -> float:
    """As `cpu_economy`, for memory; the reference's memory is `metadata["reference_memory_bytes"]`.

    Memory is measured at intervals, so memory that is held for only a few milliseconds might be missed.
    """
    used = verdict.execution.peak_memory_bytes
    return _beside(task, verdict, REFERENCE_MEMORY_BYTES, used, LEAST_REFERENCE_MEMORY_BYTES, free, most)


def _beside(task: Task, verdict: Verdict, key: str, used: float, least: float, free: float, most: float) -> float:
    allowed = task.metadata.get(key)
    if not verdict.passed or not isinstance(allowed, int | float):
        return 0.0
    return _falling(max(used, least) / max(allowed, least), free, most)


def _falling(ratio: float, free: float, most: float) -> float:
    return min(1.0, max(0.0, (most - ratio) / (most - free)))
