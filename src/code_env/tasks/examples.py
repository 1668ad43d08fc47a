"""Shows a task's public tests in its prompt, as a problem statement for people shows examples."""

from __future__ import annotations

import dataclasses

from code_env.text import clip

from .task import Task

MAX_EXAMPLE_CHARS = 2000
"""The largest length of an example; the middle of a longer example is left out."""


def with_examples(task: Task, most: int) -> Task:
    """The task with its first public tests at the end of its prompt; the task unchanged if it has no public tests.

    Args:
        task: The task.
        most: The largest number of tests to show.

    Example:
        >>> from code_env import CallTest
        >>> tests = (CallTest((1, 2), expected=3, hidden=False), CallTest((5, 7), expected=12))
        >>> print(with_examples(Task("add", "Write add(a, b).", tests, entry_point="add"), 3).prompt, end="")
        Write add(a, b).
        <BLANKLINE>
        Example:
        add(1, 2) gives 3
    """
    public = [test for test in task.tests if not test.hidden][:most]
    if not public:
        return task
    shown = [clip(test.example(task.entry_point or ""), MAX_EXAMPLE_CHARS) for test in public]
    head = "Example:" if len(shown) == 1 else "Examples:"
    between = "\n\n" if any("\n" in text for text in shown) else "\n"
    return dataclasses.replace(task, prompt=f"{task.prompt.rstrip()}\n\n{head}\n{between.join(shown)}\n")
