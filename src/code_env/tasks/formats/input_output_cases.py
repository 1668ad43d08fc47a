"""Turns RewardKit's test cases, `{"input": ..., "expected_output": ...}`, into tests of this package."""

from __future__ import annotations

import ast
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from code_env.errors import TaskError
from code_env.harness.wire.plain import NotPlain, encode

from ..kinds import AnyTest, AssertTest, StdinTest


def as_tests(cases: Sequence[Mapping[str, Any]], function: str | None) -> tuple[AnyTest, ...]:
    """Make a test from each case: a test of standard input and output, or a test that calls a function.

    For a function, `input` is its argument as JSON or as a Python literal; several arguments are separated by commas or
    blanks. `expected_output` is the return value, in the same notation. If the text of `expected_output` is a literal,
    the text itself is right too, so `"1010"` matches a number and a text. A tuple matches a list, because JSON has one
    form for both, and NaN matches NaN.

    Args:
        cases: The cases.
        function: Name of the function that is called; None for standard input and output.

    Raises:
        TaskError: If a case is malformed; the message names it.

    Example:
        >>> as_tests([{"input": "2 3", "expected_output": "5"}], "add")[0].code
        "assert add(2, 3) in (5, '5')"
    """
    if function is not None and not function.isidentifier():
        raise TaskError(f"function_to_call must be the name of a function; got {function!r}")
    tests: list[AnyTest] = []
    for index, case in enumerate(cases):
        where = f"ground_truth[{index}]"
        if not isinstance(case, Mapping):
            raise TaskError(f"{where} must be an object with input and expected_output; got {type(case).__name__}")
        for name in ("input", "expected_output"):
            if not isinstance(case.get(name, ""), str) and not (function and name == "expected_output"):
                raise TaskError(f"{where}: {name} must be text; got {type(case[name]).__name__}")
        if "expected_output" not in case:
            raise TaskError(f"{where} lacks expected_output; it has {', '.join(map(str, case)) or 'nothing'}")
        given, expected = case.get("input", ""), case["expected_output"]
        tests.append(StdinTest(given, expected) if function is None else _call(function, given, expected, where))
    return tuple(tests)


def _call(function: str, given: str, expected: Any, where: str) -> AssertTest:
    readings = [expected]
    if isinstance(expected, str):
        value = _literal(expected.strip())
        readings = [expected] if value is _NO_LITERAL else [value, expected]
    arguments = ", ".join(_source(value, where) for value in _arguments(given.strip()))
    right = "".join(f"{_source(value, where)}, " for value in readings)
    right = right.strip() if len(readings) == 1 else right.removesuffix(", ")
    if not any(map(_has_forms, readings)):
        return AssertTest(f"assert {function}({arguments}) in ({right})")
    name = "in_one_form" if function != "in_one_form" else "in_one_form_"
    helper = _IN_ONE_FORM.replace("in_one_form", name)
    return AssertTest(f"{helper}assert {name}({function}({arguments})) in {name}(({right}))")


_IN_ONE_FORM = """def in_one_form(value, nan=float("nan")):
    if type(value) in (list, tuple):
        return [in_one_form(item) for item in value]
    if type(value) is dict:
        return {key: in_one_form(item) for key, item in value.items()}
    return nan if type(value) is float and value != value else value
"""
"""Code of the tests: values that count as the same become equal. All NaN values become one object, which is equal to
itself by identity."""


def _has_forms(value: Any) -> bool:
    """Whether another value counts as the same as this value."""
    if isinstance(value, dict):
        return any(map(_has_forms, value.values()))
    return isinstance(value, list | tuple) or (isinstance(value, float) and math.isnan(value))


_NO_LITERAL = object()


def _literal(text: str) -> Any:
    """The value that a text stands for, read as JSON, or else as a Python literal."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return _NO_LITERAL


def _arguments(text: str) -> list[Any]:
    if not text:
        return []
    whole = _literal(text)
    if isinstance(whole, tuple) and not text.startswith("("):
        return list(whole)
    if whole is not _NO_LITERAL:
        return [whole]
    try:
        parts = shlex.split(text)
    except ValueError:  # A quote is not closed.
        return [text]
    values = [_literal(part) for part in parts]
    return [part if value is _NO_LITERAL else value for part, value in zip(parts, values, strict=True)]


def _source(value: Any, where: str) -> str:
    """A value as Python source."""
    try:
        encode(value)
        return _written(value)
    except (NotPlain, ValueError, SyntaxError, RecursionError, MemoryError):
        pass
    raise TaskError(f"{where}: {value!r:.60} cannot be written as a Python literal")


def _written(value: Any) -> str:
    if type(value) is float and not math.isfinite(value):
        return f"float('{value}')"
    if type(value) is dict:
        return f"{{{', '.join(f'{_written(key)}: {_written(item)}' for key, item in value.items())}}}"
    if type(value) in (list, tuple):
        items = ", ".join(map(_written, value))
        return f"[{items}]" if type(value) is list else f"({items},)" if len(value) == 1 else f"({items})"
    if ast.literal_eval(repr(value)) != value:
        raise ValueError
    return repr(value)
