"""Has a model answer the tasks of a suite; the answers are kept as they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from code_env.checks import require_whole
from code_env.errors import ModelError
from code_env.numbered_lines import NumberedLines, Row
from code_env.tasks.suite import TaskSuite

from .chat import ChatModel


def generate(
    suite: TaskSuite,
    model: ChatModel,
    path: str | Path,
    *,
    samples_per_task: int = 1,
    resume: bool = False,
    on_sample: Callable[[Row], None] | None = None,
) -> int:
    """Have a model answer each task, and write a file of samples, as `code-env eval` reads it.

    A line holds `sample` (its number), `task_id`, `completion`, `model`, `finish_reason`, `prompt_tokens` and
    `completion_tokens`. If the model fails, what came is kept in a file whose name ends in `.partial`.

    Args:
        suite: The tasks.
        model: The model. It gets a task's prompt as the user's message.
        path: The file of samples. A file that is there is not replaced, because answers of a model are dear.
        samples_per_task: How many answers to each task.
        resume: Whether to go on where a call with the same arguments was interrupted.
        on_sample: Called with each line.

    Returns:
        The number of samples in the file.

    Raises:
        ModelError: If the model gives no answer, or `samples_per_task` is wrong.
        OutputError: If the file cannot be written, if it is there and `resume` is false, or if it is of other work.
    """
    require_whole("samples_per_task", samples_per_task, ModelError, least=1)
    tasks = [task for task in suite for _ in range(samples_per_task)]

    def is_ours(row: Row) -> bool:
        return bool(row["task_id"] == tasks[row["sample"]].id and row["model"] == model.name)

    with NumberedLines.opened(Path(path), is_ours, resume=resume, replace=False) as lines:
        missing = [number for number in range(len(tasks)) if number not in lines.numbers]
        asked = ([{"role": "user", "content": tasks[number].prompt}] for number in missing)
        for index, completion in model.complete_each(asked):
            number = missing[index]
            row = {
                "sample": number,
                "task_id": tasks[number].id,
                "completion": completion.text,
                "model": model.name,
                "finish_reason": completion.finish_reason,
                "prompt_tokens": completion.prompt_tokens,
                "completion_tokens": completion.completion_tokens,
            }
            lines.write(row)
            if on_sample is not None:
                on_sample(row)
    return len(tasks)
