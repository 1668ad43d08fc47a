"""Draws some of a task's tests, so that the share of them that passes is right on average.

Tests are drawn without replacement, each with a chance in proportion to its weight (a test that weighs so much that
this would pass 1 is always drawn), and get weights such that the weighted share of the drawn ones that pass is an
unbiased estimate of that of all: Horvitz and Thompson 1952, over the systematic draw of Madow 1949 in random order.
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
    """Where its tests are among those of the whole task."""


def draw_tests(task: Task, count: int, rng: np.random.Generator) -> DrawnTask:
    """Draw tests of a task, in their order.

    Args:
        task: The whole task.
        count: How many tests; if there are no more, or cells are among them, all are taken.
        rng: What they are drawn from.

    Example:
        >>> from code_env import load_suite
        >>> task = load_suite("starter").task("starter/xor-seal")
        >>> drawn = draw_tests(task, 2, np.random.default_rng(0))
        >>> [task.tests[index].kind == test.kind for index, test in zip(drawn.tests, drawn.task.tests)]
        [True, True]
    """
    # Cells find what those before them have left, so there are all of them or none.
    if count >= len(task.tests) or any(isinstance(test, CellTest) for test in task.tests):
        return DrawnTask(task, tuple(range(len(task.tests))))
    weights = np.array([test.weight for test in task.tests])
    weights = np.maximum(weights / weights.max(), np.finfo(float).tiny)  # So that their sum is a number.
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
