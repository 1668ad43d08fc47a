"""What a run costs: `local` and `subprocess` against a bare fork, in CPU time with all descendants.

The bare fork is what no executor in Python can beat without doing less: `os.fork` from an interpreter started
with `-I -S` that has the server's modules loaded, at-fork hooks on; the child compiles and executes the program, its
output comes back by a pipe, the parent waits. It isolates and limits nothing.

Each contender is a process of its own that lives through all rounds. In a round each runs the same programs,
one contender after the other, forwards and backwards in turn; a ratio is taken within one round, so what
else the machine does falls on both. The table shows medians and, in brackets, the smallest and the largest.

    python benchmarks/executors.py --humaneval HumanEval.jsonl.gz     # all of it; takes some minutes
    python benchmarks/executors.py --rounds 3 --programs trivial --workers 1

HumanEval's programs are prompt, reference and tests in one text, run as they stand; they need its file,
`--humaneval HumanEval.jsonl.gz`. CPU time is from /proc and leaves out what kernel threads do
later, such as the end of a mount.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contenders import Contender, bare_fork, serve

TRIVIAL = 'total = 0\nfor n in range(10):\n    total += n\nprint("total", total)\n'
NUMPY = "import numpy as np\na = np.arange(12.0).reshape(3, 4)\nprint((a @ a.T).sum())\n"

TRIVIAL_RUNS, NUMPY_RUNS = 500, 300


def executor(name: str, workers: int) -> Callable[[list[str]], int]:
    """An executor of the package; returns how many did not end well."""
    from code_env import Program, Status, make_executor

    made = make_executor(name, workers=workers)
    sys.stderr.write(f"{made.describe().level}\n")

    def run(programs: list[str]) -> int:
        results = made.run_many(Program(program) for program in programs)
        return sum(result.status is not Status.OK for result in results)

    return run


def contend(name: str, workers: int) -> None:
    """Be the contender of that name."""
    if name == "fork+numpy":
        importlib.import_module("numpy")
    serve(bare_fork(workers) if name.startswith("fork") else executor(name, workers))


def contender(name: str, workers: int) -> Contender:
    """The contender of that name."""
    bare = name.startswith("fork")
    # Without `site` an interpreter does not find NumPy.
    return Contender("executors", name, workers, bare=bare, packages=name == "fork+numpy")


def humaneval_programs(path: str) -> list[str]:
    """Each problem's prompt, reference and tests as one program."""
    from code_env.tasks.loading import read_rows

    return [
        f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\ncheck({row['entry_point']})\n"
        for _, row in read_rows(Path(path))
    ]


def compare(programs: list[str], floor: str, names: list[str], workers: int, rounds: int) -> list[dict[str, Any]]:
    """Rounds of all contenders; one row for each, its times in milliseconds and its ratios to the floor."""
    contenders = [contender(name, workers) for name in (floor, *names)]
    levels = {one.name: "" if one.name == floor else one.line().strip() for one in contenders}
    measured: dict[str, list[tuple[float, float]]] = {one.name: [] for one in contenders}
    for one in contenders:
        one.measure(programs[:20])
    for number in range(rounds):
        for one in contenders if number % 2 == 0 else contenders[::-1]:
            measured[one.name].append(one.measure(programs))
    rows = []
    for one in contenders:
        own, base = measured[one.name], measured[floor]
        ratios = [mine[1] / other[1] for mine, other in zip(own, base, strict=True)]
        rows.append(
            {
                "executor": one.name,
                "level": levels[one.name],
                "workers": workers,
                "cpu_ms": 1000 * statistics.median(cpu for _, cpu in own),
                "cpu_ratio": [statistics.median(ratios), min(ratios), max(ratios)],
                "per_second": 1 / statistics.median(wall for wall, _ in own),
            }
        )
        one.close()
    return rows


def main() -> None:
    """Parse the command line, measure, and print tables or JSON."""
    import argparse

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="at least 5 for figures to be quoted")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--programs", nargs="+", default=["trivial", "humaneval", "numpy"])
    parser.add_argument("--humaneval", help="HumanEval's file; without it that table is left out")
    parser.add_argument("--executors", nargs="+", default=["local", "subprocess"])
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    arguments = parser.parse_args()

    if "humaneval" in arguments.programs and arguments.humaneval is None:
        arguments.programs.remove("humaneval")
        sys.stderr.write("no HumanEval programs: --humaneval names no file\n")
    for kind in arguments.programs:
        floor = "fork+numpy" if kind == "numpy" else "fork"
        programs = {"trivial": lambda: [TRIVIAL] * TRIVIAL_RUNS, "numpy": lambda: [NUMPY] * NUMPY_RUNS}.get(
            kind, lambda: humaneval_programs(arguments.humaneval)
        )()
        for workers in arguments.workers:
            rows = compare(programs, floor, arguments.executors, workers, arguments.rounds)
            if arguments.json:
                for row in rows:
                    sys.stdout.write(json.dumps({"programs": kind, **row}) + "\n")
            else:
                show(kind, rows)


def show(kind: str, rows: list[dict[str, Any]]) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "executor", "level", "workers", "CPU ms", "CPU, x fork", "programs a second", title=f"{kind} programs"
    )
    for row in rows:
        median, least, most = row["cpu_ratio"]
        table.add_row(
            row["executor"],
            row["level"] or "-",
            str(row["workers"]),
            f"{row['cpu_ms']:.2f}",
            f"{median:.2f} ({least:.2f} to {most:.2f})",
            f"{row['per_second']:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
