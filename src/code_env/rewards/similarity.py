"""How alike two texts are, by several measures, each bounded in time whatever the texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from rapidfuzz.distance import LCSseq, Levenshtein

from code_env.checks import require_choice
from code_env.errors import RewardError

Measure = Literal["tokens", "lines", "characters", "edit", "numbers", "exact", "rewardkit_words"]
"""What two texts are compared by:

- `tokens`, `lines`, `characters`: the share of both that lies in their longest common subsequence of these.
- `edit`: one less the Levenshtein distance in relation to the longer text.
- `numbers`: as `tokens`, of the numbers in them, which are the same if they are to six digits. Of texts without any
  number, as `exact`.
- `exact`: 1 or 0.
- `rewardkit_words`: the share of the expected words that occur anywhere, as RewardKit has it. **It can be bought**: a
  text of all words scores 1. It is here so that old figures can be had again.

White space at the ends is free."""

_MAX_UNITS = 20_000
"""Most units of a text that are compared, as the time grows with both lengths; the rest counts as different."""

_MAX_CHARS = 1_000_000
"""How far into a text numbers are looked for."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")


def similarity(expected: str, actual: str, measure: Measure = "tokens") -> float:
    """How alike two texts are, from 0 (nothing in common) to 1 (the same).

    In either order the same, `rewardkit_words` aside; so more than is expected costs as much as less.

    Args:
        expected: What should be.
        actual: What is.
        measure: What they are compared by.

    Raises:
        RewardError: If there is no such measure.

    Example:
        >>> similarity("1 2 3 4", "1 2 3 5"), similarity("1 2 3 4", "4 3 2 1")
        (0.75, 0.25)
        >>> similarity("x = 0.5", "0.50 or 7", "numbers"), similarity("kitten", "sitting", "edit")
        (0.6666666666666666, 0.5714285714285714)
    """
    require_choice("measure", measure, get_args(Measure), RewardError)
    expected, actual = expected.strip(), actual.strip()
    if measure == "rewardkit_words":
        return _share_of_words(expected, actual)
    if measure == "exact" or expected == actual:
        return float(expected == actual)
    if measure == "edit":
        distance = Levenshtein.distance(expected[:_MAX_UNITS], actual[:_MAX_UNITS])
        most, compared = max(len(expected), len(actual)), min(_MAX_UNITS, max(len(expected), len(actual)))
        return (compared - distance) / most
    left, right = _units(expected, measure), _units(actual, measure)
    if not left and not right:
        return 0.0
    common = LCSseq.similarity(left[:_MAX_UNITS], right[:_MAX_UNITS])
    return 2 * common / (len(left) + len(right))


def _units(text: str, measure: Measure) -> Sequence[str]:
    if measure == "characters":
        return text
    if measure == "numbers":
        return [f"{float(number):.6g}" for number in _NUMBER.findall(text[:_MAX_CHARS])]
    return text.split() if measure == "tokens" else text.splitlines()


def _share_of_words(expected: str, actual: str) -> float:
    wanted = set(expected.lower().split())
    if not expected:
        return float(not actual)
    return len(wanted & set(actual.lower().split())) / len(wanted)
