"""`code-env conformance`: runs the checks that every executor must pass."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from code_env.checks import meant
from code_env.errors import ExecutorError
from code_env.text import printable

from .application import app
from .console import JsonOption, open_executor, out, print_json, progress_bar, say, user_errors

if TYPE_CHECKING:
    from code_env.testing import Finding  # Its checks are imported by this command only.

_SIGNS = {"holds": Text("holds", "green"), "declared": Text("declared"), "fails": Text("fails", "red")}


@app.command()
def conformance(
    executors: Annotated[
        list[str] | None,
        typer.Argument(help='Names of executors, `local` by default; with arguments as `local={"workers": 2}`.'),
    ] = None,
    check: Annotated[list[str] | None, typer.Option(help="Run only the check with this name. Repeatable.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the conformance suite on executors, and show why a check fails. The exit code is 1 if one fails.

    "declared" is what an executor says that it does not do, and refuses clearly. `restricted` refuses imports that were
    not allowed, so allow those of the checks: `restricted={"allowed_imports": ["json", "sys", "time"]}`.

    Example: code-env conformance local subprocess
    """
    from code_env.testing import check_names, examine

    with user_errors():
        _require_checks(check or (), check_names())
        chosen = [_named(text) for text in executors or ["local"]]
        columns: list[dict[str, Finding]] = []
        with progress_bar() as progress:
            for name, arguments in chosen:
                checks = examine(lambda name=name, arguments=arguments: open_executor(name, **arguments), check)  # type: ignore[misc]
                total = len(set(check or check_names()))
                columns.append({found.check: found for found in progress.track(checks, total, description=name)})
    failed = sum(found.outcome == "fails" for column in columns for found in column.values())
    if as_json:
        print_json({name: _as_data(column) for (name, _), column in zip(chosen, columns, strict=True)})
    else:
        _show([name for name, _ in chosen], columns)
    if failed:
        raise typer.Exit(1)


def _require_checks(given: Iterable[str], known: list[str]) -> None:
    """Refuse a name that no check has, with those that are near: there are too many to name all."""
    for name in given:
        if name not in known:
            near = [other for other in known if name in other]
            hint = f"; near are {', '.join(near)}" if near else meant(name, known)
            raise ExecutorError(f"there is no check {name!r}{hint}; code_env.testing.check_names() lists all")


def _as_data(column: dict[str, Finding]) -> dict[str, Any]:
    return {check: {"outcome": found.outcome, "reason": found.reason} for check, found in column.items()}


def _show(names: list[str], columns: list[dict[str, Finding]]) -> None:
    table = Table(Column("check", no_wrap=True), *(Column(name, overflow="fold") for name in names))
    for check in columns[0]:
        table.add_row(check, *(_SIGNS[found[check].outcome] for found in columns))
    out.print(table)
    for name, column in zip(names, columns, strict=True):
        counts = {sign: sum(found.outcome == sign for found in column.values()) for sign in _SIGNS}
        say(f"{name}: {counts['holds']} of {len(column)} hold, {counts['declared']} declared, {counts['fails']} fail")
        for found in column.values():
            if found.outcome != "holds":
                say(f"  {found.check}: {printable(found.reason)}", style="red" if found.outcome == "fails" else None)


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
        open_executor(name, **arguments).close()
    except TypeError as error:  # Reported once, before the first check.
        raise ExecutorError(f"{name} does not take these arguments: {error}") from None
    return name, arguments
