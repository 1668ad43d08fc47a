"""Rows of SkyRL. See https://github.com/NovaSky-AI/SkyRL.

A row has `prompt` (chat messages) and `reward_spec` with `ground_truth`, which is one of:

* a list of tests, or the JSON text of a list. Each test is as in LiveCodeBench, but the test's own `metadata` holds the
  function's name. All tests are hidden.
* a task in the package's own format, as `TaskSuite.to_rows("skyrl")` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError

from ..kinds import CallTest
from ..task import Task
from ..usual_imports import USUAL_IMPORTS
from . import code_env
from .contest import function_name
from .fields import chat_text, entry_point, from_json, in_field, json_list, metadata, row_id, value_of
from .livecodebench import case_tests


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {"prompt", "reward_spec"} <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of SkyRL describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    prompt = chat_text(row.get("prompt"), "prompt")
    spec = value_of(row, "reward_spec", dict, "an object with ground_truth")
    truth = from_json(spec.get("ground_truth"), "ground_truth")
    if isinstance(truth, dict) and code_env.is_row(truth):
        return in_field("reward_spec: ground_truth", lambda: code_env.task_from_row(truth))
    cases = in_field("reward_spec", lambda: json_list(spec, "ground_truth"))
    tests = in_field("reward_spec", lambda: case_tests(cases, "ground_truth", prompt))
    function = in_field("reward_spec: ground_truth", lambda: _function(cases))
    calls = any(isinstance(test, CallTest) for test in tests)
    if calls and function is None:
        raise TaskError("reward_spec: ground_truth: func_name was expected in a test's metadata; got none")
    extra = row.get("extra_info")
    index = extra.get("index") if isinstance(extra, dict) else None
    return Task(
        id=row_id({**row, "index": index}, "index", "id", "uid"),
        prompt=prompt,
        tests=tuple(tests),
        entry_point=entry_point(function, prompt) if calls and function else None,
        prefix=USUAL_IMPORTS,
        metadata=metadata(row, "data_source", "ability"),
    )


def _function(cases: list[Any]) -> str | None:
    """The function that the tests call; each test names it."""
    for case in cases:
        about = from_json(case.get("metadata"), "metadata")
        if isinstance(about, dict) and about.get("func_name"):
            return function_name(about, "func_name")
    return None
