"""The application, to which each command adds itself."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

import code_env

from .console import say

app = typer.Typer(
    name="code-env",
    help="A Gymnasium environment for reinforcement learning on code.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        say(f"code-env {code_env.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log to standard error: levels, starts, retries, slow programs.")
    ] = False,
) -> None:
    """A Gymnasium environment for reinforcement learning on code."""
    if verbose:
        logging.basicConfig(format="%(relativeCreated)d ms %(name)s: %(message)s")
        logging.getLogger("code_env").setLevel(logging.DEBUG)
