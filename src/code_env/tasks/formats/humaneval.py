"""HumanEval's format: `task_id`, `prompt`, `canonical_solution`, `test`, `entry_point`.

The prompt is a signature with a docstring, sometimes after helper functions; an answer is the body
or the whole function. The program is the prompt followed by the answer. The tests take the helper functions from the
prompt, not from the answer. `test` defines `check(candidate)`. See https://github.com/openai/human-eval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError

from ..kinds import AssertTest
from ..task import Task
from .fields import parse_python, text
from .humaneval_plus import with_shapes

FIELDS = ("task_id", "prompt", "canonical_solution", "test", "entry_point")
"""The fields of a row, all of them text."""


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return set(FIELDS) <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of HumanEval describes.

    Raises:
        TaskError: If a field is missing or not text.
    """
    fields = {name: text(row, name) for name in FIELDS}
    return Task(
        id=fields["task_id"],
        prompt=fields["prompt"],
        tests=(AssertTest(with_shapes(fields["test"])),),
        entry_point=fields["entry_point"],
        setup=helpers_of(fields["prompt"]),
        prefix=fields["prompt"],
        reference=fields["canonical_solution"],
    )


def helpers_of(prompt: str) -> str:
    """The prompt as complete code: a prompt that ends with a bare signature gets a body."""
    try:
        parse_python(prompt, "prompt")
    except TaskError:
        return f"{prompt.rstrip()}\n    pass\n"
    return prompt
