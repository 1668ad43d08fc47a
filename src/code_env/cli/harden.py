"""`code-env harden`: add tests to the tasks of a suite."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from code_env.evaluation import passing_answers
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.hardening import HardenedSuite, harden
from code_env.hardening.harden import INPUTS
from code_env.tasks import load_suite, save_suite
from code_env.tasks.loading import suite_path

from .application import app
from .console import (
    ExecutorOption,
    FormatOption,
    JsonOption,
    WorkersOption,
    open_executor,
    print_json,
    progress_bar,
    say,
    user_errors,
)
from .saving import check_target


@app.command("harden")
def harden_suite(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path of its file.")],
    write: Annotated[Path, typer.Option("--write", help="Where to save the suite with the new tests.")],
    inputs: Annotated[int, typer.Option("--inputs", min=1, help="How many tests a task gets at most.")] = INPUTS,
    answers: Annotated[
        list[Path] | None,
        typer.Option("--answers", help="A file of samples: answers that pass vote on new inputs. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides which tests are made.")] = 0,
    as_json: JsonOption = False,
    format: FormatOption = None,
    executor: ExecutorOption = DEFAULT_EXECUTOR,
    workers: WorkersOption = None,
) -> None:
    """Add hidden tests: inputs like those of the tests, and what the reference gives for them.

    Example: code-env harden starter --write hardened.jsonl
    """
    with user_errors():
        tasks = load_suite(suite, format)
        check_target(write, tasks, [suite_path(suite, format), *(answers or [])])
        with open_executor(executor, workers) as runner, progress_bar() as progress:
            bar = progress.add_task("hardening", total=len(tasks))
            found = harden(
                tasks,
                runner,
                inputs=inputs,
                passing=passing_answers(tasks, answers or [], runner),
                seed=seed,
                progress=lambda done: progress.update(bar, completed=done),
            )
        save_suite(found.suite, write)
    if as_json:
        rows = [dataclasses.asdict(one) for one in found.tasks]
        print_json({"suite": tasks.name, "added": found.added, "tasks": rows})
        return
    _show(found, checked=bool(answers))
    say(f"the suite with {found.added} more tests is in {write}")


def _show(found: HardenedSuite, checked: bool) -> None:
    for one in found.tasks:
        if one.left_out is not None:
            say(f"{one.task_id}: no tests were added: {one.left_out}")
            continue
        killed = f"{one.killed_before} -> {one.killed} of {one.mutants} mutants fail"
        say(f"{one.task_id}: {one.added} tests, of {one.tried} inputs; {killed}")
        for problem in one.doubtful:
            say(f"    not used: {problem}")
        if one.doubtful_count > len(one.doubtful):
            say(f"    not used: {one.doubtful_count - len(one.doubtful)} more inputs of this kind")
    if not checked:
        say("Nothing checked the references: with --answers, answers that pass vote on each input.")
