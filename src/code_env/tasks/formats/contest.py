"""Tests of contest problems in several formats: pairs of input and output, or of arguments and return value.

A problem that names a function has `call` tests; any other problem has `stdin` tests. See `docs/formats.md`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from code_env.errors import TaskError
from code_env.executors.limits import Limits

from ..comparison import Comparison
from ..kinds import AnyTest, CallTest, StdinTest
from .fields import in_each, json_value, shape
from .tolerance import text_rule, value_rule

WALL_PER_CPU = 3.0
"""Wall time per CPU time, for rows that state only one time limit: the ratio of the default limits."""


def paired_tests(cases: Mapping[str, Any], statement: str, function: str | None, rule: str = "lines") -> list[AnyTest]:
    """The tests in an object with `inputs` and `outputs`.

    Args:
        cases: The object.
        statement: The problem's text, which may grant a tolerance.
        function: The function that the tests call; None if the program reads its input.
        rule: The rule for a program's output, used if the statement grants no tolerance.

    Raises:
        TaskError: If there are no tests, or the numbers of inputs and outputs differ.
    """
    inputs, outputs = cases.get("inputs"), cases.get("outputs")
    for name, values in (("inputs", inputs), ("outputs", outputs)):
        if not isinstance(values, list):
            raise TaskError(f"{name}: a list was expected; got {shape(values)}")
    if len(inputs) != len(outputs):  # type: ignore[arg-type]
        raise TaskError(f"as many inputs as outputs were expected; got {len(inputs)} and {len(outputs)}")  # type: ignore[arg-type]
    if not inputs:
        raise TaskError("inputs: at least one was expected; leave out rows without tests")
    if function is not None:
        return call_tests(inputs, outputs or [], value_rule(statement))
    return stdin_tests(inputs, outputs or [], text_rule(statement, rule))


def stdin_tests(
    inputs: Sequence[Any], outputs: Sequence[Any], compare: Comparison | str, hidden: bool = True
) -> list[AnyTest]:
    """Tests of a program that reads its input; an input or output is text, or a list of lines.

    Raises:
        TaskError: If an input or output is anything else.
    """
    pairs = zip(in_each("inputs", inputs, _lines), in_each("outputs", outputs, _lines), strict=True)
    return [StdinTest(stdin, stdout, compare=compare, hidden=hidden) for stdin, stdout in pairs]


def _lines(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(line.rstrip("\n") + "\n" for line in value)
    raise TaskError(f"text or a list of lines was expected; got {shape(value)}")


def call_tests(inputs: Sequence[Any], outputs: Sequence[Any], compare: Comparison | str) -> list[AnyTest]:
    """Tests that call a function.

    If an input is a list, it holds the arguments, and its output is the return value itself. If an input is text, it
    has one JSON value per line, and its output is JSON. If every output of a problem is a list with one item, this item
    is the return value: APPS and the formats derived from it wrap outputs in this way. In these formats, if the first
    argument or the output is an object and all its keys can be read as numbers, the keys become numbers, because keys
    in JSON are always text.

    Example:
        >>> test = call_tests([[{"1": "a"}]], [[{"2": "b"}]], "equal")[0]
        >>> test.args, test.expected
        (({1: 'a'},), {2: 'b'})

    Raises:
        TaskError: If an input is anything else, or is text that is not JSON.
    """
    args = in_each("inputs", inputs, arguments)
    values = in_each("outputs", zip(inputs, outputs, strict=True), _expected)
    wrapped = all(isinstance(given, list) for given in inputs) and all(
        isinstance(value, list) and len(value) == 1 for value in values
    )
    tests: list[AnyTest] = []
    for given, arguments_given, value in zip(inputs, args, values, strict=True):
        expected = value[0] if wrapped else value
        if isinstance(given, list):
            expected = _number_keys(expected)
            arguments_given = [*map(_number_keys, arguments_given[:1]), *arguments_given[1:]]
        tests.append(CallTest(tuple(arguments_given), {}, expected, compare=compare))
    return tests


_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)")


def _number_keys(value: Any) -> Any:
    """The object with its keys turned back into numbers, if JSON would write each key as a whole number."""
    if not isinstance(value, dict) or not all(isinstance(key, str) and _WHOLE_NUMBER.fullmatch(key) for key in value):
        return value
    return {int(key): item for key, item in value.items()}


def _expected(case: tuple[Any, Any]) -> Any:
    given, expected = case
    return json_value(expected) if isinstance(given, str) else expected


def arguments(value: Any) -> list[Any]:
    """The arguments of a call, given as a list, or as text with one JSON value per line.

    Example:
        >>> arguments('[1, 2]\\n"a"')
        [[1, 2], 'a']

    Raises:
        TaskError: If it is neither.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return [json_value(line) for line in value.split("\n") if line.strip()]
    raise TaskError(f"a list of arguments, or text with one JSON value a line, was expected; got {shape(value)}")


def function_name(cases: Mapping[str, Any], name: str = "fn_name") -> str | None:
    """The name of the function that the tests call; None if they do not call a function.

    Raises:
        TaskError: If the field exists and is not text.
    """
    value = cases.get(name)
    if value is not None and not isinstance(value, str):
        raise TaskError(f"{name}: text was expected; got {shape(value)}")
    return value or None


def limits_of(seconds: float | None = None, memory_bytes: float | None = None) -> Limits:
    """Limits with the values that a row states, and default values for the others.

    Example:
        >>> limits_of(2.0).wall_s
        6.0
    """
    values: dict[str, Any] = {}
    if seconds is not None:
        values |= {"cpu_s": seconds, "wall_s": WALL_PER_CPU * seconds}
    if memory_bytes is not None:
        values["memory_bytes"] = int(memory_bytes)
    return Limits(**values)


_QUANTITY = re.compile(r"(?<![\w.])([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)")
_UNITS = {
    "seconds": {"": 1.0, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3},
    "bytes": {
        "b": 1.0,
        "bytes": 1.0,
        **dict.fromkeys(("kb", "kib", "kilobyte", "kilobytes"), 2.0**10),
        **dict.fromkeys(("", "mb", "mib", "megabyte", "megabytes"), 2.0**20),
        **dict.fromkeys(("gb", "gib", "gigabyte", "gigabytes"), 2.0**30),
    },
}


def quantity(value: Any, unit: str) -> float | None:
    """A time in seconds or a size in bytes, read from a row's value; None if the value states nothing.

    A bare number is in seconds or megabytes. For a range ("0.5 - 1 seconds") the upper end is taken. Data sets write
    "None" or "nan" for an unknown value.

    Example:
        >>> quantity("256 megabytes", "bytes")
        268435456.0

    Raises:
        TaskError: If the value is anything else.
    """
    if value is None or str(value).strip().lower() in ("", "none", "nan"):
        return None
    found = _QUANTITY.findall(str(value)) if isinstance(value, str | int | float) else []
    factor = _UNITS[unit].get(found[-1][1].lower()) if found else None
    if factor is None or float(found[-1][0]) <= 0:
        known = ", ".join(sorted(filter(None, _UNITS[unit])))
        raise TaskError(f"a number above 0 with a unit ({known}) was expected; got {shape(value)}")
    return float(found[-1][0]) * factor
