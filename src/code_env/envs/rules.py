"""What holds for all episodes of an environment, whether it is one or one of many: its arguments, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from gymnasium import spaces

from code_env.errors import ExecutorError, RenderModeError, TaskError, UnsupportedProgram
from code_env.executors.base import Executor
from code_env.executors.registry import make_executor
from code_env.extract import Extraction
from code_env.judging.sharing import SharedJudging
from code_env.tasks.suite import Order, TaskOrder, TaskSuite

from .code_text import CodeText


@dataclass(frozen=True)
class EpisodeRules:
    """The rules of an environment's episodes; see `CodeExecEnv` for what they mean.

    Raises:
        SuiteNotFound: If there is no such suite.
        TaskError: If a task is malformed or an argument out of range.
    """

    suite: TaskSuite
    """Where tasks are drawn from."""
    order: Order = "shuffle"
    """How they are drawn."""
    max_turns: int = 1
    """Answers that an episode allows."""
    samples_per_step: int = 1
    """Programs in one action."""
    extract: Extraction = "fence"
    """How the code is found in a response."""
    tests_per_step: int | None = None
    """How many tests are drawn for a step; None for all."""
    until_failure: bool = False
    """Whether tests after the first that fails need not run."""
    cache_size: int = 0
    """How many verdicts are remembered."""

    def __post_init__(self) -> None:
        for name, least in (("max_turns", 1), ("samples_per_step", 1), ("cache_size", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise TaskError(f"{name} must be a whole number of at least {least}; got {value!r}")
        count = self.tests_per_step
        if count is not None and (type(count) is not int or count < 1):
            raise TaskError(f"tests_per_step must be None or a whole number of at least 1; got {count!r}")
        if count is not None and self.cache_size:
            raise TaskError("tests_per_step draws other tests each time, so that no verdict could be remembered")
        if self.samples_per_step > 1 and self.max_turns > 1:
            raise TaskError("samples_per_step above 1 needs max_turns=1: feedback is on one answer")
        if self.extract not in get_args(Extraction):
            raise TaskError(f"extract must be one of {', '.join(get_args(Extraction))}; got {self.extract!r}")
        if type(self.until_failure) is not bool:
            raise TaskError(f"until_failure must be True or False; got {self.until_failure!r}")
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
