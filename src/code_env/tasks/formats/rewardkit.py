"""Rows of RewardKit: a problem, as `prompt` or as chat `messages`, and what RewardKit's rewards compare answers with.

See https://github.com/fw-ai-external/reward-kit. The fields of a row decide which tests the task has:

* `expected_output`, text, or `ground_truth`, text: what the program prints;
* `test_cases`, a list of `{"code", "expected"}`: cells that run after the program;
* `ground_truth`, a list of `{"input", "expected_output"}`: what the program reads and prints, or with
  `function_to_call` the arguments of a function and its return value.

The last message may be the assistant's; it is an answer and not a part of the prompt. All tests are hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.languages import canonical_name

from ..kinds import AnyTest, CellTest, OutputTest
from ..task import Task
from .fields import chat_text, in_each, metadata, optional_text, row_id, shape, text, value_of
from .input_output_cases import as_tests

_TRUTHS = ("expected_output", "test_cases", "ground_truth")


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format, and not the tests of our own."""
    return "tests" not in row and not {"prompt", "messages"}.isdisjoint(row) and not set(_TRUTHS).isdisjoint(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of RewardKit describes.

    Raises:
        TaskError: If a field is missing or malformed, or several fields say what is right.

    Example:
        >>> task_from_row({"prompt": "Print 1.", "expected_output": "1"}).tests[0].expected
        '1'
    """
    function = optional_text(row, "function_to_call") or None
    return Task(
        id=row_id(row, "id", "task_id"),
        prompt=_prompt(row),
        tests=tuple(_tests(row, function)),
        entry_point=function,
        language=canonical_name(optional_text(row, "language").lower() or "python"),
        metadata=metadata(row, "difficulty", "source"),
    )


def _prompt(row: Mapping[str, Any]) -> str:
    if row.get("prompt") is not None:
        return chat_text(row["prompt"], "prompt")
    messages = row.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
        messages = messages[:-1] if messages[-1].get("role") == "assistant" else messages
    return chat_text(messages, "messages")


def _tests(row: Mapping[str, Any], function: str | None) -> list[AnyTest]:
    # In a file that mixes kinds of rows, every row has the fields of all kinds; foreign fields are null.
    given = [name for name in _TRUTHS if row.get(name) is not None]
    if len(given) != 1:
        raise TaskError(f"one of {', '.join(_TRUTHS)} was expected; got {' and '.join(given) or 'none'}")
    name, value = given[0], row[given[0]]
    if isinstance(value, list) and not value:
        raise TaskError(f"{name}: at least one case was expected; leave out rows without tests")
    if name == "test_cases":
        return list(in_each(name, value_of(row, name, list, "a list of cases"), _cell))
    if isinstance(value, list) and name == "ground_truth":
        return list(as_tests(value, function))
    if not isinstance(value, str):
        what = "text or a list of cases" if name == "ground_truth" else "text"
        raise TaskError(f"{name}: {what} was expected; got {shape(value)}")
    return [OutputTest(value)]


def _cell(case: Any) -> CellTest:
    if not isinstance(case, dict):
        raise TaskError(f"an object with code and expected was expected; got {shape(case)}")
    return CellTest(code=text(case, "code"), expected=text(case, "expected"))
