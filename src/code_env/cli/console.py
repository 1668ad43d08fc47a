"""What all commands share: their consoles, how they end after a user's error, and common options."""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import gymnasium as gym
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from code_env.errors import CodeEnvError
from code_env.executors import Executor, make_executor
from code_env.executors.limits import Limits
from code_env.models import ChatModel
from code_env.rewards.pass_at_k import DEFAULT_KS
from code_env.text import printable

# Names and messages come from files and programs: `[socks]` in one is no markup, and `:boom:` no emoji.
out = Console(markup=False, emoji=False)
err = Console(stderr=True, markup=False, emoji=False)

ExecutorOption = Annotated[str, typer.Option("--executor", "-e", help="Name of the executor; see `code-env list`.")]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", "-w", min=1, help="How many programs run at once; the executor's own number by default."),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        min=0.001,
        help="Limit of CPU time for one test, or one suite of asserts, in seconds; that of wall time is three times as "
        "much. The task's own limits by default.",
    ),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="Format of the suite, see docs/formats.md; detected by default.")
]

NetworkOption = Annotated[bool, typer.Option("--network", help="Let the RUN steps of build files reach the network.")]

BaseUrlOption = Annotated[
    str | None,
    typer.Option("--base-url", help="The endpoint, up to and with /v1; OpenAI's own, with OPENAI_API_KEY, by default."),
]
SamplesPerTaskOption = Annotated[
    int, typer.Option("--samples-per-task", "-n", min=1, help="How many answers the model gives to each task.")
]
MaxTokensOption = Annotated[int | None, typer.Option("--max-tokens", min=1, help="The longest answer, in tokens.")]
TemperatureOption = Annotated[float | None, typer.Option("--temperature", min=0, help="The sampling temperature.")]
SystemOption = Annotated[str | None, typer.Option("--system", help="A system message that is sent before each prompt.")]
ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", min=1, help="How many requests are sent at the same time.")
]

_CHAT_SETTINGS = ("max_tokens", "temperature", "system", "concurrency")
"""The parameters of a command that go to the model as they are."""


def chat_model(context: typer.Context) -> ChatModel:
    """Return the model that the options of a command name: a command with these options needs no more of them.

    Raises:
        ModelError: If an option is wrong, or a package is missing.
    """
    given = context.params
    settings = {name: given[name] for name in _CHAT_SETTINGS}
    return ChatModel(given["model"], given["base_url"], **settings)


def refuse_model_options(context: typer.Context) -> None:
    """Refuse the options of a model where no model is asked: they would change nothing.

    Raises:
        CodeEnvError: If one is given without `--model`.
    """
    if context.params["model"] is not None:
        return
    for name in ("base_url", "samples_per_task", *_CHAT_SETTINGS):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise CodeEnvError(f"--{name.replace('_', '-')} is an option of --model, which is not given")


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
KsOption = Annotated[str, typer.Option("--k", help="Values of k for pass@k, separated by commas.")]
ALL_KS = ",".join(map(str, DEFAULT_KS))
"""By default pass@k is shown for all of these, where a task has enough samples."""


def parse_ks(text: str) -> list[int]:
    """Return the values of k in an option.

    Raises:
        CodeEnvError: If it holds something else.
    """
    try:
        ks = [int(part) for part in text.split(",")]
    except ValueError:
        ks = []
    if not ks or min(ks) < 1:
        raise CodeEnvError(f"--k takes whole numbers of at least 1, separated by commas; got {text!r}")
    return ks


def open_executor(name: str, workers: int | None = None, **arguments: Any) -> Executor:
    """Return an executor by its name, or by a `module:name` that may be in the current folder, as for `python -m`.

    Raises:
        ExecutorError: If there is no such executor, or it does not take the arguments.
    """
    with modules_from_here():
        return make_executor(name, **({"workers": workers} if workers else {}), **arguments)


def note(text: str) -> None:
    """Print a line on standard error that users should know of."""
    err.print(f"note: {printable(text)}", style="yellow", highlight=False, soft_wrap=True)


def note_isolation(executor: Executor) -> None:
    """Say on standard error if programs have all rights of the user."""
    if executor.describe().level == "none":
        note("nothing is isolated, programs run with your rights")


@contextlib.contextmanager
def modules_from_here() -> Iterator[None]:
    """Let modules be imported from the current folder, as `python -m` does."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


def call_given(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that the user has named.

    Raises:
        CodeEnvError: If it raises an exception; the message is its traceback, without the frames of this package.
    """
    try:
        return function(*args, **kwargs)
    except CodeEnvError:
        raise
    except Exception as error:
        its_frames = error.__traceback__ and error.__traceback__.tb_next
        told = "".join(traceback.format_exception(error.with_traceback(its_frames)))
        raise CodeEnvError(f"{what} raised an exception\n{told.rstrip()}") from None


def limits_of(timeout: float | None) -> dict[str, float] | None:
    """The limits for `--timeout`, with the same ratio as the package's default limits."""
    own = Limits()
    return None if timeout is None else {"cpu_s": timeout, "wall_s": timeout * own.wall_s / own.cpu_s}


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
    """After an error that a user can fix, print one line and end the command with exit code 2."""
    try:
        yield
    except (CodeEnvError, gym.error.Error) as error:
        err.print(f"error: {printable(str(error))}", style="red", highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None


def progress_bar() -> Progress:
    """A progress bar on standard error for long work; nothing is shown if standard error is not a terminal."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


def print_json(value: Any) -> None:
    """Print a value as JSON on one line."""
    typer.echo(json.dumps(value))


@contextlib.contextmanager
def told_interrupt(kept: Callable[[], str]) -> Iterator[None]:
    """After Ctrl-C, say on standard error what was kept and how to go on.

    Args:
        kept: Returns what was kept.
    """
    try:
        yield
    except KeyboardInterrupt:
        err.print(f"interrupted; {kept()}: go on with --resume", highlight=False, soft_wrap=True)
        raise


def say(text: str, style: str | None = None) -> None:
    """Print a line that may hold text from a program or a file; the line is never cut or wrapped."""
    out.print(printable(text), style=style, highlight=False, soft_wrap=True)
