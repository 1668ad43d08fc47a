"""`code-env doctor`: show what this machine grants the local executor."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from code_env.errors import ExecutorError
from code_env.text import printable

from .application import app
from .console import JsonOption, out, print_json, progress_bar, user_errors

if TYPE_CHECKING:
    from code_env.doctor import Examination  # Linux only


@app.command("doctor")
def doctor(
    min_isolation: Annotated[str, typer.Option(help="The lowest level that is enough for you: contained or full.")] = (
        "contained"
    ),
    python: Annotated[str | None, typer.Option(help="The interpreter that runs programs; this one by default.")] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also run programs that attack the jail, and show which of them failed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what this machine grants the local executor.

    The exit code is 1 if the level is lower than --min-isolation, or if a program of --probe got what it must not get.

    Example: code-env doctor --probe
    """
    with user_errors():
        if sys.platform != "linux":
            raise ExecutorError(f"the local executor needs Linux, not {sys.platform}; there is nothing to examine")
        from code_env.abuses import SELECTION, Finding
        from code_env.doctor import examine

        def probing(findings: Iterable[Finding]) -> Iterator[Finding]:
            with progress_bar() as progress:
                yield from progress.track(findings, total=len(SELECTION), description="programs that try the jail")

        found = examine(min_isolation, python, probing if probe else None)
    if as_json:
        print_json(found.to_dict())
    else:
        _show_examination(found)
    if not found.passed:
        raise typer.Exit(1)


def _show_examination(found: Examination) -> None:
    out.print(found.system, highlight=False)
    table = Table("layer", "granted", "needed for", "detail")
    for layer in found.layers:
        table.add_row(layer.name, "yes" if layer.granted else "no", layer.needed_for, Text(layer.detail))
    out.print(table)
    for layer in found.layers:
        if layer.remedy:
            out.print(Text(f"{layer.name} would need: {layer.remedy}"))
    out.print(f"level: {found.level or 'none'} (at least {found.min_isolation} was asked for)", highlight=False)
    if found.why_not_full:
        out.print(Text(f"why not full: {found.why_not_full}"))
    if found.timing:
        start, program, judged = (found.timing[name] for name in ("start", "program", "judged"))
        out.print(
            f"timing: {start} ms until a server has started and run its first program, then {program} ms for a "
            f"program, {judged} ms for a verdict on an answer with one test",
            highlight=False,
        )
    if found.probe:
        table = Table("kind", "a program that", "held", "how it went")
        for finding in found.probe:
            table.add_row(finding.kind, finding.name, "yes" if finding.held else "NO", Text(printable(finding.detail)))
        out.print(table)
        held = sum(finding.held for finding in found.probe)
        out.print(f"probe: {held} of {len(found.probe)} held", highlight=False)
