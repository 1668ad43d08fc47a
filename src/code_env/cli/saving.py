"""Commands that save a suite."""

from __future__ import annotations

from pathlib import Path

from code_env.environments.definitions import environment_names, load_definition
from code_env.errors import CodeEnvError, TaskError
from code_env.tasks import TaskSuite, row_from_task, save_suite


def check_target(target: Path, source: str, tasks: TaskSuite) -> None:
    """Check, before the suite is proven, that the result can be written.

    Raises:
        CodeEnvError: If the result cannot be written, or would replace the file that it was made from.
        TaskError: If a task holds something that the package's own format cannot express.
    """
    path = load_definition(source).suite_path if source in environment_names() else Path(source)
    if path is not None and target.exists() and target.samefile(path):
        raise CodeEnvError(f"the saved suite would replace the one it was made from; give another path than {target}")
    if target.is_dir() or not target.parent.is_dir():
        raise CodeEnvError(f"the suite cannot be written: {target} is no path of a file in a directory")
    for task in tasks:
        try:
            row_from_task(task)
        except TaskError as error:
            raise TaskError(f"the suite cannot be written: task {task.id!r}: {error}") from None


def write_suite(suite: TaskSuite, target: Path) -> None:
    """Save a suite.

    Raises:
        CodeEnvError: If it cannot be written.
    """
    try:
        save_suite(suite, target)
    except OSError as error:
        raise CodeEnvError(f"the suite cannot be written: {error}") from None
