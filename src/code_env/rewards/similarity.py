"""The similarity of two texts, by several measures; the time for each measure is bounded for all texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from rapidfuzz.distance import LCSseq, Levenshtein

from code_env.checks import require_choice
from code_env.errors import RewardError

Measure = Literal["tokens", "lines", "characters", "edit", "numbers", "exact", "rewardkit_words"]
"""The measures of similarity:

- `tokens`, `lines`, `characters`: the share of both texts that is in their longest common subsequence of tokens, lines
  or characters.
- `edit`: one minus the Levenshtein distance divided by the length of the longer text.
- `numbers`: like `tokens`, but for the numbers in both texts. Two numbers are the same if they agree to six digits. If
  neither text contains a number, the measure is `exact`.
- `exact`: 1 if the texts are the same, otherwise 0.
- `rewardkit_words`: the share of the expected words that occur anywhere in the output, as in RewardKit. **A policy can
  cheat it**: a text that contains all words scores 1. The measure exists so that old results can be reproduced.

White space at both ends of a text is ignored."""

_MAX_UNITS = 20_000
"""The largest number of units of a text that are compared, because the time grows with both lengths. The rest of the
text counts as different."""

_MAX_CHARS = 1_000_000
"""The largest number of characters of a text that are searched for numbers."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")


def similarity(expected: str, actual: str, measure: Measure = "tokens") -> float:
    """The similarity of two texts, from 0 (nothing in common) to 1 (the same).

    All measures except `rewardkit_words` are symmetric, so extra output lowers the value as much as missing output.

    Args:
        expected: The expected text.
        actual: The actual text.
        measure: `tokens`, `lines`, `characters`, `edit`, `numbers`, `exact` or `rewardkit_words`; docs/rewards.md
            explains them.

    Raises:
        RewardError: If the measure is unknown.

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
