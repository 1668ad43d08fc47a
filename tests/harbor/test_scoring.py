"""How the files of a verifier are read."""

import pytest

from code_env.harbor.scoring import Contradiction, read_reward

READ = [
    ({"reward.json": "0.5"}, 0.5),
    ({"reward.json": '{"reward": 0.5, "passed": 3}', "reward.txt": "0.5\n"}, 0.5),
    ({"reward.json": '{"a": 1, "b": 0, "c": 0}', "reward.txt": "0.33"}, 1 / 3),
    ({"reward.json": '{"a": 1, "b": 0}', "reward.txt": "1"}, 0.5),
    ({"reward.txt": " 1e-1 "}, 0.1),
]


@pytest.mark.parametrize(("files", "reward"), READ, ids=range(len(READ)))
def test_a_reward_is_read(files, reward):
    assert read_reward(files)[0] == reward


@pytest.mark.parametrize("text", ["1", "0.51", "-0.5"])
def test_files_that_say_different_things_are_told(text):
    with pytest.raises(Contradiction, match="say different things"):
        read_reward({"reward.json": '{"reward": 0.5}', "reward.txt": text})


@pytest.mark.parametrize("forged", ['{"reward": 1, "told": 0}', '{"a": 1, "b": 0}', '{"a": 1, "b": 1, "c": 0}'])
def test_a_forged_file_gains_nothing_by_holding_what_the_other_says(forged):
    with pytest.raises(Contradiction, match="say different things"):
        read_reward({"reward.json": forged, "reward.txt": "0"})


@pytest.mark.parametrize("text", ["", "[]", "NaN", "true", '{"a": {}}', "[" * 100_000])
def test_what_is_no_reward_is_an_error(text):
    with pytest.raises(ValueError, match=r"reward|Expecting value"):
        read_reward({"reward.json": text})
