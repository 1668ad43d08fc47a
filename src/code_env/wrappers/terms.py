"""Rewards that are a weight times a term of the verdict, for one environment and for many alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gymnasium.utils import RecordConstructorArgs

from code_env.envs.rules import EpisodeRules
from code_env.errors import RewardError
from code_env.importing import named_function
from code_env.rewards import economy, terms
from code_env.rewards.pass_at_k import pass_at_k
from code_env.rewards.similarity import Measure, similarity
from code_env.rewards.terms import FORMAT_PARTS, Term
from code_env.tasks.kinds import AnyTest, FileTest, InsightTest, OutputTest, StdinTest
from code_env.tasks.task import REFERENCE_CPU_S, REFERENCE_MEMORY_BYTES

from .ledger import Entry, Recorded, Step


class TermEntry(Entry):
    """A weight times the mean of a term over the answers that have a verdict; 0.0 where none has.

    Args:
        name: Its name in the ledger.
        weight: What the term is multiplied by.
        term: The term.
        requires: Refuses environments that the term says nothing in.
    """

    def __init__(
        self, name: str, weight: float, term: Term, requires: Callable[[EpisodeRules], None] | None = None
    ) -> None:
        super().__init__(name)
        self._weight, self._term, self._requires = number(f"the weight of reward {name!r}", weight), term, requires

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """See that the term says something there."""
        if self._requires is not None:
            self._requires(rules)

    def of(self, step: Step) -> tuple[float, float]:
        """The mean of the term, and its weight times that."""
        mean = mean_of(self._term, step, self.name)
        return mean, self._weight * mean


class PassAtKEntry(Entry):
    """A weight times pass@k of the answers of a step.

    Args:
        name: Its name in the ledger.
        weight: What it is multiplied by.
        k: Of how many answers one is to pass.
    """

    def __init__(self, name: str, weight: float, k: int) -> None:
        super().__init__(name)
        self._weight, self._k = number(f"the weight of reward {name!r}", weight), checked_k(k)

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:
        """See that there are as many answers."""
        if rules.samples_per_step < self._k:
            raise RewardError(
                f"pass@{self._k} needs at least {self._k} samples of a task, and a step has {rules.samples_per_step}: "
                f"set samples_per_step={self._k} or more"
            )

    def of(self, step: Step) -> tuple[float, float]:
        """The estimate from the answers with a verdict: of pass@n, if those are only n and fewer than k."""
        count, passed = len(step.verdicts), sum(verdict.passed for verdict in step.verdicts)
        value = pass_at_k(count, passed, min(self._k, count)) if count else 0.0
        return value, self._weight * value


class ExecutionArguments(Recorded):
    """Arguments of `ExecutionReward`."""

    def __init__(self, env: Any, weight: float = 1.0, name: str = "execution") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        self._wrap(env, partial(TermEntry, name, weight, terms.execution, require_all_tests))


class PassFractionArguments(Recorded):
    """Arguments of `PassFractionReward`."""

    def __init__(self, env: Any, weight: float = 1.0, name: str = "tests") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        self._wrap(env, partial(TermEntry, name, weight, terms.pass_fraction, require_all_tests))


class OutputSimilarityArguments(Recorded):
    """Arguments of `OutputSimilarityReward`."""

    def __init__(self, env: Any, weight: float = 1.0, name: str = "similarity", measure: Measure = "tokens") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, measure=measure)
        similarity("", "", measure)  # Refuses an unknown measure now, not in the first step.
        term = partial(terms.output_similarity, measure=measure)
        self._wrap(env, partial(TermEntry, name, weight, term, _require_outputs))


class FormatArguments(Recorded):
    """Arguments of `FormatReward`."""

    def __init__(
        self, env: Any, weight: float = 1.0, name: str = "format", parts: Sequence[str] = FORMAT_PARTS
    ) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, parts=list(parts))
        if isinstance(parts, str) or not parts or not set(parts) <= set(FORMAT_PARTS):
            raise RewardError(f"parts must be a list of some of {', '.join(FORMAT_PARTS)}; got {parts!r}")
        self._wrap(env, partial(TermEntry, name, weight, partial(terms.well_formed, parts=tuple(parts))))


class LengthArguments(Recorded):
    """Arguments of `LengthReward`."""

    def __init__(
        self, env: Any, weight: float = 1.0, name: str = "length", free: float = 1.0, most: float = 3.0
    ) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, free=free, most=most)
        term = _between(economy.brevity, free, most)
        self._wrap(env, partial(TermEntry, name, weight, term, _require_references))


class CpuTimeArguments(Recorded):
    """Arguments of `CpuTimeReward`."""

    def __init__(self, env: Any, weight: float = 1.0, name: str = "cpu", free: float = 1.5, most: float = 10.0) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, free=free, most=most)
        term, requires = _between(economy.cpu_economy, free, most), partial(_require_metadata, REFERENCE_CPU_S)
        self._wrap(env, partial(TermEntry, name, weight, term, requires))


class MemoryArguments(Recorded):
    """Arguments of `MemoryReward`."""

    def __init__(
        self, env: Any, weight: float = 1.0, name: str = "memory", free: float = 1.5, most: float = 10.0
    ) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, free=free, most=most)
        term, requires = (
            _between(economy.memory_economy, free, most),
            partial(_require_metadata, REFERENCE_MEMORY_BYTES),
        )
        self._wrap(env, partial(TermEntry, name, weight, term, requires))


class FileArguments(Recorded):
    """Arguments of `FileReward`."""

    def __init__(self, env: Any, weight: float = 1.0, name: str = "files") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        self._wrap(env, partial(TermEntry, name, weight, terms.file_operations, partial(_require_kind, FileTest)))


class InsightArguments(Recorded):
    """Arguments of `InsightReward`."""

    def __init__(self, env: Any, weight: float = 1.0, name: str = "insights", plot_bonus: float = 0.5) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, plot_bonus=plot_bonus)
        if number("plot_bonus", plot_bonus) < 0:
            raise RewardError(f"plot_bonus must be a number of at least 0; got {plot_bonus!r}")
        term = partial(terms.insights, plot_bonus=plot_bonus)
        self._wrap(env, partial(TermEntry, name, weight, term, partial(_require_kind, InsightTest)))


class PassAtKArguments(Recorded):
    """Arguments of `PassAtKReward`."""

    def __init__(self, env: Any, k: int = 1, weight: float = 1.0, name: str | None = None) -> None:
        RecordConstructorArgs.__init__(self, k=k, weight=weight, name=name)
        self._wrap(env, partial(PassAtKEntry, name or f"pass@{checked_k(k)}", weight, k))


class TermArguments(Recorded):
    """Arguments of `TermReward`."""

    def __init__(self, env: Any, term: Term | str, weight: float = 1.0, name: str | None = None) -> None:
        RecordConstructorArgs.__init__(self, term=term, weight=weight, name=name)
        function = term_from(term)
        self._wrap(env, partial(TermEntry, name or str(getattr(function, "__name__", "term")), weight, function))


def mean_of(term: Term, step: Step, name: str) -> float:
    """The mean of a term over the answers that have a verdict; 0.0 where none has.

    Raises:
        RewardError: If the term gives something else than a number.
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
    """The function that an argument stands for: itself, or what is at `package.module:function`.

    Raises:
        RewardError: If there is none.
    """
    function: Any = term
    if isinstance(term, str):
        try:
            function = named_function(term)
        except LookupError as error:
            raise RewardError(str(error)) from None
    if not callable(function):
        raise RewardError(f"term must be a function of a task and a verdict; got {type(term).__name__}")
    return function  # type: ignore[no-any-return]  # What it takes and gives shows when it is called.


