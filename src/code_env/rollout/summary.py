"""What a collection comes to, and the alarm when its sandbox fails too often."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from code_env.checks import require_number
from code_env.errors import RolloutError
from code_env.judging.timing import StepTiming

_ALARM_WINDOW, _ALARM_LEAST = 100, 20
"""Over how many of the last episodes the rate of sandbox errors is taken, and how many it takes to say anything."""


class SandboxAlarm(RuntimeWarning):
    """More episodes than there may be have no verdict, because the sandbox fails."""


@dataclass
class RolloutSummary:
    """What a collection comes to; it is counted on while episodes end."""

    episodes: int
    """Episodes that it is to have."""
    resumed: int = 0
    """Those that were in the file when it began."""
    collected: int = 0
    """Those that were played."""
    steps: int = 0
    """Actions that were judged for them."""
    seconds: float = 0.0
    """How long that took."""
    passed: int = 0
    """Episodes in which the task was solved, those in the file included, as in what follows."""
    returns: float = 0.0
    """Sum of their rewards."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """How often each outcome was that of a program."""
    statuses: Counter[str] = field(default_factory=Counter)
    """How often each status was."""
    without_code: int = 0
    """Answers in which no code was found."""
    without_code_example: str | None = None
    """The first of these that was played."""
    timing: StepTiming = field(default_factory=StepTiming)
    """Where the time of all steps together went, each that of its slowest program."""
    alarms: int = 0
    """How often the rate of sandbox errors has passed its bound."""

    @property
    def done(self) -> int:
        """Episodes that are in the file, or were played."""
        return self.resumed + self.collected

    @property
    def mean_return(self) -> float:
        """Mean of the episodes' sums of rewards."""
        return self.returns / self.done if self.done else 0.0

    @property
    def pass_rate(self) -> float:
        """Share of the episodes in which the task was solved."""
        return self.passed / self.done if self.done else 0.0

    @property
    def episodes_per_second(self) -> float:
        """Episodes played in a second."""
        return self.collected / self.seconds if self.seconds else 0.0

    def add(self, row: dict[str, Any]) -> None:
        """Count an episode."""
        self.passed += row["passed"]
        self.returns += row["return"]
        for turn in row["turns"]:
            for index, program in enumerate(turn["programs"]):
                self.outcomes[program["outcome"]] += 1
                self.statuses[program["status"]] += 1
                if not program["has_code"]:
                    self.without_code += 1
                    if self.without_code_example is None and "action" in turn:  # Not kept of those in the file.
                        action = turn["action"]
                        self.without_code_example = action if isinstance(action, str) else action[index]


class Alarm:
    """Rings when too many of the last episodes have no verdict, once until they are fewer again.

    Args:
        rate: How many may have none.
    """

    def __init__(self, rate: float) -> None:
        self._rate = require_number("alarm_rate", rate, RolloutError, least=0, most=1)
        self._last: deque[bool] = deque(maxlen=_ALARM_WINDOW)
        self._ringing = False

    def message(self, row: dict[str, Any]) -> str | None:
        """Take an episode; what there is to say if the alarm begins to ring with it."""
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
