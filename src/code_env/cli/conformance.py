"""`code-env conformance`: runs the checks that every executor must pass."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from code_env.errors import ExecutorError
from code_env.executors import make_executor
from code_env.text import printable

from .application import app
from .console import out, progress_bar, say, user_errors

_SIGNS = {"holds": "[green]holds[/]", "declared": "declared", "fails": "[red]fails[/]"}


@app.command()
def conformance(
    executors: Annotated[
        list[str] | None,
        typer.Argument(help='Names of executors, `local` by default; with arguments as `local={"workers": 2}`.'),
    ] = None,
) -> None:
    """Run the conformance suite on executors: a table of checks, and why those fail that do.

    "declared" is what an executor says that it does not do, and refuses clearly. `restricted` refuses programs that
    import anything unless it is told what they may: `restricted={"allowed_imports": ["json", "sys", "time"]}`.
    """
    from code_env.testing import CHECKS, LIFE_CHECKS, Finding, examine

    with user_errors():
        chosen = [_named(text) for text in executors or ["local"]]
        columns: list[dict[str, Finding]] = []
        with progress_bar() as progress:
            for name, arguments in chosen:
                checks = examine(lambda name=name, arguments=arguments: make_executor(name, **arguments))  # type: ignore[misc]
                total = len(CHECKS) + len(LIFE_CHECKS)
                columns.append({found.check: found for found in progress.track(checks, total, description=name)})
    table = Table(Column("check", no_wrap=True), *(Column(name, overflow="fold") for name, _ in chosen))
    for check in columns[0]:
        table.add_row(check, *(_SIGNS[found[check].outcome] for found in columns))
    out.print(table)
    failed = 0
    for (name, _), column in zip(chosen, columns, strict=True):
        counts = {sign: sum(found.outcome == sign for found in column.values()) for sign in _SIGNS}
        failed += counts["fails"]
        say(f"{name}: {counts['holds']} of {len(column)} hold, {counts['declared']} declared, {counts['fails']} fail")
        for found in column.values():
            if found.outcome != "holds":
                say(f"  {found.check}: {printable(found.reason)}", style="red" if found.outcome == "fails" else None)
    if failed:
        raise typer.Exit(1)


def _named(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of an executor, from the text on the command line."""
    name, equals, given = text.partition("=")
    try:
        arguments = json.loads(given) if equals else {}
    except ValueError as error:
        raise ExecutorError(f"the arguments of {name} must be a JSON object; got {given!r}: {error}") from None
    if not isinstance(arguments, dict):
        raise ExecutorError(f"the arguments of {name} must be a JSON object; got {given!r}")
    try:
        make_executor(name, **arguments).close()
    except TypeError as error:  # Reported once, before the first check.
        raise ExecutorError(f"{name} does not take these arguments: {error}") from None
    return name, arguments
