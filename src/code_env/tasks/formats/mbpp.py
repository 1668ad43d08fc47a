"""MBPP: a problem in one sentence, and three asserts. Reads both variants of its fields, and MBPP+ as hubs have it.

See https://github.com/google-research/google-research/tree/master/mbpp. The full set has `task_id`,
`text`, `code`, `test_list`, `test_setup_code`, `challenge_test_list`; the sanitized set has `prompt` instead of `text`
and `test_imports` instead of the set-up code. The asserts of `test_list` become one `assert` test. MBPP+ adds `test`,
which holds these asserts and more; if a row has this field, it becomes the test.

The entry point is the function that the first assert calls and that `code` defines. MBPP's usual prompt shows the
asserts. Here they are hidden, and the prompt ends with the function's signature instead. `challenge_test_list` has no
effect on the verdict, as in the published results; it is kept as metadata.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from code_env.errors import TaskError

from ..kinds import AssertTest
from ..task import Task
from .fields import metadata, parse_python, row_id, text, texts
from .humaneval_plus import with_shapes


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {"code", "test_list"} <= set(row) and not {"text", "prompt"}.isdisjoint(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of MBPP describes.

    Raises:
        TaskError: If a field is missing or malformed, or the asserts call no function of `code`.
    """
    code, asserts = text(row, "code"), texts(row, "test_list")
    if not asserts:
        raise TaskError("test_list: at least one assert was expected; got none")
    function = _tested_function(parse_python(code, "code"), parse_python(asserts[0], "test_list[0]"))
    question = text(row, "text" if "text" in row else "prompt")
    return Task(
        id=row_id(row, "task_id"),
        prompt=f"{question.rstrip()}\n\nThe function's signature is:\n\n{_signature(function)}\n",
        tests=(AssertTest(with_shapes(text(row, "test")) if row.get("test") is not None else "\n".join(asserts)),),
        entry_point=function.name,
        setup=_setup(row),
        reference=code,
        metadata=metadata(row, "challenge_test_list", "source_file"),
    )


def _setup(row: Mapping[str, Any]) -> str:
    parts = [*texts(row, "test_imports")]
    if row.get("test_setup_code") is not None:
        parts.append(text(row, "test_setup_code"))
    return "\n".join(parts)


def _tested_function(code: ast.Module, test: ast.Module) -> ast.FunctionDef:
    """The first function that the test calls and that `code` defines; calls of other functions are skipped."""
    functions = {node.name: node for node in code.body if isinstance(node, ast.FunctionDef)}
    for name in _called_names(test):
        if name in functions:
            return functions[name]
    raise TaskError(
        f"test_list[0]: a call of a function that code defines ({', '.join(functions) or 'it defines none'}) "
        f"was expected; got {ast.unparse(test)[:100]!r}"
    )


def _called_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _signature(function: ast.FunctionDef) -> str:
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"def {function.name}({ast.unparse(function.args)}){returns}:"
