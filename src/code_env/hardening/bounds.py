"""Reads from a statement which bounds it sets for a parameter by comparisons with numbers, such as `1 <= n <= 10^3`."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

_NUMBER = r"-?\d+(?:\.\d+)?(?:(?:\^|\*\*)\d+)?"
_AFTER = r"(?![\w*/%+^-]|\.\d)"
"""What cannot follow a number, because it would only be the beginning of one, or of an expression."""

_SPELLINGS = {"≤": "<=", "≥": ">=", r"\leq": "<=", r"\le": "<=", r"\geq": ">=", r"\ge": ">=", "`": "", "$": ""}

_CONDITION = re.compile(r"\b(?:if|when|while|unless|for)\s+$", re.IGNORECASE)
"""What stands before a comparison that tells cases apart, and so does not exclude any."""


class Bounds(NamedTuple):
    """What a statement allows as an argument."""

    low: float = -math.inf
    """The smallest number."""
    high: float = math.inf
    """The largest number."""
    shortest: float = -math.inf
    """The smallest length."""
    longest: float = math.inf
    """The largest length."""

    def allow(self, value: Any) -> bool:
        """Whether a value lies within the bounds; what is no number and has no length always does."""
        if isinstance(value, str | list | tuple | set | dict):
            return self.shortest <= len(value) <= self.longest
        return not isinstance(value, int | float) or self.low <= value <= self.high


def stated_bounds(statement: str, name: str) -> Bounds:
    """Read the bounds of a parameter.

    Args:
        statement: What a task says.
        name: The parameter.

    Example:
        >>> stated_bounds("Assume n > 1, and 0 <= len(xs) <= 10^3.", "n").allow(1)
        False
        >>> stated_bounds("Assume n > 1, and 0 <= len(xs) <= 10^3.", "xs").longest
        1000.0
    """
    for spelling, usual in _SPELLINGS.items():
        statement = statement.replace(spelling, usual)
    escaped = re.escape(name)
    low, high = _between(statement, rf"(?<![\w.\[(|]){escaped}(?![\w\[(|]|\.\w)")
    length = rf"(?<!\w)(?:len\(\s*{escaped}\s*\)|{escaped}\.length\b|\|{escaped}\|)"
    return Bounds(low, high, *_between(statement, length))


def _between(statement: str, subject: str) -> tuple[float, float]:
    """The bounds of what a pattern finds, from all comparisons of it with numbers."""
    low, high = -math.inf, math.inf
    sides = rf"(?:(?<![\w.])({_NUMBER})\s*([<>]=?)\s*)?{subject}(?:\s*([<>]=?)\s*({_NUMBER}){_AFTER})?"
    for found in re.finditer(sides, statement):
        if _CONDITION.search(statement, 0, found.start()):
            continue
        left, left_sign, right_sign, right = found.groups()
        # `1 < n` says of n what `n > 1` does.
        turned = None if left is None else (left_sign.translate(str.maketrans("<>", "><")), left)
        for sign, number in filter(None, (turned, None if right is None else (right_sign, right))):
            value = _value(number)
            if sign.startswith(">"):
                low = max(low, value if sign == ">=" else math.nextafter(value, math.inf))
            else:
                high = min(high, value if sign == "<=" else math.nextafter(value, -math.inf))
    return low, high


def _value(number: str) -> float:
    base, *power = re.split(r"\^|\*\*", number)
    try:
        return math.copysign(abs(float(base)) ** int(power[0]), float(base)) if power else float(base)
    except OverflowError:
        return math.copysign(math.inf, float(base))
