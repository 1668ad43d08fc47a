"""Turns the `assert` statements of test code into cases.

The syntax tree is rewritten so that a failed case is recorded, with both sides of a comparison, and the tests go on::

    assert add(1, 2) == 3        with @cases.case(0, 0):
                                     if not (@left := add(1, 2)) == (@right := 3):
                                         @cases.fail(0, None, @left, @right)

The two numbers are those of the case and of the `assert` statement; `required` decides which statements count together.

A call of the program that `call_batching` foresees, `add(1, 2)`, becomes `@call(0, add)`. Names with an `@` cannot
clash with names of the test code.

In a `unittest.TestCase` class, each test method is one case; `runner_tests` finds these classes.

While changes are held back (`holding.py`), a call that returns one of its arguments returns a copy. And an object of
the program can have several handles, see `known_objects.py`. So where the tests check whether two values are the same
object, each value becomes `@cases.original(...)`. Where they compare `type(x)`, it becomes
`@cases.class_of(type, x)`, because the class of an object of the program is in the program.

The number of cases depends on the text alone, so it is the same for every program.
"""

from __future__ import annotations

import ast
import builtins
import functools
import symtable
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from .answer_imports import may_import_answers, without_answer_imports
from .call_batching import Foreseen, foresee
from .holding import hold_back
from .main_blocks import run_as_script
from .nodes import Nodes, blocks_of, compiled, parse, place_of
from .parts import change_parts
from .required import Case, Found, find_cases, source_of
from .runner_tests import RunnerTests, find_tests

RECORDER = "@cases"
"""The name under which the test code's namespace holds its `Cases`."""

CALL = "@call"
"""The name under which it holds the function that makes a foreseen call, given the call's number and the callee."""


NO_CASES = "the tests run to their end"
"""The source of the only case of a suite in which no `assert` counts."""


@functools.lru_cache(maxsize=4096)
def case_sources(code: str) -> tuple[str, ...]:
    """Return the source of each case of a suite, on one line; only `NO_CASES` if no `assert` counts.

    >>> case_sources("assert f(1) == 2\\nassert True")
    ('assert f(1) == 2',)

    Raises:
        SyntaxError: If the test code does not parse.
    """
    return tuple(compile_suite(code, "<tests>").sources) or (NO_CASES,)


@dataclass(frozen=True)
class Suite:
    """Test code, rewritten and compiled."""

    code: CodeType
    sources: Sources
    """For each case, its source on one line; for a test method, its name."""
    tests: RunnerTests
    """What a test runner would run; its cases come last."""
    free_names: frozenset[str]
    """Names that the test code reads and does not bind: they come from elsewhere."""
    owners: frozenset[str]
    """Names that the test code uses only to read attributes, as in `name.attribute`."""
    used_as_data: frozenset[str]
    """Names that the test code calls and whose result it uses as builtin data, as in `name(1).upper()`."""
    leaves_check_uncalled: bool
    """Whether the code defines `check(candidate)` and leaves the call to the harness, as HumanEval does."""
    uses_candidate: bool
    """Whether the code leaves the call of `check` to the harness, and `check` uses its argument."""
    foreseen: Foreseen
    """Calls of the entry point that can be foreseen."""
    leaves_nothing: bool
    """Whether the code changes only its own names, as far as its text shows."""
    checks_identity: bool
    """Whether the code checks whether values are one object."""

    @property
    def tests_nothing(self) -> bool:
        """Whether the code asserts nothing and uses nothing of an answer, so that every answer would pass."""
        return not self.sources and not self.uses_candidate and not self.free_names.difference(vars(builtins))


class Sources(Sequence[str]):
    """The sources of a suite's cases. They are made at the first use, because this takes as long as the compilation."""

    def __init__(self, code: str, cases: list[Case], tests: RunnerTests) -> None:
        self._code, self._tests = code, tests
        self.needed = [case.needed for case in cases]
        """For each case with `assert` statements, which of them must be reached."""
        self._texts: list[str] = []
        self._asserts: list[str] = []

    def __len__(self) -> int:
        return len(self.needed) + len(self._tests.cases)

    def __getitem__(self, index: Any) -> Any:
        self._make()
        return self._texts[index]

    def of_assert(self, number: int) -> str:
        """Return the source of one `assert` statement."""
        self._make()
        return self._asserts[number]

    def _make(self) -> None:
        if not self._texts:
            tree, _ = _parsed(self._code)
            found = find_cases(tree, Nodes(tree), self._tests.parts)
            self._texts = found.sources() + [".".join(filter(None, one)) for one in self._tests.cases]
            self._asserts = list(map(source_of, found.asserts))


def _parsed(code: str) -> tuple[ast.Module, frozenset[str]]:
    """Return the tree of test code as it runs here, and the names that it imports from the answer."""
    tree = parse(code)
    run_as_script(tree, code, RECORDER)
    return tree, without_answer_imports(tree) if may_import_answers(code) else frozenset()


