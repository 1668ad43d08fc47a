"""Draws of tests: fair on average, whatever the weights."""

import itertools

import numpy as np
import pytest

from code_env import OutputTest, Task
from code_env.tasks.drawing import draw_tests


def task_of(*weights):
    return Task("t", "", tuple(OutputTest(str(number), weight=weight) for number, weight in enumerate(weights)))


@pytest.mark.parametrize(
    "weights", [(1, 1, 1, 1), (1, 2, 3, 4), (10, 1, 1, 1), (100, 50, 1, 1, 1), (1, 1), (1e-300, 1e300, 1e300)]
)
def test_the_share_of_what_is_drawn_is_right_on_average(weights):
    task = task_of(*weights)
    rng = np.random.default_rng(0)
    scale = max(weights)
    whole = [weight / scale for weight in weights]
    passed = [number % 2 == 0 for number in range(len(weights))]
    truth = sum(w for w, p in zip(whole, passed, strict=True) if p) / sum(whole)
    for count in range(1, len(weights)):
        shares = []
        for _ in range(4000):
            drawn = draw_tests(task, count, rng)
            assert len(drawn.tests) == count
            assert list(drawn.tests) == sorted(set(drawn.tests))
            assert [test.expected for test in drawn.task.tests] == [str(number) for number in drawn.tests]
            mass = [test.weight for test in drawn.task.tests]
            share = sum(w for w, number in zip(mass, drawn.tests, strict=True) if passed[number]) / sum(mass)
            assert 0 <= share <= 1
            shares.append(share)
        assert np.mean(shares) == pytest.approx(truth, abs=4 * np.std(shares) / np.sqrt(len(shares)) + 1e-12)


def test_each_set_may_be_drawn():
    rng = np.random.default_rng(1)
    seen = {draw_tests(task_of(1, 1, 1, 1), 2, rng).tests for _ in range(500)}
    assert seen == set(itertools.combinations(range(4), 2))


def test_as_many_as_there_are_is_the_task_itself():
    task = task_of(1, 2)
    for count in (2, 3):
        assert draw_tests(task, count, np.random.default_rng(0)).task is task


def test_the_same_generator_draws_the_same():
    task = task_of(1, 2, 3, 4, 5)
    assert draw_tests(task, 3, np.random.default_rng(5)) == draw_tests(task, 3, np.random.default_rng(5))
