"""Reward terms: pure functions from a task and a verdict to a number from 0 to 1.

The wrapper, the vector env, trainers' reward functions and evaluation all use the same function. A term sees only
verdicts, never runs anything, and is never called for an answer without a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from code_env.executors.result import Status
from code_env.extract import has_fence
from code_env.harness.wire.shown import ends
from code_env.judging.verdict import CaseResult, Outcome, Stage, Verdict
from code_env.tasks.kinds import AnyTest, FileTest, InsightTest, OutputTest, StdinTest
from code_env.tasks.task import Task

from .similarity import Measure, similarity

Term = Callable[[Task, Verdict], float]
"""A reward term."""

_NOTE_CHARS = 40
"""The approximate length of the note that replaces the middle of a long output, in characters."""

_PNG_START, _PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"

FORMAT_PARTS = ("fence", "parses", "defines")
"""The properties that `well_formed` checks."""


def execution(task: Task, verdict: Verdict) -> float:
    """1.0 if the program was tested and had no fault in any test, even if its answers were wrong; otherwise 0.0.

    A program that does nothing has no fault either, so do not use this term as the only reward.
    """
    return float(verdict.outcome is not Outcome.POLICY_ERROR and verdict.execution.status is Status.OK)


def pass_fraction(task: Task, verdict: Verdict) -> float:
    """The weighted share of the cases that passed."""
    return verdict.fraction or 0.0


def output_similarity(task: Task, verdict: Verdict, measure: Measure = "tokens") -> float:
    """The similarity of actual and expected outputs: the mean over the tests that expect an output.

    The measure is symmetric (see `similarity`), so extra output lowers the value as much as missing output. If no test
    of the task expects an output, the value is 0.0.
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
    # Only the two ends of a long output are kept. They are compared with the ends of the expected output. The
    # difference of the lengths counts as different text, as it would if the whole output were known.
    kept = ends(expected, (len(case.actual) - _NOTE_CHARS) // 2)
    alike = 2 * min(len(expected), case.actual_chars) / (len(expected) + case.actual_chars)
    return alike * similarity(kept, case.actual, measure)


def well_formed(task: Task, verdict: Verdict, parts: Sequence[str] = FORMAT_PARTS) -> float:
    """The share of the given properties that an answer has; the program's behaviour does not matter.

    Args:
        task: The task.
        verdict: The verdict.
        parts: The properties. `fence`: the response has a fenced block. `parses`: the code in it parses. `defines`: the
            program reaches its first test, so it defines what the tests call. The sandbox determines the last two.
    """
    stages = list(Stage)
    reached = -1 if verdict.stage is None else stages.index(verdict.stage)
    holds = {
        "fence": has_fence(verdict.response, task.language),
        "parses": reached >= stages.index(Stage.PARSED),
        "defines": reached >= stages.index(Stage.TESTED),
    }
    return sum(holds[part] for part in parts) / len(parts)


def file_operations(task: Task, verdict: Verdict) -> float:
    """The weighted share of the task's `file` tests that passed; 0.0 if it has none."""
    return _share(task, verdict, FileTest)


def insights(task: Task, verdict: Verdict, plot_bonus: float = 0.5) -> float:
    """The weighted share of the task's `insight` tests that passed, and a bonus for a plot; at most 1.0.

    A program that failed gets 0.0, even if it drew a plot before. In all other cases any plot gets the bonus, even an
    empty one, so the bonus must be small compared with the value of the insights.

    Args:
        task: The task.
        verdict: The verdict.
        plot_bonus: The value of a figure, in units of one insight; 0 ignores figures.
    """
    cases = [case for case in verdict.cases if isinstance(task.tests[case.test], InsightTest)]
    if not cases or any(case.status is not Status.OK for case in cases):
        return 0.0
    return min(1.0, _share(task, verdict, InsightTest) + plot_bonus * has_plot(verdict) / len(cases))


def has_plot(verdict: Verdict) -> bool:
    """Whether the program has shown a figure; see `ExecutionResult.results`."""
    images = [shown["image/png"] for shown in verdict.execution.results if "image/png" in shown]
    return any(image.startswith(_PNG_START) and image.endswith(_PNG_END) for image in images)


def _share(task: Task, verdict: Verdict, kind: type[AnyTest]) -> float:
    cases = [case for case in verdict.cases if isinstance(task.tests[case.test], kind)]
    total = sum(case.weight for case in cases)
    return sum(case.weight for case in cases if case.passed) / total if total else 0.0