def number(what: str, value: Any) -> float:
    """A finite number from an argument.

    Raises:
        RewardError: If it is none.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise RewardError(f"{what} must be a number; got {value!r}")
    return float(value)


def checked_k(k: Any) -> int:
    """The k of pass@k, from an argument.

    Raises:
        RewardError: If it is no whole number of at least 1.
    """
    if type(k) is not int or k < 1:
        raise RewardError(f"k must be a whole number of at least 1; got {k!r}")
    return k


def require_all_tests(rules: EpisodeRules) -> None:
    """Refuse an environment that stops at the first failure.

    Raises:
        RewardError: If it does.
    """
    if rules.until_failure:
        raise RewardError(
            "with until_failure=True nobody knows how the other tests would go; reward a pass instead (pass@1), or "
            "have all tests run"
        )


def _between(term: Callable[..., float], free: float, most: float) -> Term:
    if not 0 < number("free", free) < number("most", most):
        raise RewardError(f"0 < free < most must hold; got free={free!r}, most={most!r}")
    return partial(term, free=free, most=most)


def _require_metadata(key: str, rules: EpisodeRules) -> None:
    if not any(key in task.metadata for task in rules.suite):
        raise RewardError(
            f"no task of suite {rules.suite.name!r} says in metadata[{key!r}] what its reference takes; "
            "`code-env validate SUITE --calibrate --write FILE` measures it"
        )


def _require_kind(kind: type[AnyTest], rules: EpisodeRules) -> None:
    require_all_tests(rules)
    if not any(isinstance(test, kind) for task in rules.suite for test in task.tests):
        raise RewardError(f"no task of suite {rules.suite.name!r} has a test of kind {kind.kind!r}")


def _require_references(rules: EpisodeRules) -> None:
    if not any(task.reference for task in rules.suite):
        raise RewardError(f"no task of suite {rules.suite.name!r} has a reference to compare an answer's length with")


def _require_outputs(rules: EpisodeRules) -> None:
    require_all_tests(rules)
    suite = rules.suite
    if not any(isinstance(test, StdinTest | OutputTest) for task in suite for test in task.tests):
        raise RewardError(f"no test of suite {suite.name!r} expects an output, so nothing can be similar to it")
