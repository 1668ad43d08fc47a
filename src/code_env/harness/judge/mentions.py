"""Decides whether a text mentions an insight: how insights of a data analysis are found in its output."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

FIND_RULES = ("mention", "rewardkit_substring")
"""Names of the rules."""

MAX_CHARS = 4000
"""How much of an output is searched, in characters. It is enough for findings, and too little to list every guess."""

_LONGEST_TOKEN = 200
"""How far beyond `max_chars` the text is read, in characters, so that a word or number at the limit is not cut."""

_MOST_DIGITS = 100
"""Numbers with more digits than this are compared as text."""

_TOKEN = re.compile(
    r"""
    (?P<compound>\d+(?:[:/-]\d+)+)                                                     # A date, a time, a fraction.
    | (?P<number>(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?!\w|\.\d))
    | (?P<word>\w+)
    | (?P<percent>%)
    """,
    re.VERBOSE,
)

_Token = tuple[str, object]


def mentions(text: str, insight: str, rule: str = "mention", max_chars: int = MAX_CHARS) -> bool:
    """Whether a text mentions an insight.

    `mention` looks for the insight's words and numbers, one after another, in the first `max_chars` characters and
    ignores the rest of the text. Case, white space and punctuation are ignored. Numbers are compared by their value:
    12.50 is 12.5, 1,234 is 1234, and -5 is not 5. A date or a time is one word. `rewardkit_substring` is RewardKit's
    search: any substring of the whole output. A policy can exploit it: a program that prints every word mentions
    everything.

    Args:
        text: The output.
        insight: The insight that the output should mention.
        rule: The name of the rule.
        max_chars: How much of the output `mention` searches, in characters.

    Raises:
        ValueError: If the rule is unknown.

    Example:
        >>> mentions("The mean  Price is 12.50 EUR.", "mean price: 12.5"), mentions("mean is 12.57", "mean is 12.5")
        (False, False)
        >>> mentions("The mean  Price is 12.50 EUR.", "mean price is 12.5"), mentions("total: 1,234", "total 1234")
        (True, True)
    """
    if rule == "rewardkit_substring":
        return insight.lower() in text.lower()
    if rule != "mention":
        raise ValueError(f"rule must be one of {', '.join(FIND_RULES)}; got {rule!r}")
    wanted = [token for token, _ in _tokens(insight)]
    if not wanted:  # The insight has no word and no number.
        return insight.strip() in text[:max_chars]
    found = [token for token, end in _tokens(text[: max_chars + _LONGEST_TOKEN]) if end <= max_chars]
    return any(found[start : start + len(wanted)] == wanted for start in range(len(found) - len(wanted) + 1))


def _tokens(text: str) -> Iterator[tuple[_Token, int]]:
    """Yield the words and numbers of a text, each with its end position in the text."""
    # Each character is replaced by one character, so that positions do not change.
    flat = "".join(map(_one_form, unicodedata.normalize("NFC", text)))
    for match in _TOKEN.finditer(flat):
        kind, token = str(match.lastgroup), match[0]
        yield (kind, _number(token) if kind == "number" else token), match.end()


def _one_form(character: str) -> str:
    if character == "\N{MINUS SIGN}":
        return "-"
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _number(token: str) -> object:
    plain = token.replace(",", "")
    if len(plain) > _MOST_DIGITS:
        return plain
    return int(plain) if plain.lstrip("-").isdecimal() else float(plain)
