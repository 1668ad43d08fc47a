"""Test code that imports the answer, as `from solution import add`: the names are those of the answer.

There is no such module to import. So the import statements are left out, and the names that they bind become names that
the tests take from the answer.
"""

from __future__ import annotations

import ast
import re

ANSWER_MODULES = frozenset(("solution", "main", "__main__", "answer", "submission", "program", "your_module"))
"""The names under which test code imports an answer."""


_AN_IMPORT = re.compile(rf"\b(?:from|import)\b.*\b(?:{'|'.join(sorted(ANSWER_MODULES))})\b")


def may_import_answers(code: str) -> bool:
    """Whether the text of test code may import the answer; to look through its tree takes much longer."""
    return _AN_IMPORT.search(code) is not None


def without_answer_imports(tree: ast.Module) -> frozenset[str]:
    """Remove the imports of the answer from test code; return the names that they took from it.

    `from solution import add as plus` becomes `plus = add`, and `solution.add` becomes `add` after `import solution`.
    """
    remover = _Remover()
    remover.visit(tree)
    return frozenset(remover.names)


class _Remover(ast.NodeTransformer):
    def __init__(self) -> None:
        self.names: set[str] = set()
        self._modules: set[str] = set()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.stmt]:
        if node.module not in ANSWER_MODULES:
            return node
        self.names |= {alias.name for alias in node.names} - {"*"}
        return [
            ast.copy_location(
                ast.Assign([_name(alias.asname, ast.Store(), node)], _name(alias.name, ast.Load(), node)), node
            )
            for alias in node.names
            if alias.asname not in (None, alias.name)
        ] or ast.copy_location(ast.Pass(), node)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        self._modules |= {alias.asname or alias.name for alias in node.names if alias.name in ANSWER_MODULES}
        node.names = [alias for alias in node.names if alias.name not in ANSWER_MODULES]
        return node if node.names else ast.copy_location(ast.Pass(), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self._modules:
            self.names.add(node.attr)
            return _name(node.attr, node.ctx, node)
        return node


def _name(name: str | None, context: ast.expr_context, node: ast.stmt | ast.expr) -> ast.Name:
    return ast.copy_location(ast.Name(str(name), context), node)
