"""Lets go of changes to arguments within a statement of the tests, where what is read next must show them.

`held_changes.py` holds back the changes of a call until its statement has ended, so that `f(x) == sorted(x)` computes
the expected value from `x` as it was. But in `(f(x), x) == ([1, 3], [3, 1])` the actual value has two parts, and the
second must be what `f` has made of `x`. So Python's order counts in these places:

* Between the parts of `and` and `or` where they are conditions, after the condition of `a if b else c` and of a
  comprehension, and after each element of a comprehension that is a condition: these are like statements.
* Among the parts of a tuple, list, set or dict, of an f-string, of an operator and of `a[b]`: a later part that reads
  an argument of the call directly finds it changed. If a part is the argument itself, the use of the whole reads it.
* If a call is compared with a length, an item or an attribute of its argument, as in `push(s, 1) == len(s)`, or if
  both are arguments of one call.

An argument is read directly by its name, its attributes and items, by a copy (`x[:]`, `list(x)`), by its text and by
its length. All else computes something, as `sorted(x)`, and counts as an expected value.

Changes stay held back if the other side of the comparison reads the argument directly too, as the label in
`[(x, f(x)) for x in xs] == [(x, sorted(x)) for x in xs]`. Only changes that were made within the whole itself are let
go, not those of a call beside it::

    (f(x), x) == (1, [3])      @cases.joined(@cases.start_part(), (f(x), (x, @cases.let_go())[0])) == (1, [3])
    f"{f(x)} {x}"              @cases.joined(@cases.start_part(), f"{f(x)} {(@cases.let_go(), x)[1]}")
    any(f(x) == 1 for x in xs) any(@cases.ended(@cases.start_part(), f(x) == 1) for x in xs)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from .nodes import Nodes, place_of

COPYING = frozenset(("bool", "bytes", "dict", "len", "list", "repr", "str", "tuple"))
"""Builtin functions that read their argument directly."""

_COPYING_METHODS = frozenset(("copy", "items", "keys", "values"))
_WHOLES = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.JoinedStr, ast.Subscript, ast.BinOp, ast.BoolOp)
_LOAD = ast.Load()


def of_recorder(recorder: str, name: str, at: dict[str, Any]) -> ast.Attribute:
    """Return the expression for an attribute of the `Cases`, which the namespace holds under the name `recorder`."""
    return ast.Attribute(ast.Name(recorder, _LOAD, **at), name, _LOAD, **at)


class _Read(NamedTuple):
    """What an expression reads directly."""

    names: frozenset[str]
    keeps: bool = False
    """Whether the value can be an argument itself, which is read only later."""


class _Part:
    """A part of an expression, which can be replaced."""

    def __init__(self, owner: Any, key: str | int, *, is_read_at_once: bool = False) -> None:
        self._owner, self._key, self.is_read_at_once = owner, key, is_read_at_once
        if isinstance(self.node, ast.Starred):
            self._owner, self._key, self.is_read_at_once = self.node, "value", True

    @property
    def node(self) -> ast.expr:
        found: ast.expr = self._owner[self._key] if isinstance(self._key, int) else getattr(self._owner, self._key)
        return found

    def replace(self, node: ast.expr) -> None:
        if isinstance(self._key, int):
            self._owner[self._key] = node
        else:
            setattr(self._owner, self._key, node)


class ReadingOrder:
    """Rewrites expressions so that changes are let go where Python's order counts.

    Args:
        calls: Returns the calls in an expression that may reach the program.
        nodes: All nodes of the tree.
        copying: Those of `COPYING` that the tests do not define themselves.
        recorder: The name under which the namespace holds the `Cases`.
    """

    def __init__(
        self, calls: Callable[[ast.expr], Collection[ast.Call]], nodes: Nodes, copying: Collection[str], recorder: str
    ) -> None:
        self._calls, self._copying, self._recorder = calls, copying, recorder
        functions = {id(call.func) for call in nodes.of(ast.Call)}
        self._lines = {one.lineno for one in nodes.of(ast.Name) if id(one) not in functions}
        self._lines.update(one.lineno for one in nodes.of(ast.BoolOp))
        """Where anything can be read after a call. Most tests have only literals, and cost no more than this."""
        self._later: tuple[ast.expr, ...] = ()
        """The later operands of the present comparisons."""

    def statement(self, node: ast.expr) -> ast.expr:
        """Return the expression of a statement, rewritten; a comparison stays one."""
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return node if self._lines.isdisjoint(lines) else self._top(node)

    def _top(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Compare):
            self._compare(node)
            return node
        return self._condition(node, self._top)

    def _condition(self, node: ast.expr, last: Callable[[ast.expr], ast.expr]) -> ast.expr:
        """Rewrite a condition; `last` rewrites its last part."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = last(node.operand)
        elif isinstance(node, ast.BoolOp):
            node.values[:-1] = map(self._ended, node.values[:-1])
            node.values[-1] = last(node.values[-1])
        else:
            return self._expression(node)
        return node

    def _inner_condition(self, node: ast.expr) -> ast.expr:
        return self._condition(node, self._inner_condition)

    def _ended(self, node: ast.expr) -> ast.expr:
        """Rewrite a condition after which its changes are let go."""
        return self._around("ended", self._inner_condition(node)) if self._calls(node) else node

    def _expression(self, node: ast.expr, *, repeats: bool = False) -> ast.expr:
        """Rewrite an expression; `repeats` if it is the element of a comprehension."""
        if not self._calls(node):
            return node
        match node:
            case ast.Lambda():
                rewrite = self._inner_condition if _is_condition(node.body) else self._expression
                node.body = rewrite(node.body)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                self._generators(node.generators)
                is_condition = _is_condition(node.elt)
                node.elt = self._ended(node.elt) if is_condition else self._expression(node.elt, repeats=True)
            case ast.DictComp():
                self._generators(node.generators)
                pair = [_Part(node, "key", is_read_at_once=True), _Part(node, "value")]
                if self._whole(pair, repeats=True):  # There is no expression for the pair, so no part of its own.
                    return self._around("joined", node)
            case ast.IfExp():
                node.test = self._ended(node.test)
                node.body, node.orelse = self._expression(node.body), self._expression(node.orelse)
            case ast.Compare():
                return self._around("joined", node) if self._compare(node) else node
            case ast.Call():
                node.func = self._expression(node.func)
                parts = [_Part(node.args, at) for at in range(len(node.args))]
                parts += [_Part(keyword, "value") for keyword in node.keywords]
                return self._around("joined", node) if self._operands(parts) else node
            case _ if isinstance(node, _WHOLES):
                return self._around("joined", node) if self._whole(_parts_of(node), repeats=repeats) else node
            case _:
                for name, value in ast.iter_fields(node):
                    if isinstance(value, ast.expr):
                        setattr(node, name, self._expression(value))
        return node

    def _generators(self, generators: list[ast.comprehension]) -> None:
        for one in generators:
            one.iter = self._expression(one.iter)
            one.ifs = list(map(self._ended, one.ifs))

    def _compare(self, node: ast.Compare) -> bool:
        parts = [_Part(node, "left"), *(_Part(node.comparators, at) for at in range(len(node.comparators)))]
        return self._operands(parts)

    def _operands(self, parts: list[_Part]) -> bool:
        """Rewrite the operands of a comparison or the arguments of a call; return whether changes are let go."""
        given: set[str] = set()
        lets_go = False
        outer = self._later
        for at, part in enumerate(parts):
            node = part.node
            if given and _is_measure(node) and self._reads(node, given):
                part.replace(self._first_let_go(node))
                lets_go = True
            elif self._calls(node):
                given |= self._given_to(node)
                self._later = (*outer, *(other.node for other in parts[at + 1 :]))
                part.replace(self._expression(node))
                self._later = outer
        return lets_go

    def _whole(self, parts: list[_Part], *, repeats: bool) -> bool:
        """Rewrite the parts of a whole; return whether changes are let go."""
        called: set[str] | None = set()
        before: set[str] = set()
        lets_go = at_end = False
        for part in parts:
            node, read = part.node, self._read(part.node)
            if read is None:
                if self._calls(node):
                    given = self._names_given(node)
                    called = None if given is None or called is None else called | given
                    at_end = at_end or bool(before if given is None else before & given)
                    part.replace(self._expression(node))
                continue
            names = read.names and read.names.difference(*map(self._labels_in, self._later))
            keeps = read.keeps and not part.is_read_at_once
            if keeps or repeats:
                before |= names
            if not names or (called is not None and called.isdisjoint(names)):
                continue
            if keeps:
                at_end = True
            else:
                part.replace(self._first_let_go(node))
                lets_go = True
        if at_end:
            parts[-1].replace(self._then_let_go(parts[-1].node))
        return lets_go or at_end

    def _read(self, node: ast.expr) -> _Read | None:
        """Return what an expression reads directly; None if it computes something."""
        match node:
            case ast.Constant():
                return _Read(frozenset())
            case ast.Name():
                return _Read(frozenset((node.id,)), keeps=True)
            case ast.Attribute(value=value):
                return self._read(value)
            case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=None)):
                inner = [value]
            case ast.Subscript(value=value, slice=ast.Constant() | ast.Name() | ast.UnaryOp(operand=ast.Constant())):
                inner = [value]
            case ast.Call(func=ast.Name(id=name), args=[value], keywords=[]) if name in self._copying:
                inner = [value]
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]) if name in _COPYING_METHODS:
                inner = [value]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="copy")) | ast.Name(id="deepcopy"), args=[value]):
                inner = [value]
            case ast.Compare(left=left, comparators=others):
                inner = [left, *others]
            case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.BoolOp() | ast.JoinedStr():
                inner = [part.node for part in _parts_of(node)]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = [operand]
            case _:
                return None
        reads = list(map(self._read, inner))
        known = [read for read in reads if read is not None]
        if len(known) < len(reads):
            return None
        keeps = isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.BoolOp) and any(read.keeps for read in known)
        return _Read(frozenset().union(*(read.names for read in known)), keeps)

    def _reads(self, node: ast.expr, names: set[str]) -> bool:
        read = self._read(node)
        return read is not None and not read.names.isdisjoint(names.difference(*map(self._labels_in, self._later)))

    def _labels_in(self, node: ast.expr) -> frozenset[str]:
        """Return the names that parts of wholes in an expression read directly."""
        wholes = [_parts_of(one) for one in ast.walk(node) if isinstance(one, _WHOLES)]
        wholes += [[_Part(one, "key"), _Part(one, "value")] for one in ast.walk(node) if isinstance(one, ast.DictComp)]
        reads = [self._read(part.node) for parts in wholes for part in parts]
        return frozenset().union(*(read.names for read in reads if read is not None))

    def _names_given(self, node: ast.expr) -> set[str] | None:
        """Return the names that an expression with calls reads; None if a function of the tests can give any."""
        calls = self._calls(node)
        if any(isinstance(one.func, ast.Name) and not one.args and not one.keywords for one in calls):
            return None
        functions = {id(one.func) for one in calls}
        return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in functions}

    @staticmethod
    def _given_to(node: ast.expr) -> set[str]:
        """Return the names that an expression hands to a call, if it is nothing but a call."""
        while isinstance(node, ast.NamedExpr | ast.Await):
            node = node.value
        if not isinstance(node, ast.Call):
            return set()
        return {arg.id for arg in (*node.args, *(one.value for one in node.keywords)) if isinstance(arg, ast.Name)}

    def _around(self, how: str, node: ast.expr) -> ast.expr:
        at = place_of(node)
        return self._call(how, self._call("start_part", at=at), node, at=at)

    def _first_let_go(self, node: ast.expr) -> ast.expr:
        return self._one_of(1, self._call("let_go", at=place_of(node)), node)

    def _then_let_go(self, node: ast.expr) -> ast.expr:
        return self._one_of(0, node, self._call("let_go", at=place_of(node)))

    @staticmethod
    def _one_of(number: int, *nodes: ast.expr) -> ast.expr:
        at = place_of(nodes[number])
        return ast.Subscript(ast.Tuple(list(nodes), _LOAD, **at), ast.Constant(number, **at), _LOAD, **at)

    def _call(self, name: str, *args: ast.expr, at: dict[str, Any]) -> ast.Call:
        return ast.Call(of_recorder(self._recorder, name, at), list(args), [], **at)


