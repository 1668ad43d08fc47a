"""Rows for trainers: each has a prompt for the policy, and the whole task for the reward.

A trainer keeps both in one row and passes the task only to the reward function. So nothing that is hidden from the
policy is in the prompt, and a reward function needs nothing except the row.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, get_args

from code_env.checks import require_choice
from code_env.errors import TaskError

from .formats.code_env import is_row, task_from_row, text_from_task
from .formats.fields import in_field, json_value, shape
from .task import Task

Trainer = Literal["trl", "verl", "openrlhf", "skyrl", "nemo_gym"]
"""The trainer that a row is for."""

_MESSAGES_ONLY = ("verl", "skyrl", "nemo_gym")
"""Trainers that make a prompt of messages, by their tokenizer's chat template."""


def trainer_rows(
    name: str, tasks: Iterable[Task], format: Trainer, chat: bool | None, split: str
) -> list[dict[str, Any]]:
    """A row for each task; see `TaskSuite.to_rows`.

    Args:
        name: The suite's name.
        tasks: The tasks.
        format: The trainer that the rows are for.
        chat: Whether a prompt is a list with one message; None for the trainer's default.
        split: The name of the data's split.

    Raises:
        TaskError: If the format is unknown or does not take text, or a task holds a value that JSON cannot represent.
    """
    require_choice("format", format, get_args(Trainer), TaskError)
    if format in _MESSAGES_ONLY and chat is False:
        raise TaskError(f"{format} makes prompts of messages, by its tokenizer's chat template; leave chat=False out")
    # OpenRLHF takes text both with a chat template and without.
    as_chat = format != "openrlhf" if chat is None else chat
    rows: list[dict[str, Any]] = []
    for index, task in enumerate(tasks):
        prompt = [{"role": "user", "content": task.prompt}] if as_chat else task.prompt
        text = in_field(f"task {task.id!r}", partial(text_from_task, task))
        about = {"split": split, "index": index, "task_id": task.id}
        row: dict[str, Any]
        match format:
            case "trl":
                row = {"prompt": prompt, "task_id": task.id, "task": text}
            case "openrlhf":
                row = {"input": prompt, "label": text}
            case "verl":
                truth = {"reward_model": {"style": "rule", "ground_truth": text}}
                row = {"data_source": name, "prompt": prompt, "ability": "code", **truth, "extra_info": about}
            case "skyrl":
                truth = {"reward_spec": {"method": "rule", "ground_truth": text}}
                row = {"data_source": name, "prompt": prompt, "env_class": "code_env", **truth, "extra_info": about}
            case "nemo_gym":
                row = {"responses_create_params": {"input": prompt}, "verifier_metadata": {"task": text} | about}
        rows.append(row)
    return rows


def dataset_of(rows: list[dict[str, Any]]) -> Any:
    """Rows as a `datasets.Dataset`.

    Raises:
        ImportError: If `datasets` is not installed.
    """
    try:
        import datasets  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError(
            "to_dataset() needs the package datasets: install code-exec-env[trl] or code-exec-env[hf], or take "
            "to_rows(), which gives the same as a list"
        ) from None
    return datasets.Dataset.from_list(rows)


def task_from_text(text: str) -> Task:
    """The task that a row contains as JSON text. The same text gives the same object.

    Raises:
        TaskError: If the text is not a task.

    Example:
        >>> from code_env import load_suite
        >>> suite = load_suite("starter")
        >>> task_from_text(suite.to_rows()[0]["task"]) == suite[0]
        True
    """
    if not isinstance(text, str):
        raise TaskError(f"a task as JSON text was expected, as TaskSuite.to_rows() writes it; got {shape(text)}")
    return _task_from_text(text)


@functools.lru_cache(maxsize=1024)  # A trainer needs a task once for each answer that it samples.
def _task_from_text(text: str) -> Task:
    row = json_value(text)
    if not isinstance(row, dict) or not is_row(row):
        raise TaskError(f"a task as JSON text was expected, as TaskSuite.to_rows() writes it; got {shape(row)}")
    return task_from_row(row)
