"""What outputs score that are made to score: the table in docs/rewards.md, and that it takes no time to make."""

import random
from pathlib import Path
from typing import get_args

import pytest

from code_env.harness.judge.mentions import mentions
from code_env.rewards.similarity import Measure, similarity

DOCUMENT = Path(__file__).parents[2] / "docs" / "rewards.md"
LINES = ["alpha 1", "beta 2", "gamma 3", "delta 4", "epsilon 5"]
EXPECTED = "\n".join(LINES)
WORDS = [f"{letter}{number}" for letter in "abcdefgh" for number in range(2000)]
NOISE = random.Random(0).randbytes(100_000).decode("utf-8", "replace")

OUTPUTS = {
    "the expected output": EXPECTED,
    "its lines in reverse": "\n".join(LINES[::-1]),
    "its first line": LINES[0],
    "with 50 lines of junk around": "\n".join(["junk 0"] * 25 + LINES + ["junk 0"] * 25),
    "1,000 times over": "\n".join(LINES * 1000),
    "within all words and numbers": " ".join([*WORDS, *EXPECTED.split(), *map(str, range(10_000))]),
    "10 MB of one letter": "a" * 10_000_000,
    "100 kB of noise": NOISE,
    "nothing": "",
}
MEASURES = get_args(Measure)


def table():
    head = ["output", *(f"`{measure}`" for measure in MEASURES)]
    rows = [
        [name, *(f"{similarity(EXPECTED, output, measure):.2f}" for measure in MEASURES)]
        for name, output in OUTPUTS.items()
    ]
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]


def test_the_table_in_the_document_is_what_is_measured():
    assert "\n".join(table()) in DOCUMENT.read_text()


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name != "the expected output"])
@pytest.mark.parametrize("measure", [measure for measure in MEASURES if measure != "rewardkit_words"])
def test_a_hostile_output_scores_no_more_than_what_it_has_in_common(name, measure):
    output = OUTPUTS[name]
    share = 2 * len(EXPECTED) / (len(EXPECTED) + len(output))
    least = {"its lines in reverse": 0.65, "its first line": 0.4}.get(name, share)
    assert similarity(EXPECTED, output, measure) <= least + 0.01
    assert similarity(EXPECTED, output, measure) == similarity(output, EXPECTED, measure)


@pytest.mark.parametrize("name", OUTPUTS)
def test_insights_are_looked_for_where_a_finding_would_be(name):
    found = mentions(OUTPUTS[name], "epsilon 5")
    assert found is (
        name in ("the expected output", "its lines in reverse", "with 50 lines of junk around", "1,000 times over")
    )


def test_rewardkits_search_is_the_one_that_can_be_bought():
    everything = OUTPUTS["within all words and numbers"]
    assert mentions(everything, "epsilon 5", "rewardkit_substring")
    assert similarity(EXPECTED, everything, "rewardkit_words") == 1.0