def _is_condition(node: ast.expr) -> bool:
    """Whether an expression says yes or no, as far as its form shows."""
    while isinstance(node, ast.BoolOp):
        node = node.values[-1]
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _is_measure(node: ast.expr) -> bool:
    """Whether an expression is a length, an item or an attribute, as far as its form shows."""
    match node:
        case ast.Attribute() | ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Subscript(slice=inner):
            return not isinstance(inner, ast.Slice)
    return False


def _parts_of(node: ast.expr) -> list[_Part]:
    """Return the parts of an expression of one of `_WHOLES`, in the order in which Python evaluates them."""
    return list(_parts(node))


def _parts(node: ast.expr) -> Iterator[_Part]:
    match node:
        case ast.Tuple(elts=nodes) | ast.List(elts=nodes) | ast.Set(elts=nodes) | ast.BoolOp(values=nodes):
            yield from (_Part(nodes, at) for at in range(len(nodes)))
        case ast.Dict(keys=keys, values=values):
            for at, key in enumerate(keys):
                if key is not None:
                    yield _Part(keys, at, is_read_at_once=True)
                yield _Part(values, at, is_read_at_once=key is None)
        case ast.JoinedStr(values=values):
            found = [one for one in values if isinstance(one, ast.FormattedValue)]
            yield from (_Part(one, "value", is_read_at_once=True) for one in found)
        case ast.BinOp():
            yield from (_Part(node, "left"), _Part(node, "right"))
        case ast.Subscript(slice=inner):
            yield _Part(node, "value")
            yield from _parts_of_slice(node, inner)


def _parts_of_slice(owner: Any, inner: ast.expr) -> Iterator[_Part]:
    if isinstance(inner, ast.Slice):
        bounds = [name for name in ("lower", "upper", "step") if getattr(inner, name) is not None]
        yield from (_Part(inner, name) for name in bounds)
    elif isinstance(inner, ast.Tuple):
        for at, part in enumerate(inner.elts):
            if isinstance(part, ast.Slice):
                yield from _parts_of_slice(inner, part)
            else:
                yield _Part(inner.elts, at)
    else:
        yield _Part(owner, "slice")
