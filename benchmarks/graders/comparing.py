"""Runs graders over the programs, and keeps every verdict as a row.

Rows go to a file after each step, and a step that the file has is not run again: a comparison of everything takes an
hour, and can go on where it was stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from busy import busy_loops, undisturbed
from contestants import Grader, marks
from material import RIGHT, Item, first_of_each_kind

BUSY_MOST = 10
"""How many right programs of each kind are judged again and beside busy loops."""

ATTACKS, IDLE, AGAIN, BUSY = "attacks", "idle", "again", "busy"


@dataclass(frozen=True)
class Row:
    """One verdict."""

    grader: str
    phase: str
    """`attacks`, or for right programs `idle`, `again` or `busy`."""
    name: str
    """Of the program."""
    passed: bool | None
    said: str


@dataclass(frozen=True)
class Step:
    """One grader in one phase, as it was run."""

    grader: str
    phase: str
    seconds: float
    load: float
    """The load average of the last minute before it began."""


@dataclass
class Comparison:
    """The verdicts of graders on programs."""

    items: list[Item]
    graders: list[Grader]
    rows: list[Row]
    steps: list[Step]

    def passed(self, grader: str, phase: str) -> dict[str, bool | None]:
        """Verdicts by the name of the program."""
        return {row.name: row.passed for row in self.rows if (row.grader, row.phase) == (grader, phase)}


def compare(
    items: Sequence[Item],
    graders: Sequence[Grader],
    cache: Path,
    *,
    workers: int,
    busy: bool,
    results: Path | None = None,
    tell: Callable[[str], object] = lambda text: None,
) -> Comparison:
    """Ask every grader about every program that it takes.

    Args:
        items: The programs.
        graders: Who judges.
        cache: Where the environments of the graders are kept.
        workers: How many processes judge attacks; many of those do nothing but wait. Right programs have one.
        busy: Also beside busy loops, and again without.
        results: A file for the verdicts, which it may have some of already.
        tell: Is told of each step.
    """
    found = Comparison(list(items), list(graders), [], [])
    known = _read(results) if results is not None and results.exists() else {}
    for grader in graders:
        taken = [item for item in items if grader.takes(item)]
        names = {item.name for item in taken}
        for phase in (ATTACKS, IDLE, AGAIN, BUSY) if busy else (ATTACKS, IDLE):
            step, rows = known.get((grader.name, phase)) or _run(grader, phase, taken, cache, workers)
            tell(f"{grader.name}, {phase}: {len(rows)} verdicts in {step.seconds:.0f} s, load before {step.load:.1f}")
            found.steps.append(step)
            found.rows.extend(row for row in rows if row.name in names)
            if results is not None and (grader.name, phase) not in known:
                with results.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(one) + "\n" for one in (asdict(step), *map(asdict, rows)))
    return found


def _run(grader: Grader, phase: str, items: Sequence[Item], cache: Path, workers: int) -> tuple[Step, list[Row]]:
    chosen = [item for item in items if (item.group == RIGHT) is (phase != ATTACKS)]
    if phase in (AGAIN, BUSY):
        chosen = list(first_of_each_kind(chosen, BUSY_MOST))
    load, began = os.getloadavg()[0], time.monotonic()
    with _BESIDE[phase]():
        said = marks(grader, chosen, workers if phase == ATTACKS else 1, cache)
    step = Step(grader.name, phase, round(time.monotonic() - began, 1), round(load, 1))
    rows = [Row(grader.name, phase, item.name, mark.passed, mark.said) for item, mark in zip(chosen, said, strict=True)]
    return step, rows


_BESIDE: dict[str, Callable[[], AbstractContextManager[None]]] = {
    # Most of the attacks that take long wait, so several at a time are judged as one at a time.
    ATTACKS: contextlib.nullcontext,
    IDLE: undisturbed,
    AGAIN: undisturbed,
    BUSY: busy_loops,
}
"""What goes on beside each phase."""


def _read(path: Path) -> dict[tuple[str, str], tuple[Step, list[Row]]]:
    found: dict[tuple[str, str], tuple[Step, list[Row]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        key = values["grader"], values["phase"]
        if "load" in values:
            found[key] = Step(**values), []
        else:
            found[key][1].append(Row(**values))
    return found
