"""Gymnasium wrappers that add a reward: a weight times a term of the verdict.

A base class declares the arguments of each reward once. Two classes inherit from it: one for a single environment, and
its twin for vector environments. `code_env.wrappers.vector` exports the twin under the name of the first class. A
wrapper returns the reward of the env inside it, plus the value that its entry adds to the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gymnasium.utils import RecordConstructorArgs

from code_env.checks import require_number, require_whole
from code_env.envs.rules import EpisodeRules
from code_env.errors import RewardError
from code_env.rewards import economy, terms
from code_env.rewards.similarity import Measure, similarity
from code_env.rewards.terms import FORMAT_PARTS, Term
from code_env.tasks.kinds import AnyTest, FileTest, InsightTest, OutputTest, StdinTest
from code_env.tasks.task import REFERENCE_CPU_S, REFERENCE_MEMORY_BYTES

from .entries import PassAtKEntry, TermEntry, require_all_tests, term_from
from .ledger import EntryVectorWrapper, EntryWrapper, Recorded, vector_twin

__all__ = [
    "CpuTimeReward",
    "ExecutionReward",
    "FileReward",
    "FormatReward",
    "InsightReward",
    "LengthReward",
    "MemoryReward",
    "OutputSimilarityReward",
    "PassAtKReward",
    "PassFractionReward",
    "TermReward",
]


class _Execution(Recorded):
    key = "execution"

    def __init__(self, env: Any, weight: float = 1.0, name: str = "execution") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        self._wrap(env, partial(TermEntry, name, weight, terms.execution, require_all_tests))


class ExecutionReward(_Execution, EntryWrapper):
    """Adds 1 if the program ran without a fault, whatever its result, else 0.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.

    Raises:
        DuplicateRewardTerm: If the env already has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = ExecutionReward(gym.make("code_env:CodeExec-v0", rewards={}), weight=0.1)
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> env.step("def xor_seal(*args): pass")[1]
        0.1
        >>> env.close()
    """


@vector_twin
class VectorExecutionReward(_Execution, EntryVectorWrapper):
    """As `ExecutionReward`, for vector environments."""


class _PassFraction(Recorded):
    key = "tests"

    def __init__(self, env: Any, weight: float = 1.0, name: str = "tests") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        self._wrap(env, partial(TermEntry, name, weight, terms.pass_fraction, require_all_tests))


class PassFractionReward(_PassFraction, EntryWrapper):
    """Adds the weighted share of the test cases that passed.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.

    Raises:
        RewardError: If the env stops at the first failure, because the share is then not known.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorPassFractionReward(_PassFraction, EntryVectorWrapper):
    """As `PassFractionReward`, for vector environments."""


class _OutputSimilarity(Recorded):
    key = "similarity"

    def __init__(self, env: Any, weight: float = 1.0, name: str = "similarity", measure: Measure = "tokens") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, measure=measure)
        similarity("", "", measure)  # Raises for an unknown measure now, not in the first step.
        term = partial(terms.output_similarity, measure=measure)
        self._wrap(env, partial(TermEntry, name, weight, term, _require_outputs))


