"""`code-env new`: starts a new environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from code_env.environments.definitions import environment_names
from code_env.environments.scaffolding import new_environment

from .application import app
from .console import JsonOption, note, print_json, say, user_errors


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the environment: small letters, digits and underscores.")],
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where its folder is made.", file_okay=False)
    ] = Path("envs"),
    as_json: JsonOption = False,
) -> None:
    """Make the folder of a new environment, with two tasks to begin with.

    Example: code-env new my_tasks -d my_envs
    """
    if name in environment_names():
        note(f"this package has an environment {name!r} too; yours will take its id")
    with user_errors():
        folder = new_environment(name, directory)
    if as_json:
        print_json({"folder": str(folder)})
        return
    say(f"{folder} is made; next: edit {folder / 'tasks.jsonl'}, then `code-env validate {folder}`")