def compile_suite(code: str, filename: str, entry_point: str | None = None) -> Suite:
    """Rewrite and compile test code.

    Args:
        code: The test code.
        filename: The file name in its tracebacks.
        entry_point: The function whose calls to foresee; None for no calls.

    Raises:
        SyntaxError: If the test code does not parse.
    """
    tree, imported = _parsed(code)
    nodes = Nodes(tree)
    harmless = leaves_nothing(nodes)
    free_names = _free_names(code) | imported
    owners, used_as_data = _owners(nodes), _used_as_data(nodes)
    checks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    foreseen = Foreseen() if entry_point is None else foresee(tree, nodes, entry_point)
    tests = find_tests(code, tree)
    foreseen.is_all = foreseen.is_all and not tests.functions  # They run later.
    found = find_cases(tree, nodes, tests.parts)
    places = _places(found)
    hold_back(tree, nodes, RECORDER, places)
    _compare_classes(nodes)
    checks_identity = _compare_originals(nodes)
    change_parts(nodes, RECORDER)
    _use_foreseen(foreseen.calls)
    _record(tree.body, places, found.attempts)
    code_object = compiled(tree, filename)
    sources = Sources(code, found.cases, tests)
    uncalled = bool(checks) and not _calls_check(tree)
    uses_candidate = uncalled and _uses_an_argument(checks[-1])
    return Suite(
        code_object,
        sources,
        tests,
        free_names,
        owners,
        used_as_data,
        leaves_check_uncalled=uncalled,
        uses_candidate=uses_candidate,
        foreseen=foreseen,
        leaves_nothing=harmless,
        checks_identity=checks_identity,
    )


def _uses_an_argument(function: ast.FunctionDef) -> bool:
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    return any(isinstance(node, ast.Name) and node.id in arguments for node in ast.walk(function))


