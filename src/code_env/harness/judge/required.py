"""Decides which `assert` statements of a suite are cases, which count together, and which a right answer reaches.

An `assert` by itself is one case. The case fails if the `assert` is not reached, because an answer could make the tests
skip it. These `assert` statements are different, because no right answer reaches all of them:

- If every way through an `if`, a `match` or a `try` reaches an `assert` or ends the tests, an answer takes one of the
  branches. All their `assert` statements are one case. It needs one branch that ran to its end.
- If a handler for `AssertionError` asserts something else, either may hold: `try: assert order() == A`, `except
  AssertionError: assert order() == B`. They are one case too, and the first `assert` only attempts it: an exception
  that a handler of this `try` catches and replaces by an `assert` is no failure. In any other `try` a failed `assert`
  fails its case: a handler for `Exception` is meant for what the program raises, and one that only counts or prints
  failures would pass any answer.
- Only the machine decides on `if sys.version_info >= (3, 12)`. An `assert` in this branch belongs to the case next to
  it.
- A helper that the tests never call has no cases.

All this is read from the text, so the number of cases does not depend on a program.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .nodes import DEFINITIONS, Nodes, blocks_of, place_of


@dataclass(frozen=True)
class Several:
    """Parts of the tests; either all of them must be reached, or one of them."""

    how_many: Literal["all", "one"]
    parts: tuple[Needed, ...]


Needed = int | Several
"""The parts that must be reached: the `assert` statement with this number, or several parts."""


def is_met(needed: Needed, reached: Set[int]) -> bool:
    """Whether the needed `assert` statements are among those that were reached.

    >>> is_met(Several("one", (0, Several("all", (1, 2)))), {1})
    False
    """
    if isinstance(needed, int):
        return needed in reached
    parts = (is_met(part, reached) for part in needed.parts)
    return all(parts) if needed.how_many == "all" else any(parts)


@dataclass
class Case:
    """The `assert` statements that count together, by their numbers in the suite."""

    asserts: list[int]
    needed: Needed


@dataclass(frozen=True)
class Found:
    """The `assert` statements of a suite that count, and the cases that they form."""

    asserts: list[ast.Assert]
    cases: list[Case]
    attempts: Mapping[int, list[ast.expr]]
    """The numbers of those that may fail, because the tests catch the failure and assert something else; and what the
    handlers there catch."""

    def sources(self) -> list[str]:
        """Return the source of each case, on one line."""
        return [" | ".join(source_of(self.asserts[number]) for number in case.asserts) for case in self.cases]


def source_of(node: ast.Assert) -> str:
    """Return the source of an `assert` statement on one line, without its message."""
    return "assert " + ast.unparse(node.test).replace("\n", " ")


def find_cases(tree: ast.Module, nodes: Nodes, test_classes: Set[str]) -> Found:
    """Find the cases of a suite, in the order of the text.

    Args:
        tree: The test code.
        nodes: All nodes of the tree.
        test_classes: Names of classes whose methods `unittest` runs; these are cases of another kind.
    """
    uncalled = _uncalled_helpers(tree, nodes)
    for passed_over in (test_classes | uncalled, test_classes):
        finder = _Finder(passed_over, nodes)
        cases = finder.block(tree.body).cases
        if cases or not uncalled:
            break
    return Found(finder.asserts, cases, finder.attempts)


class _Part(NamedTuple):
    """The result for a part of the text."""

    cases: list[Case]
    certain: bool = False
    """Whether every run of this part reaches a case, or ends the tests."""


class _Finder:
    def __init__(self, passed_over: Set[str], nodes: Nodes) -> None:
        self.asserts: list[ast.Assert] = []
        self.attempts: dict[int, list[ast.expr]] = {}
        self._passed_over, self._nodes = passed_over, nodes
        self._something_leaves = bool(nodes.of(*_LEAVING))
        self._machine: Set[str] | None = None

    def block(self, body: Iterable[ast.stmt]) -> _Part:
        """Return the result for statements that follow one another."""
        cases: list[Case] = []
        waiting: list[Case] = []
        certain = left = False
        for statement in body:
            part = self._statement(statement)
            certain = certain or (part.certain and not left)
            left = left or (self._something_leaves and _may_leave(statement))
            if isinstance(statement, ast.If) and not part.certain and self._is_up_to_the_machine(statement.test):
                waiting += part.cases
                if cases:
                    _join(cases[-1], waiting)
                    waiting = []
                continue
            if part.cases and waiting:
                _join(part.cases[0], waiting)
                waiting = []
            cases += part.cases
        return _Part(cases + waiting, certain)

    def _statement(self, node: ast.stmt) -> _Part:
        match node:
            case ast.Assert():
                return self._assert(node)
            case ast.Raise():
                return _Part([], certain=True)
            case ast.If():
                return _branches([self.block(node.body), self.block(node.orelse)])
            case ast.Match():
                parts = [self.block(case.body) for case in node.cases]
                return _branches(parts if _takes_all(node.cases[-1]) else [*parts, _Part([])])
            case ast.Try() | ast.TryStar():
                first = len(self.asserts)
                begun = self.block(node.body)
                attempts = self._raised_in(node.body, range(first, len(self.asserts)))
                handled = [self.block(handler.body) for handler in node.handlers]
                done = self.block(node.orelse)
                straight = _Part(begun.cases + done.cases, begun.certain or done.certain)
                branches = _branches([straight, *handled])
                catching = [part for handler, part in zip(node.handlers, handled, strict=True) if _catches(handler)]
                if branches.certain and catching and catching[0].cases:
                    kinds = [
                        handler.type or ast.Name("BaseException", ast.Load(), **place_of(node))
                        for handler, part in zip(node.handlers, handled, strict=True)
                        if part.cases
                    ]
                    for number in attempts:
                        self.attempts.setdefault(number, []).extend(kinds)
                last = self.block(node.finalbody)
                return _Part(branches.cases + last.cases, branches.certain or last.certain)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return _Part([] if node.name in self._passed_over else self.block(node.body).cases)
            case ast.For() | ast.AsyncFor() | ast.While():
                return _Part(self.block(node.body).cases + self.block(node.orelse).cases)
            case ast.With() | ast.AsyncWith():
                return _Part(self.block(node.body).cases)
        return _Part([])

    def _assert(self, node: ast.Assert) -> _Part:
        if is_constant(node.test):
            return _Part([], certain=not _is_true(node.test))
        number = len(self.asserts)
        self.asserts.append(node)
        return _Part([Case([number], number)], certain=True)

    def _raised_in(self, body: list[ast.stmt], numbers: Iterable[int]) -> Set[int]:
        """Return those of the `assert` statements that run while a block runs, not in functions that it defines."""
        found: set[int] = set()
        blocks = [body]
        while blocks:
            for statement in blocks.pop():
                found.add(id(statement))
                blocks += [] if isinstance(statement, DEFINITIONS) else blocks_of(statement)
        return {number for number in numbers if id(self.asserts[number]) in found}

    def _is_up_to_the_machine(self, test: ast.expr) -> bool:
        if self._machine is None:
            self._machine = _names_of_the_machine(self._nodes)
        return all(node.id in self._machine for node in ast.walk(test) if isinstance(node, ast.Name))


def _branches(parts: list[_Part]) -> _Part:
    """Join branches. An answer takes one branch, so they are one case if each has a case or ends the tests."""
    certain = all(part.certain for part in parts)
    chosen = [part.cases for part in parts if part.cases]
    if not certain or len(chosen) < 2:
        return _Part([case for cases in chosen for case in cases], certain)
    asserts = [number for cases in chosen for case in cases for number in case.asserts]
    branches = [Several("all", tuple(case.needed for case in cases)) for cases in chosen]
    return _Part([Case(asserts, Several("one", tuple(branches)))], certain)


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler says that it catches a failed `assert`."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id == "AssertionError" for kind in kinds)


def _join(case: Case, others: list[Case]) -> None:
    """Add the `assert` statements of other cases to a case, which does not need them."""
    case.asserts = sorted(case.asserts + [number for other in others for number in other.asserts])


def _takes_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _may_leave(statement: ast.stmt) -> bool:
    """Whether a statement can leave the block that contains it."""
    return any(isinstance(node, _LEAVING) for node in ast.walk(statement))


_LEAVING = (ast.Return, ast.Break, ast.Continue)


def is_constant(test: ast.expr) -> bool:
    """Whether the text shows if the test is true; this is so for `(x == 1, "message")`, a common mistake."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_constant(test.operand)
    return isinstance(test, ast.Constant) or (isinstance(test, ast.Tuple) and bool(test.elts))


