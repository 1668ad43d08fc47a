"""`code-env validate`: prove a suite."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from code_env.evaluation import passing_answers
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.hardening import MutationScore, TaskScore, impossible_suite, look_at_answers, mutation_score
from code_env.tasks import load_suite, save_suite
from code_env.tasks.loading import suite_path
from code_env.text import first_line, printable
from code_env.validating import Validation, ValidationFinding, validate

from .application import app
from .console import (
    ExecutorOption,
    FormatOption,
    JsonOption,
    WorkersOption,
    open_executor,
    out,
    print_json,
    progress_bar,
    say,
    user_errors,
)
from .saving import check_target

_SMALL_SCORE, _MOST_SMALL = 0.5, 5
"""Warnings whose score is smaller than the first value are shown as one line if there are more than the second."""

_SHOWN_CHARS = 200
"""Of an input or an outcome, how much is shown."""


@app.command("validate")
def validate_suite(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path of its file.")],
    repetitions: Annotated[
        int, typer.Option("--repetitions", "-n", min=1, help="How many times each reference is judged.")
    ] = 3,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Set time limits from the time that references take on this machine.")
    ] = False,
    write: Annotated[
        Path | None, typer.Option("--write", help="Save the suite as proven: all tasks, with modes and limits set.")
    ] = None,
    mutants: Annotated[
        int | None,
        typer.Option(
            "--mutants", min=1, help="Try at most N mutants of each reference, which the tests should refuse."
        ),
    ] = None,
    answers: Annotated[
        list[Path] | None,
        typer.Option("--answers", help="A file of samples: answers that pass vote on new inputs. Repeatable."),
    ] = None,
    impossible: Annotated[
        Path | None,
        typer.Option(
            "--impossible",
            help="Save copies of the tasks that nobody can solve: an answer that passes one has cheated.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides which mutants, inputs and impossible tests there are.")] = 0,
    as_json: JsonOption = False,
    format: FormatOption = None,
    executor: ExecutorOption = DEFAULT_EXECUTOR,
    workers: WorkersOption = None,
) -> None:
    """Prove a suite: references pass, and answers that solve nothing do not. The exit code is 1 if there are errors.

    Example: code-env validate starter
    """
    with user_errors():
        tasks = load_suite(suite, format)
        others = [suite_path(suite, format), *(answers or [])]
        for target in filter(None, (write, impossible)):
            check_target(target, tasks, others)
            others.append(target)
        with open_executor(executor, workers) as runner, progress_bar() as progress:
            bar = progress.add_task("validating", total=len(tasks))
            found = validate(
                tasks,
                runner,
                repetitions=repetitions,
                calibrate=calibrate,
                progress=lambda done: progress.update(bar, completed=done),
            )
            score = None
            if mutants is not None:
                second = progress.add_task("trying mutants", total=len(tasks))
                score = mutation_score(
                    found.suite,
                    runner,
                    count=mutants,
                    seed=seed,
                    progress=lambda done: progress.update(second, completed=done),
                )
            if answers:
                third = progress.add_task("comparing answers", total=len(tasks))
                findings = look_at_answers(
                    found.suite,
                    passing_answers(found.suite, answers, runner),
                    runner,
                    seed=seed,
                    progress=lambda done: progress.update(third, completed=done),
                )
                found = dataclasses.replace(found, findings=(*found.findings, *findings))
            copies = None if impossible is None else impossible_suite(found.suite, runner, seed=seed)
        if write is not None:
            save_suite(found.suite, write)
        if copies is not None and impossible is not None:
            save_suite(copies.suite, impossible)
    if as_json:
        row = _validation_row(found)
        if score is not None:
            row["mutants"] = _score_row(score)
        if copies is not None:
            row["impossible"] = {"tasks": len(copies.suite), "left_out": copies.left_out}
        print_json(row)
    else:
        _show_validation(found)
        if score is not None:
            _show_score(score)
        if copies is not None:
            for task_id, reason in copies.left_out.items():
                say(f"{task_id}: no impossible copy: {reason}")
            say(f"{_counted(len(copies.suite), 'task')} that nobody can solve: {impossible}")
        if write is not None:
            say(f"the suite as proven is in {write}")
    if not found.sound:
        raise typer.Exit(1)


def _validation_row(found: Validation) -> dict[str, Any]:
    return {
        "suite": found.suite.name,
        "tasks": len(found.suite),
        "sound_tasks": found.sound_tasks,
        "sound": found.sound,
        "errors": len(found.errors),
        "warnings": len(found.warnings),
        "findings": [
            {
                "task_id": finding.task_id,
                "level": finding.level,
                "kind": finding.kind,
                "problem": finding.problem,
                "score": finding.score,
            }
            for finding in found.findings
        ],
    }


def _show_validation(found: Validation) -> None:
    small = [finding for finding in found.warnings if finding.score is not None and finding.score < _SMALL_SCORE]
    folded = small if len(small) > _MOST_SMALL else []
    ordered = [finding for finding in (*found.errors, *found.warnings) if finding not in folded]
    if ordered and out.is_terminal:
        table = Table("task", "level", "kind", "problem")
        for finding in ordered:
            style = "red" if finding.level == "error" else "yellow"
            cells = (Text(printable(finding.task_id)), Text(finding.level, style), finding.kind.value)
            table.add_row(*cells, Text(_problem(finding), overflow="fold"))
        out.print(table)
    else:  # In a file or a pipe, each finding is a line.
        for finding in ordered:
            say(f"{finding.task_id}: {finding.level}: {finding.kind}: {_problem(finding)}")
    if folded:
        most = max(folded, key=lambda finding: finding.score or 0.0)
        told = f"in {len(folded)} tasks an answer that solves nothing passes some cases, but less than half of them"
        say(f"{told}: warning: {most.kind}: at most {most.score:.2f}, in {most.task_id}; --json shows all")
    errors, warnings = _counted(len(found.errors), "error"), _counted(len(found.warnings), "warning")
    out.print(f"{found.sound_tasks} of {len(found.suite)} tasks are sound; {errors}, {warnings}", highlight=False)


def _score_row(score: MutationScore) -> dict[str, Any]:
    total = {"mutants": score.mutants, "killed": score.killed, **_share_row(score)}
    tasks = [{**dataclasses.asdict(task), "mutants": task.mutants, **_share_row(task)} for task in score.tasks]
    return {**total, "tasks": tasks}


def _share_row(score: MutationScore | TaskScore) -> dict[str, float | None]:
    return {"share": score.share, "standard_error": score.standard_error}


def _show_score(score: MutationScore) -> None:
    for task in score.tasks:
        if task.left_out is not None:
            say(f"{task.task_id}: no mutants: {task.left_out}")
        elif task.survivors:
            _show_survivors(task)
    if score.share is None:
        say("no mutants were tried")
        return
    error = "" if score.standard_error is None else f" ± {score.standard_error:.3f} (standard error over tasks)"
    alike = sum(task.alike for task in score.tasks)
    out.print(f"{score.killed} of {score.mutants} mutants fail: {score.share:.3f}{error}", highlight=False)
    if alike:
        say(f"{_counted(alike, 'more mutant')} gave the same as the reference for every input, and are not counted")
    say("A mutation score finds empty suites and missing cases. It does not measure what models get wrong.")


def _show_survivors(task: TaskScore) -> None:
    say(f"{task.task_id}: {task.killed} of {task.mutants} mutants fail; these pass:")
    for survivor in task.survivors:
        for line in survivor.diff.splitlines():
            say(f"    {line}", {"+": "green", "-": "red"}.get(line[:1]))
        if survivor.input is None:
            say("    there were no inputs to compare it on")
        else:
            given, right, own = map(_on_a_line, (survivor.input, survivor.reference, survivor.mutant))
            say(f"    for {given} the reference gives {right}, and the mutant {own}")


def _on_a_line(text: str) -> str:
    return first_line(repr(text) if "\n" in text else text, _SHOWN_CHARS)


def _problem(finding: ValidationFinding) -> str:
    return " ".join(printable(finding.problem).split("\n"))


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
