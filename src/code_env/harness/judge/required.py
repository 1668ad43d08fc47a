"""Which `assert` statements of a suite are cases, which of them count together, and which a right answer reaches.

An `assert` that stands by itself is one case, and has failed where it was not reached: an answer could have steered the
tests past it. Three kinds are different, since no right answer reaches all of them:

- Of the branches of an `if`, a `match` or a `try` that leave no way past them, an answer takes one. All their `assert`
  statements are one case, which needs one branch that was run to its end.
- Only the machine decides on `if sys.version_info >= (3, 12)`. What is asserted there belongs to the case next to it.
- A helper that the tests never call has no cases.

All this is read from the text, so that the number of cases does not depend on a program.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True)
class Several:
    """Parts of the tests. All of them must be reached, or one of them."""

    how_many: Literal["all", "one"]
    parts: tuple[Needed, ...]


Needed = int | Several
"""What must be reached: the `assert` statement of this number, or several."""


def is_met(needed: Needed, reached: Set[int]) -> bool:
    """Whether what is needed is among the numbers of what was reached.

    >>> is_met(Several("one", (0, Several("all", (1, 2)))), {1})
    False
    """
    if isinstance(needed, int):
        return needed in reached
    parts = (is_met(part, reached) for part in needed.parts)
    return all(parts) if needed.how_many == "all" else any(parts)


@dataclass
class Case:
    """`assert` statements that count together, by their numbers in the suite."""

    asserts: list[int]
    needed: Needed


@dataclass(frozen=True)
class Found:
    """The `assert` statements of a suite that count, and the cases that they are."""

    asserts: list[ast.Assert]
    cases: list[Case]

    def sources(self) -> list[str]:
        """For each case its source on one line."""
        return [" | ".join(source_of(self.asserts[number]) for number in case.asserts) for case in self.cases]


def source_of(node: ast.Assert) -> str:
    """The source of an `assert` statement on one line, without its message."""
    return "assert " + ast.unparse(node.test).replace("\n", " ")


def find_cases(tree: ast.Module, nodes: list[ast.AST], test_classes: Set[str]) -> Found:
    """The cases of a suite, in the order of the text.

    Args:
        tree: The test code.
        nodes: All that is in it.
        test_classes: Names of its `unittest.TestCase` classes, whose methods are cases of another kind.
    """
    uncalled = _uncalled_helpers(tree, nodes)
    for passed_over in (test_classes | uncalled, test_classes):
        finder = _Finder(passed_over, nodes)
        cases = finder.block(tree.body).cases
        if cases or not uncalled:
            break
    return Found(finder.asserts, cases)


class _Part(NamedTuple):
    """What a part of the text has."""

    cases: list[Case]
    certain: bool = False
    """Whether nobody gets past it without reaching a case, or an end of the tests."""


class _Finder:
    def __init__(self, passed_over: Set[str], nodes: list[ast.AST]) -> None:
        self.asserts: list[ast.Assert] = []
        self._passed_over, self._nodes = passed_over, nodes
        self._something_leaves = any(isinstance(node, _LEAVING) for node in nodes)
        self._machine: Set[str] | None = None

    def block(self, body: Iterable[ast.stmt]) -> _Part:
        """Statements that follow one another."""
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
                begun = self.block(node.body)
                handled = [self.block(handler.body) for handler in node.handlers]
                done = self.block(node.orelse)
                straight = _Part(begun.cases + done.cases, begun.certain or done.certain)
                branches, last = _branches([straight, *handled]), self.block(node.finalbody)
                return _Part(branches.cases + last.cases, branches.certain or last.certain)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return _Part([] if node.name in self._passed_over else self.block(node.body).cases)
            case ast.For() | ast.AsyncFor() | ast.While():
                return _Part(self.block(node.body).cases + self.block(node.orelse).cases)
            case ast.With() | ast.AsyncWith():
                return _Part(self.block(node.body).cases)
        return _Part([])

    def _assert(self, node: ast.Assert) -> _Part:
        if _is_constant(node.test):
            return _Part([], certain=not _is_true(node.test))
        number = len(self.asserts)
        self.asserts.append(node)
        return _Part([Case([number], number)], certain=True)

    def _is_up_to_the_machine(self, test: ast.expr) -> bool:
        if self._machine is None:
            self._machine = _names_of_the_machine(self._nodes)
        return all(node.id in self._machine for node in ast.walk(test) if isinstance(node, ast.Name))


def _branches(parts: list[_Part]) -> _Part:
    """An answer takes one of the branches. They are one case if each of them has a case or ends the tests."""
    certain = all(part.certain for part in parts)
    chosen = [part.cases for part in parts if part.cases]
    if not certain or len(chosen) < 2:
        return _Part([case for cases in chosen for case in cases], certain)
    asserts = [number for cases in chosen for case in cases for number in case.asserts]
    branches = [Several("all", tuple(case.needed for case in cases)) for cases in chosen]
    return _Part([Case(asserts, Several("one", tuple(branches)))], certain)


def _join(case: Case, others: list[Case]) -> None:
    """Have what others assert count with a case, whether or not it is reached."""
    case.asserts = sorted(case.asserts + [number for other in others for number in other.asserts])


def _takes_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _may_leave(statement: ast.stmt) -> bool:
    """Whether it may leave the block that it stands in."""
    return any(isinstance(node, _LEAVING) for node in ast.walk(statement))


_LEAVING = (ast.Return, ast.Break, ast.Continue)


def _is_constant(test: ast.expr) -> bool:
    """Whether the test's truth is plain from the text; `(x == 1, "message")` is such a slip."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_constant(test.operand)
    return isinstance(test, ast.Constant) or (isinstance(test, ast.Tuple) and bool(test.elts))


def _is_true(test: ast.expr) -> bool:
    """The truth of a constant."""
    if isinstance(test, ast.UnaryOp):
        return not _is_true(test.operand)
    return bool(test.value) if isinstance(test, ast.Constant) else True


_REACHING = frozenset(("__name__", "eval", "exec", "globals", "locals", "vars", "input", "open", "__import__"))


def _names_of_the_machine(nodes: list[ast.AST]) -> Set[str]:
    """Builtin names and modules: what they stand for does not depend on an answer."""
    modules: set[str] = set()
    bound: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            bound.update(alias.asname or alias.name for alias in node.names)
    return (modules | set(dir(builtins))) - bound - _REACHING


def _uncalled_helpers(tree: ast.Module, nodes: list[ast.AST]) -> Set[str]:
    """Names of functions at the top level that nothing in the text names; runners find `check` and tests by name."""
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.decorator_list
        and node.name not in named
        and node.name != "check"
        and not node.name.startswith("test")
    }
