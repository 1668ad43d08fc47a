"""Checks the options of a reset; without the checks, a misspelt option would be ignored silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from code_env.checks import require_known
from code_env.errors import TaskError
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import Task


def chosen_task(suite: TaskSuite, options: Mapping[str, Any], also: Sequence[str] = ()) -> Task | None:
    """The task that the options of a reset choose; None if they choose no task.

    Args:
        suite: The suite.
        options: The options.
        also: The names of other options that are known.

    Raises:
        TaskNotFound: If the suite has no such task.
        TaskError: If an option is unknown.
    """
    _check_names(options, ("task_id", *also))
    return suite.task(options["task_id"]) if "task_id" in options else None


def _check_names(options: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse unknown options of a reset.

    Raises:
        TaskError: If an option is unknown.
    """
    require_known("reset has no option", options, known, TaskError)


def chosen_tasks(
    suite: TaskSuite, options: Mapping[str, Any], num_envs: int, also: Sequence[str] = ()
) -> list[Task | None]:
    """For each of many environments, the task that a reset's options choose; None if its task is drawn.

    Args:
        suite: The suite.
        options: The options.
        num_envs: The number of environments.
        also: The names of other options that are known.

    Raises:
        TaskNotFound: If the suite has no such task.
        TaskError: If an option is unknown, or does not fit the number of environments.
    """
    _check_names(options, ("task_id", "task_ids", "reset_mask", *also))
    if "task_ids" not in options:
        return [suite.task(options["task_id"]) if "task_id" in options else None] * num_envs
    if "task_id" in options:
        raise TaskError("task_id is for all environments, and task_ids for each; give one of them")
    task_ids = options["task_ids"]
    if isinstance(task_ids, str) or not isinstance(task_ids, Sequence | np.ndarray) or len(task_ids) != num_envs:
        got = f"{len(task_ids)} of them" if isinstance(task_ids, list | tuple) else repr(task_ids)
        raise TaskError(f"task_ids takes a list of num_envs={num_envs} ids, None where one is to be drawn; got {got}")
    return [None if task_id is None else suite.task(task_id) for task_id in task_ids]


def reset_mask(options: Mapping[str, Any], num_envs: int) -> npt.NDArray[np.bool_]:
    """The environments that a reset is for; all of them, unless the options say otherwise.

    Raises:
        TaskError: If the mask is not an array of `num_envs` truth values, or none of them is True.
    """
    if "reset_mask" not in options:
        return np.ones(num_envs, dtype=np.bool_)
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.shape != (num_envs,) or mask.dtype != np.bool_ or not mask.any():
        raise TaskError(f"reset_mask takes a numpy array of num_envs={num_envs} bools, at least one True; got {mask!r}")
    return mask
