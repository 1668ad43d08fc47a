"""Shows a task's public tests in its prompt, as the examples that a person would be given."""

from __future__ import annotations

import dataclasses

from code_env.text import clip

from .kinds import AnyTest, AssertTest, CallTest, CellTest, CheckerTest, FileTest, OutputTest, StdinTest
from .task import Task

MAX_EXAMPLE_CHARS = 2000
"""Longest text of an example; a longer one loses its middle."""


def with_examples(task: Task, most: int) -> Task:
    """The task with its first public tests at the end of its prompt; as it is if it has none.

    Args:
        task: The task.
        most: How many tests to show, at the most.

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
    shown = [clip(_shown(test, task.entry_point or ""), MAX_EXAMPLE_CHARS) for test in public]
    head = "Example:" if len(shown) == 1 else "Examples:"
    between = "\n\n" if any("\n" in text for text in shown) else "\n"
    return dataclasses.replace(task, prompt=f"{task.prompt.rstrip()}\n\n{head}\n{between.join(shown)}\n")


def _shown(test: AnyTest, entry_point: str) -> str:
    if isinstance(test, CallTest):
        args = [repr(arg) for arg in test.args] + [f"{name}={value!r}" for name, value in test.kwargs.items()]
        return f"{entry_point}({', '.join(args)}) gives {test.expected!r}"
    if isinstance(test, AssertTest):
        return test.code.strip()
    if isinstance(test, StdinTest):
        return f"Input:\n{test.stdin.rstrip()}\nOutput:\n{test.stdout.rstrip()}"
    if isinstance(test, CheckerTest):
        return f"Input:\n{test.stdin.rstrip()}"  # `answer` is what its checker needs, whatever that is.
    if isinstance(test, OutputTest):
        return f"Output:\n{test.expected.rstrip()}"
    if isinstance(test, CellTest):
        return f"{test.code.strip()} gives {test.expected}"
    if isinstance(test, FileTest):
        return f"It writes {test.path}." if test.content is None else f"It writes {test.path}:\n{test.content.rstrip()}"
    return f"It finds: {test.insight}"
