"""What a branch of a session costs: a fork of the state and its first cell, beside a bare fork of such an interpreter.

Each round does the same with each contender in turn, so that all meet the same load of the machine:

- `fork`: an interpreter with the same modules and data, not isolated, forks a child that runs the cell and exits;
- `branch`: `checkpoint.restore()` and the first cell, on `local`;
- `replay`: the same where sessions are kept by replay, which runs the cells before it again.

    python benchmarks/sessions.py
    python benchmarks/sessions.py --megabytes 0,128,512 --rounds 9 --json
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from code_env import Limits, make_executor
from code_env.executors.local.stocks import COMMON_MODULES
from code_env.sessions import Checkpoint, Session

_LIMITS = Limits(cpu_s=60, wall_s=120, memory_bytes=4 << 30)
_CELL = "total = len(data) + 1\ntotal"

_BARE = f"""
import importlib, os, sys, time
for name in {COMMON_MODULES!r}:
    importlib.import_module(name)
names = {{}}
exec(sys.argv[1], names)
for line in sys.stdin:
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        exec({_CELL!r}, names)
        os._exit(0)
    os.waitpid(pid, 0)
    print(time.perf_counter() - began, flush=True)
"""


def main(
    megabytes: Annotated[str, typer.Option(help="What the states hold, beside the interpreter.")] = "0,32,128,512",
    rounds: Annotated[int, typer.Option(min=1)] = 7,
    count: Annotated[int, typer.Option(min=1, help="Branches of a round.")] = 20,
    branches: Annotated[int, typer.Option(min=0, help="Branches of one state that live at once.")] = 256,
    running: Annotated[int, typer.Option(min=1, help="How many of them run a cell at once.")] = 64,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure the contenders, and show the median of each with the least and the most of a round."""
    rows = [_row(int(size), rounds, count) for size in megabytes.split(",")]
    together = _together(branches, running) if branches else {}
    if as_json:
        typer.echo(json.dumps({"sizes": rows, "together": together}))
        return
    table = Table(title=f"ms a branch: median of {rounds} rounds of {count} (least to most)")
    for column in ("state holds, MiB", "fork", "branch", "replay", "branch / fork"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(str(row[name]) for name in ("megabytes", "fork", "branch", "replay", "ratio")))
    Console().print(table)
    if together:
        typer.echo(f"{branches} branches of one state, {running} running at once: {together}")


def _row(size: int, rounds: int, count: int) -> dict[str, Any]:
    setup = f"data = bytearray({size} << 20)\nfor place in range(0, len(data), 4096):\n    data[place] = 1"
    with make_executor("local") as live, make_executor("local", max_isolation="contained") as contained:
        bare = subprocess.Popen([sys.executable, "-c", _BARE, setup], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with bare, live.open_session(limits=_LIMITS) as kept, contained.open_session(limits=_LIMITS) as again:
            ways = {"fork": lambda: _forked(bare), "branch": _way(kept, setup), "replay": _way(again, setup)}
            ms: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(rounds):
                for name, way in ways.items():
                    times = 1 if name == "replay" and size else count
                    ms[name].append(1000 * statistics.median(way() for _ in range(times)))
            bare.kill()
    ratios = [branch / fork for branch, fork in zip(ms["branch"], ms["fork"], strict=True)]
    return {"megabytes": size, **{name: _shown(ms[name]) for name in ways}, "ratio": _shown(ratios)}


def _shown(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _forked(bare: subprocess.Popen[bytes]) -> float:
    assert bare.stdin is not None
    assert bare.stdout is not None
    bare.stdin.write(b"go\n")
    bare.stdin.flush()
    return float(bare.stdout.readline())


def _way(session: Session, setup: str) -> Callable[[], float]:
    assert session.run(setup).error is None
    checkpoint = session.checkpoint()

    def run() -> float:
        began = time.perf_counter()
        with checkpoint.restore() as branch:
            assert branch.run(_CELL).error is None
            return time.perf_counter() - began

    return run


def _together(branches: int, running: int) -> dict[str, float]:
    """Give each branch of a small state three cells, and return how long that takes, in seconds a cell."""
    with make_executor("local") as executor, executor.open_session(limits=_LIMITS) as session:
        session.run("data = list(range(1000))")
        checkpoint: Checkpoint = session.checkpoint()
        alive = threading.Barrier(running)

        def play(number: int) -> Session:
            branch = checkpoint.restore()
            for _ in range(3):
                assert branch.run(f"data.append({number})\nsum(data)").error is None
            if number < running:
                alive.wait(60)
            return branch

        began = time.perf_counter()
        with ThreadPoolExecutor(running) as pool:
            living = list(pool.map(play, range(branches)))
        seconds = time.perf_counter() - began
        for branch in living:
            branch.close()
    return {"seconds": round(seconds, 2), "ms a cell": round(1000 * seconds / (3 * branches), 2)}


if __name__ == "__main__":
    typer.run(main)
