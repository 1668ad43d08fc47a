"""Training rewards against their definition: all sets of k samples, one by one."""

import itertools
import random
import statistics

import pytest

from code_env.rewards import max_at_k_rewards, pass_at_k, pass_at_k_rewards


def by_enumeration(scores, k, baseline):
    """The definition of Walder and Karkhanis, set by set; samples without a score are not there."""
    places = [place for place, score in enumerate(scores) if score is not None]
    n, k = len(places), min(k, len(places))
    if baseline == "auto":
        baseline = "loo-1" if k > 1 else "loo"
    if baseline == "loo" and k == n and n > 1:
        baseline = "loo-1"
    rewards = [None] * len(scores)
    for i in places:
        sets = list(itertools.combinations(places, k))
        best = [max(scores[j] for j in chosen) for chosen in sets]
        rewards[i] = sum(value for value, chosen in zip(best, sets, strict=True) if i in chosen) / len(sets)
        others = [j for j in places if j != i]
        if baseline == "loo" and others:
            without = list(itertools.combinations(others, k))
            mean = sum(max(scores[j] for j in chosen) for chosen in without) / len(without)
            rewards[i] -= k * mean / (n - 1)
        elif baseline == "loo-1" and others:
            rest = [[scores[j] for j in chosen if j != i] for chosen in sets if i in chosen]
            rewards[i] -= sum(max(values, default=0.0) for values in rest) / len(sets)
    return rewards


def close(left, right):
    return [None if one is None else pytest.approx(one, abs=1e-12) for one in left] == right


@pytest.mark.parametrize("baseline", ["none", "loo", "loo-1", "auto"])
@pytest.mark.parametrize("n", range(1, 9))
def test_passes_are_rewarded_as_by_enumeration_with_every_mask(n, baseline):
    for k in range(1, n + 1):
        if baseline == "loo" and k == n:
            continue
        results = itertools.product([True, False, None], repeat=n) if n < 6 else _some(n, [True, False, None])
        for passed in results:
            scores = [None if one is None else float(one) for one in passed]
            assert close(by_enumeration(scores, k, baseline), pass_at_k_rewards(list(passed), k, baseline))


def _some(n, values):
    number = random.Random(n)
    return [[number.choice(values) for _ in range(n)] for _ in range(60)]


@pytest.mark.parametrize("n", range(1, 9))
def test_scores_are_rewarded_as_by_enumeration_ties_and_negative_ones_too(n):
    for k in range(1, n + 1):
        for scores in _some(n, [None, 0.0, 0.5, 0.5, 1.0, -1.0, 0.3, 2.5]):
            for baseline in ("none", "loo-1", "auto"):
                assert close(by_enumeration(scores, k, baseline), max_at_k_rewards(scores, k, baseline))


def test_without_a_baseline_they_add_up_to_k_times_the_estimate():
    passed = [True, False, False, True, False, False]
    for k in range(1, 7):
        assert sum(pass_at_k_rewards(passed, k, "none")) == pytest.approx(k * pass_at_k(6, 2, k))


@pytest.mark.parametrize("baseline", ["none", "loo", "loo-1", "auto"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_estimate_of_the_gradient_is_unbiased(k, baseline):
    """For a coin that shows heads with chance p: the sum over all results of chance times estimate is the gradient."""
    n, p = 4, 0.3
    gradient = k * (1 - p) ** (k - 1)
    estimate = 0.0
    for passed in itertools.product([True, False], repeat=n):
        chance = p ** sum(passed) * (1 - p) ** (n - sum(passed))
        score = [1 / p if one else -1 / (1 - p) for one in passed]
        estimate += chance * sum(
            reward * slope for reward, slope in zip(pass_at_k_rewards(passed, k, baseline), score, strict=True)
        )
    assert estimate == pytest.approx(gradient)


def test_a_baseline_lessens_the_variance():
    number = random.Random(1)
    groups = [[number.random() < 0.2 for _ in range(16)] for _ in range(400)]

    def spread(baseline):
        gradients = []
        for passed in groups:
            rewards = pass_at_k_rewards(passed, 4, baseline)
            gradients.append(sum(r * (5.0 if one else -1.25) for r, one in zip(rewards, passed, strict=True)))
        return statistics.pstdev(gradients)

    assert spread("loo-1") < spread("loo") < spread("none")


def test_large_groups_keep_their_precision():
    passed = [number % 100 == 0 for number in range(2000)]
    rewards = pass_at_k_rewards(passed, 500, "none")
    assert sum(rewards) == pytest.approx(500 * pass_at_k(2000, 20, 500), rel=1e-9)


def test_all_masked_is_nothing_and_the_mask_is_visible():
    assert pass_at_k_rewards([None, None], 1) == [None, None]
    assert pass_at_k_rewards([True, None], 2) == [pytest.approx(1.0), None]


@pytest.mark.parametrize(
    ("k", "baseline"), [(0, "auto"), (4, "auto"), (1.0, "auto"), (True, "auto"), (2, "mean"), (3, "loo")]
)
def test_arguments_that_do_not_fit_are_an_error(k, baseline):
    with pytest.raises(ValueError, match=r"k|baseline"):
        pass_at_k_rewards([True, False, True], k, baseline)
