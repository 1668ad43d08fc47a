"""APPS and TACO: contest problems with tests as JSON text.

APPS (https://github.com/hendrycks/apps) has `problem_id`, `question`, `input_output`, `solutions`,
`starter_code`, `difficulty` and `url`; TACO (https://github.com/FlagOpen/TACO) adds `time_limit`
("2 seconds"), `memory_limit` ("256 megabytes"), `name`, `source`, `tags` and more. `input_output`
is `{"inputs": [...], "outputs": [...]}`; with `fn_name` the tests call that function, otherwise the program reads its
standard input. An input or output is text or a list of lines. All tests are hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError

from ..task import Task
from ..usual_imports import USUAL_IMPORTS
from .contest import function_name, limits_of, paired_tests, quantity
from .fields import (
    entry_point,
    from_json,
    in_field,
    json_object,
    metadata,
    optional_text,
    references,
    row_id,
    shape,
    text,
    with_starter,
)

_TACO_ONLY = ("time_limit", "memory_limit", "raw_tags", "skill_types")


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of APPS."""
    return {"question", "input_output"} <= set(row)


def is_taco_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of TACO."""
    return is_row(row) and not set(_TACO_ONLY).isdisjoint(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of APPS or TACO describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    question, starter = text(row, "question"), optional_text(row, "starter_code")
    if row.get("input_output") in (None, ""):
        raise TaskError("input_output: tests were expected; got none: leave out rows without tests")
    cases = json_object(row, "input_output")
    function = in_field("input_output", lambda: function_name(cases))
    known = references(_solutions(row))
    return Task(
        id=row_id(row, "problem_id", "task_id", "id"),
        prompt=with_starter(question, starter),
        tests=tuple(in_field("input_output", lambda: paired_tests(cases, question, function))),
        entry_point=entry_point(function, starter) if function else None,
        prefix=USUAL_IMPORTS,
        limits=limits_of(
            in_field("time_limit", lambda: quantity(row.get("time_limit"), "seconds")),
            in_field("memory_limit", lambda: quantity(row.get("memory_limit"), "bytes")),
        ),
        reference=known["reference"],
        metadata=metadata(row, "difficulty", "url", "source", "name", "tags", **known["metadata"]),
    )


def _solutions(row: Mapping[str, Any]) -> list[str]:
    value = from_json(row.get("solutions") or [], "solutions")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TaskError(f"solutions: a list of texts, or JSON text of one, was expected; got {shape(value)}")
    return value
