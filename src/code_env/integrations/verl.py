"""verl: `compute_score`, for `reward.custom_reward_function`.

verl calls it by keyword for one response at a time, in a pool of threads, or awaits it if it is a coroutine function.
What it gives back beside `score` is logged, so every sample has the same keys. An exception is how a sample has no
reward: the v1 trainer (the default of verl 0.9) leaves it out of its group and goes on. verl itself is not imported
here.

The rows come from `TaskSuite.to_dataset("verl")`; ground truths of prime-code and code-r1 do as well.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.tasks.formats.fields import in_field, json_value, shape
from code_env.tasks.formats.verl import task_from_truth
from code_env.tasks.task import Task

from ._common.misspelt import reject_misspelt
from ._common.runs import with_verdict
from ._common.scoring import Score, ascore, refuse_groups, score

__all__ = ["acompute_score", "compute_score"]


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str | Mapping[str, Any],
    extra_info: Mapping[str, Any] | None = None,
    *,
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, float]:
    """The score of a response, and what verl logs beside it.

    Args:
        data_source: Not looked at: the ground truth says it all.
        solution_str: What the policy wrote.
        ground_truth: The task, as `TaskSuite.to_rows("verl")` writes it; or an object, or JSON text of one, with
            `inputs` and `outputs` and maybe `fn_name`, with `assert_case`, or with `functional`.
        extra_info: For ground truths that are no task, `question` may hold the problem's text: only it tells that a
            function is to be a method of a class `Solution`, or that a tolerance is granted.
        rewards: As for `gym.make_vec`; the default is the share of tests passed. Set by `reward_kwargs`.
        executor: Where programs run: the name of an executor, or one that stays its maker's to close; None is the
            default, which all share. Set by `reward_kwargs`.
        limits: Limits that replace the task's own limits, for example `{"cpu_s": 1}`; see `Limits` for their names. Set
            by `reward_kwargs`.
        kwargs: What else verl passes, as the address of a router; which that is depends on its version. Not looked at.

    Returns:
        `score`; `acc`, 1.0 if all tests passed; `tests_passed`, their share; `no_code`, 1.0 if there is no code in the
        response; and `reward/<name>` for each reward, what it has added to the score.

    Raises:
        NoVerdict: If the sandbox failed. That says nothing about the response.
        CodeEnvError: If the ground truth is malformed, or the rewards, the limits or the executor do not exist or
            do not fit.
        TypeError: If a keyword is nearly the name of an argument.

    Example:
        >>> truth = {"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]}
        >>> compute_score("sums", "print(sum(map(int, input().split())))", truth)
        {'score': 1.0, 'acc': 1.0, 'tests_passed': 1.0, 'no_code': 0.0, 'reward/tests': 1.0}
    """
    reject_misspelt(kwargs, compute_score)
    refuse_groups(rewards, "verl scores each sample alone")
    task = _task(ground_truth, extra_info)
    return _result(score([task], [solution_str], rewards, executor, limits)[0])


async def acompute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str | Mapping[str, Any],
    extra_info: Mapping[str, Any] | None = None,
    *,
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, float]:
    """As `compute_score`, awaited.

    Args:
        data_source: See `compute_score`.
        solution_str: See `compute_score`.
        ground_truth: See `compute_score`.
        extra_info: See `compute_score`.
        rewards: See `compute_score`.
        executor: See `compute_score`.
        limits: See `compute_score`.
        kwargs: See `compute_score`.

    Raises:
        NoVerdict: If the sandbox failed.
        CodeEnvError, TypeError: As `compute_score`.
    """
    reject_misspelt(kwargs, acompute_score)
    refuse_groups(rewards, "verl scores each sample alone")
    task = _task(ground_truth, extra_info)
    return _result((await ascore([task], [solution_str], rewards, executor, limits))[0])


def _result(one: Score) -> dict[str, float]:
    verdict = with_verdict(one.verdict)
    if one.reward is None or verdict.fraction is None:
        raise TypeError("a score with a verdict has a reward")
    terms = {f"reward/{name}": added for name, added in one.terms.items()}
    return {
        "score": one.reward,
        "acc": float(verdict.passed),
        "tests_passed": verdict.fraction,
        "no_code": float(not verdict.has_code),
        **terms,
    }


def _task(ground_truth: Any, extra_info: Mapping[str, Any] | None) -> Task:
    question = extra_info.get("question") if isinstance(extra_info, Mapping) else None
    text = ground_truth if isinstance(ground_truth, str) else in_field("ground_truth", lambda: _json(ground_truth))
    return _task_of(text, question if isinstance(question, str) else "")


def _json(ground_truth: Any) -> str:
    """As JSON text; pandas makes arrays of what were lists."""

    def plain(value: Any) -> Any:
        if not hasattr(value, "tolist"):
            raise TaskError(f"JSON has no form for {type(value).__name__}")
        return value.tolist()

    return json.dumps(plain(ground_truth) if hasattr(ground_truth, "tolist") else ground_truth, default=plain)


@functools.lru_cache(maxsize=1024)  # The same task each time, so that one judge can serve its responses.
def _task_of(text: str, question: str) -> Task:
    truth = in_field("ground_truth", lambda: json_value(text))
    if not isinstance(truth, dict):
        raise TaskError(f"ground_truth: an object, or JSON text of one, was expected; got {shape(truth)}")
    return in_field("ground_truth", lambda: task_from_truth(truth, question))
