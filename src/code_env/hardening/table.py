"""Runs programs on tables of inputs: one process for each program, in an executor."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from code_env.executors.base import Executor
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, Status
from code_env.harness.judge.nodes import parse
from code_env.languages import PYTHON
from code_env.tasks.comparison import Comparison
from code_env.tasks.kinds import CheckerTest
from code_env.tasks.task import Task

_PROGRAM = Path(__file__).with_name("table_program.py").read_text(encoding="utf-8")

INPUT_CPU_S = 0.2
"""CPU time of one input, in seconds."""

_MOST_BYTES = 8 << 20
"""The most that a table takes in files, and that it gives back."""


SHOWN_CHARS = 160
"""Of an outcome, how much is kept as text."""


@dataclass(frozen=True)
class Outcome:
    """What a program made of an input. Outcomes are equal where tests would take them for equal."""

    kind: str
    """`returns`, `changes` if it returned None, `prints`, `raises`, `slow`, or `dies` if it ended the whole process."""
    text: str = dataclasses.field(compare=False)
    """What it returned or printed, None and the arguments if it returned None, or an exception's name; shortened."""
    digest: str = ""
    """Digest of the whole text."""

    @property
    def answers(self) -> bool:
        """Whether it is a value or an output."""
        return self.kind in ("returns", "changes", "prints")


def run_tables(
    task: Task,
    programs: Iterable[str],
    inputs: Sequence[str],
    executor: Executor,
    shown_chars: int = SHOWN_CHARS,
) -> list[tuple[Outcome, ...] | None]:
    """Run each program on each input.

    Args:
        task: The task whose entry point, files and memory limit are used.
        programs: Whole programs in Python.
        inputs: See `inputs_of`.
        executor: Where they run.
        shown_chars: Of an outcome, how much is kept as text.

    Returns:
        For each program its outcomes, in the order of the inputs; None if the sandbox failed.
    """
    cpu_s = 2.0 + 4 * INPUT_CPU_S + 0.01 * len(inputs)
    limits = dataclasses.replace(
        task.limits,
        cpu_s=cpu_s,
        wall_s=10 * cpu_s,
        output_bytes=_MOST_BYTES,
        file_bytes=max(task.limits.file_bytes, 64 << 20),
    )
    function = task.entry_point if calls(task) else None
    table = json.dumps(list(inputs)).encode()
    results = executor.run_many(
        Program(
            _PROGRAM,
            argv=(function or "", str(INPUT_CPU_S), _form(task), str(shown_chars)),
            files={**task.files, "answer.py": program.encode("utf-8", "surrogatepass"), "inputs.json": table},
            limits=limits,
        )
        for program in programs
    )
    return [_outcomes(result, len(inputs), shown_chars) for result in results]


def calls(task: Task) -> bool:
    """Whether the tests of a task call a function, rather than run a program with standard input."""
    return any(test.kind in ("call", "assert") for test in task.tests)


def _form(task: Task) -> str:
    """What the comparison rules of a task do not look at: the order of elements or lines, or white space."""
    compared = (getattr(test, "compare", None) for test in task.tests)
    rules = {one.rule for one in compared if isinstance(one, Comparison)}
    if rules & {"unordered", "multiset"}:
        return "unordered"
    return "tokens" if rules & {"tokens", "numbers"} else "as it is"


def unfit(task: Task) -> str | None:
    """Why a task's reference cannot be compared with other programs; None if it can."""
    if task.reference is None:
        return "it has no reference"
    if task.language != PYTHON.name:
        return f"its answers are in {task.language}, and only Python is compared"
    if any(isinstance(test, CheckerTest) for test in task.tests):
        return "its checker accepts several answers, so another output may be right too"
    try:
        parse(task.program(task.reference))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its reference cannot be parsed by this Python: {type(error).__name__}: {error}"
    return None


def shown_input(task: Task, text: str) -> str:
    """An input as it is shown: a call of the entry point, or standard input."""
    if not calls(task):
        return text
    args, kwargs = ast.literal_eval(text)
    given = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return f"{task.entry_point}({', '.join(given)})"


def _outcomes(result: ExecutionResult, count: int, shown_chars: int) -> tuple[Outcome, ...] | None:
    if result.status is Status.SANDBOX_ERROR:
        return None
    found: list[Outcome] = []
    for line in result.stdout.splitlines()[:count]:
        try:
            kind, text, digest = json.loads(line)
        except (ValueError, TypeError, RecursionError):  # The process ended in the middle of a line, or wrote its own.
            break
        found.append(Outcome(str(kind), str(text)[:shown_chars], str(digest)[:SHOWN_CHARS]))
    return (*found, *[Outcome("dies", "")] * (count - len(found)))
