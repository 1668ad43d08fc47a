"""BigCodeBench: functions that use many libraries, tested by a `unittest.TestCase`.

See https://github.com/bigcode-project/bigcodebench. A row has `task_id`, `complete_prompt` (imports,
signature, docstring), `instruct_prompt`, `canonical_solution` (the body), `test`, `entry_point` and
`libs` (the modules that it imports). SandboxFusion's rows hold the same as `id`, `content`, `labels` (JSON with
`entry_point`), without `libs`.

A task's packages are those of its `libs` and of what its texts import, because tests import more than `libs` names. The
newest versions are installed; `TaskSuite.with_packages` sets others, such as those of BigCodeBench's own image.

The tests replace parts of the libraries that the answer uses, and look at files and figures that the answer made. So
the tests run in the answer's process: `judge` is `shared`, and the verdict says so. As in HumanEval, the program is the
prompt followed by the answer, so an answer may be the function's body or a whole file.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.module_names import imported_modules, packages_of

from ..kinds import AssertTest
from ..task import Task
from .fields import in_field, json_object, metadata, shape, text

LIMITS = Limits(cpu_s=30.0, wall_s=60.0, memory_bytes=1 << 30)
"""Room for the libraries: importing pandas and drawing a figure each take seconds."""


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    original = {"complete_prompt", "canonical_solution", "test", "entry_point"}
    return original <= set(row) or {"content", "canonical_solution", "test", "labels"} <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of BigCodeBench describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    if "complete_prompt" in row:
        prompt, entry_point = text(row, "complete_prompt"), text(row, "entry_point")
    else:
        labels = json_object(row, "labels")
        prompt, entry_point = text(row, "content"), in_field("labels", lambda: text(labels, "entry_point"))
    solution, tests = text(row, "canonical_solution"), text(row, "test")
    modules = [*_libs(row), *imported_modules(f"{prompt}\n{solution}"), *imported_modules(tests)]
    return Task(
        id=text(row, "task_id" if "complete_prompt" in row else "id"),
        prompt=prompt,
        tests=(AssertTest(tests),),
        entry_point=entry_point,
        prefix=prompt,
        reference=solution,
        judge="shared",
        limits=LIMITS,
        metadata=metadata(row, "instruct_prompt", "libs"),
        packages=packages_of(modules),
    )


def _libs(row: Mapping[str, Any]) -> list[str]:
    """The field `libs`: a list of names, or the text of such a list as Python writes it."""
    value = row.get("libs") or []
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise TaskError(f"libs: a list of names was expected; got {value[:60]!r}") from None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TaskError(f"libs: a list of names was expected; got {shape(value)}")
    return value
