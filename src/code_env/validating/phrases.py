"""Finds statements that allow several right answers, while the tests accept only one.

Statements allow this in a few common phrases. Each `Phrase` says what is allowed, and which comparison rules accept it:
if the tests of a task compare by another rule, they fail right answers. `assert` tests are left out: they are code, and
can compare in any way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from code_env.tasks.comparison import Comparison
from code_env.tasks.task import Task


@dataclass(frozen=True)
class Phrase:
    """One way in which statements allow several answers."""

    name: str
    """What it allows, in words."""
    pattern: re.Pattern[str]
    """Matches the phrase in a statement; a match never goes beyond the end of a sentence."""
    rules: frozenset[str]
    """The comparison rules that accept all answers that the phrase allows."""


_ASKS = r"(?<!not )(?<!n't )\b(?:print|output|return|find|give|choose|report|write|display|construct)"
_ANSWERS = r"(?:answers?|solutions?|outputs?|results?|ways?|possibilities|options?)"
_ONE_OF_THEM = r"smallest|largest|minimum|minimal|maximum|maximal|first|last|lexicographical|lowest|highest|earliest"
"""If a statement says "if there are several answers" and then one of these words, only one answer is right."""


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


PHRASES = (
    Phrase(
        "any order",
        _pattern(
            rf"{_ASKS}\b[^.!?]{{0,80}}?\bin (?:any|an arbitrary|arbitrary) order\b",
            rf"\b{_ANSWERS} in (?:any|an arbitrary|arbitrary) order\b",
            r"\bany order (?:is|will be) (?:fine|accepted|acceptable|ok|okay|allowed)\b",
            rf"\border of (?:the |your )?{_ANSWERS}\b[^.!?]{{0,30}}?\b(?:does not|doesn't) matter\b",
        ),
        frozenset({"unordered", "multiset"}),
    ),
    Phrase(
        "an error",
        _pattern(
            r"\b(?:absolute|relative)(?: or (?:absolute|relative))?\b[^.!?]{0,30}?\berror\b",
            rf"\b{_ANSWERS} within [^!?]{{1,40}}?\b(?:accepted|correct)\b",
        ),
        frozenset({"numbers", "close"}),
    ),
    Phrase(
        "any of several answers",
        _pattern(
            rf"{_ASKS}\s+any\b(?! (?:more|other|extra|additional|further)\b)",
            rf"{_ASKS}\b[^.!?]{{0,80}}?\bany (?:one )?of (?:them|these|those)\b",
            rf"\bany (?:one )?(?:valid|correct|optimal|such|possible|acceptable) {_ANSWERS}\b",
            rf"\bany (?:of the )?{_ANSWERS}\b[^.!?]{{0,40}}?\baccepted\b",
            r"\ball (?:valid|correct|possible) (?:answers|solutions) (?:are|will be) accepted\b",
            rf"\bif there (?:are|is|exists?) (?:multiple|several|many|more than one)\b[^.!?]{{0,40}}?\b{_ANSWERS}\b"
            rf"(?![^.!?]*\b(?:{_ONE_OF_THEM}))",
            rf"\b{_ANSWERS} (?:is|are|may|might|need) not (?:be |necessarily )?unique\b",
        ),
        # No comparison rule: only a checker could decide which answers are right.
        frozenset(),
    ),
)
"""The phrases to look for. Statements use other phrases too; these are common, and rarely mean anything else."""


def several_answers(statement: str) -> Iterator[tuple[Phrase, str]]:
    """Find the phrases of a statement that allow several right answers, each with the words that matched.

    Example:
        >>> for phrase, words in several_answers("If there are several solutions, print any of them."):
        ...     print(phrase.name, "|", words)
        any of several answers | If there are several solutions
    """
    flat = " ".join(statement.split())
    for phrase in PHRASES:
        found = phrase.pattern.search(flat)
        if found is not None:
            yield phrase, found[0]


def denied_answers(task: Task) -> Iterator[tuple[Phrase, str, list[int]]]:
    """Find what a task's statement allows but its tests reject: the phrase, its words, and the indexes of the tests."""
    for phrase, words in several_answers(task.prompt):
        tests = [
            index
            for index, test in enumerate(task.tests)
            if isinstance(rule := getattr(test, "compare", None), Comparison) and rule.rule not in phrase.rules
        ]
        if tests:
            yield phrase, words, tests
