"""Makes the statements of tests hold back the changes that the program makes to their arguments.

In `same(f(x), sorted(x))`, `sorted` must get `x` as it was before `f` changed it; `held_changes.py` says how. The
statements are rewritten so that changes wait for their end::

    same(f(x), sorted(x))            with @cases.held: same(f(x), sorted(x))
    ok[0] = f(x) == sorted(x)        with @cases.held: @value = f(x) == sorted(x)
                                     ok[0] = @value
    return f(x)                      with @cases.returning: return f(x)

In an `if`, `for`, `while`, `with` or `match` statement, only the header is rewritten. The `assert` statements that are
cases hold back changes by themselves. `reading_order.py` says where changes are made within a statement.

A statement that reads no name after its first call is not rewritten. An example is `y = f(x)`, after which `y` can be
`x` itself. There are two exceptions, whose changes pass to the statement that called the function: a `return`, and a
statement whose names the function does not read again.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Container, Set

from .nodes import DEFINITIONS, Nodes, blocks_of, place_of
from .reading_order import COPYING, ReadingOrder, of_recorder

_INERT = frozenset(
    (
        *("abs", "bool", "callable", "chr", "complex", "divmod", "float", "format", "hash", "hex", "id", "int"),
        *("isinstance", "issubclass", "len", "oct", "ord", "pow", "print", "range", "repr", "round", "str", "type"),
    )
)
"""Builtin functions that neither call functions of the program nor take values of its iterators."""

_INERT_METHODS = frozenset(("append", "extend", "join", "split", "strip", "items", "keys", "values", "lower", "upper"))

_VALUE = "@value"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_YIELDS = (ast.Yield, ast.YieldFrom)
_OUT_OF_ORDER = (ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.JoinedStr)
"""Expressions whose parts are not evaluated once, in the order of the text."""

_LOAD, _STORE = ast.Load(), ast.Store()


def hold_back(tree: ast.Module, nodes: Nodes, recorder: str, cases: Container[ast.stmt] = ()) -> None:
    """Rewrite the statements of a tree.

    Args:
        tree: The tree.
        nodes: All its nodes.
        recorder: The name under which the namespace holds the `Cases`.
        cases: The `assert` statements that are cases.
    """
    if nodes.of(ast.Call):
        _Holder(tree, nodes, recorder, cases).block(tree.body)


def _inert_functions(tree: ast.Module, bound: Set[str]) -> frozenset[str]:
    """Return the names of functions that certainly do not reach the program, as far as the text shows."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = {
        name: [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        for name, node in functions.items()
        if name not in bound and not node.decorator_list
    }
    inert = (_INERT & set(dir(builtins))) - bound - functions.keys() | calls.keys()
    while reaching := {name for name in calls.keys() & inert if not all(_is_inert(one, inert) for one in calls[name])}:
        inert -= reaching
    return frozenset(inert)


def _is_inert(call: ast.Call, inert: Container[str]) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr in _INERT_METHODS or (isinstance(function.value, ast.Name) and function.value.id == "math")
    return isinstance(function, ast.Name) and function.id in inert


