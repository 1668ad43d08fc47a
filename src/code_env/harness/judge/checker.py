"""Runs a task's checker: trusted code that decides where many outputs are right.

It defines `check(stdin, stdout, answer)`, which gets the test's input, what the program wrote, and the test's own
answer, and returns True or False. What it raises says that the output is not as it must be: a checker may parse
numbers without a thought for an output that holds none.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

from ..wire.shown import brief
from .asserting import leaves_nothing
from .cases import brief_error
from .handles import ProgramDied

NAME = "check"
"""The function that a checker defines."""


def compile_checker(code: str) -> CodeType:
    """Compile a checker.

    Raises:
        SyntaxError, ValueError: If it is not Python, or defines no `check`.
    """
    tree = ast.parse(code)
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
        self.leaves_nothing = leaves_nothing(list(ast.walk(ast.parse(code))))
        """Whether it may be run again in the same process, as far as can be told from the text."""

    def difference(self, stdin: str, stdout: str, answer: str) -> str | None:
        """None if the output is right, else why not."""
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
