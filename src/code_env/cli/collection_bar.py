"""Shows the progress of a collection of trajectories on a terminal: a bar, the throughput, and how programs ended."""

from __future__ import annotations

import dataclasses
from collections import Counter
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from code_env.executors.result import Status
from code_env.rollout import RolloutSummary
from code_env.text import clip, printable

_EXAMPLE_CHARS = 200


class CollectionBar:
    """A progress bar of a collection; it is a context manager, and can be passed to `collect` as `on_progress`.

    Args:
        console: The console; the bar is drawn only if it is a terminal.
    """

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("collecting"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[rates]}", markup=False),
        )
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.done = 0
        """Episodes that were in the file at the start or were played."""
        self._bar = self._progress.add_task("collecting", total=None, rates="")

    def __call__(self, summary: RolloutSummary) -> None:
        """Show the progress."""
        self.done = summary.done
        ended = f"programs ended: {_shares(summary.statuses)}"
        rates = f"{summary.episodes_per_second:.1f} episodes/s, passed {summary.pass_rate:.0%}, {ended}"
        self._progress.update(self._bar, total=summary.episodes, completed=summary.done, rates=rates)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


def how_ended(status: str) -> str:
    """A status in a table beside outcomes, where `ok` alone would read as a right answer."""
    return f"{status} (ended by itself)" if status == Status.OK else status


def _shares(counts: Counter[str]) -> str:
    """The share of programs of each kind, most frequent first."""
    return ", ".join(f"{name} {count / counts.total():.1%}" for name, count in counts.most_common())


def collection_row(summary: RolloutSummary) -> dict[str, Any]:
    """The results of a collection as data for JSON."""
    return vars(summary) | {
        "timing": dataclasses.asdict(summary.timing),
        "done": summary.done,
        "pass_rate": summary.pass_rate,
        "mean_return": summary.mean_return,
        "episodes_per_second": summary.episodes_per_second,
    }


def collection_table(summary: RolloutSummary) -> Table:
    """The results of a collection as a table."""
    table = Table("what", "value", title="rollout", title_justify="left")
    table.add_row("episodes", f"{summary.done} ({summary.collected} played, {summary.resumed} were there)")
    table.add_row("episodes a second", f"{summary.episodes_per_second:.1f}")
    without = summary.done - summary.valid
    among = f" of the {summary.valid} with a verdict" if without else ""
    table.add_row("episodes passed", f"{summary.pass_rate:.1%}{among}")
    table.add_row("mean return", f"{summary.mean_return:.3f}{among}")
    programs = summary.statuses.total()
    table.add_row("programs judged", str(programs))
    table.add_row("outcomes of programs", _shares(summary.outcomes))
    table.add_row(
        "how programs ended", _shares(Counter({how_ended(name): count for name, count in summary.statuses.items()}))
    )
    table.add_row("time, added up over all steps", str(summary.timing))
    if summary.without_code:
        shown = f"{summary.without_code} of {programs}"
        if summary.without_code_example is not None:
            shown += f", for example {printable(clip(summary.without_code_example, _EXAMPLE_CHARS))!r}"
        table.add_row("programs without code", shown)
    errors = summary.statuses.get(Status.SANDBOX_ERROR, 0)
    if errors:
        table.add_row("programs without a verdict", f"{errors}: left out of training, please")
    return table
