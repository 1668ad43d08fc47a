"""Entries of the ledger that come from a term of the verdict, and checks of the arguments of rewards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from code_env.checks import require_number, require_whole
from code_env.envs.rules import EpisodeRules
from code_env.errors import RewardError
from code_env.importing import named_function
from code_env.rewards.pass_at_k import pass_at_k
from code_env.rewards.terms import Term

from .ledger import Entry, Step


class TermEntry(Entry):
    """A weight times the mean of a term over the answers that have a verdict; 0.0 if no answer has a verdict.

    Args:
        name: The name of the entry in the ledger.
        weight: The factor that the term is multiplied by.
        term: The term.
        requires: Raises for environments in which the term has no meaning.
    """

    def __init__(
        self, name: str, weight: float, term: Term, requires: Callable[[EpisodeRules], None] | None = None
    ) -> None:
        super().__init__(name)
        self._weight, self._term, self._requires = checked_weight(name, weight), term, requires

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """Check that the term has a meaning in the environment."""
        if self._requires is not None:
            self._requires(rules)

    def of(self, step: Step) -> tuple[float, float]:
        """Return the mean of the term, and the weight times this mean."""
        mean = mean_of(self._term, step, self.name)
        return mean, self._weight * mean


class PassAtKEntry(Entry):
    """A weight times pass@k of the answers of a step.

    Args:
        name: The name of the entry in the ledger.
        weight: The factor that the value is multiplied by.
        k: The number k in pass@k: at least one of k answers should pass.
    """

    def __init__(self, name: str, weight: float, k: int) -> None:
        super().__init__(name)
        self._weight, self._k = checked_weight(name, weight), require_whole("k", k, RewardError, least=1)

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """Check that a step has at least `k` answers."""
        if rules.samples_per_step < self._k:
            raise RewardError(
                f"pass@{self._k} needs at least {self._k} samples of a task, and a step has {rules.samples_per_step}: "
                f"set samples_per_step={self._k} or more"
            )

    def of(self, step: Step) -> tuple[float, float]:
        """Return pass@k of the answers with a verdict, or pass@n if only n answers have a verdict and n is below k."""
        count, passed = len(step.verdicts), sum(verdict.passed for verdict in step.verdicts)
        value = pass_at_k(count, passed, min(self._k, count)) if count else 0.0
        return value, self._weight * value


def mean_of(term: Term, step: Step, name: str) -> float:
    """Return the mean of a term over the answers that have a verdict; 0.0 if no answer has a verdict.

    Raises:
        RewardError: If the term returns a value that is not a finite number.
    """
    values = [term(step.task, verdict) for verdict in step.verdicts]
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise RewardError(f"reward {name!r}: its term gave {values!r}; a finite number for each answer is expected")
    return math.fsum(numbers) / len(numbers) if numbers else 0.0


def term_from(term: Term | str) -> Term:
    """Return the function that an argument names: the argument itself, or the function at `package.module:function`.

    Raises:
        RewardError: If the argument does not name a function.
    """
    function: Any = term
    if isinstance(term, str):
        try:
            function = named_function(term)
        except LookupError as error:
            raise RewardError(str(error)) from None
    if not callable(function):
        raise RewardError(f"term must be a function of a task and a verdict; got {type(term).__name__}")
    return function  # type: ignore[no-any-return]  # Only a call can check its signature.


def checked_weight(name: str, weight: Any) -> float:
    """Check the weight of a reward, and return it as a number.

    Raises:
        RewardError: If it is not a number.
    """
    return require_number(f"the weight of reward {name!r}", weight, RewardError)


def require_all_tests(rules: EpisodeRules) -> None:
    """Refuse an environment that stops at the first failure.

    Raises:
        RewardError: If it stops at the first failure.
    """
    if rules.until_failure:
        raise RewardError(
            "with until_failure=True nobody knows how the other tests would go; reward a pass instead (pass@1), or "
            "have all tests run"
        )
