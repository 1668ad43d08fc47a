"""`code-env export`: write results and trajectories for other viewers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from code_env.report.exports import export_run

from .application import app
from .console import JsonOption, print_json, say, user_errors


class Viewer(StrEnum):
    """Formats of other viewers."""

    INSPECT = "inspect"
    ATIF = "atif"


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="Results of `code-env eval`, or trajectories of `code-env rollout`.")],
    to: Annotated[
        Viewer, typer.Option("--to", help="`inspect`: a log for `inspect view`; `atif`: a job for `harbor view`.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="For `inspect` a folder of logs, or a .json file; for `atif` a folder to make."
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Write results or trajectories in a format that another viewer opens.

    Example: code-env export episodes.jsonl --to inspect -o logs
    """
    with user_errors():
        count, written = export_run(file, output, to)
    if as_json:
        print_json({"samples": count, "written": str(written)})
    elif to is Viewer.ATIF:
        say(f"{count} trajectories in {written}: open them with `harbor view {written.parent}`")
    elif written == output:
        say(f"{count} samples in {written}: open it with `inspect_ai.log.read_eval_log`")
    else:
        say(f"{count} samples in {written}: open them with `inspect view --log-dir {output}`")
