"""Draws some of a task's tests, so that the pass fraction over the drawn tests is right on average.

Tests are drawn without replacement. The probability of a test is proportional to its weight; a test is always drawn if
its weight is so large that this probability would exceed 1. The drawn tests get new weights, so that the weighted share
of drawn tests that pass is an unbiased estimate of the weighted share of all tests that pass. The estimator is that of
Horvitz and Thompson 1952; the tests are drawn by the systematic sampling of Madow 1949, in random order.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from .kinds import CellTest
from .task import Task


@dataclass(frozen=True)
class DrawnTask:
    """A task with some of its tests."""

    task: Task
    """The task as it is judged."""
    tests: tuple[int, ...]
    """For each of its tests, the index in the whole task's tests."""


def draw_tests(task: Task, count: int, rng: np.random.Generator) -> DrawnTask:
    """Draw some tests of a task; they keep the order that they have in the task.

    Args:
        task: The whole task.
        count: How many tests to draw. All tests are taken if the task has no more than this, or if it has `cell` tests.
        rng: The random generator.

    Example:
        >>> from code_env import load_suite
        >>> task = load_suite("starter").task("starter/xor-seal")
        >>> drawn = draw_tests(task, 2, np.random.default_rng(0))
        >>> [task.tests[index].kind == test.kind for index, test in zip(drawn.tests, drawn.task.tests)]
        [True, True]
    """
    # A cell uses what earlier cells have left, so a task with cells keeps all its tests.
    if count >= len(task.tests) or any(isinstance(test, CellTest) for test in task.tests):
        return DrawnTask(task, tuple(range(len(task.tests))))
    weights = np.array([test.weight for test in task.tests])
    weights = np.maximum(weights / weights.max(), np.finfo(float).tiny)  # So that their sum is finite and not 0.
    always = np.zeros(len(weights), dtype=bool)
    while True:
        left, total = count - int(always.sum()), float(weights[~always].sum())
        heavy = ~always & (weights * left >= total) if left and total else np.zeros_like(always)
        if not heavy.any():
            break
        always |= heavy
    drawn = always.copy()
    if left and total:
        order = rng.permutation(np.flatnonzero(~always))
        reached = np.cumsum(weights[order]) * (left / total)
        places = np.searchsorted(reached, rng.random() + np.arange(left), side="right")
        drawn[order[np.minimum(places, len(order) - 1)]] = True
    chosen = np.flatnonzero(drawn).tolist()
    tests = tuple(
        dataclasses.replace(task.tests[index], weight=float(weights[index]) if always[index] else total / left)
        for index in chosen
    )
    return DrawnTask(dataclasses.replace(task, tests=tests), tuple(chosen))
