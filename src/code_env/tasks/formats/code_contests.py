"""CodeContests: problems from several contest sites; the programs read input and write output.

See https://github.com/google-deepmind/code_contests. A row has `name`, `description`, and
`public_tests`, `private_tests` and `generated_tests`, each `{"input": [...], "output": [...]}`;
`time_limit` is in seconds or `{"seconds", "nanos"}`; `solutions` is `{"language": [...], "solution": [...]}`, and the
solutions in Python 3 become references. Public tests are public here too.

SandboxFusion's rows hold the same as `id`, `content`, `labels` (JSON) and `test` (JSON, a list of
`{"input": {"stdin": ...}, "output": {"stdout": ...}}`); there all tests are hidden.

The words of an output are compared; white space does not matter. Where the statement allows an error, numbers may
differ by this error.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from code_env.errors import TaskError
from code_env.executors.limits import Limits

from ..kinds import AnyTest
from ..task import Task
from .contest import limits_of, stdin_tests
from .fields import (
    in_each,
    in_field,
    json_list,
    json_object,
    metadata,
    optional_text,
    references,
    row_id,
    shape,
    text,
    texts,
    value_of,
)
from .tolerance import text_rule

_TEST_FIELDS = ("public_tests", "private_tests", "generated_tests")

_PYTHON = (3, "PYTHON3")
"""Python 3 in the data set's list of languages: by number, or by name."""

_DIFFERENT_STREAMS = ("input_file", "output_file")


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {"description", "public_tests"} <= set(row) or _is_sandbox_fusion(row)


def _is_sandbox_fusion(row: Mapping[str, Any]) -> bool:
    return {"content", "test", "labels"} <= set(row) and "canonical_solution" not in row


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of CodeContests describes.

    Raises:
        TaskError: If a field is missing or malformed, or the problem reads or writes a file.
    """
    return _from_sandbox_fusion(row) if "content" in row else _from_original(row)


def _from_original(row: Mapping[str, Any]) -> Task:
    statement = text(row, "description")
    for name in _DIFFERENT_STREAMS:
        if optional_text(row, name):
            raise TaskError(f"{name}: a problem of standard input and output was expected; got {row[name]!r}")
    tests: list[AnyTest] = []
    for name in _TEST_FIELDS:
        tests += in_field(name, partial(_tests, row.get(name), statement, name != "public_tests"))
    known = references(_python_solutions(row))
    return Task(
        id=row_id(row, "name"),
        prompt=statement,
        tests=tuple(tests),
        limits=_limits(row),
        reference=known["reference"],
        metadata=metadata(row, "difficulty", "source", "cf_rating", "cf_tags", **known["metadata"]),
    )


def _tests(cases: Any, statement: str, hidden: bool) -> list[AnyTest]:
    if cases is None:
        return []
    if not isinstance(cases, dict):
        raise TaskError(f"an object with input and output was expected; got {shape(cases)}")
    inputs, outputs = texts(cases, "input"), texts(cases, "output")
    if len(inputs) != len(outputs):
        raise TaskError(f"as many inputs as outputs were expected; got {len(inputs)} and {len(outputs)}")
    return stdin_tests(inputs, outputs, text_rule(statement, "tokens"), hidden)


def _limits(row: Mapping[str, Any]) -> Limits:
    memory = row.get("memory_limit_bytes") or None  # The data set writes 0 for an unknown limit.
    if memory is not None:
        value_of(row, "memory_limit_bytes", int, "a number of bytes")
    return limits_of(in_field("time_limit", lambda: _seconds(row.get("time_limit"))), memory)


def _seconds(value: Any) -> float | None:
    if isinstance(value, dict):
        value = (value.get("seconds") or 0) + (value.get("nanos") or 0) / 1e9
    if not isinstance(value, int | float | None) or isinstance(value, bool):
        raise TaskError(f"seconds, or an object with seconds and nanos, were expected; got {shape(value)}")
    return value or None  # The data set writes 0 for an unknown limit.


def _python_solutions(row: Mapping[str, Any]) -> list[str]:
    solutions = row.get("solutions") or {}
    if not isinstance(solutions, dict):
        raise TaskError(f"solutions: an object with language and solution was expected; got {shape(solutions)}")
    languages, codes = solutions.get("language") or [], in_field("solutions", lambda: texts(solutions, "solution"))
    if not isinstance(languages, list) or len(languages) != len(codes):
        raise TaskError("solutions: as many languages as solutions were expected")
    return [code for language, code in zip(languages, codes, strict=True) if language in _PYTHON]


def _from_sandbox_fusion(row: Mapping[str, Any]) -> Task:
    statement, labels = text(row, "content"), json_object(row, "labels")
    cases = in_each("test", json_list(row, "test"), _streams)
    return Task(
        id=row_id(row, "id"),
        prompt=statement,
        tests=tuple(
            stdin_tests([stdin for stdin, _ in cases], [out for _, out in cases], text_rule(statement, "tokens"))
        ),
        metadata=metadata(labels, "name", "difficulty", "source"),
    )


def _streams(case: Any) -> tuple[str, str]:
    if not isinstance(case, dict):
        raise TaskError(f"an object was expected; got {shape(case)}")
    given = value_of(case, "input", dict, "an object with stdin")
    expected = value_of(case, "output", dict, "an object with stdout")
    return (
        in_field("input", lambda: text(given, "stdin")),
        in_field("output", lambda: text(expected, "stdout")),
    )
