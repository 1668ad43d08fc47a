"""The checked arguments that hold for all episodes of an environment, single or in a vector environment."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, TypedDict, get_args

from gymnasium import spaces

from code_env.checks import require_arguments, require_choice, require_flag, require_whole
from code_env.errors import ExecutorClosed, ExecutorError, RenderModeError, TaskError, UnsupportedProgram
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.executors.registry import make_executor
from code_env.extract import Extraction
from code_env.judging.pending import PendingVerdict, isolation_for_judging
from code_env.judging.sharing import SharedJudging
from code_env.tasks.suite import Order, TaskOrder, TaskSuite
from code_env.tasks.task import Task

from .code_text import CodeText


class EpisodeOptions(TypedDict, total=False):
    """Keyword options of every environment; `EpisodeRules` documents each option and its default."""

    order: Order
    max_turns: int
    samples_per_step: int
    extract: Extraction
    tests_per_step: int | None
    until_failure: bool
    cache_size: int
    limits: Mapping[str, Any] | None
    examples: int


_INSTEAD = {
    **dict.fromkeys(("timeout", "timeout_s", "time_limit"), "cpu_s"),
    **dict.fromkeys(("memory", "memory_limit"), "memory_bytes"),
    **{item.name: item.name for item in dataclasses.fields(Limits)},
}

HINTS: Mapping[str, str] = {
    **{name: f"a limit of programs is given as limits={{{limit!r}: ...}}" for name, limit in _INSTEAD.items()},
    "workers": "an argument of the executor is given as executor_kwargs={'workers': ...}",
    "k": "a number of samples is given as rewards={'pass@4': 1.0} with samples_per_step=4",
}
"""What to do instead, for arguments that users try and that no environment has."""


@dataclass(frozen=True)
class EpisodeRules:
    """The rules of an environment's episodes: its options, checked.

    Raises:
        TaskError: If an option is out of range.

    Example:
        >>> from code_env import load_suite
        >>> EpisodeRules(load_suite("starter"), max_turns=0)
        Traceback (most recent call last):
        code_env.errors.TaskError: max_turns must be a whole number of at least 1; got 0
    """

    needs_sessions: ClassVar[bool] = False
    """Whether the executor must have sessions."""

    suite: TaskSuite
    """The suite that tasks are drawn from, with the chosen limits and examples."""
    order: Order = "shuffle"
    """How tasks are drawn: `shuffle`, `sequential` or `random`."""
    max_turns: int = 1
    """The largest number of answers in an episode; after each answer except the last, the policy gets feedback."""
    samples_per_step: int = 1
    """The number of programs in one action. If it is more than one, the action is a tuple of programs, the episode has
    one turn, and `outcome` and `status` in the info are those of the first program."""
    extract: Extraction = "fence"
    """`fence` finds the code in a response; `raw` takes the whole response as code."""
    tests_per_step: int | None = None
    """The number of tests that are drawn for each step; None takes all tests. The probability of a test is proportional
    to its weight, and the pass fraction stays unbiased."""
    until_failure: bool = False
    """Whether to stop after the first test that fails. Use it only for rewards that depend on nothing but a pass,
    because the pass fraction is then meaningless."""
    cache_size: int = 0
    """The number of verdicts in the cache. An answer that was judged before gets the cached verdict, after two runs of
    it have given equal verdicts."""
    limits: InitVar[Mapping[str, Any] | None] = None
    """Limits that replace the tasks' own limits, for example `{"cpu_s": 1}`; see `Limits` for their names."""
    examples: InitVar[int] = 0
    """The largest number of public tests that a prompt shows at its end."""

    def __post_init__(self, limits: Mapping[str, Any] | None, examples: int) -> None:
        for name, least in (("max_turns", 1), ("samples_per_step", 1), ("cache_size", 0)):
            require_whole(name, getattr(self, name), TaskError, least=least)
        if self.tests_per_step is not None:
            require_whole("tests_per_step", self.tests_per_step, TaskError, least=1)
            if self.cache_size:
                raise TaskError("tests_per_step draws other tests each time, so that no verdict could be remembered")
        if self.samples_per_step > 1 and self.max_turns > 1:
            raise TaskError("samples_per_step above 1 needs max_turns=1: feedback is on one answer")
        require_choice("extract", self.extract, get_args(Extraction), TaskError)
        require_flag("until_failure", self.until_failure, TaskError)
        # The dataclass is frozen, but the object is still being constructed.
        object.__setattr__(self, "suite", self.suite.with_limits(limits).with_examples(examples))
        TaskOrder(self.suite, self.order)

    @property
    def observation_space(self) -> CodeText:
        """The space of one environment's observations."""
        return CodeText()

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The space of one environment's actions."""
        if self.samples_per_step == 1:
            return CodeText()
        return spaces.Tuple([CodeText() for _ in range(self.samples_per_step)])


