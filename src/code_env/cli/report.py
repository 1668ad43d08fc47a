"""`code-env report`: write a page that shows what a policy did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from code_env.report import write_report

from .application import app
from .console import ALL_KS, JsonOption, KsOption, note, parse_ks, print_json, say, user_errors


@app.command()
def report(
    files: Annotated[
        list[Path], typer.Argument(help="Results of `code-env eval`, or trajectories of `code-env rollout`.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    title: Annotated[
        str | None, typer.Option("--title", help="Title of the page; the names of the files by default.")
    ] = None,
    k: KsOption = ALL_KS,
    as_json: JsonOption = False,
) -> None:
    """Write one HTML file that shows each answer, and why it failed; with two files it compares them.

    Example: code-env report before_results.jsonl after_results.jsonl -o report.html
    """
    with user_errors():
        count = write_report(files, output, title=title, ks=parse_ks(k), on_doubt=note)
    if as_json:
        print_json({"samples": count, "page": str(output)})
    else:
        say(f"{count} samples in {output}: open it in a browser")
