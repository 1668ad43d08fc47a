"""Whether a text mentions what it should tell: how insights of a data analysis are found in its output."""

from __future__ import annotations

import re

FIND_RULES = ("mention", "rewardkit_substring")
"""Names of the rules."""

MAX_CHARS = 4000
"""How much of an output is searched, in characters: enough for findings, little for a list of all one can think of."""


def mentions(text: str, insight: str, rule: str = "mention", max_chars: int = MAX_CHARS) -> bool:
    """Whether a text mentions an insight.

    `mention` looks for the insight as whole words and numbers, whatever the case and the white space between them, in
    the first `max_chars` characters: what is printed beyond them counts for nothing. `rewardkit_substring` is
    RewardKit's search, any substring of all that was printed, and can be bought: a program that prints every word
    mentions everything.

    Args:
        text: The output.
        insight: What it should tell.
        rule: The name of the rule.
        max_chars: How much of the output is searched, with `mention`.

    Raises:
        ValueError: If there is no such rule.

    Example:
        >>> mentions("The mean  Price is 12.5 EUR.", "mean price is 12.5"), mentions("mean is 12.57", "12.5")
        (True, False)
        >>> mentions("mean: 3.0", "mean: 3"), mentions("mean: 3.05", "mean: 3")
        (True, False)
    """
    if rule == "rewardkit_substring":
        return insight.lower() in text.lower()
    if rule != "mention":
        raise ValueError(f"rule must be one of {', '.join(FIND_RULES)}; got {rule!r}")
    words = " ".join(insight.casefold().split())
    where = " ".join(text[:max_chars].casefold().split())
    # A number goes on behind a point, and a sentence ends with one; 3.0 is 3.
    return re.search(rf"(?<![\w.]){re.escape(words)}(?!\w|,\d|\.\d*[1-9])", where) is not None