def rules_of(
    taker: Callable[..., Any], suite: TaskSuite, options: EpisodeOptions, kind: type[EpisodeRules] = EpisodeRules
) -> EpisodeRules:
    """Make the rules from an environment's options.

    Args:
        taker: The function or class that the caller gave the options to; an error message names it and its arguments.
        suite: The suite that tasks are drawn from.
        options: The options.
        kind: The class of the rules.

    Raises:
        TypeError: If an option is unknown.
        TaskError: If an option is out of range.
    """
    require_arguments([taker], options, EpisodeOptions.__annotations__, HINTS)
    return kind(suite, **options)


def check_render_mode(render_mode: str | None, known: Sequence[str]) -> None:
    """Refuse an unknown render mode.

    Raises:
        RenderModeError: If the render mode is not in `known`.
    """
    if render_mode is not None and render_mode not in known:
        raise RenderModeError(f"render_mode must be None or {' or '.join(map(repr, known))}; got {render_mode!r}")


def refuse_secrets(executor_kwargs: object) -> None:
    """Refuse an API key among an executor's arguments: an environment's arguments are in its spec, which users log.

    Raises:
        ExecutorError: If the arguments contain a key.
    """
    if isinstance(executor_kwargs, Mapping) and "api_key" in executor_kwargs:
        raise ExecutorError(
            "executor_kwargs must not hold 'api_key', because they are kept in env.spec, which shows it to whoever "
            "logs that; set the environment variable E2B_API_KEY, or give an executor that is made with the key: "
            "executor=make_executor('e2b', api_key=...)"
        )


class OwnJudging(SharedJudging):
    """Judging with an executor; if the executor is made here, it is closed together with this object.

    Args:
        executor: Name of an executor, or an `Executor`, which the caller must close.
        executor_kwargs: Arguments for the executor that is built by name; plain data.
        rules: The environment's rules.

    Raises:
        ExecutorError: If the executor cannot be made, or `executor_kwargs` hold a key.
        UnsupportedProgram: If the executor cannot judge answers, or has no sessions and the rules need them.
    """

    def __init__(
        self, executor: str | Executor, executor_kwargs: Mapping[str, Any] | None, rules: EpisodeRules
    ) -> None:
        self._owned = not isinstance(executor, Executor)
        self._closed = False
        if isinstance(executor, Executor):
            if executor_kwargs:
                raise TaskError("executor_kwargs are for an executor named by text; this one is made already")
            made = executor
        else:
            refuse_secrets(executor_kwargs)
            if not isinstance(executor_kwargs, Mapping | None):
                raise ExecutorError(
                    "executor_kwargs must be a mapping from argument to value, such as {'workers': 2}; "
                    f"got {type(executor_kwargs).__name__}"
                )
            made = make_executor(executor, **(executor_kwargs or {}))
        super().__init__(made, cache_size=rules.cache_size, until_failure=rules.until_failure)
        try:
            isolation = isolation_for_judging(made)
            if rules.needs_sessions and isolation.sessions == "none":
                raise UnsupportedProgram(
                    f"{type(made).__name__} has no sessions (its describe().sessions is 'none'), in which the cells of "
                    "this environment run; take an executor that has them, such as 'local'"
                )
            self.isolation = isolation.level
        except UnsupportedProgram:
            self.close()
            raise
        """The executor's level of isolation."""

    def __deepcopy__(self, memo: object) -> OwnJudging:
        """A copy of an environment shares the executor, which the original closes."""
        shared = copy.copy(self)
        shared._owned = False
        return shared

    def require_open(self) -> None:
        """Refuse to go on without an executor.

        Raises:
            ExecutorClosed: If the executor was made here and is closed.
        """
        if self._closed:
            raise ExecutorClosed("this environment was closed, and its executor with it; make a new one by gym.make")

    def submit(self, answers: Iterable[tuple[Task, str]]) -> list[PendingVerdict]:
        """Submit answers; see `SharedJudging.submit`.

        Raises:
            ExecutorClosed: If the environment was closed.
        """
        self.require_open()
        return super().submit(answers)

    def close(self) -> None:
        """Close the executor, if it was made here. May be called several times."""
        if self._owned:
            self._closed = True
            self.executor.close()
