"""Trivial answers: programs that solve nothing, and should score nothing.

`code-env validate` tries them all. If a trivial answer passes a task, the task is useless. If a trivial answer passes a
case, that case says little about an answer, because a policy that learns to return a constant passes it too.
"""

from __future__ import annotations

from code_env.languages import PYTHON, Language, find_language
from code_env.tasks.kinds import AssertTest
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
"""Trivial functions that return a value: description to expression."""

_OF_NUMPY = {"returns an empty array": "__import__('numpy').zeros((0, 1, 1))"}
"""The same for tests with NumPy. An empty array has no element that differs from what it is compared with."""

_ENDS = {"raises": "raise ValueError", "exits at once": "__import__('os')._exit(0)"}
"""Trivial functions that end in another way: description to statement."""

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
    """The trivial answers to a task, by a description of what they do.

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
        values = _VALUES | _OF_NUMPY if _uses_numpy(task) else _VALUES
        bodies = {what: f"return {value}" for what, value in values.items()} | _ENDS
        answers |= {what: _function(names, body) for what, body in bodies.items()}
    if kinds & {"stdin", "output"} or not answers:
        # A task with both kinds of tests gets both kinds of trivial answers; "as a program" keeps their names apart.
        answers |= {(f"{what} as a program" if what in answers else what): code for what, code in _PROGRAMS.items()}
    return answers


def _uses_numpy(task: Task) -> bool:
    texts = [task.setup, *(test.code for test in task.tests if isinstance(test, AssertTest))]
    return any(name in text for text in texts for name in ("np.", "numpy"))


def _answers_in(language: Language, kinds: set[str], entry_point: str | None) -> dict[str, str]:
    """Like `trivial_answers`, for a language other than Python."""
    answers: dict[str, str] = {}
    if kinds & {"call", "assert"} and entry_point is not None and entry_point.isidentifier():
        answers = {what: code.format(name=entry_point) for what, code in language.trivial_functions.items()}
    if kinds & {"stdin", "output", "checker", "harbor"}:
        answers |= {f"{what} as a program": code for what, code in language.trivial_programs.items()}
    return answers


def _function(names: list[str], body: str) -> str:
    """The code of a function with this body, or of a class with a method that has this body."""
    if len(names) == 1:
        return f"def {names[0]}(*args, **kwargs):\n    {body}"
    return (
        f"class {names[0]}:\n    def __init__(self, *args, **kwargs):\n        pass\n\n"
        f"    def {names[1]}(self, *args, **kwargs):\n        {body}"
    )
