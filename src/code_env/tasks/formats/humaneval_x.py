"""HumanEval-X: HumanEval in several languages; Python and JavaScript are supported here.

See https://github.com/THUDM/CodeGeeX. A row has `task_id` ("JavaScript/3"), `prompt`, which ends with the opening line
of a function, `declaration`, `canonical_solution`, the function's body, `test` and `example_test`. An answer is the
body or the whole function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError

from ..kinds import AssertTest
from ..task import Task
from .fields import text
from .humaneval import helpers_of

FIELDS = ("task_id", "prompt", "declaration", "canonical_solution", "test")
"""The fields of a row that are read, all of them text."""

_ENTRY_POINT = {"python": re.compile(r"^def (\w+)", re.M), "javascript": re.compile(r"^const (\w+) = \(.*=> \{", re.M)}


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {*FIELDS, "example_test"} <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of HumanEval-X describes.

    Raises:
        TaskError: If a field is missing or not text, or the row is in a language that is not supported here.
    """
    fields = {name: text(row, name) for name in FIELDS}
    language = fields["task_id"].partition("/")[0].lower()
    if language not in _ENTRY_POINT:
        raise TaskError(f"task_id: Python/... or JavaScript/... was expected; got {fields['task_id']!r}")
    # The last function is the function to write; the others are its helpers.
    names = _ENTRY_POINT[language].findall(fields["declaration"])
    if not names:
        raise TaskError(f"declaration: the opening line of a function was expected; got {fields['declaration']!r}")
    return Task(
        id=fields["task_id"],
        prompt=fields["prompt"],
        tests=(AssertTest(fields["test"], language=language),),
        entry_point=names[-1],
        language=language,
        setup=helpers_of(fields["prompt"]) if language == "python" else "",
        prefix=fields["prompt"],
        reference=fields["canonical_solution"],
    )
