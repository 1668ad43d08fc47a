"""Reward functions for `GRPOTrainer` and similar trainers: a function that TRL calls, and a function that it awaits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.tasks.task import Task
from code_env.tasks.trainer_rows import task_from_text

from .._common.conversations import answer_of
from .._common.scoring import Score, ascore, checked_rewards, require_rewards, score
from .environments import NO_TASK

_LogMetric = Callable[[str, float], None]
"""A function by which TRL takes a number for its log: it gets a name and the number."""


class _Rewarding:
    """The common base of both reward functions."""

    def __init__(
        self,
        rewards: Mapping[str, Any] | None,
        executor: Executor | str | None,
        name: str,
        limits: Mapping[str, Any] | None,
    ) -> None:
        require_rewards(rewards, executor, limits)  # Raises here if one is wrong, before training begins.
        self._rewards, self._executor, self._limits = checked_rewards(rewards), executor, limits
        self.__name__ = name  # TRL logs under this name.

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__!r}>"

    def _told(self, scores: list[Score], log_metric: _LogMetric | None) -> list[float | None]:
        """Return the rewards, and write statistics of the completions to TRL's log."""
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
        task: Sequence[str | None] | None = None,
        log_metric: _LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return the reward of each completion; None if there is no verdict, or no task.

        Args:
            prompts: Not used.
            completions: The completions that the policy wrote: text, or messages that end with the answer.
            task: The task of each completion, as JSON text; None for rows of other data sets, which are left to other
                reward functions.
            log_metric: Takes numbers for TRL's log.
            columns: All other keywords that TRL passes; not used.

        Raises:
            CodeEnvError: If a task is malformed, or the rewards or the executor do not exist or do not fit.
        """
        ours, tasks, responses = _answered(completions, task)
        scores = score(tasks, responses, self._rewards, self._executor, self._limits)
        return _spread(self._told(scores, log_metric), ours)


class AsyncRewardFunction(_Rewarding):
    """Like `RewardFunction`, but awaited. TRL awaits all asynchronous reward functions at once."""

    async def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        task: Sequence[str | None] | None = None,
        log_metric: _LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return the same as `RewardFunction.__call__`."""
        ours, tasks, responses = _answered(completions, task)
        scores = await ascore(tasks, responses, self._rewards, self._executor, self._limits)
        return _spread(self._told(scores, log_metric), ours)


def reward_function(
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    name: str = "code_reward",
    limits: Mapping[str, Any] | None = None,
) -> RewardFunction:
    """Make a reward function for TRL's trainers, for data sets from `TaskSuite.to_dataset("trl")`.

    The function can be pickled if the executor is given by name.

    Args:
        rewards: As for `gym.make_vec`; the default is the share of tests passed. `group_pass@k` takes consecutive
            completions as a group, so its `group_size` is TRL's `num_generations`.
        executor: Where programs run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share.
        name: The name in TRL's log. The share of completions that pass, the shares without code and without a verdict,
            and the mean of each reward are logged as `<name>/...`.
        limits: Limits that replace the task's own limits, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Raises:
        CodeEnvError: If a reward, a limit or the executor's name is unknown or does not fit, or the rewards contain
            `schedule`.

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
    """Make a reward function that TRL awaits, so that TRL runs it at the same time as other reward functions.

    Args:
        rewards: See `reward_function`.
        executor: See `reward_function`.
        name: See `reward_function`.
        limits: See `reward_function`.
    """
    return AsyncRewardFunction(rewards, executor, name, limits)


def _answered(
    completions: Sequence[Any] | None, task: Sequence[str | None] | None
) -> tuple[list[bool], list[Task], list[str]]:
    """Return which rows have a task, the tasks, and the answers to them."""
    if completions is None:
        raise TypeError("completions are missing; TRL passes them by that name")
    if task is None:
        raise TaskError(NO_TASK)
    ours = [text is not None for text in task]
    answered = [(text, one) for text, one in zip(task, completions, strict=True) if text is not None]
    return ours, [task_from_text(text) for text, _ in answered], [_answer(completion) for _, completion in answered]


def _spread(rewards: list[float | None], ours: list[bool]) -> list[float | None]:
    """Return the rewards with None in the places of rows without a task."""
    each = iter(rewards)
    return [next(each) if is_ours else None for is_ours in ours]


def _answer(completion: Any) -> str:
    """Return the answer at the end of a completion; empty if it ends with a tool call or the result of a tool."""
    if isinstance(completion, str):
        return completion
    try:
        answer = answer_of(completion)
    except TaskError:
        return ""
    last = completion[-1] if completion else {}
    return "" if isinstance(last, Mapping) and last.get("tool_calls") else answer
