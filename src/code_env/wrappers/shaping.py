"""Wrappers that change what others have added, each by an entry of its own, so that the ledger still adds up."""

from __future__ import annotations

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
    """Takes the reward away unless a term is large enough.

    Args:
        name: Its name in the ledger.
        term: Name of a term further in, or a function.
        at_least: How large the term has to be.
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
        """1.0 if it holds, else 0.0; what is taken away."""
        value = step.raw[str(self._wanted)] if self._term is None else mean_of(self._term, step, self.name)
        holds = value >= self._at_least
        return float(holds), 0.0 if holds else -step.reward


class PotentialEntry(Entry):
    """Potential-based shaping: gamma times the potential after a step, less the one before it.

    Args:
        name: Its name in the ledger.
        weight: The factor that the value is multiplied by.
        potential: How much a state promises; the pass fraction if None.
        gamma: Of the return that is maximized.
    """

    def __init__(self, name: str, weight: float, potential: Term | str | None, gamma: float) -> None:
        super().__init__(name)
        self._weight, self._is_default = checked_weight(name, weight), potential is None
        self._potential = terms.pass_fraction if potential is None else term_from(potential)
        self._gamma = require_number("gamma", gamma, RewardError, least=0, most=1)
        self._before = 0.0

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """See that the pass fraction is known."""
        if self._is_default:
            require_all_tests(rules)

    def begin(self) -> None:
        """Nothing is promised yet."""
        self._before = 0.0

    def of(self, step: Step) -> tuple[float, float]:
        """The difference, and its weight times that."""
        # Nothing follows the end, with or without a verdict, so nothing is promised there; else the best policy would
        # be another.
        after = 0.0 if step.ended else mean_of(self._potential, step, self.name)
        value = self._gamma * after - self._before
        self._before = after
        return value, self._weight * value


class ScheduleEntry(Entry):
    """Changes the weight of a term with the number of steps.

    Args:
        name: Its name in the ledger.
        term: Name of the term.
        start: Factor at the first step.
        end: Factor after all steps.
        steps: How many steps it takes from one to the other.
    """

    def __init__(self, name: str, term: str, start: float, end: float, steps: int) -> None:
        super().__init__(name)
        self._term = term
        self._start, self._end = require_number("start", start, RewardError), require_number("end", end, RewardError)
        self._steps, self._done = require_whole("steps", steps, RewardError, least=1), 0

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """See that there is such a term."""
        require_term(self._term, names)

    def of(self, step: Step) -> tuple[float, float]:
        """The factor, and what it changes."""
        share = min(1.0, self._done / self._steps)
        self._done += 1
        factor = self._start + (self._end - self._start) * share
        return factor, (factor - 1.0) * step.terms[self._term]


class ClipEntry(Entry):
    """Keeps the reward within bounds.

    Args:
        name: Its name in the ledger.
        low: Least reward.
        high: Largest reward.
    """

    def __init__(self, name: str, low: float, high: float) -> None:
        super().__init__(name)
        self._low, self._high = require_number("low", low, RewardError), require_number("high", high, RewardError)
        if self._low > self._high:
            raise RewardError(f"low must not be above high; got low={low!r}, high={high!r}")

    def of(self, step: Step) -> tuple[float, float]:
        """What is changed, twice; nothing where there is no verdict."""
        if not step.verdicts:
            return 0.0, 0.0
        change = min(max(step.reward, self._low), self._high) - step.reward
        return change, change


class _Gate(Recorded):
    key = "gate"

    def __init__(self, env: Any, term: Term | str, at_least: float = 1.0, name: str = "gate") -> None:
        RecordConstructorArgs.__init__(self, term=term, at_least=at_least, name=name)
        self._wrap(env, partial(GateEntry, name, term, at_least))


class GateReward(_Gate, EntryWrapper):
    """Takes the whole reward of a step away unless a term holds.

    Args:
        env: The env to wrap.
        term: Name of a reward that is in the ledger, or a function of a task and a verdict, or where one is
            (`"package.module:function"`).
        at_least: The term holds if its value is at least this.
        name: Its name in the ledger, whose value is 1.0 where the term holds.

    Raises:
        RewardError: If there is no such term.
        DuplicateRewardTerm: If the env has a reward of that name.

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

    The potential is 0.0 where an episode begins and where it ends, so over an episode the additions cancel (with
    gamma 1), and the best policy stays the best: Ng, Harada and Russell 1999; for the end, Grzes 2017. An episode
    of one turn is not changed.

    Args:
        env: The env to wrap.
        potential: A function of a task and a verdict, or where one is (`"package.module:function"`); the pass
            fraction by default.
        gamma: Discount of the return that is maximized.
        weight: The factor that the value is multiplied by.
        name: Its name in the ledger.

    Raises:
        RewardError: If an argument is out of range.
        DuplicateRewardTerm: If the env has a reward of that name.
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
    """Multiplies what a term adds by a factor that goes in a line from `start` to `end` over `steps` steps.

    Steps of an environment are counted from its making, over all its episodes; of many environments, each counts its
    own.

    Args:
        env: The env to wrap.
        term: Name of a reward that is in the ledger.
        start: Factor at the first step.
        end: Factor from step number `steps` on.
        steps: How many steps it takes.
        name: Its name in the ledger, whose value is the factor; that of the term with `:schedule`, by default.

    Raises:
        RewardError: If there is no such term, or an argument is out of range.
        DuplicateRewardTerm: If the env has a reward of that name.
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
        low: Least reward.
        high: Largest reward.
        name: Its name in the ledger, whose value is what was changed.

    Raises:
        RewardError: If `low` is above `high`.
        DuplicateRewardTerm: If the env has a reward of that name.
    """


@vector_twin
class VectorClipReward(_Clip, EntryVectorWrapper):
    """As `ClipReward`, for vector environments."""


def require_term(term: Any, names: frozenset[str]) -> None:
    """Refuse the name of a term that is not there.

    Raises:
        RewardError: If it is not.
    """
    if term not in names:
        there = ", ".join(sorted(names)) or "none"
        raise RewardError(f"there is no reward named {term!r} further in (there: {there}); wrap in it first")
