"""Reward functions for `GRPOTrainer` and its kin, one that TRL calls and one that it awaits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.tasks.task import Task
from code_env.tasks.trainer_rows import task_from_text

from .._common.conversations import answer_of
from .._common.scoring import Score, ascore, checked_rewards, score
from .environments import NO_TASK

_LogMetric = Callable[[str, float], None]
"""How TRL takes a number for its log."""


class _Rewarding:
    """What both reward functions share."""

    def __init__(
        self,
        rewards: Mapping[str, Any] | None,
        executor: Executor | str | None,
        name: str,
        limits: Mapping[str, Any] | None,
    ) -> None:
        Limits().with_values(limits)  # What is wrong with them is said here, not when training has begun.
        self._rewards, self._executor, self._limits = checked_rewards(rewards), executor, limits
        self.__name__ = name  # TRL logs under it.

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__!r}>"

    def _told(self, scores: list[Score], log_metric: _LogMetric | None) -> list[float | None]:
        """The rewards, and to TRL's log what became of the completions."""
        if log_metric is not None and scores:
            judged = [one for one in scores if one.valid]
            log_metric(f"{self.__name__}/no_verdict", 1 - len(judged) / len(scores))
            if judged:
                log_metric(f"{self.__name__}/no_code", sum(not one.verdict.has_code for one in judged) / len(judged))
                log_metric(f"{self.__name__}/passed", sum(one.verdict.passed for one in judged) / len(judged))
                for term in judged[0].terms:
                    log_metric(f"{self.__name__}/{term}", sum(one.terms[term] for one in judged) / len(judged))
        return [one.reward for one in scores]


class RewardFunction(_Rewarding):
    """A reward function for TRL; `reward_function` makes one."""

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        task: Sequence[str] | None = None,
        log_metric: _LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """The reward of each completion, None where there is no verdict.

        Args:
            prompts: Not looked at.
            completions: For each what the policy wrote: text, or messages of which the last is its answer.
            task: For each its task as JSON text.
            log_metric: Takes numbers for TRL's log.
            columns: What else TRL passes; not looked at.

        Raises:
            CodeEnvError: If a task is malformed, or the rewards or the executor do not exist or do not fit.
        """
        return self._told(score(*_answered(completions, task), self._rewards, self._executor, self._limits), log_metric)


class AsyncRewardFunction(_Rewarding):
    """As `RewardFunction`, awaited; TRL awaits all of these at once."""

    async def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        task: Sequence[str] | None = None,
        log_metric: _LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """As `RewardFunction.__call__`."""
        answered = _answered(completions, task)
        return self._told(await ascore(*answered, self._rewards, self._executor, self._limits), log_metric)


def reward_function(
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    name: str = "code_reward",
    limits: Mapping[str, Any] | None = None,
) -> RewardFunction:
    """A reward function for TRL's trainers, over data sets of `TaskSuite.to_dataset("trl")`.

    It may be pickled if the executor is given by name.

    Args:
        rewards: As for `gym.make_vec`; the default is the share of tests passed. `group_pass@k` takes consecutive
            completions as a group, so its `group_size` is TRL's `num_generations`.
        executor: Where programs run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share.
        name: What TRL logs it under; the share of completions that pass, the shares without code and without a
            verdict, and the mean of each reward are logged below that.
        limits: Limits that replace the task's own limits, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Raises:
        CodeEnvError: If the rewards or the limits are none.

    Example:
        >>> from code_env import load_suite
        >>> suite = load_suite("starter")
        >>> reward = reward_function({"tests": 1.0})
        >>> row = suite.to_rows("trl")[0]
        >>> reward(prompts=[row["prompt"]], completions=[suite[0].reference], task=[row["task"]], task_id=["more"])
        [1.0]
    """
    return RewardFunction(rewards, executor, name, limits)


def async_reward_function(
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    name: str = "code_reward",
    limits: Mapping[str, Any] | None = None,
) -> AsyncRewardFunction:
    """As `reward_function`, to be awaited, so that TRL runs it beside others.

    Args:
        rewards: See `reward_function`.
        executor: See `reward_function`.
        name: See `reward_function`.
        limits: See `reward_function`.
    """
    return AsyncRewardFunction(rewards, executor, name, limits)


def _answered(completions: Sequence[Any] | None, task: Sequence[str] | None) -> tuple[list[Task], list[str]]:
    """The tasks and the answers to them."""
    if completions is None:
        raise TypeError("completions are missing; TRL passes them by that name")
    if task is None:
        raise TaskError(NO_TASK)
    return [task_from_text(text) for text in task], [_answer(completion) for completion in completions]


def _answer(completion: Any) -> str:
    """The answer in a completion; empty where it ends in none, as with a call of a tool or its result."""
    if isinstance(completion, str):
        return completion
    try:
        answer = answer_of(completion)
    except TaskError:
        return ""
    last = completion[-1] if completion else {}
    return "" if isinstance(last, Mapping) and last.get("tool_calls") else answer
