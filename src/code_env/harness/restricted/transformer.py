"""RestrictedPython's transformer, changed for ordinary programs.

It refuses violations that a program's text shows, and inserts calls of guards that check the rest at run time. In
addition to what RestrictedPython allows, programs can use annotations, augmented assignment to attributes and items,
`nonlocal`, `match`, ordinary special methods, and calls of the special methods of a base class. Values are not guarded
where they are iterated over, unpacked or taken out of containers, because no object that a program can reach holds a
value that the program must not have.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from RestrictedPython.transformer import IOPERATOR_TO_STR, RestrictingNodeTransformer

from .names import (
    DECIDED_LATER,
    DEFINABLE_SPECIAL,
    MODULE_INFORMATION,
    NAMED_TUPLES,
    READABLE_SPECIAL,
    UNAVAILABLE_BUILTINS,
    why_not_attribute,
)

_Node = TypeVar("_Node", bound=ast.AST)


class ProgramTransformer(RestrictingNodeTransformer):
    """The policy of the executor `restricted`; a user's own policy can be derived from it.

    A subclass can have two class attributes. `builtins` is a mapping of names that are added to the builtin names of
    programs. `guards` is a mapping of names that begin with an underscore; only code that a transformer has written can
    use these names.
    """

    allow_underscores = False
    """Whether variables may begin with one underscore."""
    available: frozenset[str] = frozenset()
    """Names that the program has without defining them."""
    why_not_import: Callable[[str, str | None], str | None] = staticmethod(
        lambda module, name: "imports are not allowed"
    )
    """Returns why a program may not import a module, or a name of it; None if it may."""
    builtins: Mapping[str, Any] = {}
    guards: Mapping[str, Any] = {}

    def __init__(self, errors: Any = None, warnings: Any = None, used_names: Any = None) -> None:
        super().__init__(errors, warnings, used_names)
        self._scopes = ["module"]
        self._bound: set[str] = set()
        self._matches = 0
        self._thunks: list[ast.expr] = []
        self._pattern_name = ""

    # Names

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Refuse names that guards have or could have."""
        if name in self.guards:
            self.error(node, f'"{name}" is an invalid variable name because the policy has a guard of this name')
            return
        if name is None or name == "_" or not name.startswith("_"):
            if name is not None and name.endswith("__roles__"):
                self.error(node, f'"{name}" is an invalid variable name because it ends with "__roles__".')
            return
        if allow_magic_methods and name in DEFINABLE_SPECIAL:
            return
        if self.allow_underscores and (
            (not name.startswith("__") and not name.endswith("_"))
            or name == "__"
            or (name in MODULE_INFORMATION and self._scopes[-1] == "module")
        ):
            return
        self.error(node, f'"{name}" is an invalid variable name because it starts with "_"')

    def _check_attribute(self, node: Any, name: str, *, decided_now: bool = False) -> None:
        why = why_not_attribute(name)
        if why is None and decided_now and name in DECIDED_LATER:
            why = f'"{name}" cannot be used here: whether it may be read depends on the object'
        if why is not None:
            self.error(node, f"{why}.")

    def visit_Name(self, node: ast.Name) -> Any:
        """Check the name."""
        name = node.id
        if isinstance(node.ctx, ast.Load):
            self.used_names[name] = True
            if name == "__name__":
                return node
            if name in UNAVAILABLE_BUILTINS and name not in self._bound and name not in self.available:
                self.error(node, f'"{name}" is not available to programs.')
                return node
        self.check_name(node, name, allow_magic_methods=self._scopes[-1] == "class")
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        """Check the names, which are not nodes of the tree."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        """Check the names, which are not nodes of the tree."""
        for name in node.names:
            self.check_name(node, name)
        return node

    # Attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Change `a.b` to `_getattr_(a, "b")`, and `a.b = c` to `_write_(a).b = c`."""
        name, special = node.attr, node.attr in READABLE_SPECIAL or node.attr == "__name__"
        is_read = isinstance(node.ctx, ast.Load)
        if not (is_read and (special or name in NAMED_TUPLES)):
            self._check_attribute(node, name)
        value = self.visit(node.value)
        if is_read:
            return _call("_special_" if special else "_getattr_", node, value, ast.Constant(name))
        node.value = _call("_write_", node, value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Change `a[b] = c` to `_write_(a)[b] = c`; reading an item needs no guard."""
        node = self.node_contents_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _call("_write_", node, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Change `a.b += c` to `_store_attr_(_load_attr_(a, "b"), "+=", c)`, in Python's order of evaluation."""
        target = node.target
        if not isinstance(target, ast.Attribute):
            return self.node_contents_visit(node)
        self._check_attribute(target, target.attr)
        loaded = _call("_load_attr_", target, self.visit(target.value), ast.Constant(target.attr))
        operator = ast.Constant(IOPERATOR_TO_STR[type(node.op)])
        stored = _call("_store_attr_", node, loaded, operator, self.visit(node.value))
        return _located(ast.Expr(stored), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Allow annotations, which are ordinary expressions."""
        return self.node_contents_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Allow assignments; `__slots__` and `__match_args__` of a class must be string literals."""
        if self._scopes[-1] == "class":
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names in (["__slots__"], ["__match_args__"]) and len(node.targets) == 1:
                self._check_written_out(node, names[0])
                return node
        return self.node_contents_visit(node)

    def _check_written_out(self, node: ast.Assign, name: str) -> None:
        value = node.value
        items = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        for item in items:
            if not isinstance(item, ast.Constant) or not isinstance(item.value, str):
                self.error(node, f'"{name}" must be texts, written out.')
                return
            self._check_attribute(node, item.value, decided_now=name == "__match_args__")

    # Iteration needs no guard.

    def guard_iter(self, node: Any) -> Any:
        """Leave loops and comprehensions as they are, and refuse asynchronous comprehensions."""
        if getattr(node, "is_async", 0):
            self.error(node, "Async comprehensions are not allowed.")
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Leave calls as they are: a program can only call objects that it was given."""
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> Any:
        """Leave `with` as it is."""
        return self.node_contents_visit(node)

    # Definitions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Check the names; everything except the body belongs to the scope around the function."""
        self.check_name(node, node.name, allow_magic_methods=self._scopes[-1] == "class")
        self._check_type_parameters(node)
        self.check_function_argument_names(node)
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        node.args = self.visit(node.args)
        if node.returns is not None:
            node.returns = self.visit(node.returns)
        node.body = self._visit_in("function", node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Check the names of the arguments."""
        self.check_function_argument_names(node)
        node.args = self.visit(node.args)
        [node.body] = self._visit_in("function", [node.body])
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Check the name; a guard checks the bases and the metaclass at run time."""
        self.check_name(node, node.name)
        self._check_type_parameters(node)
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        node.bases = [self.visit(one) for one in node.bases]
        node.keywords = [self.visit(one) for one in node.keywords]
        node.body = self._visit_in("class", node.body)
        return node

    def _visit_in(self, scope: str, body: list[_Node]) -> list[_Node]:
        self._scopes.append(scope)
        visited: list[_Node] = []
        for statement in body:
            made = self.visit(statement)
            if isinstance(made, list):
                visited += made
            else:
                visited.append(made)
        self._scopes.pop()
        return visited

    def _check_type_parameters(self, node: Any) -> None:
        if getattr(node, "type_params", None):
            self.error(node, "Type parameters are not allowed.")

    def visit_Module(self, node: ast.Module) -> Any:
        """Collect the names that the program binds, then visit all nodes."""
        self._bound = set(_bound_names(node))
        return self.node_contents_visit(node)

    # Imports

    def visit_Import(self, node: ast.Import) -> Any:
        """Refuse imports of modules that are not allowed."""
        for alias in node.names:
            self._check_import(node, alias.name, None)
        return self._check_imported_names(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """Refuse imports of names that the allowed modules do not give to programs."""
        if node.level:
            self.error(node, "Relative imports are not allowed.")
            return node
        if node.module == "__future__":
            for alias in node.names:
                if alias.name not in __future__.all_feature_names:
                    self.error(node, f'"__future__" has no "{alias.name}".')
            return self._check_imported_names(node)
        for alias in node.names:
            self._check_import(node, node.module or "", alias.name)
        return self._check_imported_names(node)

    def _check_import(self, node: ast.AST, module: str, name: str | None) -> None:
        why = '"*" imports are not allowed' if name == "*" else type(self).why_not_import(module, name)
        if why is not None:
            self.error(node, f"{why}.")

    def _check_imported_names(self, node: Any) -> Any:
        if getattr(node, "is_lazy", 0):
            self.error(node, "Lazy import statements are not allowed.")
        for alias in node.names:
            self.check_name(node, alias.name.partition(".")[0])
            self.check_name(node, alias.asname)
        return node

    # Patterns: the interpreter itself reads the attributes that patterns use. So a guard reads the dotted names of a
    # pattern, and a class pattern names a stand-in class that checks the subject's attributes first.

    def visit_Match(self, node: ast.Match) -> Any:
        """Change `case A.b:` to `case _match1_.v0:`, where `_match1_ = _patterns_(lambda: _getattr_(A, "b"))`."""
        outer = self._thunks, self._pattern_name
        self._matches += 1
        name = f"_match{self._matches}_"
        patterns = []
        node.subject = self.visit(node.subject)
        thunks: list[ast.expr] = []
        for case in node.cases:
            self._thunks, self._pattern_name = thunks, name
            patterns.append(self.visit(case.pattern))
        self._thunks, self._pattern_name = outer
        for case, pattern in zip(node.cases, patterns, strict=True):
            case.pattern = pattern
            self._visit_case(case)
        if not thunks:
            return node
        if self._scopes[-1] == "class":  # The lambdas that look names up do not see the names of a class body.
            self.error(node, "Patterns with dotted names are not allowed in the body of a class.")
        made = _call("_patterns_", node, *thunks)
        return [_located(ast.Assign([ast.Name(name, ast.Store())], made), node), node]

    def _visit_case(self, case: ast.match_case) -> None:
        if case.guard is not None:
            case.guard = self.visit(case.guard)
        scope = self._scopes[-1]
        case.body = self._visit_in(scope, case.body)

    def _later(self, node: Any, value: ast.expr) -> ast.expr:
        """Return the expression that a pattern has in place of a value; the value is made when the pattern is tried."""
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        self._thunks.append(_located(ast.Lambda(nothing, value), node))
        place = ast.Attribute(ast.Name(self._pattern_name, ast.Load()), f"v{len(self._thunks) - 1}", ast.Load())
        return _located(place, node)

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """Allow literals, and dotted names, which a guard reads."""
        node.value = self._pattern_value(node.value)
        return node

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        """Allow None, True and False."""
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> Any:
        """Allow sequences."""
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> Any:
        """Allow alternatives."""
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        """Check the name, which is not a node of the tree."""
        self.check_name(node, node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        """Check the name, which is not a node of the tree."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        """Check the name, which is not a node of the tree, and the keys."""
        self.check_name(node, node.rest)
        node.keys = [self._pattern_value(key) for key in node.keys]
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """Check the attributes that the pattern reads, and put in a class that checks them before they are read."""
        for name in node.kwd_attrs:
            self._check_attribute(node, name, decided_now=True)
        cls = self.visit(node.cls)
        if node.patterns or node.kwd_attrs or not isinstance(cls, ast.Name):
            names: list[ast.expr] = [ast.Constant(name) for name in node.kwd_attrs]
            made = _call("_pattern_class_", node, cls, ast.Constant(len(node.patterns)), *names)
            node.cls = self._later(node, made)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node

    def _pattern_value(self, node: ast.expr) -> ast.expr:
        value = self.visit(node)
        return self._later(node, value) if isinstance(node, ast.Attribute) else value


def _call(guard: str, node: Any, *args: Any) -> ast.Call:
    return _located(ast.Call(ast.Name(guard, ast.Load()), list(args), []), node)


def _located(new: _Node, node: Any) -> _Node:
    return ast.copy_location(new, node)  # `fix_missing_locations` locates the nodes below it at the end.


def _bound_names(tree: ast.AST) -> Any:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