class _Holder:
    def __init__(self, tree: ast.Module, nodes: Nodes, recorder: str, cases: Container[ast.stmt]) -> None:
        self._recorder, self._cases = recorder, cases
        bound = {node.id for node in nodes.of(ast.Name) if not isinstance(node.ctx, ast.Load)}
        bound |= {node.arg for node in nodes.of(ast.arg)}
        self._inert = _inert_functions(tree, bound)
        copying = COPYING - bound - {node.name for node in nodes.of(*DEFINITIONS)}
        self._order = ReadingOrder(self._calls, nodes, copying, recorder)
        self._last_read: dict[str, tuple[int, int]] | None = None
        """Where the present function reads each name for the last time; None outside functions and within loops."""

    def block(self, block: list[ast.stmt]) -> None:
        """Rewrite the statements of a block."""
        block[:] = [new for statement in block for new in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                before, self._last_read = self._last_read, _last_reads(node)
                self.block(node.body)
                self._last_read = before
            case ast.ClassDef():  # A new name in its body could become a member of an enumeration.
                for inner in node.body:
                    if isinstance(inner, (*_FUNCTIONS, ast.ClassDef)) or inner in self._cases:
                        self._statement(inner)
            case ast.Return(value=ast.expr() as value) if self._calls(value):
                return [self._with("held" if self._holds(value) else "returning", node)]
            case ast.Assert(test=value) if node in self._cases:
                node.test = self._order.statement(value)
            case ast.Assert(test=value) if self._holds(value):
                return [self._with("held", node)]
            case ast.Expr(value=value) | ast.Assign(value=value) if self._is_done_with(node, value):
                return [self._with("returning", node)]
            case ast.Expr(value=value) | ast.Raise(exc=ast.expr() as value) if self._holds(value):
                return [self._with("held", node)]
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return self._assignment(node, value) if self._holds(value) else [node]
            case _:
                return self._compound(node)
        return [node]

    def _assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, value: ast.expr) -> list[ast.stmt]:
        if isinstance(node, ast.Assign) and all(isinstance(one, ast.Name | ast.Tuple) for one in node.targets):
            inner = [part for one in node.targets for part in ast.walk(one)]
            if not any(isinstance(part, ast.Attribute | ast.Subscript) for part in inner):
                return [self._with("held", node)]
        # A change that arrives later would undo what the statement itself does to the object.
        node.value = self._read(value)
        return [self._kept(value), node]

    def _compound(self, node: ast.stmt) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        match node:
            case ast.If(test=value) if self._holds(value):
                before, node.test = [self._kept(value)], self._read(value)
            case ast.For(iter=value) | ast.AsyncFor(iter=value) if self._holds(value):
                before, node.iter = [self._kept(value)], self._read(value)
            case ast.Match(subject=value) if self._holds(value):
                before, node.subject = [self._kept(value)], self._read(value)
            case ast.With(items=[item]) | ast.AsyncWith(items=[item]) if self._holds(item.context_expr):
                before, item.context_expr = [self._kept(item.context_expr)], self._read(item.context_expr)
        last_read = self._last_read
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._last_read = None
        for block in blocks_of(node):
            self.block(block)
        self._last_read = last_read
        if isinstance(node, ast.While) and not node.orelse and self._holds(node.test):
            at = place_of(node.test)
            ended = ast.UnaryOp(ast.Not(), self._read(node.test), **at)
            node.body[:0] = [self._kept(node.test), ast.If(ended, [ast.Break(**at)], [], **at)]
            node.test = ast.Constant(True, **at)
        return [*before, node]

    def _is_done_with(self, node: ast.stmt, value: ast.expr) -> bool:
        """Whether a statement of a function makes calls and the function reads none of the names in it again."""
        if self._last_read is None or not self._calls(value) or self._holds(value):
            return False
        called = {id(one.func) for one in ast.walk(value) if isinstance(one, ast.Call)}
        names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name) and id(one) not in called}
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        return bool(names) and all(self._last_read[name] < end for name in names if name in self._last_read)

    def _calls(self, node: ast.expr) -> list[ast.Call]:
        """Return the calls in an expression that may reach the program; none if changes cannot be held back."""
        found = []
        for one in ast.walk(node):
            if isinstance(one, _YIELDS):  # The statement is left before it ends.
                return []
            if isinstance(one, ast.Call) and not _is_inert(one, self._inert):
                found.append(one)
        return found

    def _holds(self, node: ast.expr) -> bool:
        """Whether an expression reads a name after a call."""
        calls = self._calls(node)
        if not calls:
            return False
        end = min((call.end_lineno or 0, call.end_col_offset or 0) for call in calls)
        return any(
            isinstance(one, _OUT_OF_ORDER)
            or (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and (one.lineno, one.col_offset) >= end)
            for one in ast.walk(node)
        )

    def _with(self, kind: str, statement: ast.stmt) -> ast.With:
        match statement:
            case ast.Expr(value=value) | ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
                statement.value = self._order.statement(value)
            case ast.Raise(exc=ast.expr() as value):
                statement.exc = self._order.statement(value)
            case ast.Assert(test=value):
                statement.test = self._order.statement(value)
        at = place_of(statement)
        return ast.With([ast.withitem(of_recorder(self._recorder, kind, at))], [statement], **at)

    def _kept(self, value: ast.expr) -> ast.With:
        at = place_of(value)
        return self._with("held", ast.Assign([ast.Name(_VALUE, _STORE, **at)], value, **at))

    @staticmethod
    def _read(value: ast.expr) -> ast.Name:
        return ast.Name(_VALUE, _LOAD, **place_of(value))


def _last_reads(function: ast.AST) -> dict[str, tuple[int, int]]:
    reads: dict[str, tuple[int, int]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads[node.id] = max(reads.get(node.id, (0, 0)), (node.lineno, node.col_offset))
    return reads
