"""The result of proving a suite: the findings, and the suite with what the proof changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from code_env import html
from code_env.tasks.suite import TaskSuite

Level = Literal["error", "warning"]
"""`error`: the task cannot be used as it is; `warning`: the task can be used, but should be looked at."""


class FindingKind(StrEnum):
    """The kinds of findings; docs/validate.md has a table of them."""

    NO_REFERENCE = "no_reference"
    """The task has no reference to prove it with."""
    REFERENCE_FAILS = "reference_fails"
    """The reference does not pass in any mode."""
    FLAKY = "flaky"
    """The reference got different verdicts in different runs."""
    NO_VERDICT = "no_verdict"
    """The sandbox, or the test code, failed."""
    EMPTY_SCORES = "empty_scores"
    """An empty answer passes some cases."""
    TRIVIAL_PASSES = "trivial_passes"
    """An answer that solves nothing passes in full."""
    TRIVIAL_SCORES = "trivial_scores"
    """An answer that solves nothing passes some cases."""
    SLOW = "slow"
    """The reference uses more than half of a time limit."""
    LIMITS = "limits"
    """The reference needs more time than the task states; calibration has raised the limits."""
    SOLUTION_FAILS = "solution_fails"
    """Other correct solutions fail, although the reference passes."""
    SEVERAL_ANSWERS = "several_answers"
    """The statement allows several answers, but the tests accept only one; or answers that pass give many values."""
    REFERENCE_SUSPECT = "reference_suspect"
    """A third or more of the answers that pass give another value than the reference for some input."""
    WEAK_TESTS = "weak_tests"
    """Answers that pass all tests differ for some input."""
    COPIES = "copies"
    """Tests look at an argument or a return value after its call, but blind judging gives them a copy."""
    JUDGE_MODE = "judge_mode"
    """The reference passes in a different judge mode than the task states."""


_WARNINGS = frozenset(
    {
        FindingKind.TRIVIAL_SCORES,
        FindingKind.SLOW,
        FindingKind.LIMITS,
        FindingKind.SOLUTION_FAILS,
        FindingKind.SEVERAL_ANSWERS,
        FindingKind.REFERENCE_SUSPECT,
        FindingKind.WEAK_TESTS,
        FindingKind.COPIES,
        FindingKind.JUDGE_MODE,
    }
)


@dataclass(frozen=True)
class ValidationFinding:
    """One finding about one task.

    Example:
        >>> ValidationFinding("add", FindingKind.SLOW, "its reference takes 4 s of 5 s").level
        'warning'
    """

    task_id: str
    """Id of the task."""
    kind: FindingKind
    """Kind of the finding."""
    problem: str
    """What was found, in one sentence. It shows expected values, so the policy must not see it."""
    score: float | None = None
    """For `trivial_scores`, the largest share of the cases that such an answer passes; otherwise None."""

    @property
    def level(self) -> Level:
        """`error` if the finding means that the task cannot be used, otherwise `warning`."""
        return "warning" if self.kind in _WARNINGS else "error"


@dataclass(frozen=True)
class Validation:
    """The result of proving a suite."""

    suite: TaskSuite
    """All tasks of the suite, with the judge modes that their references need, and with new limits if calibrated."""
    findings: tuple[ValidationFinding, ...]
    """The findings, in the order of the tasks."""

    def _repr_html_(self) -> str:
        """Called by notebooks."""
        rows = [(one.level, one.task_id, one.kind, one.problem) for one in (*self.errors, *self.warnings)]
        title = f"{self.suite.name}: {self.sound_tasks} of {len(self.suite)} tasks are sound"
        table = html.table(("level", "task", "kind", "problem"), rows[: html.MOST_ROWS], len(rows)) if rows else ""
        return html.titled(title, table)

    @property
    def sound(self) -> bool:
        """Whether there are no errors; there can be warnings."""
        return not self.errors

    @property
    def errors(self) -> tuple[ValidationFinding, ...]:
        """The findings with level `error`: their tasks cannot be used."""
        return tuple(finding for finding in self.findings if finding.level == "error")

    @property
    def warnings(self) -> tuple[ValidationFinding, ...]:
        """The findings with level `warning`: their tasks should be looked at."""
        return tuple(finding for finding in self.findings if finding.level == "warning")

    @property
    def sound_tasks(self) -> int:
        """How many tasks have no error."""
        return len(self.suite) - len({finding.task_id for finding in self.errors})
