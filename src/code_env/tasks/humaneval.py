"""HumanEval's format: `task_id`, `prompt`, `canonical_solution`, `test`, `entry_point`.

The prompt is a signature with a docstring, sometimes after helper functions; an answer is the body
or the whole function. The program is prompt and answer; the tests get the helpers from the prompt,
not from the answer. `test` defines `check(candidate)`. See https://github.com/openai/human-eval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError

from .kinds import AssertTest
from .task import Task

FIELDS = ("task_id", "prompt", "canonical_solution", "test", "entry_point")
"""The fields of a row, all of them text."""


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of HumanEval describes.

    Raises:
        TaskError: If a field is missing or not text.
    """
    for name in FIELDS:
        if not isinstance(row.get(name), str):
            got = type(row[name]).__name__ if name in row else "nothing"
            raise TaskError(f"{name}: text was expected; got {got}")
    return Task(
        id=row["task_id"],
        prompt=row["prompt"],
        tests=(AssertTest(row["test"]),),
        entry_point=row["entry_point"],
        setup=row["prompt"],
        prefix=row["prompt"],
        reference=row["canonical_solution"],
    )
