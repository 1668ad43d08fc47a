"""Checks of the languages that an executor runs, and of those that it must refuse."""

from __future__ import annotations

from code_env.executors import Executor, Program
from code_env.languages import LANGUAGES

from .contract import check, equal, must_refuse, output


@check
def an_unknown_language_is_refused(executor: Executor) -> None:
    """A program in an unknown language is refused at once."""
    must_refuse(executor, Program("x", language="befunge"), "a program in an unknown language")


@check
def other_languages_are_refused(executor: Executor) -> None:
    """Languages that this package knows, but `describe()` does not name, are refused."""
    for language in LANGUAGES:
        if language.name not in executor.describe().languages:
            must_refuse(executor, Program("x", language=language.name), f"a program in {language.name}")


_HELLO = {"javascript": "console.log('hello ' + require('fs').readFileSync(0))", "bash": "read x; echo hello $x"}
"""A program in each language other than Python that prints "hello" and its input."""


@check
def declared_languages_run(executor: Executor) -> None:
    """A program in each language that `describe()` names runs, by every name of the language."""
    for name in sorted(executor.describe().languages & set(_HELLO)):
        for other in (name, *(known.aliases[0] for known in LANGUAGES if known.name == name)):
            result = output(executor, _HELLO[name], "hello you\n", language=other, stdin="you")
            equal((result.exit_code, result.error), (0, None), f"exit code and error in {name}")
