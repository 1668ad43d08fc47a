"""Finds tests that check something that blind judging cannot show: data that is shared after a call has ended.

In blind judging, the data of each call is copied between the program and its tests. So a test that changes an argument
or a return value, and then calls again, cannot learn whether the program still holds that object. A test that asks
whether two calls returned the same object cannot learn that either. A wrong answer can pass these tests, for example
with a mutable default argument, with a cache that it returns, or with a list that it keeps.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from code_env.harness.judge.nodes import parse
from code_env.tasks.kinds import AssertTest
from code_env.tasks.task import Task

_CHANGING = frozenset(
    (
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "discard", "update"),
        *("popitem", "setdefault", "appendleft", "popleft", "extendleft", "rotate", "move_to_end", "fill"),
    )
)
"""Methods that change the object that they are called on."""


def looks_at_copies(task: Task) -> list[tuple[int, str]]:
    """Find the tests of a task that look at an argument or a return value after its call.

    Returns:
        For each of these tests, its number and the statement that looks at the data, on one line.

    Example:
        >>> tests = (AssertTest("a = f()\\na.append(1)\\nassert f() == []"),)
        >>> looks_at_copies(Task("fresh", "Write f.", tests, entry_point="f"))
        [(0, 'a.append(1)')]
    """
    if task.judge == "shared":
        return []
    found = []
    for number, test in enumerate(task.tests):
        if isinstance(test, AssertTest) and test.language == "python":
            statement = _first_look(test.code)
            if statement is not None:
                found.append((number, " ".join(ast.unparse(statement).split())[:200]))
    return found


def _first_look(code: str) -> ast.stmt | None:
    tree = parse(code)
    nodes = list(ast.walk(tree))
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)} - {"candidate"}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)} | set(dir(builtins))
    own |= {
        alias.asname or alias.name.partition(".")[0]
        for node in nodes
        for alias in getattr(node, "names", ())
        if isinstance(alias, ast.alias)
    }
    bodies = [tree.body, *(node.body for node in nodes if isinstance(node, ast.FunctionDef))]
    looks = (_Look(own).through(body) for body in bodies)
    return next((statement for statement in looks if statement is not None), None)


class _Look:
    """Goes through the statements of one body in their order.

    Each call has a root: the function or class of the program that is called; for a method call, the name of the
    object.

    Args:
        own: Names that the tests define.
    """

    def __init__(self, own: set[str]) -> None:
        self._own = own
        # For each name of an argument or a return value: the roots of the calls that took or returned it.
        self._roots: dict[str, set[str]] = {}
        # Names of return values.
        self._gave: set[str] = set()
        # Names of instances of the program's classes.
        self._objects: set[str] = set()
        self._changed: list[tuple[str, set[str], ast.stmt]] = []

    def through(self, body: list[ast.stmt]) -> ast.stmt | None:
        """The first statement that looks at an argument or a return value after its call; None if there is none."""
        for statement in _flat(body):
            calls = [call for node in ast.walk(statement) if (call := self._call(node)) is not None]
            for name, roots, change in self._changed:
                # If the changed object is an argument of the new call, it is copied again, with its changes.
                if any(root in roots and name not in given for root, given in calls):
                    return change
            if any(self._is_of_two_calls(node) for node in ast.walk(statement)):
                return statement
            for name in self._changes(statement):
                self._changed.append((name, self._roots.get(name, {name}), statement))
            self._note(statement, calls)
        return None

    def _call(self, node: ast.AST) -> tuple[str, set[str]] | None:
        """The root of a call of the program, and the names among its arguments."""
        if not isinstance(node, ast.Call):
            return None
        root = _root(node.func)
        if root is None or (root in self._own and root not in self._objects):
            return None
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return root, {arg.id for arg in given if isinstance(arg, ast.Name)}

    def _changes(self, statement: ast.stmt) -> Iterator[str]:
        """The names of data that a statement changes; if it changes a return value directly, the root of the call."""
        for node in ast.walk(statement):
            owner = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
                owner = node.func.value
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                owner = node.value
            if owner is None:
                continue
            root = _root(owner)
            at_once = any(self._call(inner) is not None for inner in ast.walk(owner))
            if root is not None and (at_once or root in self._roots):
                yield root

    def _is_of_two_calls(self, node: ast.AST) -> bool:
        """Whether a node asserts that the return values of two calls are not the same object."""
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare) and [type(op) for op in node.ops] == [ast.IsNot]:
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "assertIsNot":
            sides = node.args[:2]
        return len(sides) == 2 and all(
            side.id in self._gave if isinstance(side, ast.Name) else self._call(side) is not None for side in sides
        )

    def _note(self, statement: ast.stmt, calls: list[tuple[str, set[str]]]) -> None:
        made = set()
        if isinstance(statement, ast.Assign) and (call := self._call(statement.value)) is not None:
            made = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if call[0].lstrip("_")[:1].isupper():
                self._objects |= made
            else:
                self._gave |= made
            for name in made - self._objects:
                self._roots[name] = {call[0]}
        for root, given in calls:
            for name in given - self._objects:
                self._roots.setdefault(name, set()).update({root, *made})


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements, with those inside compound statements, in the order of the text."""
    for statement in body:
        inner = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            continue
        if not any(inner):
            yield statement
        for part in inner:
            yield from _flat(part)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None