def _is_true(test: ast.expr) -> bool:
    """Whether a constant is true."""
    if isinstance(test, ast.UnaryOp):
        return not _is_true(test.operand)
    return bool(test.value) if isinstance(test, ast.Constant) else True


_REACHING = frozenset(("__name__", "eval", "exec", "globals", "locals", "vars", "input", "open", "__import__"))


def _names_of_the_machine(nodes: Nodes) -> Set[str]:
    """Return the names of builtins and modules: their values do not depend on an answer."""
    modules = {alias.asname or alias.name.partition(".")[0] for node in nodes.of(ast.Import) for alias in node.names}
    bound = {node.id for node in nodes.of(ast.Name) if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in nodes.of(ast.arg)}
    bound |= {node.name for node in nodes.of(*DEFINITIONS)}
    bound |= {alias.asname or alias.name for node in nodes.of(ast.ImportFrom) for alias in node.names}
    return (modules | set(dir(builtins))) - bound - _REACHING


def _uncalled_helpers(tree: ast.Module, nodes: Nodes) -> Set[str]:
    """Return the top-level functions that nothing in the text names; runners find `check` and tests by name."""
    named = {node.id for node in nodes.of(ast.Name)}
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.decorator_list
        and node.name not in named
        and node.name != "check"
        and not node.name.startswith("test")
    }
