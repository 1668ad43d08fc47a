"""What holds for all episodes of an environment, whether it is one or one of many: its arguments, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, TypedDict, get_args

from gymnasium import spaces

from code_env.checks import require_arguments, require_choice, require_flag, require_whole
from code_env.errors import ExecutorError, RenderModeError, TaskError, UnsupportedProgram
from code_env.executors.base import Executor
from code_env.executors.registry import make_executor
from code_env.extract import Extraction
from code_env.judging.sharing import SharedJudging
from code_env.tasks.suite import Order, TaskOrder, TaskSuite

from .code_text import CodeText


class EpisodeOptions(TypedDict, total=False):
    """Options that every environment takes by name; `EpisodeRules` says what each means and what it is by default."""

    order: Order
    max_turns: int
    samples_per_step: int
    extract: Extraction
    tests_per_step: int | None
    until_failure: bool
    cache_size: int
    limits: Mapping[str, Any] | None
    examples: int


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

    suite: TaskSuite
    """Where tasks are drawn from, with the limits and examples that were asked for."""
    order: Order = "shuffle"
    """How tasks are drawn: `shuffle`, `sequential` or `random`."""
    max_turns: int = 1
    """Answers that an episode allows; after each but the last the policy gets feedback."""
    samples_per_step: int = 1
    """Programs in one action. With more than one the action is a tuple of them, the episode has one turn, and `outcome`
    and `status` in the info are those of the first."""
    extract: Extraction = "fence"
    """`fence` finds the code in a response, `raw` takes the response as code."""
    tests_per_step: int | None = None
    """How many tests are drawn anew for each step, each with a chance in proportion to its weight, such that the pass
    fraction is unbiased; None takes all."""
    until_failure: bool = False
    """Whether tests after the first that fails are not run. For rewards that ask for a pass only: the pass fraction
    then says nothing."""
    cache_size: int = 0
    """How many verdicts are remembered, to be served to equal answers once two runs gave equal ones."""
    limits: InitVar[Mapping[str, Any] | None] = None
    """Limits that replace the tasks' own, as `{"cpu_s": 1}`; see `Limits` for their names."""
    examples: InitVar[int] = 0
    """How many public tests a prompt shows at its end, at the most."""

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
        # The dataclass is frozen; this is still its construction.
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


def rules_of(taker: Callable[..., Any], suite: TaskSuite, options: EpisodeOptions) -> EpisodeRules:
    """The rules that the options of an environment give.

    Args:
        taker: Whoever was given the options; a message names it and what it takes.
        suite: Where tasks are drawn from.
        options: The options.

    Raises:
        TypeError: If there is no such option.
        TaskError: If one is out of range.
    """
    require_arguments([taker], options, EpisodeOptions.__annotations__)
    return EpisodeRules(suite, **options)


def check_render_mode(render_mode: str | None, known: Sequence[str]) -> None:
    """Refuse a render mode that there is not.

    Raises:
        RenderModeError: If there is none such.
    """
    if render_mode is not None and render_mode not in known:
        raise RenderModeError(f"render_mode must be None or {' or '.join(map(repr, known))}; got {render_mode!r}")


def refuse_secrets(executor_kwargs: object) -> None:
    """Refuse a key among an executor's arguments: an environment's arguments are in its spec, which people log.

    Raises:
        ExecutorError: If there is one.
    """
    if isinstance(executor_kwargs, Mapping) and "api_key" in executor_kwargs:
        raise ExecutorError(
            "executor_kwargs must not hold 'api_key', because they are kept in env.spec, which shows it to whoever "
            "logs that; set the environment variable E2B_API_KEY, or give an executor that is made with the key: "
            "executor=make_executor('e2b', api_key=...)"
        )


class OwnJudging(SharedJudging):
    """Judging over an executor that may have been made for it, and is closed with it then.

    Args:
        executor: Name of an executor, or an `Executor`, which stays its maker's to close.
        executor_kwargs: Plain data for the executor that is built by name.
        rules: Of the environment.

    Raises:
        ExecutorError: If the executor cannot be made, or `executor_kwargs` hold a key.
        UnsupportedProgram: If the executor cannot judge answers.
    """

    def __init__(
        self, executor: str | Executor, executor_kwargs: Mapping[str, Any] | None, rules: EpisodeRules
    ) -> None:
        self._owned = not isinstance(executor, Executor)
        if isinstance(executor, Executor):
            if executor_kwargs:
                raise TaskError("executor_kwargs are for an executor named by text; this one is made already")
            made = executor
        else:
            refuse_secrets(executor_kwargs)
            made = make_executor(executor, **(executor_kwargs or {}))
        super().__init__(made, cache_size=rules.cache_size, until_failure=rules.until_failure)
        isolation = made.describe()
        if isolation.peer == "none":
            self.close()
            why = f": {isolation.details}" if isolation.details else ""
            raise UnsupportedProgram(
                f"{type(made).__name__} cannot judge answers, because it joins no program to a peer, which holds the "
                f"tests (its describe().peer is 'none'){why}; take an executor that does, such as 'local'"
            )
        self.isolation = isolation.level
        """What the executor isolates."""

    def close(self) -> None:
        """Close the executor, if it was made here. Idempotent."""
        if self._owned:
            self.executor.close()
