"""Turns the `assert` statements of test code into cases.

Each `assert` whose test is not a constant is one case. The syntax tree is rewritten so that a
failed case is recorded, with both sides of a comparison, and the tests go on::

    assert add(1, 2) == 3        with @cases.case(0):
                                     @left = add(1, 2)
                                     @right = 3
                                     if not @left == @right:
                                         @cases.fail(0, (@left, @right), None)

Names with an `@` cannot clash with the test's own. The number of cases is a matter of the text
alone, so it is the same whatever a program does.
"""

from __future__ import annotations

import ast
import functools
import symtable
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from .comparing import brief

_MAX_MESSAGE = 2000
"""Longest message of a case, in characters: the program may have had a hand in it."""

RECORDER = "@cases"
"""Name under which the test code's namespace holds its `Cases`."""


@functools.lru_cache(maxsize=4096)
def count_cases(code: str) -> int:
    """How many cases a suite has; one, for its end, if it has no `assert` that counts.

    >>> count_cases("assert f(1) == 2\\nassert True")
    1

    Raises:
        SyntaxError: If the test code does not parse.
    """
    return max(1, sum(_is_case(node) for node in ast.walk(_parse(code))))


def _parse(code: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # Of the tests' style; nobody here can mend it.
        return ast.parse(code)


@dataclass(frozen=True)
class Suite:
    """Test code, rewritten and compiled."""

    code: CodeType
    sources: list[str]
    """For each case, its source on one line."""
    free_names: frozenset[str]
    """Names that the test code reads and does not bind: they come from elsewhere."""
    leaves_check_uncalled: bool
    """HumanEval's form: `check(candidate)` is defined, and calling it is left to the harness."""


def compile_suite(code: str, filename: str) -> Suite:
    """Rewrite and compile test code.

    Raises:
        SyntaxError: If the test code does not parse.
    """
    tree = _parse(code)
    free_names = _free_names(code)
    defines_check = any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body)
    rewriter = _Rewriter()
    tree = ast.fix_missing_locations(rewriter.visit(tree))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        compiled = compile(tree, filename, "exec", dont_inherit=True)
    return Suite(compiled, rewriter.sources, free_names, defines_check and not _calls_check(tree))


def _calls_check(tree: ast.Module) -> bool:
    """Whether the test code calls `check` itself, outside a main block, which does not run here."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check"
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef) and not _is_main_block(statement)
        for node in ast.walk(statement)
    )


def _is_main_block(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in {
        node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)
    }


def _free_names(code: str) -> frozenset[str]:
    """Names that the code reads as globals and binds nowhere as such."""
    read: set[str] = set()
    bound: set[str] = set()

    def visit(table: symtable.SymbolTable) -> None:
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if top or symbol.is_global():
                if symbol.is_referenced():
                    read.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported():
                    bound.add(symbol.get_name())
        for child in table.get_children():
            visit(child)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        visit(symtable.symtable(code, "<tests>", "exec"))
    return frozenset(read - bound)


def _is_case(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) and not _is_constant(node.test)


def _is_constant(test: ast.expr) -> bool:
    """Whether the test's truth is plain from the text; `(x == 1, "message")` is such a slip."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_constant(test.operand)
    return isinstance(test, ast.Constant) or (isinstance(test, ast.Tuple) and bool(test.elts))


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.sources: list[str] = []

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if not _is_case(node):
            return node
        index = len(self.sources)
        self.sources.append(ast.unparse(node.test).replace("\n", " "))
        sides: list[ast.expr] = []
        body: list[ast.stmt] = []
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = ast.Name("@left", ast.Load()), ast.Name("@right", ast.Load())
            body.append(ast.Assign([ast.Name("@left", ast.Store())], test.left))
            body.append(ast.Assign([ast.Name("@right", ast.Store())], test.comparators[0]))
            sides = [left, right]
            test = ast.Compare(left, test.ops, [right])
        message = node.msg or ast.Constant(None)
        failed = self._call("fail", ast.Constant(index), ast.Tuple(sides, ast.Load()), message)
        body.append(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Expr(failed)], []))
        context = ast.withitem(self._call("case", ast.Constant(index)))
        return ast.copy_location(ast.With([context], body), node)

    @staticmethod
    def _call(method: str, *args: ast.expr) -> ast.Call:
        recorder = ast.Name(RECORDER, ast.Load())
        return ast.Call(ast.Attribute(recorder, method, ast.Load()), list(args), [])


