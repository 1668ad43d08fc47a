"""`code-env generate`: have a language model answer the tasks of a suite."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from code_env.models import ChatModel, generate
from code_env.numbered_lines import Row
from code_env.tasks import TaskSuite, load_suite

from .application import app
from .console import (
    BaseUrlOption,
    ConcurrencyOption,
    FormatOption,
    JsonOption,
    MaxTokensOption,
    SamplesPerTaskOption,
    SystemOption,
    TemperatureOption,
    chat_model,
    print_json,
    progress_bar,
    say,
    told_interrupt,
    user_errors,
)


@app.command("generate")
def generate_samples(
    context: typer.Context,
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path of its file.")],
    model: Annotated[str, typer.Option("--model", "-m", help="The model's name, as the endpoint knows it.")],
    base_url: BaseUrlOption = None,
    samples_per_task: SamplesPerTaskOption = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File of samples; SUITE_samples.jsonl by default.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a file that an interrupted call left.")] = False,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    system: SystemOption = None,
    concurrency: ConcurrencyOption = 16,
    as_json: JsonOption = False,
    format: FormatOption = None,
) -> None:
    """Have a model behind an OpenAI-compatible endpoint answer a suite; `code-env eval` scores the file.

    Example: code-env generate starter --model Qwen3 --base-url http://127.0.0.1:8000/v1
    """
    with user_errors():
        tasks = load_suite(suite, format)
        target = output or samples_path(tasks)
        with chat_model(context) as asked:
            told = answer_suite(tasks, asked, target, samples_per_task, resume=resume)
    if as_json:
        print_json(told)
    else:
        say(samples_line(told))


def samples_path(tasks: TaskSuite) -> Path:
    """Return the file of a model's samples, if no other is named."""
    return Path(f"{tasks.name}_samples.jsonl")


def answer_suite(
    tasks: TaskSuite,
    model: ChatModel,
    target: Path,
    samples_per_task: int,
    limit: int | None = None,
    *,
    resume: bool,
) -> dict[str, Any]:
    """Have a model answer a suite, with a bar on the terminal; return what there is to tell, as data for JSON."""
    wanted = min(len(tasks) * samples_per_task, limit or sys.maxsize)
    tokens, done = [0, 0], 0

    def note(row: Row) -> None:
        nonlocal done
        tokens[0] += row["prompt_tokens"]
        tokens[1] += row["completion_tokens"]
        done += 1
        progress.advance(bar)

    with progress_bar() as progress, told_interrupt(lambda: f"{done} new samples of {wanted} are kept"):
        bar = progress.add_task("generating", total=wanted)
        options: dict[str, Any] = {"samples_per_task": samples_per_task, "limit": limit, "resume": resume}
        count = generate(tasks, model, target, on_sample=note, **options)
    return {"samples": count, "prompt_tokens": tokens[0], "completion_tokens": tokens[1], "file": str(target)}


def samples_line(told: dict[str, Any]) -> str:
    """Return what `answer_suite` tells, as a line for users."""
    read, written = told["prompt_tokens"], told["completion_tokens"]
    return f"{told['samples']} samples in {told['file']}; this time the model read {read} tokens and wrote {written}"
