"""`code-env reward`: scores a file of answers with a reward function."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from code_env.errors import CodeEnvError
from code_env.importing import named_function
from code_env.integrations import rewardkit
from code_env.output_file import output_path, replaced_file, require_other
from code_env.tasks.loading import require_file

from .application import app
from .console import JsonOption, call_given, modules_from_here, out, print_json, say, user_errors


@app.command("reward")
def reward(
    function: Annotated[str, typer.Argument(help="Name of a RewardKit reward, or package.module:function.")],
    dataset: Annotated[Path, typer.Argument(help="File of JSON lines with messages, response or completion.")],
    field: Annotated[
        list[str] | None,
        typer.Option("--field", "-f", help="A field of the rows that the function gets too. Repeatable."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write all results as JSON.")] = None,
    at_once: Annotated[int, typer.Option("--at-once", min=1, help="How many rows are scored at once.")] = 32,
    as_json: JsonOption = False,
) -> None:
    """Score the answers in a file by a reward function, as `evaluate_dataset` does.

    Example: code-env reward fractional_code_reward answers.jsonl
    """
    with user_errors():
        try:
            with modules_from_here():
                called = named_function(function if ":" in function else f"{rewardkit.__name__}:{function}")
        except LookupError as error:
            raise CodeEnvError(str(error)) from None
        require_file(dataset)
        if output is not None:
            require_other(output, [dataset])
            output_path(output)
        try:
            found = rewardkit.evaluate_dataset(_checked(function, called), dataset, field or [], at_once=at_once)
        except (TypeError, ValueError) as error:  # The arguments, or the result, are none of a reward.
            raise CodeEnvError(str(error)) from None
        if output is not None:
            with replaced_file(output) as file:
                file.write(f"{json.dumps(found.to_dict(), indent=2)}\n".encode())
    if as_json:
        print_json({"mean_score": found.mean_score, "rows": len(found), "missing": found.missing})
        return
    mean = "none" if found.mean_score is None else f"{found.mean_score:.4f}"
    out.print(f"mean score: {mean} over {len(found) - found.missing} rows", highlight=False)
    if found.missing:
        out.print(f"{found.missing} rows have no score and are left out", style="yellow", highlight=False)
    if output is not None:
        say(f"results in {output}")


def _checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A reward function whose errors are told in the words of the command."""

    @functools.wraps(function)
    def reward(**given: Any) -> Any:
        try:
            inspect.signature(function).bind(**given)
        except TypeError as error:
            got = ", ".join(given) or "nothing that it takes"
            raise CodeEnvError(f"{name}: {error}; a row gave {got}; --field passes another field along") from None
        return call_given(f"the reward {name}", function, **given)

    return reward