def _calls_check(tree: ast.Module) -> bool:
    """Whether the test code calls `check` itself."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check"
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
        for node in ast.walk(statement)
    )


def _free_names(code: str) -> frozenset[str]:
    """Return the names that the code reads as globals and never binds as globals."""
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
        warnings.simplefilter("ignore")
        visit(symtable.symtable(code, "<tests>", "exec"))
    return frozenset(read - bound)


def _owners(nodes: Nodes) -> frozenset[str]:
    owners = {id(node.value) for node in nodes.of(ast.Attribute) if isinstance(node.ctx, ast.Load)}
    names = nodes.of(ast.Name)
    return frozenset({node.id for node in names} - {node.id for node in names if id(node) not in owners})


_METHODS_OF_DATA = frozenset(name for kind in (str, list, tuple, set, dict, int, float, bytes) for name in dir(kind))


def _used_as_data(nodes: Nodes) -> frozenset[str]:
    calls = [
        node.value.func
        for node in nodes.of(ast.Attribute)
        if node.attr in _METHODS_OF_DATA and isinstance(node.value, ast.Call)
    ]
    return frozenset(function.id for function in calls if isinstance(function, ast.Name))


def _use_foreseen(calls: list[ast.Call]) -> None:
    """Rewrite the foreseen calls to calls of `CALL`. Their arguments are known, so they are not evaluated again."""
    for index, node in enumerate(calls):
        at = place_of(node)
        node.func, node.args, node.keywords = ast.Name(CALL, _LOAD, **at), [ast.Constant(index, **at), node.func], []


def _places(found: Found) -> dict[ast.stmt, tuple[int, int]]:
    """Return the case and the number of each `assert` statement that counts."""
    return {found.asserts[number]: (index, number) for index, case in enumerate(found.cases) for number in case.asserts}


def _record(
    block: list[ast.stmt], places: dict[ast.stmt, tuple[int, int]], attempts: Mapping[int, list[ast.expr]]
) -> None:
    """Rewrite the `assert` statements of a block that count."""
    for position, statement in enumerate(block):
        if isinstance(statement, ast.Assert):
            if statement in places:
                index, number = places[statement]
                if number in attempts:
                    block[position] = _attempted(statement, index, number, attempts[number])
                else:
                    block[position] = _recorded(statement, index, number)
        else:
            for inner in blocks_of(statement):
                _record(inner, places, attempts)


def _recorded(node: ast.Assert, index: int, number: int) -> ast.With:
    """Return the statement that records `assert` statement `number`, which belongs to case `index`."""
    at = place_of(node)
    sides: list[ast.expr] = []
    test = node.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        test.left = ast.NamedExpr(ast.Name("@left", _STORE, **at), test.left, **at)
        test.comparators = [ast.NamedExpr(ast.Name("@right", _STORE, **at), test.comparators[0], **at)]
        sides = [ast.Name("@left", _LOAD, **at), ast.Name("@right", _LOAD, **at)]
    message = node.msg or ast.Constant(None, **at)
    failed = ast.Expr(_call("fail", ast.Constant(number, **at), message, *sides, at=at), **at)
    case = _call("case", ast.Constant(index, **at), ast.Constant(number, **at), at=at)
    return ast.With([ast.withitem(case)], [ast.If(ast.UnaryOp(ast.Not(), test, **at), [failed], [], **at)], **at)


def _attempted(node: ast.Assert, index: int, number: int, kinds: list[ast.expr]) -> ast.With:
    """Return the statement for an `assert` that may fail, because the tests catch exceptions of these kinds."""
    at = place_of(node)
    no_parameters = ast.arguments([], [], None, [], [], None, [])
    caught = ast.Lambda(no_parameters, ast.Tuple(kinds, _LOAD, **at), **at)  # The names may not exist yet.
    case = _call("attempt", ast.Constant(index, **at), ast.Constant(number, **at), caught, at=at)
    return ast.With([ast.withitem(case)], [node], **at)


_EQUALITY_METHODS = ("assertEqual", "assertNotEqual", "assertIs", "assertIsNot", "assertIn", "assertNotIn")
"""Methods of test classes that can compare a class with another."""


def _compare_classes(nodes: Nodes) -> None:
    """Make code use `@cases.class_of(...)` of each object whose class it compares."""
    for node in nodes.of(ast.Compare):
        if not any(isinstance(side, ast.Set | ast.Dict) for side in node.comparators):  # A handle has no hash.
            node.left, *node.comparators = map(_class_of, [node.left, *node.comparators])
    for call in nodes.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _EQUALITY_METHODS:
            call.args[:2] = map(_class_of, call.args[:2])


def _class_of(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(ast.Name("type"), [argument], []) if not isinstance(argument, ast.Starred):
            return _call("class_of", node.func, argument, at=place_of(node))
        case ast.Attribute(value, "__class__"):
            return _call("class_of", ast.Constant(None, **place_of(node)), value, at=place_of(node))
    return node


_IDENTITY_METHODS = ("assertIs", "assertIsNot")
"""Methods of test classes that check whether two values are the same object."""


def _compare_originals(nodes: Nodes) -> bool:
    """Make code use `@cases.original(...)` of each value where it checks whether values are the same object.

    Returns:
        Whether it does.
    """
    found = any(node.id == "id" for node in nodes.of(ast.Name))
    if nodes.of(ast.Is, ast.IsNot):
        for node in nodes.of(ast.Compare):
            sides = [node.left, *node.comparators]
            to_constant = len(sides) == 2 and any(isinstance(side, ast.Constant) for side in sides)
            if all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops) and not to_constant:
                node.left, *node.comparators = map(_original, sides)
                found = True
    for call in nodes.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _IDENTITY_METHODS:
            call.args[:2] = map(_original, call.args[:2])
            found = True
    return found


def _original(node: ast.expr) -> ast.expr:
    is_one_object = isinstance(node, ast.Constant | ast.Starred)
    return node if is_one_object else _call("original", node, at=place_of(node))


def _call(method: str, *args: ast.expr, at: dict[str, Any]) -> ast.Call:
    recorder = ast.Name(RECORDER, _LOAD, **at)
    return ast.Call(ast.Attribute(recorder, method, _LOAD, **at), list(args), [], **at)


_LOAD, _STORE = ast.Load(), ast.Store()


_PURE_MODULES = frozenset(
    (
        *("math", "cmath", "copy", "random", "itertools", "collections", "functools", "re", "string", "typing"),
        *("numpy", "datetime", "fractions", "heapq", "bisect", "operator", "json", "statistics", "hashlib"),
        *("dataclasses", "enum", "numbers", "types", "textwrap", "time", "unicodedata", "abc", "__future__"),
        "unittest",
    )
)

_PATCHING = frozenset(("patch", "mock", "seterr", "set_printoptions"))
"""Names, also of attributes, whose use can have effects beyond the tests."""

_REACHING = _PATCHING | frozenset(
    ("open", "exec", "eval", "compile", "__import__", "__builtins__", "globals", "vars", "setattr", "delattr")
)
"""Names whose use can affect anything in the process."""


def leaves_nothing(nodes: Nodes) -> bool:
    """Whether code changes only its own names, as far as its text shows."""
    attributes = nodes.of(ast.Attribute)
    modules = [alias.name for node in nodes.of(ast.Import) for alias in node.names]
    modules += [node.module or "" for node in nodes.of(ast.ImportFrom)]
    return (
        all(name.partition(".")[0] in _PURE_MODULES for name in modules)
        and all(isinstance(node.ctx, ast.Load) or _is_own(node.value) for node in attributes)
        and not any(node.attr in _PATCHING for node in attributes)
        and not any(node.id in _REACHING for node in nodes.of(ast.Name))
    )


def _is_own(node: ast.expr) -> bool:
    """Whether a changed attribute belongs to an object of the code itself."""
    return isinstance(node, ast.Name) and node.id == "self"


def compile_helpers(code: str, filename: str) -> tuple[CodeType, bool]:
    """Compile code that runs before tests; return it, and whether it changes only its own names.

    Raises:
        SyntaxError: If it does not compile.
    """
    tree = parse(code)
    nodes = Nodes(tree)
    harmless = leaves_nothing(nodes)
    hold_back(tree, nodes, RECORDER)
    _compare_classes(nodes)
    _compare_originals(nodes)
    change_parts(nodes, RECORDER)
    return compiled(tree, filename), harmless
