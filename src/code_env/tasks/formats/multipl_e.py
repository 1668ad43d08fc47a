"""MultiPL-E: HumanEval and MBPP translated to many languages; JavaScript (`js`) and bash (`sh`) are supported.

See https://github.com/nuprl/MultiPL-E. A row has `name` ("HumanEval_0_has_close_elements"), `language`, `prompt`, which
ends with the opening line of a function, `tests` and `stop_tokens`; there is no solution.

In JavaScript the tests run in the answer's process, and an answer is the body or the whole function. In bash each line
`[[ $(candidate "1" "2") = "3" ]]` becomes a `stdin` test: the last thing that the program does is to run the call that
it reads from its input, and the judge compares what the call prints. What the answer prints before that, in an example
of its own, does not count. In bash an answer must be the whole function, because in MultiPL-E the tests contain the end
of the function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from code_env.errors import TaskError
from code_env.executors.limits import Limits

from ..kinds import AssertTest, StdinTest
from ..task import Task
from .fields import text

FIELDS = ("name", "language", "prompt", "tests")
"""The fields of a row that are read, all of them text."""

_LIMITS = Limits(processes=16)
"""In bash, every command that is not built in starts a process."""

_CALLS_WHAT_IT_READS = """\
if ((${#BASH_SOURCE[@]} == 1)); then
    exec 3>&1 4<&0 >/dev/null </dev/null
    trap '. /dev/stdin <&4 >&3' EXIT
    . "$0"
    trap '. /dev/stdin <&4 >&3' EXIT
    exit
fi
"""
"""What comes before an answer: it runs the answer by `.`, and then the call, whose output alone counts.

The call runs at the exit, so that an answer that ends with `exit` is called too. An answer can set a trap of its own
for the exit, so this one is set again.
"""
_NAME = {"javascript": re.compile(r"let candidate = (\w+);"), "bash": re.compile(r"candidate\(\) \{\s*(\w+) ")}
_CASE = re.compile(r'\[\[ \$\(candidate(.*?)\) = ("(?:[^"\\]|\\.)*"|\S+) \]\]', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\$`])')
_LANGUAGES = {"js": "javascript", "sh": "bash"}


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has the fields of this format."""
    return {*FIELDS, "stop_tokens"} <= set(row)


def task_from_row(row: Mapping[str, Any]) -> Task:
    """The task that a row of MultiPL-E describes.

    Raises:
        TaskError: If a field is missing or not text, or the row is in a language that is not supported here.
    """
    fields = {name: text(row, name) for name in FIELDS}
    language = _LANGUAGES.get(fields["language"])
    if language is None:
        raise TaskError(f"language: js or sh was expected; got {fields['language']!r}")
    name = _NAME[language].search(fields["tests"])
    if name is None:
        raise TaskError(f"tests: a function under the name candidate was expected; got {fields['tests'][:100]!r}")
    if language == "javascript":
        return Task(
            id=fields["name"],
            prompt=fields["prompt"],
            tests=(AssertTest(fields["tests"], language=language),),
            entry_point=name[1],
            language=language,
            prefix=fields["prompt"],
        )
    cases = _CASE.findall(fields["tests"])
    if not cases:
        raise TaskError(f'tests: [[ $(candidate ...) = "..." ]] was expected; got {fields["tests"][:100]!r}')
    return Task(
        id=fields["name"],
        prompt=fields["prompt"],
        tests=tuple(StdinTest(f"{name[1]}{args}\n", f"{_text(expected)}\n") for args, expected in cases),
        entry_point=name[1],
        language=language,
        prefix=_CALLS_WHAT_IT_READS,
        limits=_LIMITS,
    )


def _text(word: str) -> str:
    """The text that a word of bash stands for, with or without quotes."""
    return _ESCAPED.sub(r"\1", word[1:-1]) if word.startswith('"') else word
