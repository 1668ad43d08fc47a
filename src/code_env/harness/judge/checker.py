"""Runs a task's checker: trusted code that judges an output where many outputs are right.

The checker defines `check(stdin, stdout, answer)`. The function gets the test's input, the program's output and the
test's own answer, and returns True or False. An exception means that the output is wrong, so a checker can parse
numbers without a check that the output has any.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

from ..wire.shown import brief
from .asserting import leaves_nothing
from .cases import brief_error
from .handles import ProgramDied
from .nodes import Nodes, parse

NAME = "check"
"""The name of the function that a checker defines."""


def compile_checker(code: str) -> CodeType:
    """Compile a checker.

    Raises:
        SyntaxError, ValueError: If it is not Python, or defines no `check`.
    """
    tree = parse(code)
    if not any(isinstance(node, ast.FunctionDef) and node.name == NAME for node in tree.body):
        raise ValueError(f"a checker defines {NAME}(stdin, stdout, answer)")
    return compile(tree, "<checker>", "exec", dont_inherit=True)


class Checker:
    """One checker, compiled.

    Args:
        code: Its source.
    """

    def __init__(self, code: str) -> None:
        self._code = compile_checker(code)
        self.leaves_nothing = leaves_nothing(Nodes(parse(code)))
        """Whether it may be run again in the same process, as far as the text shows."""

    def difference(self, stdin: str, stdout: str, answer: str) -> str | None:
        """Return None if the output is right, else the reason why it is wrong."""
        names: dict[str, Any] = {"__name__": "checker"}
        try:
            exec(self._code, names)
            found = names[NAME](stdin, stdout, answer)
        except ProgramDied:
            raise
        except AssertionError as error:
            return str(error)[:1000] or "the checker does not accept it"
        except Exception as error:
            return f"the checker does not accept it: {brief_error(error)}"
        if found is True:
            return None
        return "the checker does not accept it" + ("" if found is False else f": it gave {brief(found)}, not True")
