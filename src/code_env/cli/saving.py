"""Commands that save a suite."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from code_env.errors import TaskError
from code_env.output_file import output_path, require_other
from code_env.tasks import TaskSuite, row_from_task


def check_target(target: Path, tasks: TaskSuite, others: Iterable[Path | None]) -> None:
    """Check, before the suite is proven, that the result can be written.

    Args:
        target: Where it will be saved.
        tasks: The suite.
        others: The files that it must not replace.

    Raises:
        OutputError: If the result cannot be written, or would replace one of the files.
        TaskError: If a task holds something that the package's own format cannot express.
    """
    require_other(target, others)
    output_path(target)
    for task in tasks:
        try:
            row_from_task(task)
        except TaskError as error:
            raise TaskError(f"the suite cannot be written: task {task.id!r}: {error}") from None
