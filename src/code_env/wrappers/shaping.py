"""Wrappers that change the reward of other wrappers; each writes an entry of its own, so the ledger still adds up."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from gymnasium.utils import RecordConstructorArgs

from code_env.checks import require_number, require_whole
from code_env.envs.rules import EpisodeRules
from code_env.errors import RewardError
from code_env.rewards import terms
from code_env.rewards.terms import Term

from .entries import checked_weight, mean_of, require_all_tests, term_from
from .ledger import Entry, EntryVectorWrapper, EntryWrapper, Recorded, Step, vector_twin

__all__ = ["ClipReward", "GateReward", "PotentialReward", "ScheduledReward"]


class GateEntry(Entry):
    """Removes the reward unless a term is large enough.

    Args:
        name: The name of the entry in the ledger.
        term: The name of a term that an inner wrapper has added, or a function.
        at_least: The smallest value of the term with which the reward is kept.
    """

    def __init__(self, name: str, term: Term | str, at_least: float) -> None:
        super().__init__(name)
        self._wanted, self._at_least = term, require_number("at_least", at_least, RewardError)
        self._term: Term | None = None

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """Find the term."""
        if isinstance(self._wanted, str) and (self._wanted in names or ":" not in self._wanted):
            require_term(self._wanted, names)
        else:
            self._term = term_from(self._wanted)

    def of(self, step: Step) -> tuple[float, float]:
        """Return 1.0 if the term is large enough, otherwise 0.0; and the amount to add: 0.0 or minus the reward."""
        value = step.raw[str(self._wanted)] if self._term is None else mean_of(self._term, step, self.name)
        holds = value >= self._at_least
        return float(holds), 0.0 if holds else -step.reward


class PotentialEntry(Entry):
    """Potential-based shaping: gamma times the potential after a step, minus the potential before it.

    Args:
        name: The name of the entry in the ledger.
        weight: The factor that the value is multiplied by.
        potential: The function that gives the potential of a state; the pass fraction if None.
        gamma: The discount of the return that is maximized.
    """

    def __init__(self, name: str, weight: float, potential: Term | str | None, gamma: float) -> None:
        super().__init__(name)
        self._weight, self._is_default = checked_weight(name, weight), potential is None
        self._potential = terms.pass_fraction if potential is None else term_from(potential)
        self._gamma = require_number("gamma", gamma, RewardError, least=0, most=1)
        self._before = 0.0

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """Check that the pass fraction is known, if it is the potential."""
        if self._is_default:
            require_all_tests(rules)

    def begin(self) -> None:
        """Begin an episode with a potential of 0.0."""
        self._before = 0.0

    def of(self, step: Step) -> tuple[float, float]:
        """Return the difference, and the weight times this difference."""
        # Nothing follows the end, with or without a verdict, so the potential is 0.0 there. Any other value would
        # change the best policy.
        after = 0.0 if step.ended else mean_of(self._potential, step, self.name)
        value = self._gamma * after - self._before
        self._before = after
        return value, self._weight * value


class ScheduleEntry(Entry):
    """Changes the weight of a term with the number of steps.

    Args:
        name: The name of the entry in the ledger.
        term: The name of the term.
        start: The factor at the first step.
        end: The factor after all steps.
        steps: The number of steps in which the factor goes from `start` to `end`.
    """

    def __init__(self, name: str, term: str, start: float, end: float, steps: int) -> None:
        super().__init__(name)
        self._term = term
        self._start, self._end = require_number("start", start, RewardError), require_number("end", end, RewardError)
        self._steps, self._done = require_whole("steps", steps, RewardError, least=1), 0

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """Check that the term is in the ledger."""
        require_term(self._term, names)

    def of(self, step: Step) -> tuple[float, float]:
        """Return the factor, and the amount by which it changes the reward."""
        share = min(1.0, self._done / self._steps)
        self._done += 1
        factor = self._start + (self._end - self._start) * share
        return factor, (factor - 1.0) * step.terms[self._term]


class ClipEntry(Entry):
    """Keeps the reward within bounds.

    Args:
        name: The name of the entry in the ledger.
        low: The smallest reward.
        high: The largest reward.
    """

    def __init__(self, name: str, low: float, high: float) -> None:
        super().__init__(name)
        self._low, self._high = require_number("low", low, RewardError), require_number("high", high, RewardError)
        if self._low > self._high:
            raise RewardError(f"low must not be above high; got low={low!r}, high={high!r}")

    def of(self, step: Step) -> tuple[float, float]:
        """Return the change of the reward, as the value and as the amount; 0.0 for both if there is no verdict.

        Raises:
            RewardError: If a wrapper further in gave a reward that is not finite.
        """
        if not step.verdicts:
            return 0.0, 0.0
        if not math.isfinite(step.reward):
            raise RewardError(f"reward {self.name!r}: a wrapper further in gave {step.reward}; a number is expected")
        change = min(max(step.reward, self._low), self._high) - step.reward
        return change, change


class _Gate(Recorded):
    key = "gate"

    def __init__(self, env: Any, term: Term | str, at_least: float = 1.0, name: str = "gate") -> None:
        RecordConstructorArgs.__init__(self, term=term, at_least=at_least, name=name)
        self._wrap(env, partial(GateEntry, name, term, at_least))


class GateReward(_Gate, EntryWrapper):
    """Removes the whole reward of a step unless a term is large enough.

    Args:
        env: The env to wrap.
        term: The name of a reward that is in the ledger, or a function of a task and a verdict, or the path of a
            function (`"package.module:function"`).
        at_least: The smallest value of the term with which the reward is kept.
        name: The name of this reward in the ledger. Its value is 1.0 if the reward is kept, otherwise 0.0.

    Raises:
        RewardError: If the term is not found.
        DuplicateRewardTerm: If the env already has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make("code_env:CodeExec-v0", rewards={"tests": 1.0, "execution": 0.1})
        >>> env = GateReward(env, "tests")
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> _, reward, _, _, info = env.step("def xor_seal(*args): pass")
        >>> reward, info["reward_terms"]
        (0.0, {'tests': 0.0, 'execution': 0.1, 'gate': -0.1})
        >>> env.close()
    """


@vector_twin
class VectorGateReward(_Gate, EntryVectorWrapper):
    """As `GateReward`, for vector environments."""


class _Potential(Recorded):
    key = "potential"

    def __init__(
        self,
        env: Any,
        potential: Term | str | None = None,
        gamma: float = 1.0,
        weight: float = 1.0,
        name: str = "potential",
    ) -> None:
        RecordConstructorArgs.__init__(self, potential=potential, gamma=gamma, weight=weight, name=name)
        self._wrap(env, partial(PotentialEntry, name, weight, potential, gamma))


class PotentialReward(_Potential, EntryWrapper):
    """Adds potential-based shaping between turns: gamma * potential(after) - potential(before).

    The potential is 0.0 at the beginning and at the end of an episode. So the additions of an episode cancel (with
    gamma 1), and the best policy stays the best: see Ng, Harada and Russell 1999, and Grzes 2017 for the end. The
    reward of an episode with one turn does not change.

    Args:
        env: The env to wrap.
        potential: A function of a task and a verdict, or its path (`"package.module:function"`); by default the pass
            fraction.
        gamma: The discount of the return that is maximized.
        weight: The factor that the value is multiplied by.
        name: The name of this reward in the ledger.

    Raises:
        RewardError: If an argument is out of range.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorPotentialReward(_Potential, EntryVectorWrapper):
    """As `PotentialReward`, for vector environments."""


