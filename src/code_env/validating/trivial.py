"""Answers that solve nothing: whoever gives one should get nothing for it.

`code-env validate` tries them all. A task that one of them passes is no task; a case that one of them passes tells
little of an answer, because a policy that has learnt to give a constant gets its share.
"""

from __future__ import annotations

from code_env.languages import PYTHON, Language, find_language
from code_env.tasks.task import Task

_VALUES = {
    "returns None": "None",
    "returns its first argument": "next(iter([*args, *kwargs.values()]), None)",
    "returns 0": "0",
    "returns ''": "''",
    "returns []": "[]",
    "returns True": "True",
    "returns False": "False",
}
"""Functions by what they return, an expression."""

_ENDS = {"raises": "raise ValueError", "exits at once": "__import__('os')._exit(0)"}
"""Functions by how they end, a statement."""

_PROGRAMS = {
    "does nothing": "pass",
    "echoes its input": "import sys\nsys.stdout.write(sys.stdin.read())",
    "prints 0": "print(0)",
    "prints Yes": "print('Yes')",
    "prints No": "print('No')",
    "prints -1": "print(-1)",
    "raises": "raise ValueError",
    "exits at once": "raise SystemExit",
}


def trivial_answers(task: Task) -> dict[str, str]:
    """Answers to a task that solve nothing, by what they do.

    Example:
        >>> from code_env import CallTest
        >>> task = Task("add", "Write add(a, b).", (CallTest(args=(1, 2), expected=3),), entry_point="add")
        >>> print(trivial_answers(task)["returns 0"])
        def add(*args, **kwargs):
            return 0
    """
    kinds = {test.kind for test in task.tests}
    language = find_language(task.language)
    if language is not PYTHON:
        return {} if language is None else _answers_in(language, kinds, task.entry_point)
    answers: dict[str, str] = {}
    names = (task.entry_point or "").split(".")
    if kinds & {"call", "assert"} and len(names) <= 2 and all(name.isidentifier() for name in names):
        bodies = {what: f"return {value}" for what, value in _VALUES.items()} | _ENDS
        answers |= {what: _function(names, body) for what, body in bodies.items()}
    if kinds & {"stdin", "output"} or not answers:
        # Where a task has both kinds of test, both kinds of end are tried.
        answers |= {(f"{what} as a program" if what in answers else what): code for what, code in _PROGRAMS.items()}
    return answers


def _answers_in(language: Language, kinds: set[str], entry_point: str | None) -> dict[str, str]:
    """As `trivial_answers`, in another language than Python."""
    answers: dict[str, str] = {}
    if kinds & {"call", "assert"} and entry_point is not None and entry_point.isidentifier():
        answers = {what: code.format(name=entry_point) for what, code in language.trivial_functions.items()}
    if kinds & {"stdin", "output", "checker"}:
        answers |= {f"{what} as a program": code for what, code in language.trivial_programs.items()}
    return answers


def _function(names: list[str], body: str) -> str:
    """A function with this body, or a class with such a method."""
    if len(names) == 1:
        return f"def {names[0]}(*args, **kwargs):\n    {body}"
    return (
        f"class {names[0]}:\n    def __init__(self, *args, **kwargs):\n        pass\n\n"
        f"    def {names[1]}(self, *args, **kwargs):\n        {body}"
    )
