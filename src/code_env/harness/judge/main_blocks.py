"""Makes test code run as a script does: its main block runs, and an exit with success at its end is its end.

The module of the tests is called `tests`, and classes of the tests find it under that name. So `__name__` keeps its
value, and only its comparisons with `"__main__"` are decided here. The statements of a main block take the place of the
block, so its `assert` statements are cases like any others. Three kinds of statement are left out:

- one that starts a test runner: what a runner would find is run anyway, see `runner_tests`;
- one that reads standard input, which tests do not have: it belongs to a program that shares the file with the tests;
- one that uses a name which only these bind.

`sys.exit(code)` as the last statement becomes `@cases.leave(code)`. Anywhere else an exit ends the tests early, because
an answer might have made it.
"""

from __future__ import annotations

import ast
import re

from .nodes import blocks_of

_RUNNERS = frozenset(("unittest", "pytest", "doctest"))

_STARTING = frozenset(
    (
        *("main", "testmod", "testfile", "run_docstring_examples", "TextTestRunner", "TestSuite", "TestLoader"),
        *("defaultTestLoader", "makeSuite", "TestProgram", "DocTestRunner", "DocTestSuite"),
    )
)
"""Attributes of the runners' modules that are used to find or to run tests."""

_EXITS = frozenset(("exit", "quit"))

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_MAY_CONCERN = re.compile(r"__name__|exit\b|quit\b|SystemExit")


def run_as_script(tree: ast.Module, code: str, recorder: str) -> None:
    """Change the tree of test code so that it runs as a script does.

    Args:
        tree: The tree.
        code: Its text; to look through the tree takes much longer.
        recorder: The name under which the namespace of the tests holds their `Cases`.
    """
    if not _MAY_CONCERN.search(code):
        return
    if "__name__" in code:
        _MainBlocks(tree).visit(tree)
    _end_at_exit(tree, tree.body, recorder)


class _MainBlocks(ast.NodeTransformer):
    """Replaces main blocks by their statements."""

    def __init__(self, tree: ast.Module) -> None:
        self._modules = set(_RUNNERS)
        bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self._gone = {"input"} - bound - {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        """Names whose use starts a runner or reads the input, or that only statements which do so have bound."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._modules |= {one.asname or one.name for one in node.names if one.name in _RUNNERS}
            elif isinstance(node, ast.ImportFrom) and node.module in _RUNNERS:
                self._gone |= {one.asname or one.name for one in node.names if one.name in _STARTING}
        functions = [node for node in tree.body if isinstance(node, _Function)]
        while more := {node.name for node in functions if self._leaves_out(node)} - self._gone:
            self._gone |= more

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.test, ast.Constant) or node.test.kind != _DECIDED:
            return node
        return self._kept(node.body if node.test.value else node.orelse) or ast.copy_location(ast.Pass(), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        sides = [node.left, *node.comparators]
        is_name = [isinstance(side, ast.Name) and side.id == "__name__" for side in sides]
        is_main = [isinstance(side, ast.Constant) and side.value == "__main__" for side in sides]
        if len(sides) != 2 or not any(is_name) or not any(is_main) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return self.generic_visit(node)
        return ast.copy_location(ast.Constant(isinstance(node.ops[0], ast.Eq), _DECIDED), node)

    def _kept(self, block: list[ast.stmt]) -> list[ast.stmt]:
        kept = []
        for statement in block:
            inner = [] if isinstance(statement, _Function | ast.ClassDef) else list(blocks_of(statement))
            if not self._leaves_out(statement):
                kept.append(statement)
                self._gone -= _bound(statement)
            elif inner and not self._leaves_out(statement, inner):
                for one in inner:
                    one[:] = self._kept(one) or ([ast.copy_location(ast.Pass(), statement)] if one else [])
                kept.append(statement)
            else:
                self._gone |= _bound(statement)
        return kept

    def _leaves_out(self, node: ast.stmt, without: list[list[ast.stmt]] | None = None) -> bool:
        passed_over = {id(one) for block in without or () for one in block}
        waiting: list[ast.AST] = [node]
        while waiting:
            one = waiting.pop()
            if self._is_of_runner(one):
                return True
            waiting += [inner for inner in ast.iter_child_nodes(one) if id(inner) not in passed_over]
        return False

    def _is_of_runner(self, node: ast.AST) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return (module in self._modules and name in _STARTING) or (module, name) == ("sys", "stdin")
            case ast.Name(id=name, ctx=ast.Load()):
                return name in self._gone
            case ast.Constant(value=str(text)):
                return text in _RUNNERS  # An argument of a command.
        return False


_DECIDED = "decided"
"""Marks constants that were comparisons of `__name__`."""


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, _Function | ast.ClassDef):
        return {statement.name}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _end_at_exit(tree: ast.Module, block: list[ast.stmt], recorder: str) -> None:
    """Replace the exit that is the last statement of a block, if the block ends the tests."""
    if not block:
        return
    match last := block[-1]:
        case ast.If():
            _end_at_exit(tree, last.body, recorder)
            _end_at_exit(tree, last.orelse, recorder)
        case ast.Expr(value=ast.Call(func=function) as call) if _is_exit(function):
            block[-1] = ast.copy_location(ast.Expr(_leaving(call, recorder)), last)
            _end_in_function(tree, call.args[0] if call.args else None, recorder)
        case ast.Raise(exc=ast.Call(func=ast.Name(id="SystemExit")) as call, cause=None):
            block[-1] = ast.copy_location(ast.Expr(_leaving(call, recorder)), last)
        case ast.Raise(exc=ast.Name(id="SystemExit") as name, cause=None):
            block[-1] = ast.copy_location(ast.Expr(_leaving(ast.Call(name, [], []), recorder)), last)
        case ast.Expr(value=value):
            _end_in_function(tree, value, recorder)


def _end_in_function(tree: ast.Module, value: ast.expr | None, recorder: str) -> None:
    """Do the same in the function that the last statement calls, if nothing else names it."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        name = value.func.id
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
        if len(functions) == uses == 1:
            _end_at_exit(tree, functions[0].body, recorder)


def _is_exit(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and (function.value.id, function.attr) == ("sys", "exit")
    return isinstance(function, ast.Name) and function.id in _EXITS


def _leaving(call: ast.Call, recorder: str) -> ast.Call:
    leave = ast.Attribute(ast.Name(recorder, ast.Load()), "leave", ast.Load())
    made = ast.Call(leave, call.args, call.keywords)
    for node in (leave.value, leave, made):
        ast.copy_location(node, call.func)
    return made
