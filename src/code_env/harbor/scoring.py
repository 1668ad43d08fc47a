"""Reads what a verifier has found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from code_env.harness.wire.shown import brief
from code_env.text import printable

_ROUNDED = 0.005
"""By how much the number in `reward.txt` can differ from one in `reward.json` that it stands for: by its rounding."""


class TrialOutcome(Enum):
    """How a stage ended."""

    SCORED = "scored"
    """The verifier gave a reward."""
    LIMIT = "limit"
    """The verifier reached a limit of time or memory on what the agent left; the reward is 0."""
    TAMPERED = "tampered"
    """What the agent left has changed what the verifier reports; the reward is 0."""
    TOO_LARGE = "too_large"
    """What the agent left is too large or too deep to be taken to the verifier; the reward is 0."""
    NOT_COLLECTED = "not_collected"
    """A command of the task that collects the agent's work has failed; the reward is 0."""
    NO_VERDICT = "no_verdict"
    """The verifier gave no reward, so there is none."""


@dataclass(frozen=True)
class Score:
    """What an agent's work is worth."""

    outcome: TrialOutcome
    """How the stage ended."""
    reward: float | None
    """The reward; None without a verdict."""
    rewards: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """All rewards that the verifier gave, by their names."""
    message: str = ""
    """Why the outcome is not `scored`."""
    output: str = ""
    """The end of what the verifier printed."""
    restored: tuple[str, ...] = ()
    """Files that configure the tests, which the verifier found as in the image, not as the agent left them."""


class Contradiction(ValueError):
    """The files of a verifier say different things."""


def read_reward(files: Mapping[str, str]) -> tuple[float, dict[str, float]]:
    """Read the reward that a verifier has written: `reward.json` if there is one, else `reward.txt`.

    Args:
        files: The contents of the files in `/logs/verifier`, by their names.

    Returns:
        The reward, and all rewards by their names. If there are several, the reward is that named `reward`, or else
        their mean.

    Raises:
        ValueError: If there is none, or it is no finite number, or the two files say different things.
    """
    if "reward.json" in files:
        try:
            found = json.loads(files["reward.json"])
        except RecursionError:
            raise ValueError("reward.json is nested too deeply") from None
        rewards = (
            {printable(name): _number(value) for name, value in found.items()} if isinstance(found, dict) else None
        )
        if rewards is None:
            rewards = {"reward": _number(found)}
        if not rewards:
            raise ValueError("reward.json holds no reward")
    elif "reward.txt" in files:
        rewards = {"reward": _number(files["reward.txt"].strip())}
    else:
        raise ValueError("the verifier wrote neither /logs/verifier/reward.json nor /logs/verifier/reward.txt")
    reward = rewards.get("reward", sum(rewards.values()) / len(rewards))
    if "reward.json" in files and "reward.txt" in files:
        told = _number(files["reward.txt"].strip())
        # Code under test can have written reward.json, with what reward.txt says beside a larger reward.
        known = [reward, *(one for one in rewards.values() if one > reward)]
        if not any(math.isclose(told, one, abs_tol=_ROUNDED) for one in known):
            raise Contradiction("reward.json and reward.txt say different things; code under test can have written one")
    return reward, rewards


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"a reward must be a number; got {value!r}")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"a reward must be a number; got {brief(value)}") from None
    if not math.isfinite(number):
        raise ValueError(f"a reward must be finite; got {value!r}")
    return number
