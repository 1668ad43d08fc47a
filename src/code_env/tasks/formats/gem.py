"""Rows of GEM's code environments: `problem`, and `tests` as in APPS.

See https://github.com/axon-rl/gem. `tests` is `{"inputs", "outputs", "fn_name"?}`, or the JSON text of such an object.
All tests are hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..task import Task
from ..usual_imports import USUAL_IMPORTS
from .contest import function_name, paired_tests
from .fields import entry_point, in_field, json_object, metadata, optional_text, row_id, text, with_starter


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {"problem", "tests"} <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of GEM describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    problem, starter = text(row, "problem"), optional_text(row, "starter_code")
    cases = json_object(row, "tests")
    function = in_field("tests", lambda: function_name(cases))
    return Task(
        id=row_id(row, "id", "problem_id"),
        prompt=with_starter(problem, starter),
        tests=tuple(in_field("tests", lambda: paired_tests(cases, problem, function))),
        entry_point=entry_point(function, starter, problem) if function else None,
        prefix=USUAL_IMPORTS,
        metadata=metadata(row, "difficulty", "source"),
    )
