"""Training for pass@4 ends with more of it than training for pass@1, and the other way round."""

import importlib.util

import pytest

from support import ROOT

spec = importlib.util.spec_from_file_location("group_pass_at_k", ROOT / "examples" / "group_pass_at_k.py")
bandits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bandits)


@pytest.mark.parametrize("seed", [0, 1])
def test_each_reward_brings_what_it_rewards(seed):
    for_one, for_four = (bandits.train(k, seed)[-1] for k in (1, 4))
    assert bandits.chance_of_a_pass(for_four, 4) > bandits.chance_of_a_pass(for_one, 4) + 0.1
    assert bandits.chance_of_a_pass(for_one, 1) > bandits.chance_of_a_pass(for_four, 1) + 0.05