class OutputSimilarityReward(_OutputSimilarity, EntryWrapper):
    """Adds a number from 0 to 1 that says how similar the actual outputs are to the expected outputs.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.
        measure: The measure of similarity; see `code_env.similarity`.

    Raises:
        RewardError: If no task of the suite expects an output, the measure is unknown, or the env stops at the first
            failure.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorOutputSimilarityReward(_OutputSimilarity, EntryVectorWrapper):
    """As `OutputSimilarityReward`, for vector environments."""


class _Format(Recorded):
    key = "format"

    def __init__(
        self, env: Any, weight: float = 1.0, name: str = "format", parts: Sequence[str] = FORMAT_PARTS
    ) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, parts=list(parts))
        if isinstance(parts, str) or not parts or not set(parts) <= set(FORMAT_PARTS):
            raise RewardError(f"parts must be a list of some of {', '.join(FORMAT_PARTS)}; got {parts!r}")
        self._wrap(env, partial(TermEntry, name, weight, partial(terms.well_formed, parts=tuple(parts))))


class FormatReward(_Format, EntryWrapper):
    """Adds the share of the format parts (fence, parses, defines) that an answer has.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.
        parts: The parts that count, all equally; see `code_env.well_formed`.

    Raises:
        RewardError: If a part is unknown.
        DuplicateRewardTerm: If the env already has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = FormatReward(gym.make("code_env:CodeExec-v0", rewards={}), parts=["fence", "parses"])
        >>> _, info = env.reset(seed=0)
        >>> env.step("def f(:")[1]
        0.0
        >>> env.close()
    """


@vector_twin
class VectorFormatReward(_Format, EntryVectorWrapper):
    """As `FormatReward`, for vector environments."""


class _Length(Recorded):
    key = "length"

    def __init__(
        self, env: Any, weight: float = 1.0, name: str = "length", free: float = 1.0, most: float = 3.0
    ) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, free=free, most=most)
        term = _between(economy.brevity, free, most)
        self._wrap(env, partial(TermEntry, name, weight, term, _require_references))


class LengthReward(_Length, EntryWrapper):
    """Adds a number from 0 to 1 that says how short an answer that passes is, compared with the reference.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.
        free: Up to this multiple of the reference's length, the term is 1.0.
        most: From this multiple of the reference's length on, the term is 0.0.

    Raises:
        RewardError: If no task has a reference, or `0 < free < most` does not hold.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorLengthReward(_Length, EntryVectorWrapper):
    """As `LengthReward`, for vector environments."""


class _CpuTime(Recorded):
    key = "cpu"

    def __init__(self, env: Any, weight: float = 1.0, name: str = "cpu", free: float = 1.5, most: float = 10.0) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, free=free, most=most)
        term, requires = _between(economy.cpu_economy, free, most), partial(_require_metadata, REFERENCE_CPU_S)
        self._wrap(env, partial(TermEntry, name, weight, term, requires))


class CpuTimeReward(_CpuTime, EntryWrapper):
    """Adds a number from 0 to 1 that says how little CPU time an answer that passes takes, next to the reference.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.
        free: Up to this multiple of the reference's time, the term is 1.0.
        most: From this multiple of the reference's time on, the term is 0.0.

    Raises:
        RewardError: If no task's metadata has the CPU time of its reference, or `0 < free < most` does not hold.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorCpuTimeReward(_CpuTime, EntryVectorWrapper):
    """As `CpuTimeReward`, for vector environments."""


class _Memory(Recorded):
    key = "memory"

    def __init__(
        self, env: Any, weight: float = 1.0, name: str = "memory", free: float = 1.5, most: float = 10.0
    ) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, free=free, most=most)
        term, requires = (
            _between(economy.memory_economy, free, most),
            partial(_require_metadata, REFERENCE_MEMORY_BYTES),
        )
        self._wrap(env, partial(TermEntry, name, weight, term, requires))


class MemoryReward(_Memory, EntryWrapper):
    """Adds a number from 0 to 1 that says how little memory an answer that passes takes, next to the reference.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.
        free: Up to this multiple of the reference's memory, the term is 1.0.
        most: From this multiple of the reference's memory on, the term is 0.0.

    Raises:
        RewardError: If no task's metadata has the memory of its reference, or `0 < free < most` does not hold.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorMemoryReward(_Memory, EntryVectorWrapper):
    """As `MemoryReward`, for vector environments."""


class _File(Recorded):
    key = "files"

    def __init__(self, env: Any, weight: float = 1.0, name: str = "files") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        self._wrap(env, partial(TermEntry, name, weight, terms.file_operations, partial(_require_kind, FileTest)))


