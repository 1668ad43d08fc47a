"""Reward terms: pure functions from a task and a verdict to a number from 0 to 1.

The same function serves the wrapper, the vector env, trainers' reward functions and evaluation. A
term sees verdicts only, never runs anything, and is never asked about an answer without a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

from rapidfuzz.distance import LCSseq

from code_env.errors import RewardError
from code_env.executors.result import Status
from code_env.harness.comparing import ends
from code_env.judging.verdict import CaseResult, Outcome, Verdict
from code_env.tasks.kinds import OutputTest, StdinTest
from code_env.tasks.task import Task

Term = Callable[[Task, Verdict], float]
"""A reward term."""

Measure = Literal["tokens", "lines", "characters", "exact"]
"""What two outputs are compared by: their words, lines, characters, or as a whole."""

_NOTE_CHARS = 40
"""About the length of the note between the ends of a long output."""

_MAX_UNITS = 20_000
"""Most units of an output that are compared, as the time grows with both lengths; the rest counts as different."""


def execution(task: Task, verdict: Verdict) -> float:
    """1.0 if the program was tested and had no fault in any test, whatever it answered, else 0.0.

    A program that does nothing has no fault either, so this term alone rewards nothing worth having.
    """
    return float(verdict.outcome is not Outcome.POLICY_ERROR and verdict.execution.status is Status.OK)


def pass_fraction(task: Task, verdict: Verdict) -> float:
    """The weighted share of the cases that passed."""
    return verdict.fraction or 0.0


def output_similarity(task: Task, verdict: Verdict, measure: Measure = "tokens") -> float:
    """How alike actual and expected outputs are: the mean over the tests that expect an output.

    The measure is symmetric (see `similarity`), so printing more than is expected costs as much as
    printing less. A task none of whose tests expects an output scores 0.0.
    """
    values = []
    for case in verdict.cases:
        test = task.tests[case.test]
        if isinstance(test, StdinTest | OutputTest):
            expected = test.stdout if isinstance(test, StdinTest) else test.expected
            values.append(1.0 if case.passed else _similarity_of_case(expected, case, measure))
    return sum(values) / len(values) if values else 0.0


def _similarity_of_case(expected: str, case: CaseResult, measure: Measure) -> float:
    if not case.tested:
        return 0.0
    if case.actual_chars <= len(case.actual):
        return similarity(expected, case.actual, measure)
    # Of a long output only the ends are known. They are compared with those of the expected one, and
    # what the lengths differ by counts as different, as it would if all were known.
    kept = ends(expected, (len(case.actual) - _NOTE_CHARS) // 2)
    alike = 2 * min(len(expected), case.actual_chars) / (len(expected) + case.actual_chars)
    return alike * similarity(kept, case.actual, measure)


def similarity(expected: str, actual: str, measure: Measure = "tokens") -> float:
    """How alike two texts are, from 0 (nothing in common) to 1 (the same), in either order.

    The share of both that lies in their longest common subsequence, 2 L / (n + m), which is the
    normalised Indel similarity; of words, lines or characters. For `exact` it is 1 or 0. White space
    at the ends is free.

    Raises:
        RewardError: If there is no such measure.

    Example:
        >>> similarity("1 2 3 4", "1 2 3 5"), similarity("1 2 3 4", "4 3 2 1")
        (0.75, 0.25)
    """
    if measure not in get_args(Measure):
        raise RewardError(f"measure must be one of {', '.join(get_args(Measure))}; got {measure!r}")
    expected, actual = expected.strip(), actual.strip()
    if measure == "exact" or expected == actual:
        return float(expected == actual)
    left, right = _units(expected, measure), _units(actual, measure)
    common = LCSseq.similarity(left[:_MAX_UNITS], right[:_MAX_UNITS])
    return 2 * common / (len(left) + len(right))


def _units(text: str, measure: Measure) -> Sequence[str]:
    if measure == "characters":
        return text
    return text.split() if measure == "tokens" else text.splitlines()
