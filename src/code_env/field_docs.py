"""Makes `help()` show what the fields of a dataclass mean.

In the source, the meaning of a field is a string below it. Python drops these strings, so the source is read again when
somebody asks for the documentation of the class, and not before.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from itertools import pairwise
from typing import Any


class _FieldDocs:
    """The `__doc__` of a class: its docstring, and below it each field with its meaning."""

    def __init__(self, docstring: str) -> None:
        self._docstring = docstring

    def __get__(self, instance: object, owner: type[Any]) -> str:
        meanings = _meanings(owner)
        if not meanings:
            return self._docstring
        fields = [f"    {name}: {' '.join(meaning.split())}" for name, meaning in meanings.items()]
        lines = [*inspect.cleandoc(self._docstring).splitlines(), "", "Fields:", *fields]
        return "\n".join(lines)


def show_fields(cls: Any) -> None:
    """Make the documentation of a dataclass show its fields; does nothing for anything else."""
    if isinstance(cls, type) and dataclasses.is_dataclass(cls) and isinstance(cls.__dict__.get("__doc__"), str):
        cls.__doc__ = _FieldDocs(cls.__dict__["__doc__"])  # type: ignore[assignment]


def _meanings(cls: type[Any]) -> dict[str, str]:
    """The strings below the fields of a class and of its bases, in the order of the fields."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError):  # No source is there.
            continue
        body = getattr(node, "body", [])
        for field, after in pairwise(body):
            is_string = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_string:
                found[field.target.id] = str(after.value.value)
    names = [field.name for field in dataclasses.fields(cls)]
    return {name: found[name] for name in names if name in found}