@dataclass
class CaseRecord:
    """What is known of one case."""

    source: str
    ran: bool = False
    message: str = ""
    """Why it failed; empty while it has not."""
    unsettled: int = 0
    """How many of its runs have begun and not been recorded to their end."""
    unfinished: bool = False
    """Whether an exception other than a failed assertion ended it, and the tests with it."""


class Cases:
    """Records how the cases of one suite go.

    Args:
        sources: From `compile_suite`.
        around: Called with True when a case begins and with False when it ends.
    """

    def __init__(self, sources: list[str], around: Callable[[bool], None]) -> None:
        self.records = [CaseRecord(source) for source in sources] or [CaseRecord("the tests run to their end")]
        self._around = around
        self._has_asserts = bool(sources)

    def case(self, index: int) -> _Case:
        """A context manager around one run of case `index`."""
        return _Case(self.records[index], self._around)

    def fail(self, index: int, sides: tuple[Any, ...], message: object) -> None:
        """End the run of a case as failed.

        Raises:
            AssertionError: Always; the case's context manager catches it.
        """
        text = f"assert {self.records[index].source}"
        if sides:
            text += f": left is {brief(sides[0])}, right is {brief(sides[1])}"
        if message is not None:
            text += f" ({message if isinstance(message, str) else brief(message)})"
        raise AssertionError(text)

    def finish(self, ended_by: str | None) -> None:
        """Settle what was not reached, and that an exception never goes unnoticed.

        Args:
            ended_by: The exception that ended the tests early, in words; None if they ran through.
        """
        if not self._has_asserts and ended_by is None:
            self.records[0].ran = True
        for record in self.records:
            if record.unsettled and not record.message:
                record.message = f"assert {record.source}: it did not come to an end"
                record.unfinished = True
            elif not record.ran and not record.message:
                record.message = "not reached" + (f": the tests ended with {ended_by}" if ended_by is not None else "")
        if ended_by is not None and not any(record.message for record in self.records):
            self.records[-1].message = f"the tests ended with {ended_by}"
            self.records[-1].unfinished = True


class _Case:
    """One run of a case. It has failed until it is known to have passed.

    What ends it may be an exception that the program made, so nothing here trusts that one: if
    recording it fails, or the time is up meanwhile, the case stays unsettled, and that is a failure.
    """

    def __init__(self, record: CaseRecord, around: Callable[[bool], None]) -> None:
        self._record, self._around = record, around

    def __enter__(self) -> None:
        self._record.unsettled += 1
        self._around(True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        record = self._record
        if error is not None:
            record.unfinished = not isinstance(error, AssertionError)
            if not record.message:
                source = f"assert {record.source}"
                text = _text_of(error) if type(error) is AssertionError else brief_error(error)
                whole = text if text.startswith(source) else f"{source}: {text}"
                record.message = " ".join(whole[:_MAX_MESSAGE].split())
        self._around(False)
        record.ran = True
        record.unsettled -= 1
        return error is not None and not record.unfinished


def _text_of(error: BaseException) -> str:
    """The text of an exception, whose arguments may be such that it has none."""
    try:
        return str(error)
    except Exception as failure:
        return f"<its text cannot be had: {type(failure).__name__}>"


def brief_error(error: BaseException) -> str:
    """Type and text of an exception, on one line.

    >>> brief_error(ValueError("no"))
    'ValueError: no'
    """
    text = " ".join(_text_of(error)[:500].split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
