"""Mutants: copies of a program in which one thing is changed, such as an operator, a constant or a condition.

The operators are the usual ones of mutation testing: Offutt et al., "An experimental determination of sufficient mutant
operators", 1996 (https://doi.org/10.1145/227607.227610), and the deletion of statements.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from code_env.harness.judge.nodes import parse
from code_env.tasks.task import Task

_SWAPPED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult, ast.FloorDiv),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
"""What takes the place of an operator."""

_RENAMED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "sorted": "list",
    "sum": "len",
    "lower": "upper",
    "upper": "lower",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "startswith": "endswith",
    "endswith": "startswith",
    "find": "rfind",
    "rfind": "find",
    "floor": "ceil",
    "ceil": "floor",
    "isalpha": "isalnum",
    "isdigit": "isalpha",
    "isupper": "islower",
    "islower": "isupper",
}
"""What takes the place of the name of a function or method that is called."""


@dataclass(frozen=True)
class _Change:
    """One thing that can be changed: a field of a node, or an element of a list there."""

    node: ast.AST
    field: str
    index: int | None
    value: Any
    """What takes its place."""

    def text_of(self, tree: ast.Module) -> str:
        """The program with this change. The tree is as before afterwards."""
        whole = getattr(self.node, self.field)
        changed = self.value if self.index is None else [*whole[: self.index], self.value, *whole[self.index + 1 :]]
        setattr(self.node, self.field, changed)
        try:
            return ast.unparse(ast.fix_missing_locations(tree))
        finally:
            setattr(self.node, self.field, whole)


def mutants(code: str, count: int, seed: int | str = 0, first_line: int = 1) -> list[str]:
    """Make mutants of a program.

    Args:
        code: A trusted program in Python, such as a task's reference.
        count: How many there are at most. A program with fewer places to change has fewer.
        seed: The same seed gives the same mutants.
        first_line: The first line of the code that may be changed, counted from 1.

    Returns:
        The mutants, as Python formats them: each differs from `formatted(code)`, and from the others.

    Raises:
        SyntaxError: If the code is not Python.

    Example:
        >>> mutants("print(a < 1)", 9)
        ['pass', 'print(a < 0)', 'print(a < 2)', 'print(a <= 1)', 'print(a > 1)']
    """
    tree = parse(code)
    changes = list(_changes(tree, first_line))
    random.Random(f"{seed}").shuffle(changes)
    found = {ast.unparse(tree): -1}
    for number, change in enumerate(changes):
        if len(found) > count:
            break
        found.setdefault(change.text_of(tree), number)
    return sorted(text for text, number in found.items() if number >= 0)


def mutants_of(task: Task, count: int, seed: int) -> list[str]:
    """Mutants of a task's reference, as whole programs. What stands before the answer is the task's own.

    Args:
        task: A task with a reference.
        count: How many there are at most.
        seed: The same seed gives the same mutants.
    """
    reference = task.reference or ""
    program = task.program(reference)
    return mutants(program, count, f"{seed} {task.id}", first_line=program.count("\n") - reference.count("\n") + 1)


def formatted(code: str) -> str:
    """Return a program as Python formats it, without its comments, so that a mutant differs in its change only.

    Example:
        >>> formatted("x=1 # one")
        'x = 1'
    """
    return ast.unparse(parse(code))


def _changes(tree: ast.Module, first_line: int) -> Iterator[_Change]:
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            inside = value if isinstance(value, list) else [value]
            for index, child in enumerate(inside):
                if not isinstance(child, ast.AST):
                    continue
                # Operators have no place of their own, so theirs is that of the expression.
                if getattr(child, "lineno", getattr(node, "lineno", 0)) < first_line:
                    continue
                for other in _others(child, node, field):
                    yield _Change(node, field, index if isinstance(value, list) else None, other)


def _others(child: ast.AST, parent: ast.AST, field: str) -> Iterator[ast.AST | None]:
    """What may take the place of a node."""
    if (isinstance(parent, ast.arg | ast.AnnAssign) and field == "annotation") or field in (
        "returns",
        "decorator_list",
    ):
        return
    yield from (kind() for kind in _SWAPPED.get(type(child), ()))
    if isinstance(child, ast.stmt):
        yield from _other_statements(child)
    elif isinstance(child, ast.expr) and not isinstance(parent, ast.JoinedStr | ast.FormattedValue):
        yield from _other_expressions(child, parent, field)


def _other_statements(child: ast.stmt) -> Iterator[ast.stmt]:
    is_call = isinstance(child, ast.Expr) and not isinstance(child.value, ast.Constant)
    if is_call or isinstance(child, ast.Assign | ast.AugAssign | ast.Break | ast.Continue | ast.Raise | ast.Delete):
        yield ast.Pass()
    elif isinstance(child, ast.Return) and child.value is not None:
        yield ast.Return(None)
    elif isinstance(child, ast.If | ast.For | ast.While) and child.orelse:
        yield _with(child, orelse=[])
    if isinstance(child, ast.Break):
        yield ast.Continue()


def _other_expressions(child: ast.expr, parent: ast.AST, field: str) -> Iterator[ast.expr | None]:
    match child:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Constant(value=str() as value) if not isinstance(parent, ast.Expr):
            yield ast.Constant("" if value else " ")
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Compare(ops=[_, _, *_]):  # One link of a chain less, at its end or its start.
            yield _with(child, ops=child.ops[:-1], comparators=child.comparators[:-1])
            yield _with(child, left=child.comparators[0], ops=child.ops[1:], comparators=child.comparators[1:])
        case ast.Call(func=ast.Name(id=name)) if name in _RENAMED:
            yield _with(child, func=ast.Name(_RENAMED[name], ast.Load()))
        case ast.Call(func=ast.Attribute(attr="append") as method, args=[argument]):
            yield _with(child, func=_with(method, attr="insert"), args=[ast.Constant(0), argument])
        case ast.Call(func=ast.Attribute(attr=name) as method) if name in _RENAMED:
            yield _with(child, func=_with(method, attr=_RENAMED[name]))
        case ast.Call(func=ast.Name(id="abs" | "set" | "reversed"), args=[argument]):
            yield argument
        case ast.Call(func=ast.Name(id="range"), args=[*arguments]) if arguments:
            end = min(1, len(arguments) - 1)
            for change in (ast.Add(), ast.Sub()):
                moved = ast.BinOp(arguments[end], change, ast.Constant(1))
                yield _with(child, args=[*arguments[:end], moved, *arguments[end + 1 :]])
        case ast.BoolOp(values=values):
            yield from (_with(child, values=values[:n] + values[n + 1 :]) for n in range(len(values)))
        case ast.BinOp(left=left, right=right):
            yield left
            yield right
        case ast.Subscript(slice=ast.Slice() as part):
            yield from (_with(child, slice=_with(part, **{end: None})) for end in _ends_of(part))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _without_conditions(child)
    if field == "test":
        yield ast.UnaryOp(ast.Not(), child)
        if not isinstance(parent, ast.While):
            yield ast.Constant(True)
        yield ast.Constant(False)


def _ends_of(part: ast.Slice) -> list[str]:
    return [end for end in ("lower", "upper", "step") if getattr(part, end) is not None]


def _without_conditions(
    child: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> Iterator[ast.expr]:
    for number, loop in enumerate(child.generators):
        if loop.ifs:
            less = [*child.generators[:number], _with(loop, ifs=[]), *child.generators[number + 1 :]]
            yield _with(child, generators=less)


def _with(node: Any, **fields: Any) -> Any:
    """A copy of a node with other fields."""
    make: Callable[..., Any] = type(node)
    return make(**{**dict(ast.iter_fields(node)), **fields})
