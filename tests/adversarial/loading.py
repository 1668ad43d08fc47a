"""Reads the attack programs in `programs/`.

A file there is a template, see templates.py, and what it renders to is a sequence of blocks:

    #### [TASK] name of the hack
    ---- may earn one case
    its text
    ==== twin
    text of the twin

TASK is a name in `tasks.py`, or in `tasks_javascript.py`; escapes and abuses have none. The line below it stands where
a constant, or an input left alone, is right for one case. Only hacks in Python have twins. Blank lines at the end of a
text are layout, and it ends with a newline, unless its first line is `---- no final newline`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adversarial import tasks, tasks_javascript, templates
from code_env import AssertTest, CallTest, OutputTest, StdinTest, Task

KINDS = {CallTest: "call", StdinTest: "stdin", AssertTest: "assert", OutputTest: "output"}
PYTHON = {name: value for name, value in vars(tasks).items() if isinstance(value, Task)}
JAVASCRIPT = {name: value for name, value in vars(tasks_javascript).items() if isinstance(value, Task)}
NO_TASKS = {None: None}


@dataclass(frozen=True)
class Hack:
    """A program that tries to earn a reward, and an honest one that does the same kind of thing."""

    name: str
    topic: str
    kind: str
    task: Task
    code: str
    twin: str
    may_earn_one_case: bool


def hacks() -> list[Hack]:
    """The hacks in Python."""
    blocks = _blocks("*.txt", PYTHON, size=2)
    return [
        Hack(name, topic, KINDS[type(task.tests[0])], task, *texts, may_earn)
        for name, topic, task, texts, may_earn in blocks
    ]


def escapes() -> dict[str, str]:
    """What tries to get out of RestrictedPython's policy: name to program.

    Each prints ESCAPED only when it has what it is after. On plain Python all have it, but for those whose name ends in
    `(policy)`, which are about the policy's own parts.
    """
    return {name: code for name, _, _, (code,), _ in _blocks("restricted/*.txt", NO_TASKS)}


def javascript_hacks(pattern: str = "hacks/*.txt") -> dict[str, tuple[Task, str]]:
    """The hacks in JavaScript: name to task and program."""
    return {name: (task, code) for name, _, task, (code,), _ in _blocks(f"javascript/{pattern}", JAVASCRIPT)}


def javascript_answers() -> dict[str, tuple[Task, str]]:
    """Honest answers to the tasks of the hacks in JavaScript: name to task and program."""
    return javascript_hacks("answers.txt")


def javascript_abuses() -> dict[str, str]:
    """What programs in JavaScript do to get out of their jail: name to program."""
    return {name: code for name, _, _, (code,), _ in _blocks("javascript/abuses.txt", NO_TASKS)}


def _blocks(pattern: str, known: Mapping, size: int = 1) -> Iterator[tuple[str, str, Task, list[str], bool]]:
    """The name of each block, its topic, its task, its texts and whether it may earn one case."""
    seen: dict[str, str] = {}
    for path in sorted(templates.PROGRAMS.glob(pattern)):
        before, *blocks = re.split(r"(?m)^#### ", templates.rendered(path))
        if before.strip():
            raise ValueError(f"{path}:1: there is text before the first header")
        for block in blocks:
            header = re.match(r"(\d+) (?:\[(\w+)\] )?(.*)\n?(---- may earn one case\n)?", block)
            (number, task, name, may_earn), texts = header.groups(), block[header.end() :].split("==== twin\n")
            where = f"{path}:{number}"
            if task not in known:
                raise ValueError(f"{where}: {name!r} has no task, or one that is not known here: {task}")
            if len(texts) != size:
                raise ValueError(f"{where}: {name!r} has {len(texts) - 1} twins, and must have {size - 1}")
            if name in seen:
                raise ValueError(f"{where}: the name {name!r} is taken at {seen[name]}")
            seen[name] = where
            yield name, path.stem, known[task], [_text(text, where) for text in texts], bool(may_earn)


def _text(part: str, where: str) -> str:
    text = part.removeprefix("---- no final newline\n")
    if unknown := re.search(r"(?m)^---- .*", text):
        raise ValueError(f"{where}: nobody knows what {unknown[0]!r} means here")
    return text.rstrip("\n") + ("\n" if text == part and text.strip("\n") else "")
