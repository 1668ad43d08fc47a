"""Finds tests that look at what blind judging does not show: data that outlives the call which took or gave it.

Data crosses between a program and its tests once for each call. So a test that changes what a call took or gave, and
then calls again, does not learn whether the program still holds that data; nor does one that asks whether two calls
gave one object. A wrong answer may pass it: a mutable default, a cache that is handed out, a list that is kept.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator

from code_env.tasks.kinds import AssertTest
from code_env.tasks.task import Task

_CHANGING = frozenset(
    (
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "discard", "update"),
        *("popitem", "setdefault", "appendleft", "popleft", "extendleft", "rotate", "move_to_end", "fill"),
    )
)
"""Methods that change what they belong to."""


def looks_at_copies(task: Task) -> list[tuple[int, str]]:
    """The tests of a task that look at data after the call that took or gave it.

    Returns:
        For each, its number and the statement that shows it, on one line.

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of the tests' style; nobody here can mend it.
        tree = ast.parse(code)
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

    A call has a root: the function or class of the program that is called, or the name of the object whose method it
    is.

    Args:
        own: Names that are the tests' own.
    """

    def __init__(self, own: set[str]) -> None:
        self._own = own
        # For names of data that calls took or gave, the roots of these calls.
        self._roots: dict[str, set[str]] = {}
        # Names of data that calls gave.
        self._gave: set[str] = set()
        # Names of objects of classes of the program.
        self._objects: set[str] = set()
        self._changed: list[tuple[str, set[str], ast.stmt]] = []

    def through(self, body: list[ast.stmt]) -> ast.stmt | None:
        """The first statement that looks at data after its call; None if there is none."""
        for statement in _flat(body):
            calls = [call for node in ast.walk(statement) if (call := self._call(node)) is not None]
            for name, roots, change in self._changed:
                # What is handed over again crosses again.
                if any(root in roots and name not in given for root, given in calls):
                    return change
            if any(self._is_of_two_calls(node) for node in ast.walk(statement)):
                return statement
            for name in self._changes(statement):
                self._changed.append((name, self._roots.get(name, {name}), statement))
            self._note(statement, calls)
        return None

    def _call(self, node: ast.AST) -> tuple[str, set[str]] | None:
        """Root of a call of the program, and the names that it is given."""
        if not isinstance(node, ast.Call):
            return None
        root = _root(node.func)
        if root is None or (root in self._own and root not in self._objects):
            return None
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return root, {arg.id for arg in given if isinstance(arg, ast.Name)}

    def _changes(self, statement: ast.stmt) -> Iterator[str]:
        """Names of data that a statement changes; for data that a call gives at once, the call's root."""
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
        """Whether two things that calls gave are said not to be one object."""
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
    """Simple statements, and what stands in compound ones, in the order of the text."""
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
