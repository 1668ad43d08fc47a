"""What the policy is told in an environment with a session: how to use it, and what a cell gave.

A session knows nothing of the tests, so all that a cell gives can be shown.
"""

from __future__ import annotations

from code_env.executors.result import CellResult, Status
from code_env.tasks.task import Task
from code_env.text import clip, printable

from .feedback import MAX_FEEDBACK_CHARS

_ENDED = {
    Status.TIMEOUT: "The cell reached its time limit.",
    Status.MEMORY: "The cell reached its memory limit.",
    Status.OUTPUT_LIMIT: "The cell wrote too much.",
    Status.SIGNAL: "A signal ended the cell's interpreter.",
    Status.SANDBOX_ERROR: "The cell could not be run: the sandbox failed.",
}


def with_instructions(task: Task, max_turns: int) -> str:
    """The prompt of a task, and how to use the session.

    Args:
        task: The task.
        max_turns: The number of turns; with one there is no session.
    """
    if max_turns == 1:
        return task.prompt
    files = f" These files are in its directory: {', '.join(sorted(task.files))}." if task.files else ""
    return (
        f"{task.prompt}\n\n"
        f"You have a Python session and {max_turns} turns. The code that you write is run as a cell of the session, "
        f"and you are shown what it gives. Variables and files stay from cell to cell.{files} To answer the task, "
        "write the whole answer into a fence that is tagged `answer`. That ends the episode. What you write in the "
        "last turn is the answer in any case. The answer is run without the session: nothing that a cell did is there."
    )


def cell_feedback(result: CellResult) -> str:
    """What the policy is told about a cell."""
    parts = [result.stdout, result.stderr]
    for shown in result.results:
        parts.append(str(shown["text/plain"]) if "text/plain" in shown else f"[{', '.join(shown)}]")
    error = result.error
    if error is None or error.name == "MemoryError":
        parts.append(_ENDED.get(result.status, ""))
    if error is not None:
        parts.append(error.traceback or f"{error.name}: {error.message}")
    text = "\n".join(part.rstrip("\n") for part in parts if part.strip())
    return clip(printable(text or "The cell gave nothing."), MAX_FEEDBACK_CHARS)
