"""Finds in test code what a test runner would run: `unittest` classes, test functions and classes as pytest finds them.

All this is read from the text, so it is the same for every program:

- a class that derives from `unittest.TestCase`, also by another class of the text or under another name, with the test
  methods that it has or inherits;
- a function whose name begins with `test`, and the test methods of a class whose name begins with `Test`, if nothing in
  the text names the function or the class: then the text does not run it itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .required import is_constant

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class RunnerTests:
    """What a test runner finds in test code."""

    parts: frozenset[str]
    """The names of the classes to whose text `unittest` methods belong."""
    methods: list[tuple[str, str]]
    """Class and name of each `unittest` method, in the order of the text."""
    functions: list[tuple[str, str]]
    """Class and name of everything else that pytest would run; the class of a function is empty."""
    silent: list[tuple[str, str]]
    """Those of `functions` without an `assert` statement that counts; each is a case of its own."""

    @property
    def cases(self) -> list[tuple[str, str]]:
        """Class and name of everything that is a case of its own, in the order of the cases."""
        return self.silent + self.methods


def find_tests(code: str, tree: ast.Module) -> RunnerTests:
    """Find what a test runner would run in code; `tree` is the tree of this code."""
    # Most suites have neither, and to look through the tree takes as long as to parse it.
    return _Finder(tree).found() if _MAY_HAVE_TESTS.search(code) else RunnerTests(frozenset(), [], [], [])


_MAY_HAVE_TESTS = re.compile(r"\bclass\b|\bdef\s+test")


class _Finder:
    def __init__(self, tree: ast.Module) -> None:
        self._top = list(_statements(tree.body))
        self._classes = {node.name: node for node in self._top if isinstance(node, ast.ClassDef)}
        self._cases = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name.endswith("TestCase")
        }
        self._named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self._deleted = {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
        }

    def found(self) -> RunnerTests:
        tested = [node for node in self._classes.values() if self._is_unittest(node)]
        parts = {part.name for node in tested for part in self._with_bases(node)}
        methods = [
            (node.name, name)
            for node in tested
            if node.name not in self._deleted
            for name in self._methods(node) or self._methods(node, "runTest")
        ]
        functions: dict[tuple[str, str], bool] = {}
        for node in self._top:
            if isinstance(node, Function):
                if node.name.startswith("test") and node.name not in self._named and not _is_fixture(node):
                    functions["", node.name] = _asserts(node)
            elif isinstance(node, ast.ClassDef) and node.name not in parts | self._named:
                functions |= self._of_plain_class(node) if node.name.startswith("Test") else {}
        silent = [one for one, asserts in functions.items() if not asserts]
        return RunnerTests(frozenset(parts), methods, list(functions), silent)

    def _of_plain_class(self, node: ast.ClassDef) -> dict[tuple[str, str], bool]:
        bodies = {
            inner.name: inner
            for part in self._with_bases(node)
            for inner in _statements(part.body)
            if isinstance(inner, Function)
        }
        return {(node.name, name): name in bodies and _asserts(bodies[name]) for name in self._methods(node)}

    def _is_unittest(self, node: ast.ClassDef) -> bool:
        bases = [ast.unparse(base) for part in self._with_bases(node) for base in part.bases]
        return any(base.endswith("TestCase") or base in self._cases for base in bases)

    def _with_bases(self, node: ast.ClassDef, seen: frozenset[str] = frozenset()) -> list[ast.ClassDef]:
        """Return the classes of the text from which a class derives, and then the class itself."""
        found = []
        for base in node.bases:
            above = self._classes.get(base.id) if isinstance(base, ast.Name) else None
            if above is not None and above.name not in seen | {node.name}:
                found += self._with_bases(above, seen | {node.name})
        return [*found, node]

    def _methods(self, node: ast.ClassDef, prefix: str = "test") -> list[str]:
        names = (name for part in self._with_bases(node) for name in _bound(_statements(part.body)))
        return [name for name in dict.fromkeys(names) if name.startswith(prefix)]


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a block, also those in branches, but not those of functions and classes."""
    for statement in body:
        yield statement
        if not isinstance(statement, Function | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, name, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _statements(handler.body)


def _bound(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements of a class bind to functions."""
    for statement in statements:
        if isinstance(statement, Function):
            yield statement.name
        elif isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Constant):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _asserts(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Assert) and not is_constant(inner.test) for inner in ast.walk(node))


def _is_fixture(node: Function) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
