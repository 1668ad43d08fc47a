"""Has a model answer the tasks of a suite; the answers are kept as they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from code_env.checks import require_whole
from code_env.errors import ModelError
from code_env.numbered_lines import NumberedLines, Row
from code_env.tasks.suite import TaskSuite

from .chat import ChatModel

_DIFFERS = "suite, number of samples per task, model, max_tokens, temperature or system message"


def generate(
    suite: TaskSuite,
    model: ChatModel,
    path: str | Path,
    *,
    samples_per_task: int = 1,
    limit: int | None = None,
    resume: bool = False,
    on_sample: Callable[[Row], None] | None = None,
) -> int:
    """Have a model answer each task, and write a file of samples, as `code-env eval` reads it.

    A line holds `sample` (its number), `task_id`, `prompt`, `completion`, `model`, `settings` (the model's
    `max_tokens`, `temperature` and `system`), `finish_reason`, `prompt_tokens` and `completion_tokens`. If the model
    fails, what came is kept in a file whose name ends in `.partial`.

    Args:
        suite: The tasks.
        model: The model. It gets a task's prompt as the user's message.
        path: The file of samples. A file that is there is not replaced, because a model's answers cost time and money.
        samples_per_task: How many answers the model gives to each task.
        limit: How many samples to ask for, from the first on; None for all.
        resume: Whether to go on with the file of a call with the same arguments, which was interrupted or had a smaller
            limit. A sample that is there is not asked for again.
        on_sample: Called with each line.

    Returns:
        The number of samples that were wanted; all are in the file.

    Raises:
        ModelError: If the model gives no answer, or `samples_per_task` or `limit` is wrong.
        OutputError: If the file cannot be written, if it is there and `resume` is false, or if it is of other work.
    """
    require_whole("samples_per_task", samples_per_task, ModelError, least=1)
    tasks = [task for task in suite for _ in range(samples_per_task)]
    wanted = len(tasks) if limit is None else min(require_whole("limit", limit, ModelError, least=1), len(tasks))
    asked_of = {"model": model.name, "settings": model.settings}

    def is_ours(row: Row) -> bool:
        task = tasks[row["sample"]]
        same = {"task_id": task.id, "prompt": task.prompt, **asked_of}
        return all(row[name] == value for name, value in same.items())

    with NumberedLines.opened(Path(path), is_ours, wanted, differs=_DIFFERS, resume=resume, replace=False) as lines:
        missing = [number for number in range(wanted) if number not in lines.numbers]
        asked = ([{"role": "user", "content": tasks[number].prompt}] for number in missing)
        for index, completion in model.complete_each(asked):
            number = missing[index]
            row = {
                "sample": number,
                "task_id": tasks[number].id,
                "prompt": tasks[number].prompt,
                "completion": completion.text,
                **asked_of,
                "finish_reason": completion.finish_reason,
                "prompt_tokens": completion.prompt_tokens,
                "completion_tokens": completion.completion_tokens,
            }
            lines.write(row)
            if on_sample is not None:
                on_sample(row)
    return wanted
