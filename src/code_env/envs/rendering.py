"""Renders a step as text for a terminal: prompt, program, result, reward ledger."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from code_env.judging.verdict import CaseResult, Verdict
from code_env.tasks.task import Task
from code_env.text import clip, printable

_WIDTH = 100
_MAX_TEXT = 2000
_MAX_CASES = 12


class Drawing(str):
    """Text that notebooks and IPython print directly, instead of showing its `repr` with escapes.

    Example:
        >>> Drawing("a") == "a"
        True
    """

    __slots__ = ()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Called by IPython."""
        printer.text(str(self))


def render_step(task: Task, info: dict[str, Any]) -> Drawing:
    """The step that `info` describes, as text. It contains ANSI escapes of this package, but none from the program."""
    # In a notebook, rich would show the text by IPython instead of writing it to the file.
    console = Console(
        file=io.StringIO(), force_terminal=True, force_jupyter=False, width=_WIDTH, color_system="standard"
    )
    console.print(step_panels(task, info))
    file = console.file
    return Drawing(file.getvalue() if isinstance(file, io.StringIO) else "")


def step_panels(task: Task, info: dict[str, Any]) -> RenderableType:
    """The step in a form that rich can print; only the prompt if there was no step yet."""
    parts: list[RenderableType] = [Panel(_text(task.prompt), title=_text(task.id), title_align="left")]
    if info.get("cells"):
        told = info["messages"][-2:]
        parts += [
            Panel(_text(message["content"]), title=title, title_align="left")
            for message, title in zip(told, ("cell", "result"), strict=True)
        ]
    for verdict in info.get("verdicts", ()):
        parts.append(Panel(_text(verdict.code), title="program", title_align="left"))
        parts.append(_result(verdict))
    if info.get("reward_terms"):
        parts.append(ledger(info))
    return Group(*parts)


def ledger(info: dict[str, Any]) -> Table:
    """The reward terms of a step, and their sum."""
    table = Table(title="reward", title_justify="left", show_footer=True)
    total = sum(info["reward_terms"].values())
    table.add_column("term", footer="total")
    table.add_column("value", justify="right")
    table.add_column("weighted", justify="right", footer=f"{total:.3f}")
    for name, weighted in info["reward_terms"].items():
        table.add_row(_text(name), f"{info['reward_raw'][name]:.3f}", f"{weighted:.3f}")
    return table


def _result(verdict: Verdict) -> Table:
    colour = {"pass": "green", "no_verdict": "yellow"}.get(verdict.outcome, "red")
    head = f"{verdict.outcome}: {verdict.tests_passed} of {verdict.tests_total} cases, judged {verdict.judge}"
    table = Table(title=Text(head, style=colour), title_justify="left")
    for column in ("test.case", "passed", "status", "why not"):
        table.add_column(column, overflow="fold")
    for case in verdict.cases[:_MAX_CASES]:
        mark = Text("yes", style="green") if case.passed else Text("no", style="red")
        table.add_row(_name(case), mark, str(case.status), _text(case.message))
    if len(verdict.cases) > _MAX_CASES:
        table.add_row("...", "", "", f"{len(verdict.cases) - _MAX_CASES} more")
    if not verdict.cases and verdict.execution.error is not None:
        table.add_row("-", "", str(verdict.execution.status), _text(verdict.execution.error.message))
    return table


def _name(case: CaseResult) -> str:
    return f"{case.test}.{case.case}{'' if case.hidden else ' (public)'}"


def _text(text: str) -> Text:
    """Text from outside this package, without markup and control characters, and not too long."""
    return Text(printable(clip(text, _MAX_TEXT)))
