"""Finds calls of the program in test code whose arguments can be read from the text.

If `assert` statements follow one another and only call the program with literals, these calls can be sent at once:
`assert f(1) == 2` and `assert f(2) == 3` need one message to the program, and the replies come one after another. The
program makes the calls in the order of the text, as it would if they were sent one by one.

A call is not sent ahead if it is not certain when it is made: within a loop, a branch or a function other than `check`,
after `and`, or next to a call of something that might call the program itself.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..wire.plain import NotPlain, encode
from .nodes import DEFINITIONS, Nodes

MAX_AT_ONCE = 1000
"""The most calls that are sent at once."""

_HARMLESS = frozenset(
    (
        *("abs", "all", "any", "bool", "dict", "float", "frozenset", "int", "isinstance", "len", "list", "max", "min"),
        *("repr", "round", "set", "sorted", "str", "sum", "tuple", "type"),
    )
)
"""Builtin functions that call no function of the tests if their arguments are data."""

_TYPE_NAMES = frozenset(("bool", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"))
"""Classes whose names may be arguments, as in `isinstance(x, int)`."""

_DATA_KEYWORDS = frozenset(("reverse", "default", "start", "ndigits", "rel_tol", "abs_tol", "rtol", "atol"))

_HARMLESS_MODULES = frozenset(("math", "cmath", "np", "numpy"))


@dataclass
class Foreseen:
    """The calls that can be foreseen, in the order of the text."""

    inputs: list[Any] = field(default_factory=list)
    """For each call, its encoded arguments: `[positional, named]`."""
    run_ends: list[int] = field(default_factory=list)
    """For each call, the number after the last call that may be sent together with it."""
    calls: list[ast.Call] = field(default_factory=list)
    """The nodes of the calls."""
    begins_at_once: bool = False
    """Whether the tests request nothing from the program before the first of these calls."""
    is_all: bool = False
    """Whether the tests request nothing else from the program."""

    def together_with(self, index: int) -> list[Any]:
        """Return the inputs of call `index` and of the calls that may be sent with it."""
        return self.inputs[index : min(self.run_ends[index], index + MAX_AT_ONCE)]


def foresee(tree: ast.Module, nodes: Nodes, entry_point: str) -> Foreseen:
    """Find the calls of `entry_point`, also under the name `candidate`, that can be foreseen.

    Args:
        tree: Test code.
        nodes: All nodes of the tree.
        entry_point: The function that the tests call.
    """
    foreseen = Foreseen()
    bound = {node.id for node in nodes.of(ast.Name) if isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes.of(*DEFINITIONS)}
    names = {entry_point, "candidate"} - bound
    harmless = (_HARMLESS & set(dir(builtins))) - bound
    checks = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "check" and s.args.args]
    top = _Runs(foreseen, names, harmless)
    top.add([statement for statement in tree.body if statement not in checks])
    runs = [top]
    for check in checks:
        runs.append(_Runs(foreseen, names | ({check.args.args[0].arg} - bound), harmless))
        runs[-1].add(check.body)
    # With at most one `check`, it is certain which call is the first.
    if len(checks) <= 1:
        begun = [one for one in runs if one.calls or one.gaps]
        foreseen.begins_at_once = bool(begun) and begun[0].calls_before_gap
        foreseen.is_all = not any(one.gaps for one in runs)
    return foreseen


class _Unforeseeable(Exception):
    """Raised for a statement with a call that must not be sent ahead."""


class _Runs:
    """Adds the calls of one block; a run is a sequence of statements whose calls can be sent together.

    Args:
        foreseen: Gets the calls.
        names: The names under which the tests call the entry point.
        harmless: Those of `_HARMLESS` that the tests do not define themselves.
    """

    def __init__(self, foreseen: Foreseen, names: set[str], harmless: frozenset[str] | set[str]) -> None:
        self._foreseen, self._names, self._harmless = foreseen, names, harmless
        self._type_names = _TYPE_NAMES & harmless
        self.calls = self.gaps = 0
        self.calls_before_gap = False

    def add(self, body: list[ast.stmt]) -> None:
        """Add the calls of all statements that can be foreseen, in runs of consecutive statements."""
        run: list[tuple[ast.Call, Any]] = []
        for statement in body:
            try:
                run += self._calls_of(statement)
            except (_Unforeseeable, RecursionError):
                self._close(run)
                run = []
                self.gaps += 1
        self._close(run)

    def _close(self, run: list[tuple[ast.Call, Any]]) -> None:
        self.calls += len(run)
        self.calls_before_gap = self.calls_before_gap or (bool(run) and not self.gaps)
        end = len(self._foreseen.inputs) + len(run)
        for node, form in run:
            self._foreseen.calls.append(node)
            self._foreseen.inputs.append(form)
            self._foreseen.run_ends.append(end)

    def _calls_of(self, statement: ast.stmt) -> list[tuple[ast.Call, Any]]:
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass) or _is_plain_data(statement):
            return []
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list and not _has_call(statement.args):
            return []
        if not isinstance(statement, ast.Assert) or (statement.msg is not None and _has_call(statement.msg)):
            raise _Unforeseeable
        return list(self._calls_in(statement.test))

    def _calls_in(self, node: ast.expr) -> Iterator[tuple[ast.Call, Any]]:
        """Yield the calls in an expression, in the order in which they are made."""
        if isinstance(node, ast.Call):
            yield from self._calls_of_call(node)
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            raise _Unforeseeable  # `in` takes values of an iterator.
        elif isinstance(node, ast.Compare | ast.BoolOp):
            parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else node.values
            certain = 2 if isinstance(node, ast.Compare) else 1
            for part in parts[:certain]:
                yield from self._calls_in(part)
            if any(map(_has_call, parts[certain:])):
                raise _Unforeseeable
        elif isinstance(node, ast.Constant | ast.Name):
            return
        elif isinstance(node, ast.BinOp):
            yield from self._calls_in(node.left)
            yield from self._calls_in(node.right)
        elif isinstance(node, ast.UnaryOp):
            yield from self._calls_in(node.operand)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            for item in node.elts:
                yield from self._calls_in(item)
        elif _has_call(node) or not isinstance(node, ast.Dict):
            raise _Unforeseeable

    def _calls_of_call(self, node: ast.Call) -> Iterator[tuple[ast.Call, Any]]:
        if isinstance(node.func, ast.Name) and node.func.id in self._names:
            yield node, _literal_arguments(node)
            return
        function = node.func
        harmless = isinstance(function, ast.Name) and function.id in self._harmless
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            harmless = function.value.id in _HARMLESS_MODULES
        if not harmless:
            raise _Unforeseeable
        # A name can stand for a function, which would be called, or for an iterator, whose values would be taken.
        if any(keyword.arg not in _DATA_KEYWORDS for keyword in node.keywords) or any(
            name.id not in self._type_names for argument in node.args for name in _names_outside_calls(argument)
        ):
            raise _Unforeseeable
        for argument in node.args:
            yield from self._calls_in(argument)
        if any(_has_call(keyword.value) for keyword in node.keywords):
            raise _Unforeseeable


def _is_plain_data(statement: ast.stmt) -> bool:
    """Whether a statement is only data: a literal by itself, or an assignment of a literal to names."""
    if not isinstance(statement, ast.Expr | ast.Assign) or statement.value is None:
        return False
    if isinstance(statement, ast.Assign) and not all(isinstance(target, ast.Name) for target in statement.targets):
        return False
    try:
        ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return False
    return True


def _names_outside_calls(node: ast.AST) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        yield node
    if not isinstance(node, ast.Call):
        for inner in ast.iter_child_nodes(node):
            yield from _names_outside_calls(inner)


def _literal_arguments(node: ast.Call) -> Any:
    if any(keyword.arg is None for keyword in node.keywords):
        raise _Unforeseeable
    try:
        args = [encode(ast.literal_eval(argument)) for argument in node.args]
        named = {str(keyword.arg): encode(ast.literal_eval(keyword.value)) for keyword in node.keywords}
    except (ValueError, TypeError, SyntaxError, MemoryError, NotPlain) as error:
        raise _Unforeseeable from error
    return [args, named]


def _has_call(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Call) for inner in ast.walk(node))
