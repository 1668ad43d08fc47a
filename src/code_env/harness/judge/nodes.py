"""The nodes of a syntax tree, by their types."""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType
from typing import Any, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

DEFINITIONS: tuple[type[Definition], ...] = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""The types of node that define a name and have a body."""


_TRIES = 50
"""How many times code is parsed if Python fails: in 3.11, threads that parse at the same time confuse its count of the
depth, and it raises `SystemError` (github.com/python/cpython/issues/106905)."""


def parse(code: str) -> ast.Module:
    """Return the syntax tree of trusted code, without warnings about its style, which cannot be changed here.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: If it is not Python.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_TRIES - 1):
            with contextlib.suppress(SystemError):
                return ast.parse(code)
        return ast.parse(code)


def compiled(tree: ast.Module, filename: str) -> CodeType:
    """Compile a tree of trusted code, which may have been rewritten, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, filename, "exec", dont_inherit=True)


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a statement that have statements: its body, its branches, its handlers."""
    for name in ("body", "orelse", "finalbody"):
        yield from filter(None, [getattr(statement, name, None)])
    for name in ("handlers", "cases"):
        yield from (part.body for part in getattr(statement, name, ()))


def place_of(node: ast.expr | ast.stmt) -> dict[str, Any]:
    """Return where a node begins in the text, for nodes that replace it."""
    return {"lineno": node.lineno, "col_offset": node.col_offset}


class Nodes:
    """All nodes of a tree, sorted once by their types, because each question about them is about a few types.

    Args:
        tree: The tree. Nodes that are put into it later are not found.

    Example:
        >>> [name.id for name in Nodes(ast.parse("a = b + 1")).of(ast.Name)]
        ['a', 'b']
    """

    def __init__(self, tree: ast.AST) -> None:
        self._by_type: defaultdict[type[ast.AST], list[Any]] = defaultdict(list)
        for node in ast.walk(tree):
            self._by_type[type(node)].append(node)

    def of(self, *types: type[_Node]) -> list[_Node]:
        """Return the nodes of exactly these types, type by type, each in the order of `ast.walk`."""
        return [node for kind in types for node in self._by_type.get(kind, ())]
