"""`code-env view` and `code-env watch`: look at files of results while they grow, in a browser and in the terminal."""

from __future__ import annotations

import contextlib
import time
import webbrowser
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from code_env.judging import Outcome
from code_env.report.runs import Entry, Runs
from code_env.report.server import GrowingPage, serve
from code_env.serving.sockets import LOOPBACK, listening_socket
from code_env.text import printable

from .application import app
from .collection_bar import how_ended
from .console import ALL_KS, JsonOption, KsOption, out, parse_ks, print_json, say, user_errors

FilesArgument = Annotated[
    list[Path], typer.Argument(help="Results of `code-env eval`, or trajectories of `code-env rollout`.")
]


@app.command()
def view(
    files: FilesArgument,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on 127.0.0.1; a free one if 0.")] = 0,
    k: KsOption = ALL_KS,
    as_json: JsonOption = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Serve the page of `code-env report` on loopback, and follow the files while they grow, until Ctrl-C.

    Example: code-env view episodes.jsonl
    """
    with (
        user_errors(),
        contextlib.closing(GrowingPage(files, parse_ks(k))) as growing,
        listening_socket(port=port) as listening,
    ):
        address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/"

        def announce() -> None:
            if as_json:
                print_json({"address": address})
            else:
                say(f"{address} shows {', '.join(map(str, files))}; Ctrl-C ends it")
            if browser:
                webbrowser.open(address)

        serve(growing, listening, announce)


@app.command()
def watch(
    files: FilesArgument,
    once: Annotated[bool, typer.Option("--once", help="Show the figures so far, and end.")] = False,
    last: Annotated[
        int, typer.Option("--last", min=0, help="How many of the last answers that did not pass are listed.")
    ] = 10,
    k: KsOption = "1",
    as_json: JsonOption = False,
) -> None:
    """Show the figures of files in the terminal while they grow, until Ctrl-C; once if the output is no terminal.

    Example: code-env watch episodes.jsonl
    """
    with user_errors(), Runs(files, parse_ks(k)) as runs:
        failed: deque[Entry] = deque(maxlen=last)
        _read(runs, failed)
        if as_json:
            print_json({"runs": runs.figures(), "failed": [_failed_row(runs, entry) for entry in failed]})
            return
        if once or not out.is_terminal:
            out.print(_figures(runs, failed))
            return
        with Live(_figures(runs, failed), console=out, auto_refresh=False) as live:
            while True:
                time.sleep(1.0)
                _read(runs, failed)
                live.update(_figures(runs, failed), refresh=True)


def _read(runs: Runs, failed: deque[Entry]) -> None:
    """Read what came; add the entries that did not pass."""
    failed.extend(entry for entry, _ in runs.items() if entry.outcome != Outcome.PASS)


def _failed_row(runs: Runs, entry: Entry) -> dict[str, Any]:
    return {"run": runs.names[entry.run]} | {
        name: getattr(entry, name) for name in ("number", "task", "outcome", "message")
    }


def _figures(runs: Runs, entries: Iterable[Entry]) -> RenderableType:
    figures = runs.figures()
    table = Table("", title="runs", title_justify="left")
    for run in figures:
        table.add_column(Text(printable(run["name"])))
    for name, cells in _lines(figures).items():
        table.add_row(name, *cells)
    failed = Table(*(["run"] if len(figures) > 1 else []), title="the last that did not pass", title_justify="left")
    for name in ("number", "task", "outcome"):
        failed.add_column(name)
    failed.add_column("why", overflow="fold")
    for entry in entries:
        row = _failed_row(runs, entry)
        failed.add_row(*(Text(printable(str(row[name]))) for name in row if name != "run" or len(figures) > 1))
    return Group(table, failed) if failed.row_count else table


def _lines(figures: list[dict[str, Any]]) -> dict[str, list[str]]:
    lines = {
        "answers": [f"{run['items']} {_items(run)}" for run in figures],
        "tasks": [str(len(run["tasks"])) for run in figures],
        "outcomes": [f"{_items(run)}: {_counts(run['outcomes'])}" for run in figures],
        "how programs ended": [
            f"programs: {_counts({how_ended(name): count for name, count in run['statuses'].items()})}"
            for run in figures
        ],
        "programs without code": [f"{run['without_code']} of {sum(run['statuses'].values())}" for run in figures],
        "mean reward": [f"{run['rewards']['mean']:.3f}" if run["rewards"] else "-" for run in figures],
    }
    for k in sorted({one["k"] for run in figures for one in run["pass_at_k"]}):
        found = [next((one for one in run["pass_at_k"] if one["k"] == k), None) for run in figures]
        lines[f"pass@{k}"] = ["-" if one is None else _with_interval(one) for one in found]
    return lines


def _items(run: dict[str, Any]) -> str:
    """What the items of a run are called."""
    return "episodes" if run["rewards"] else "samples"


def _with_interval(estimate: dict[str, Any]) -> str:
    low, high = estimate["low"], estimate["high"]
    return f"{estimate['value']:.3f} ({'-' if low is None else f'{low:.3f} to {high:.3f}'})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
