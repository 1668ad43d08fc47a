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
import os
import select
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The server's list, read and not imported: the bare fork has nothing else of the package.
SERVER = Path(__file__).parents[1] / "src/code_env/executors/local/jail/server.py"

TRIVIAL = 'total = 0\nfor n in range(10):\n    total += n\nprint("total", total)\n'
NUMPY = "import numpy as np\na = np.arange(12.0).reshape(3, 4)\nprint((a @ a.T).sum())\n"

TRIVIAL_RUNS, NUMPY_RUNS = 500, 300


def common_modules() -> tuple[str, ...]:
    """The modules that the server of `local` has loaded."""
    source = SERVER.read_text()
    start = source.index("COMMON_MODULES = (") + len("COMMON_MODULES = ")
    names: dict[str, Any] = {}
    exec("names = " + source[start : source.index("\n)", start) + 2], names)
    modules: tuple[str, ...] = names["names"]
    return modules


# The contenders: each gets a list of programs and returns when all have run.


def bare_fork(workers: int) -> Callable[[list[str]], int]:
    """Forks of this process, as many at a time as there are workers; returns how many failed."""
    for name in common_modules():
        importlib.import_module(name)

    def start(program: str) -> tuple[int, int]:
        read_fd, write_fd = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_fd)
            os.dup2(write_fd, 1)
            code = 1
            try:
                exec(compile(program, "main.py", "exec"), {"__name__": "__main__"})
                sys.stdout.flush()
                code = 0
            finally:
                os._exit(code)
        os.close(write_fd)
        return read_fd, pid

    def run(programs: list[str]) -> int:
        waiting, failed = list(reversed(programs)), 0
        running: dict[int, int] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                read_fd, pid = start(waiting.pop())
                running[read_fd] = pid
            ready = list(running) if len(running) == 1 else select.select(list(running), [], [])[0]
            for fd in ready:
                if not os.read(fd, 1 << 16):
                    os.close(fd)
                    failed += os.waitpid(running.pop(fd), 0)[1] != 0
        return failed

    return run


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
    """Be a contender: run what comes on standard input, a line of JSON each time, and say how long it took."""
    if name == "fork+numpy":
        importlib.import_module("numpy")
    run = bare_fork(workers) if name.startswith("fork") else executor(name, workers)
    for line in sys.stdin:
        started = time.perf_counter()
        failed = run(json.loads(line))
        sys.stderr.write(json.dumps([time.perf_counter() - started, failed]) + "\n")


class Contender:
    """A contender's process, from outside."""

    def __init__(self, name: str, workers: int) -> None:
        self.name, self.workers = name, workers
        command = [sys.executable, *(["-I", "-S"] if name.startswith("fork") else [])]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        # Without `site` an interpreter does not find NumPy.
        packages = [sysconfig.get_path("platlib")] if name == "fork+numpy" else []
        directories = [str(Path(__file__).parent), *packages]
        self._process = subprocess.Popen(
            [*command, "-c", _MAIN.format(directories=directories), name, str(workers)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.level = "" if name.startswith("fork") else self._line().strip()

    def _line(self) -> str:
        if self._process.stderr is None:
            raise OSError("the contender has no stderr")
        line = self._process.stderr.readline()
        if not line:
            raise SystemExit(f"{self.name} ended")
        return line

    def measure(self, programs: list[str]) -> tuple[float, float]:
        """Wall and CPU seconds for one program, on average."""
        if self._process.stdin is None:
            raise OSError("the contender has no stdin")
        before = cpu_of_tree(self._process.pid)
        self._process.stdin.write(json.dumps(programs) + "\n")
        self._process.stdin.flush()
        wall_s, failed = json.loads(self._line())
        if failed:
            raise SystemExit(f"{self.name}: {failed} of {len(programs)} programs failed")
        return wall_s / len(programs), (cpu_of_tree(self._process.pid) - before) / len(programs)

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)


_MAIN = """import sys
sys.path += {directories!r}
import executors
executors.contend(sys.argv[1], int(sys.argv[2]))
"""


def cpu_of_tree(pid: int) -> float:
    """CPU seconds of a process, of all below it, and of all that these have waited for."""
    total, pids = 0.0, [pid]
    while pids:
        pid = pids.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            for task in os.listdir(f"/proc/{pid}/task"):
                pids += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return total


def humaneval_programs(path: str) -> list[str]:
    """Each problem's prompt, reference and tests as one program."""
    from code_env.tasks.loading import read_rows

    return [
        f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\ncheck({row['entry_point']})\n"
        for _, row in read_rows(Path(path))
    ]


def compare(programs: list[str], floor: str, names: list[str], workers: int, rounds: int) -> list[dict[str, Any]]:
    """Rounds of all contenders; one row for each, its times in milliseconds and its ratios to the floor."""
    contenders = [Contender(name, workers) for name in (floor, *names)]
    measured: dict[str, list[tuple[float, float]]] = {contender.name: [] for contender in contenders}
    for contender in contenders:
        contender.measure(programs[:20])
    for number in range(rounds):
        for contender in contenders if number % 2 == 0 else contenders[::-1]:
            measured[contender.name].append(contender.measure(programs))
    rows = []
    for contender in contenders:
        own, base = measured[contender.name], measured[floor]
        ratios = [mine[1] / other[1] for mine, other in zip(own, base, strict=True)]
        rows.append(
            {
                "executor": contender.name,
                "level": contender.level,
                "workers": workers,
                "cpu_ms": 1000 * statistics.median(cpu for _, cpu in own),
                "cpu_ratio": [statistics.median(ratios), min(ratios), max(ratios)],
                "per_second": 1 / statistics.median(wall for wall, _ in own),
            }
        )
        contender.close()
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
