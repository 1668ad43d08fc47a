"""`code-env generate`: have a language model answer the tasks of a suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from code_env.models import ChatModel, generate
from code_env.numbered_lines import Row
from code_env.tasks import load_suite

from .application import app
from .console import (
    BaseUrlOption,
    ConcurrencyOption,
    FormatOption,
    MaxTokensOption,
    SystemOption,
    TemperatureOption,
    progress_bar,
    say,
    user_errors,
)


@app.command("generate")
def generate_samples(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path of its file.")],
    model: Annotated[str, typer.Option("--model", "-m", help="The model's name, as the endpoint knows it.")],
    base_url: BaseUrlOption = None,
    samples_per_task: Annotated[int, typer.Option("--samples-per-task", "-n", min=1)] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File of samples; SUITE_samples.jsonl by default.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where this was interrupted.")] = False,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    system: SystemOption = None,
    concurrency: ConcurrencyOption = 16,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    format: FormatOption = None,
) -> None:
    """Have a model behind an OpenAI-compatible endpoint answer a suite; `code-env eval` scores the file.

    Example: code-env generate starter --model Qwen3 --base-url http://127.0.0.1:8000/v1
    """
    with user_errors():
        tasks = load_suite(suite, format)
        target = output or Path(f"{tasks.name}_samples.jsonl")
        tokens = [0, 0]
        with (
            ChatModel(
                model, base_url, max_tokens=max_tokens, temperature=temperature, system=system, concurrency=concurrency
            ) as asked,
            progress_bar() as progress,
        ):
            bar = progress.add_task("generating", total=len(tasks) * samples_per_task)

            def note(row: Row) -> None:
                tokens[0] += row["prompt_tokens"]
                tokens[1] += row["completion_tokens"]
                progress.advance(bar)

            count = generate(tasks, asked, target, samples_per_task=samples_per_task, resume=resume, on_sample=note)
    told = {"samples": count, "prompt_tokens": tokens[0], "completion_tokens": tokens[1], "file": str(target)}
    if as_json:
        typer.echo(json.dumps(told))
    else:
        say(f"{count} samples in {target}; now {tokens[0]} tokens were read and {tokens[1]} written")
