"""What a proof of a suite says: findings, and the suite as it was proven."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from code_env.tasks.suite import TaskSuite

Level = Literal["error", "warning"]
"""`error`: the task cannot be used as it is; `warning`: it can, and should be looked at."""


class FindingKind(StrEnum):
    """What kind of thing was found."""

    NO_REFERENCE = "no_reference"
    """There is no reference to prove the task with."""
    REFERENCE_FAILS = "reference_fails"
    """The reference does not pass in any mode."""
    FLAKY = "flaky"
    """The reference got different verdicts."""
    NO_VERDICT = "no_verdict"
    """The sandbox, or the test code, failed."""
    EMPTY_SCORES = "empty_scores"
    """An empty answer scores."""
    TRIVIAL_PASSES = "trivial_passes"
    """An answer that solves nothing passes in full."""
    TRIVIAL_SCORES = "trivial_scores"
    """An answer that solves nothing passes some cases."""
    SLOW = "slow"
    """The reference uses more than half of a time limit."""
    LIMITS = "limits"
    """The reference needs more time than the task states; calibration has granted it."""
    SOLUTION_FAILS = "solution_fails"
    """Further correct solutions fail where the reference passes."""
    SEVERAL_ANSWERS = "several_answers"
    """The statement allows several answers, and the tests know one."""
    COPIES = "copies"
    """Tests look at data after the call that took or gave it; what crosses then is a copy."""
    JUDGE_MODE = "judge_mode"
    """The reference passes in another mode than the task states."""


_WARNINGS = frozenset(
    {
        FindingKind.TRIVIAL_SCORES,
        FindingKind.SLOW,
        FindingKind.LIMITS,
        FindingKind.SOLUTION_FAILS,
        FindingKind.SEVERAL_ANSWERS,
        FindingKind.COPIES,
        FindingKind.JUDGE_MODE,
    }
)


@dataclass(frozen=True)
class ValidationFinding:
    """What was found about one task.

    Example:
        >>> ValidationFinding("add", FindingKind.SLOW, "its reference takes 4 s of 5 s").level
        'warning'
    """

    task_id: str
    """The task."""
    kind: FindingKind
    """What kind of thing it is."""
    problem: str
    """What was found, in a sentence; shows expected values, so not for the policy."""

    @property
    def level(self) -> Level:
        """Whether it keeps the task from being used."""
        return "warning" if self.kind in _WARNINGS else "error"


@dataclass(frozen=True)
class Validation:
    """What a proof of a suite came to."""

    suite: TaskSuite
    """All tasks of the suite, with the modes that their references need, and with limits if these were calibrated."""
    findings: tuple[ValidationFinding, ...]
    """What was found, in the order of the tasks."""

    @property
    def sound(self) -> bool:
        """Whether there are no errors; there may be warnings."""
        return not self.errors

    @property
    def errors(self) -> tuple[ValidationFinding, ...]:
        """What keeps tasks from being used."""
        return tuple(finding for finding in self.findings if finding.level == "error")

    @property
    def warnings(self) -> tuple[ValidationFinding, ...]:
        """What should be looked at."""
        return tuple(finding for finding in self.findings if finding.level == "warning")

    @property
    def sound_tasks(self) -> int:
        """How many tasks have no error."""
        return len(self.suite) - len({finding.task_id for finding in self.errors})
