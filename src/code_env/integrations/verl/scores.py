"""`compute_score`, and the same as a coroutine function."""

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

from .._common.misspelt import reject_misspelt
from .._common.runs import with_verdict
from .._common.scoring import Score, ascore, refuse_groups, score


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
    """Return the score of a response, with further values that verl logs.

    Args:
        data_source: Not used, because the ground truth holds the whole task.
        solution_str: The response that the policy wrote.
        ground_truth: The task, as `TaskSuite.to_rows("verl")` writes it. Or an object, or the JSON text of an object,
            with `inputs`, `outputs` and optionally `fn_name`, with `assert_case`, or with `functional`.
        extra_info: If the ground truth is not a task, `question` can hold the text of the problem. Only this text says
            whether a function must be a method of a class `Solution`, and whether a tolerance is allowed.
        rewards: As for `gym.make_vec`; the default is the share of tests passed. Set by `reward_kwargs`.
        executor: Where programs run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share. Set by `reward_kwargs`.
        limits: Limits that replace the task's own limits, for example `{"cpu_s": 1}`; see `Limits` for their names. Set
            by `reward_kwargs`.
        kwargs: Other keywords that verl passes, for example the address of a router. They depend on the version of verl
            and are not used.

    Returns:
        `score`; `acc`, 1.0 if all tests passed, else 0.0; `tests_passed`, the share of tests passed; `no_code`, 1.0 if
        the response holds no code, else 0.0; and `reward/<name>` for each reward, its part of the score.

    Raises:
        NoVerdict: If the sandbox failed. The failure says nothing about the response.
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
    task = task_of(ground_truth, extra_info)
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
    """Return the same as `compute_score`, as a coroutine function.

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
        CodeEnvError, TypeError: See `compute_score`.
    """
    reject_misspelt(kwargs, acompute_score)
    refuse_groups(rewards, "verl scores each sample alone")
    task = task_of(ground_truth, extra_info)
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


def task_of(ground_truth: Any, extra_info: Mapping[str, Any] | None) -> Task:
    """Return the task that a ground truth holds.

    Args:
        ground_truth: See `compute_score`.
        extra_info: See `compute_score`.

    Raises:
        TaskError: If it is malformed.
    """
    question = extra_info.get("question") if isinstance(extra_info, Mapping) else None
    text = ground_truth if isinstance(ground_truth, str) else in_field("ground_truth", lambda: _json(ground_truth))
    return _task_of(text, question if isinstance(question, str) else "")


def _json(ground_truth: Any) -> str:
    """Return the ground truth as JSON text. Arrays become lists again, because pandas turns lists into arrays."""

    def plain(value: Any) -> Any:
        if not hasattr(value, "tolist"):
            raise TaskError(f"JSON has no form for {type(value).__name__}")
        return value.tolist()

    return json.dumps(plain(ground_truth) if hasattr(ground_truth, "tolist") else ground_truth, default=plain)


@functools.lru_cache(maxsize=1024)  # Returns the same task each time, so that one judge can serve its responses.
def _task_of(text: str, question: str) -> Task:
    truth = in_field("ground_truth", lambda: json_value(text))
    if not isinstance(truth, dict):
        raise TaskError(f"ground_truth: an object, or JSON text of one, was expected; got {shape(truth)}")
    return in_field("ground_truth", lambda: task_from_truth(truth, question))
