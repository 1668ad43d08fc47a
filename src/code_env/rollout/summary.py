"""The summary of a collection, and the alarm that is raised when its sandbox fails too often."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from code_env.checks import require_number
from code_env.errors import RolloutError
from code_env.judging.timing import StepTiming
from code_env.judging.verdict import Stage

_ALARM_WINDOW, _ALARM_LEAST = 100, 20
"""The rate of sandbox errors is computed over the last episodes, at most as many as the first number. With fewer
episodes than the second number, there is no alarm."""


class SandboxAlarm(RuntimeWarning):
    """More episodes than allowed have no verdict, because the sandbox fails."""


@dataclass
class RolloutSummary:
    """The summary of a collection; it is updated when episodes end."""

    episodes: int
    """How many episodes to collect."""
    resumed: int = 0
    """Episodes that were in the file at the start."""
    collected: int = 0
    """Episodes that were played."""
    steps: int = 0
    """Actions that were judged in the played episodes."""
    seconds: float = 0.0
    """How long the played episodes took, in seconds."""
    valid: int = 0
    """Episodes with a verdict. This and the next counts include the episodes that were in the file."""
    passed: int = 0
    """Episodes in which the task was solved."""
    returns: float = 0.0
    """The sum of the rewards of the episodes with a verdict."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """How many programs had each outcome."""
    statuses: Counter[str] = field(default_factory=Counter)
    """How many programs had each status."""
    without_code: int = 0
    """Answers in which no code was found."""
    without_code_example: str | None = None
    """The first played answer in which no code was found."""
    timing: StepTiming = field(default_factory=StepTiming)
    """How the time of all steps together divides into phases; for each step, the time of its slowest program."""
    alarms: int = 0
    """How many times the rate of sandbox errors has risen above the alarm rate."""

    @property
    def done(self) -> int:
        """Episodes that were in the file at the start or were played."""
        return self.resumed + self.collected

    @property
    def mean_return(self) -> float:
        """Mean return: the sum of rewards of an episode, averaged over the episodes with a verdict."""
        return self.returns / self.valid if self.valid else 0.0

    @property
    def pass_rate(self) -> float:
        """Share of the episodes with a verdict in which the task was solved."""
        return self.passed / self.valid if self.valid else 0.0

    @property
    def episodes_per_second(self) -> float:
        """Episodes played per second."""
        return self.collected / self.seconds if self.seconds else 0.0

    def add(self, row: dict[str, Any]) -> None:
        """Count an episode."""
        if row["valid"]:
            self.valid += 1
            self.passed += row["passed"]
            self.returns += row["return"]
        for turn in row["turns"]:
            for index, program in enumerate(turn["programs"]):
                self.outcomes[program["outcome"]] += 1
                self.statuses[program["status"]] += 1
                if program["stage"] == Stage.NOTHING:
                    self.without_code += 1
                    if self.without_code_example is None and "action" in turn:  # Lines read from the file have none.
                        action = turn["action"]
                        self.without_code_example = action if isinstance(action, str) else action[index]


class Alarm:
    """Returns a message when too many of the last episodes have no verdict; the next only after the rate has fallen.

    Args:
        rate: The largest allowed share of episodes without a verdict.
    """

    def __init__(self, rate: float) -> None:
        self._rate = require_number("alarm_rate", rate, RolloutError, least=0, most=1)
        self._last: deque[bool] = deque(maxlen=_ALARM_WINDOW)
        self._ringing = False

    def message(self, row: dict[str, Any]) -> str | None:
        """Count an episode; return a message if the alarm starts with this episode, otherwise None."""
        self._last.append(not row["valid"])
        too_many = len(self._last) >= _ALARM_LEAST and sum(self._last) > self._rate * len(self._last)
        begins = too_many and not self._ringing
        self._ringing = too_many
        if not begins:
            return None
        return (
            f"{sum(self._last)} of the last {len(self._last)} episodes have no verdict: the sandbox fails (up to "
            f"{self._rate:.0%} was allowed). `code-env doctor` says what this machine grants"
        )