class FileReward(_File, EntryWrapper):
    """Adds the share of the task's `file` tests that passed.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.

    Raises:
        RewardError: If no task has a `file` test, or the env stops at the first failure.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorFileReward(_File, EntryVectorWrapper):
    """As `FileReward`, for vector environments."""


class _Insight(Recorded):
    key = "insights"

    def __init__(self, env: Any, weight: float = 1.0, name: str = "insights", plot_bonus: float = 0.5) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, plot_bonus=plot_bonus)
        term = partial(terms.insights, plot_bonus=require_number("plot_bonus", plot_bonus, RewardError, least=0))
        self._wrap(env, partial(TermEntry, name, weight, term, partial(_require_kind, InsightTest)))


class InsightReward(_Insight, EntryWrapper):
    """Adds the share of the insights that the output mentions, and a bonus for a plot.

    Args:
        env: The env to wrap.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger.
        plot_bonus: The value of a figure, in units of one insight. Any figure earns it, so keep it small.

    Raises:
        RewardError: If no task has an `insight` test, or the env stops at the first failure.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorInsightReward(_Insight, EntryVectorWrapper):
    """As `InsightReward`, for vector environments."""


class _PassAtK(Recorded):
    key = "pass@k"

    def __init__(self, env: Any, k: int = 1, weight: float = 1.0, name: str | None = None) -> None:
        RecordConstructorArgs.__init__(self, k=k, weight=weight, name=name)
        require_whole("k", k, RewardError, least=1)
        self._wrap(env, partial(PassAtKEntry, name or f"pass@{k}", weight, k))


class PassAtKReward(_PassAtK, EntryWrapper):
    """Adds pass@k of a step's answers: an unbiased estimate of the probability that at least one of k passes.

    Answers without a verdict are left out; `info["samples_valid"]` is the number of answers with a verdict. If this
    number n is below k, the reward is pass@n.

    Args:
        env: The env to wrap; its `samples_per_step` must be at least `k`.
        k: The number k in pass@k: at least one of k answers should pass. With `k=1`, the reward is the share of
            answers that pass.
        weight: The factor that the value is multiplied by.
        name: The name of this reward in the ledger; by default `pass@` and the number `k`.

    Raises:
        RewardError: If a step has fewer than `k` answers.
        DuplicateRewardTerm: If the env already has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = PassAtKReward(gym.make("code_env:CodeExec-v0", rewards={}, samples_per_step=3), k=2)
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> reference = env.unwrapped.suite.task("starter/xor-seal").reference
        >>> round(env.step((reference, "no", "no"))[1], 3)
        0.667
        >>> env.close()
    """


@vector_twin
class VectorPassAtKReward(_PassAtK, EntryVectorWrapper):
    """As `PassAtKReward`, for vector environments."""


class _Term(Recorded):
    def __init__(self, env: Any, term: Term | str, weight: float = 1.0, name: str | None = None) -> None:
        RecordConstructorArgs.__init__(self, term=term, weight=weight, name=name)
        function = term_from(term)
        self._wrap(env, partial(TermEntry, name or str(getattr(function, "__name__", "term")), weight, function))


class TermReward(_Term, EntryWrapper):
    """Adds your own term: a function of a task and a verdict.

    Args:
        env: The env to wrap.
        term: The function, or its path `"package.module:function"`. With the path, `env.spec` can be stored as JSON.
        weight: The factor that the term is multiplied by.
        name: The name of this reward in the ledger; by default the name of the function.

    Raises:
        RewardError: If `term` is not a function, or the path does not lead to a function.
        DuplicateRewardTerm: If the env already has a reward of that name.
    """


@vector_twin
class VectorTermReward(_Term, EntryVectorWrapper):
    """As `TermReward`, for vector environments."""


def _between(term: Callable[..., float], free: float, most: float) -> Term:
    if not 0 < require_number("free", free, RewardError) < require_number("most", most, RewardError):
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
