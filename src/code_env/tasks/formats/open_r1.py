"""open-r1's verifiable coding problems: a prompt, and `verification_info` with test cases.

See https://github.com/huggingface/open-r1. `verification_info` is `{"language", "test_cases"}`, or the JSON text of
such an object; a case is `{"input", "output", "type", "fn_name"?}`. If `type` is `stdin_stdout`, the program reads its
standard input; otherwise `fn_name` is called, as in APPS. `gold_standard_solution` is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError

from ..kinds import AnyTest
from ..task import Task
from .contest import call_tests, function_name, stdin_tests
from .fields import (
    chat_text,
    entry_point,
    in_each,
    in_field,
    json_list,
    json_object,
    metadata,
    optional_text,
    row_id,
    shape,
    value_of,
)
from .tolerance import text_rule, value_rule


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return "verification_info" in row


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of open-r1 describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    prompt = chat_text(row.get("prompt", row.get("problem")), "prompt")
    info = json_object(row, "verification_info")
    language = in_field("verification_info", lambda: optional_text(info, "language")) or "python"
    cases = in_field("verification_info", lambda: json_list(info, "test_cases"))
    function, tests = in_field("verification_info", lambda: _tests(cases, prompt))
    reference = optional_text(row, "gold_standard_solution") or None
    return Task(
        id=row_id(row, "problem_id", "id", "in_source_id"),
        prompt=prompt,
        tests=tuple(tests),
        language=language,
        entry_point=entry_point(function, prompt, reference or "") if function else None,
        reference=reference,
        metadata=metadata(row, "source", "task_type"),
    )


def _tests(cases: list[Any], prompt: str) -> tuple[str | None, list[AnyTest]]:
    """The function that the cases call, or None if they do not call one, and the tests."""
    functions = set(in_each("test_cases", cases, _function))
    if len(functions) != 1:
        raise TaskError(
            f"test_cases: cases that all call one function, or none, were expected; got {len(functions)} kinds"
        )
    (function,) = functions
    inputs, outputs = [case["input"] for case in cases], [case["output"] for case in cases]
    if function is None:
        return None, stdin_tests(inputs, outputs, text_rule(prompt, "lines"))
    return function, call_tests(inputs, outputs, value_rule(prompt))


def _function(case: Any) -> str | None:
    if not isinstance(case, dict):
        raise TaskError(f"an object was expected; got {shape(case)}")
    for name in ("input", "output"):
        value_of(case, name, object, "a value")
    function = function_name(case)
    kind = case.get("type") or ("function_call" if function else "stdin_stdout")
    if kind == "stdin_stdout":
        return None
    if kind != "function_call":
        raise TaskError(f"type: stdin_stdout or function_call was expected; got {shape(kind)}")
    if function is None:
        raise TaskError("fn_name: the function's name was expected; got nothing")
    return function
