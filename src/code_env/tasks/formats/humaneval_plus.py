"""HumanEval+ of EvalPlus: HumanEval's fields without `test`, with `base_input`, `plus_input` and `atol`.

See https://github.com/evalplus/evalplus. A row has inputs but no outputs: the right output is what the canonical
solution returns. Each input becomes one `assert` that compares the answer's value with the reference's value, as
EvalPlus does: they must be equal, or be numbers within `atol` and a relative tolerance of 1e-7, where an `atol` of 0
means 1e-6 if the expected value consists of floats. `find_zero` (HumanEval/32) has many right answers; for this task,
the value of the polynomial decides. `contract` only says which inputs are valid, and all inputs are valid. The
reference runs in a separate namespace, so no function of an answer can replace it, and an answer never sees it.

Newer releases on hubs have `test` and no `base_input`; they are read as HumanEval's and MBPP's formats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.executors.limits import Limits

from ..kinds import AssertTest
from ..task import Task
from .fields import shape, text, value_of

FIELDS = ("task_id", "prompt", "canonical_solution", "entry_point", "base_input")
"""The fields by which a row of this format is recognized."""

LIMITS = Limits(cpu_s=10.0, wall_s=30.0)
"""Larger than the defaults: some rows have a thousand inputs, and all of them are one `assert` test."""

_SETUP = '''\
def is_close(actual, expected, atol=0):
    """Whether a value is what is expected, as EvalPlus compares."""
    if atol == 0 and _all_floats(expected):
        atol = 1e-6
    return bool(actual == expected) or (atol != 0 and _near(actual, expected, atol))


def _all_floats(value):
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _near(actual, expected, atol):
    if isinstance(expected, (list, tuple)):
        return (
            type(actual) is type(expected)
            and len(actual) == len(expected)
            and all(_near(a, e, atol) for a, e in zip(actual, expected))
        )
    if isinstance(expected, dict):
        return (
            type(actual) is dict
            and actual.keys() == expected.keys()
            and all(_near(actual[key], expected[key], atol) for key in expected)
        )
    numbers = (bool, int, float, complex)
    if isinstance(expected, numbers) and isinstance(actual, numbers) and actual != expected:
        both_nan = actual != actual and expected != expected
        # Every number is within an infinite distance of an infinite one.
        is_finite = abs(expected) != float("inf")
        return both_nan or (is_finite and abs(actual - expected) <= atol + 1e-7 * abs(expected))
    return actual == expected


def _make_reference():
    namespace = {{"__name__": "reference"}}
    exec({source!r}, namespace)
    return namespace[{entry_point!r}]


reference = _make_reference()
'''

_SETUP_NAMES = {"is_close", "reference"}


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return set(FIELDS) <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of HumanEval+ describes.

    Raises:
        TaskError: If a field is missing or malformed.
    """
    task_id, prompt, solution, entry_point = (text(row, name) for name in FIELDS[:4])
    if task_id.startswith("Mbpp/"):
        raise TaskError(
            "task_id: a row of HumanEval+ was expected; got one of MBPP+, whose inputs need EvalPlus's conversion "
            "to tuples and sets; use the release of MBPP+ that has test_list and test"
        )
    if entry_point in _SETUP_NAMES:
        raise TaskError(f"entry_point: {entry_point!r} is the name of a helper of the tests")
    return Task(
        id=task_id,
        prompt=prompt,
        tests=(AssertTest(_asserts(row, entry_point)),),
        entry_point=entry_point,
        setup=_SETUP.format(source=_program(prompt, solution), entry_point=entry_point),
        prefix=prompt,
        reference=solution,
        limits=LIMITS,
    )


def with_shapes(test: str) -> str:
    """A test of the newer releases, changed to compare shapes before it compares numbers.

    NumPy broadcasts both values to one shape before it compares them, so an empty list is close to every number.
    EvalPlus itself compares types and lengths first, but the helper in its published rows does not.

    Example:
        >>> with_shapes("assert np.allclose(out, exp, rtol=1e-07, atol=atol)")
        'assert np.shape(out) == np.shape(exp) and np.allclose(out, exp, rtol=1e-07, atol=atol)'
    """
    return test.replace(
        "assert np.allclose(out, exp,", "assert np.shape(out) == np.shape(exp) and np.allclose(out, exp,"
    )


def _program(prompt: str, solution: str) -> str:
    return prompt + ("" if prompt.endswith("\n") else "\n") + solution


def _asserts(row: Mapping[str, Any], entry_point: str) -> str:
    atol = row.get("atol", 0)
    if isinstance(atol, bool) or not isinstance(atol, int | float) or not 0 <= atol < math.inf:
        raise TaskError(f"atol: a number of at least 0 was expected; got {shape(atol)}")
    inputs = [
        *_inputs(row, "base_input"),
        *(_inputs(row, "plus_input") if row.get("plus_input") is not None else []),
    ]
    if not inputs:
        raise TaskError("base_input: at least one input was expected; got an empty list")
    form = _FIND_ZERO if entry_point == "find_zero" else _CLOSE
    return "".join(form.format(args=args, atol=atol or 1e-6, given=f", {atol!r}" if atol else "") for args in inputs)


_CLOSE = "assert is_close(candidate({args}), reference({args}){given})\n"
_FIND_ZERO = "assert abs(poly({args}, candidate({args}))) <= {atol!r}\n"


def _inputs(row: Mapping[str, Any], name: str) -> list[str]:
    rows: list[Any] = value_of(row, name, list, "a list of lists of arguments")
    for index, args in enumerate(rows):
        if not isinstance(args, list):
            raise TaskError(f"{name}[{index}]: a list of arguments was expected; got {shape(args)}")
    return [", ".join(map(_literal, args)) for args in rows]


def _literal(value: Any) -> str:
    """Python source for a value that JSON can hold. `repr` would not do: it writes `nan` and `inf`, which are names."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(item)}" for key, item in value.items()) + "}"
    return repr(value)
