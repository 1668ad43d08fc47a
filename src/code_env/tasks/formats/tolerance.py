"""Finds out from a problem's statement how large the error of an answer may be.

Statements say this in words: "if its absolute or relative error does not exceed 10^{-6}". A sentence counts only if it
mentions an error, or answers within a bound, and contains a small number. Without such a sentence the answer must be
exact: a tolerance that the statement does not grant would let wrong answers pass.
"""

from __future__ import annotations

import functools
import re

from ..comparison import Comparison

_POWER = r"10\s*(?:\^|\*\*|<sup>|\\\^)?\s*[({]*\s*(?:-|−|–|&minus;)\s*[({]*\s*(?P<power>\d{1,2})(?!\d)"
_SCIENTIFIC = r"(?<![\w.])(?P<mantissa>\d+(?:\.\d+)?)[eE](?:-|−|–)(?P<exponent>\d{1,2})(?![\d.]*\d)"
_DECIMAL = r"(?<![\w.])(?P<decimal>0\.0*[1-9]\d*)"
_BOUND = re.compile(f"{_POWER}|{_SCIENTIFIC}|{_DECIMAL}")
"""A small number, as statements write it: `10^{-6}`, `10-6` (an exponent that is no longer raised), `1e-6`,
`0.000001`."""

_ERROR = r"(?:errors?|differences?|deviations?|tolerances?|precision)"
_MEASURED = re.compile(
    rf"\b(?P<kind>absolute|relative)\b.{{0,60}}?\b{_ERROR}\b|\b{_ERROR}\b.{{0,60}}?\b(?:absolute|relative)\b", re.I
)
_AT_MOST = re.compile(
    rf"\b{_ERROR}\b.{{0,60}}?\b(?:exceeds?|at most|(?:less|more|larger|greater|smaller) than|within|up to|below)\b"
    rf"|\bwithin\b.{{0,40}}?\b(?:of the|from the)\b.{{0,40}}?\b(?:answers?|values?|outputs?|solutions?|results?)\b"
    rf"|\b(?:accurate|correct|precise)\b.{{0,20}}?\b(?:within|up to)\b"
    rf"|\b(?:answers?|outputs?|results?)\b.{{0,20}}?\bwithin\b.{{0,40}}?\b(?:accepted|correct)\b"
    rf"|\b(?:a |an |with )(?:tolerance|precision|accuracy) of\b",
    re.I,
)

_PROMISED = re.compile(r"\bguarantee[sd]?\b", re.I)
_OF_AN_ANSWER = re.compile(
    r"\b(?:answers?|outputs?|results?|solutions?|print(?:ed)?|your|judges?|jury|checker)\b", re.I
)
_OF_A_QUANTITY = re.compile(r"\b(?:differences?|deviations?|between)\b", re.I)
_OF_MANY = re.compile(r"\b(?:each|every|any)\b", re.I)

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\n\s*\n")
_LARGEST_BOUND = 0.1
"""A larger number is not a bound on an error, but a quantity of the problem."""


@functools.lru_cache(maxsize=64)
def stated_tolerance(statement: str) -> Comparison | None:
    """The rule `numbers` with the error that the statement allows; None if it allows none.

    Example:
        >>> stated_tolerance("Print x. Its absolute error must not exceed 10^{-4}.")
        Comparison(rule='numbers', rel=0.0, abs=0.0001)
        >>> stated_tolerance("Print x modulo 10^9 + 7.") is None
        True
    """
    for sentence in _SENTENCE.split(statement):
        flat = " ".join(sentence.split())
        if _may_grant(flat):
            bound = _bound(flat)
            if bound is not None:
                return _comparison(flat, bound)
    return None


def _may_grant(sentence: str) -> bool:
    """Whether a sentence is about the error of an answer, and not about how close numbers of the problem are."""
    is_measured = _MEASURED.search(sentence) is not None
    if _PROMISED.search(sentence) or not (is_measured or _AT_MOST.search(sentence)):
        return False
    if _OF_AN_ANSWER.search(sentence):
        return True
    return not _OF_A_QUANTITY.search(sentence) and (is_measured or not _OF_MANY.search(sentence))


def _bound(sentence: str) -> float | None:
    for found in _BOUND.finditer(sentence):
        if found["power"]:
            bound = float(f"1e-{found['power']}")
        elif found["exponent"]:
            bound = float(f"{found['mantissa']}e-{found['exponent']}")
        else:
            bound = float(found["decimal"])
        if 0 < bound <= _LARGEST_BOUND:
            return bound
    return None


def _comparison(sentence: str, bound: float) -> Comparison:
    lower = sentence.lower()
    absolute, relative = "absolute" in lower, "relative" in lower
    both = absolute == relative
    return Comparison("numbers", rel=bound if both or relative else 0.0, abs=bound if both or absolute else 0.0)


def text_rule(statement: str, otherwise: str) -> Comparison:
    """The rule for a program's output: the rule that the statement states, or else the rule named `otherwise`."""
    return stated_tolerance(statement) or Comparison(otherwise)


def value_rule(statement: str) -> Comparison:
    """The rule for what a call returns: `close` if the statement allows an error, else `equal`."""
    stated = stated_tolerance(statement)
    return Comparison("close", rel=stated.rel, abs=stated.abs) if stated else Comparison("equal")
