"""Rows of verl, with the ground truths of prime-code and code-r1.

A row has `data_source`, `prompt` (chat messages), `reward_model` with `ground_truth`, and
`extra_info` with `split` and `index`. See https://github.com/volcengine/verl. The ground truth is an object, or the
JSON text of an object:

* `{"inputs", "outputs", "fn_name"?}`: as in APPS (prime-code, code-r1);
* `{"assert_case": [...], "fn_name"?}`: asserts (prime-code);
* `{"functional": code}`: test code (code-r1);
* a task in the package's own format, as `TaskSuite.to_rows("verl")` writes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.harness.judge.asserting import compile_suite

from ..kinds import AnyTest, AssertTest
from ..task import Task
from ..usual_imports import USUAL_IMPORTS
from . import code_env
from .contest import function_name, paired_tests
from .fields import chat_text, entry_point, in_field, json_object, metadata, optional_text, row_id, texts, value_of


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {"prompt", "reward_model"} <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of verl describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    prompt = chat_text(row.get("prompt"), "prompt")
    model = value_of(row, "reward_model", dict, "an object with ground_truth")
    truth = in_field("reward_model", lambda: json_object(model, "ground_truth"))
    task = in_field("reward_model: ground_truth", lambda: task_from_truth(truth, prompt))
    if code_env.is_row(truth):
        return task
    return dataclasses.replace(task, id=_id(row), prompt=prompt, metadata=metadata(row, "data_source", "ability"))


def task_from_truth(truth: Mapping[str, Any], statement: str = "") -> Task:
    """The task that a ground truth alone describes.

    Args:
        truth: The ground truth.
        statement: The problem's text, if it is known. It may grant a tolerance, or show that the function called by the
            tests is a method of a class `Solution`.

    Raises:
        TaskError: If a field is missing or malformed.

    Example:
        >>> task_from_truth({"inputs": ["1\\n"], "outputs": ["2\\n"]}).tests[0].stdout
        '2\\n'
    """
    if code_env.is_row(truth):
        return code_env.task_from_row(truth)
    function = function_name(truth)
    return Task(
        id="ground_truth",
        prompt="",
        tests=tuple(_tests(truth, statement, function)),
        entry_point=entry_point(function, statement) if function else None,
        prefix=USUAL_IMPORTS,
    )


def _tests(truth: Mapping[str, Any], prompt: str, function: str | None) -> list[AnyTest]:
    # In a file that mixes data sets, every row has the fields of all data sets; foreign fields are empty.
    for name, code in (
        ("functional", optional_text(truth, "functional")),
        ("assert_case", "\n".join(texts(truth, "assert_case"))),
    ):
        if code.strip():
            test = AssertTest(code)
            if compile_suite(code, "<tests>").tests_nothing:
                raise TaskError(f"{name} asserts nothing and uses nothing of the answer's, so nothing is tested")
            return [test]
    return paired_tests(truth, prompt, function)


def _id(row: Mapping[str, Any]) -> str:
    """The row's id: its source, split and index; a digest of the row if it has no index."""
    extra = row.get("extra_info")
    if not isinstance(extra, dict) or extra.get("index") is None:
        return row_id(row)
    parts = (row.get("data_source"), extra.get("split"), extra["index"])
    return "/".join(str(part) for part in parts if part not in (None, ""))