class _Scheduled(Recorded):
    key = "schedule"

    def __init__(
        self,
        env: Any,
        term: str,
        start: float = 1.0,
        end: float = 0.0,
        steps: int = 1000,
        name: str | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, term=term, start=start, end=end, steps=steps, name=name)
        self._wrap(env, partial(ScheduleEntry, name or f"{term}:schedule", term, start, end, steps))


class ScheduledReward(_Scheduled, EntryWrapper):
    """Multiplies the amount of a term by a factor that changes linearly from `start` to `end` in `steps` steps.

    The wrapper counts the steps from its creation, over all episodes. In a vector environment, it counts the steps of
    each environment separately.

    Args:
        env: The env to wrap.
        term: The name of a reward that is in the ledger.
        start: The factor at the first step.
        end: The factor after `steps` steps.
        steps: The number of steps in which the factor goes from `start` to `end`.
        name: The name of this reward in the ledger; by default the term's name with `:schedule` at its end. Its value
            is the factor.

    Raises:
        RewardError: If the term is not in the ledger, or an argument is out of range.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorScheduledReward(_Scheduled, EntryVectorWrapper):
    """As `ScheduledReward`, for vector environments."""


class _Clip(Recorded):
    key = "clip"

    def __init__(self, env: Any, low: float = 0.0, high: float = 1.0, name: str = "clip") -> None:
        RecordConstructorArgs.__init__(self, low=low, high=high, name=name)
        self._wrap(env, partial(ClipEntry, name, low, high))


class ClipReward(_Clip, EntryWrapper):
    """Keeps the reward of a step within bounds.

    Args:
        env: The env to wrap.
        low: The smallest reward.
        high: The largest reward.
        name: The name of this reward in the ledger. Its value is the change.

    Raises:
        RewardError: If `low` is above `high`.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorClipReward(_Clip, EntryVectorWrapper):
    """As `ClipReward`, for vector environments."""


def require_term(term: Any, names: frozenset[str]) -> None:
    """Refuse the name of a term that is not in the ledger.

    Raises:
        RewardError: If it is not in the ledger.
    """
    if term not in names:
        there = ", ".join(sorted(names)) or "none"
        raise RewardError(f"there is no reward named {term!r} further in (there: {there}); wrap in it first")
