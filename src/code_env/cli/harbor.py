"""`code-env harbor` runs and proves tasks in Harbor's folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from code_env.errors import CodeEnvError
from code_env.harbor import HarborTask, Score, Trial, read_folders
from code_env.images import prepare_images

from .application import app
from .console import JsonOption, NetworkOption, print_json, progress_bar, say, user_errors

_BEST = 1.0

FolderArgument = Annotated[Path, typer.Argument(help="Folder of one task, or folder that holds such folders.")]
VariableOption = Annotated[
    list[str] | None,
    typer.Option("--env", help="NAME=VALUE of a variable that a task names as ${NAME}. Repeatable."),
]

harbor_app = typer.Typer(name="harbor", help="Run and prove tasks in Harbor's folders.", no_args_is_help=True)
app.add_typer(harbor_app)


@harbor_app.command("run")
def run_folder(
    folder: FolderArgument,
    script: Annotated[
        Path | None, typer.Option("--script", help="A shell script that works as the agent; the solution by default.")
    ] = None,
    variables: VariableOption = None,
    network: NetworkOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a script as the agent of each task, and print what its work is worth.

    Example: code-env harbor run tasks/fix-the-parser --script agent.sh
    """
    with user_errors():
        agent = Trial.solve if script is None else _running(script)
        tasks = _prepared(folder, variables, network=network)
        rows = []
        for task in tasks:
            with Trial(task) as trial:
                while not trial.is_over:
                    score = _stage(trial, agent)
                    if not as_json:
                        say(f"{_name(task, len(trial.scores) - 1)}: {_told(score)}")
                rows.append({"task": task.name, "reward": trial.reward, "stages": list(map(_row, trial.scores))})
    if as_json:
        print_json({"tasks": rows})


@harbor_app.command("validate")
def validate_folder(
    folder: FolderArgument,
    variables: VariableOption = None,
    network: NetworkOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check that each task's solution earns 1, and that doing nothing does not.

    Example: code-env harbor validate tasks
    """
    with user_errors():
        tasks = _prepared(folder, variables, network=network)
        rows = []
        for task in tasks:
            problems = _problems(task)
            rows.append({"task": task.name, "problems": problems})
            if not as_json:
                say(f"{task.name}: {'; '.join(problems) or 'proven'}")
    if as_json:
        print_json({"tasks": rows})
    if any(row["problems"] for row in rows):
        raise typer.Exit(1)


def _prepared(folder: Path, variables: list[str] | None, *, network: bool) -> list[HarborTask]:
    pairs = [text.partition("=") for text in variables or ()]
    for name, equals, _ in pairs:
        if not equals:
            raise typer.BadParameter(f"expected NAME=VALUE, got {name!r}", param_hint="--env")
    tasks = read_folders(folder, {name: value for name, _, value in pairs})
    with progress_bar() as progress:
        bar = progress.add_task("making images", total=None)
        prepare_images(
            (image for task in tasks for image in task.images),
            network=network,
            progress=lambda done, total, _: progress.update(bar, completed=done, total=total),
        )
    return tasks


_Agent = Callable[[Trial], object]


def _running(script: Path) -> _Agent:
    try:
        text = script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CodeEnvError(f"--script takes the path of a shell script; {script} cannot be read: {error}") from None
    return lambda trial: trial.run(text)


def _idle(trial: Trial) -> None:
    """The agent that does nothing."""


def _stage(trial: Trial, agent: _Agent) -> Score:
    agent(trial)
    return trial.submit()


def _problems(task: HarborTask) -> list[str]:
    found = []
    agents: dict[str, _Agent] = {"the solution": Trial.solve, "doing nothing": _idle}
    for who, agent in agents.items():
        try:
            with Trial(task) as trial:
                while not trial.is_over:
                    score = _stage(trial, agent)
                    if (score.reward == _BEST) != (agent is Trial.solve):
                        found.append(f"{_name(task, len(trial.scores) - 1)}: {who}: {_told(score)}")
        except CodeEnvError as error:
            found.append(f"{who}: {error}")
    return found


def _name(task: HarborTask, number: int) -> str:
    stage = task.stages[number]
    return f"{task.name}/{stage.name}" if stage.name else task.name


def _told(score: Score) -> str:
    parts = [f"reward {'none' if score.reward is None else f'{score.reward:g}'}"]
    if score.message:
        parts.append(f"{score.outcome.value}: {score.message}")
    if score.restored:
        parts.append(f"as in the image again: {', '.join(score.restored)}")
    return "; ".join(parts)


def _row(score: Score) -> dict[str, Any]:
    return {
        "outcome": score.outcome.value,
        "reward": score.reward,
        "rewards": dict(score.rewards),
        "message": score.message,
        "restored": list(score.restored),
        "output": score.output,
    }
