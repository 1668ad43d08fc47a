"""What the tests that `harden` adds to HumanEval catch, and what they refuse, by the verdicts of HumanEval+.

The answers are those of four models, one to a task. Each has a verdict by HumanEval's tests and one by those of
HumanEval+. An answer that passes the first and not the second is to be caught; one that passes both is to be kept. The
suite is hardened without answers, and for each model with the answers of the others, as far as they pass: an answer has
no vote on the tests that it is judged by.

    python benchmarks/hardening.py HumanEval.jsonl.gz COMPLETIONS_DIRECTORY
    python benchmarks/hardening.py HumanEval.jsonl.gz COMPLETIONS_DIRECTORY --tasks 20 --json

The directory holds `humaneval.MODEL.evalplus.jsonl` with the verdicts (`task_id`, `base`, `plus`), and the answers of
the same model in another file `humaneval.MODEL.*.jsonl` (`task_id`, `completion`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from code_env import Executor, TaskSuite, judge_many, load_suite, make_executor
from code_env.evaluation import judge_samples, read_samples
from code_env.hardening import HardenedSuite, harden


def main(
    problems: Annotated[Path, typer.Argument(help="HumanEval's file.")],
    completions: Annotated[Path, typer.Argument(help="The directory with answers and their verdicts.")],
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks, from the first on.")] = 164,
    inputs: Annotated[int, typer.Option(min=1, help="How many tests a task gets.")] = 20,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    with_answers: Annotated[bool, typer.Option(help="Also with the answers of the other models.")] = True,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Harden, judge, and print what is caught and refused."""
    suite = load_suite(problems)
    labels = {path.name.split(".evalplus")[0]: path for path in sorted(completions.glob("*.evalplus.jsonl"))}
    with make_executor("local") as executor:
        answers = {name: passing(name, path, suite, executor) for name, path in labels.items()}
        verdicts = {name: verdicts_of(path) for name, path in labels.items()}
        suite = TaskSuite(suite.name, suite[:tasks])
        rows = [without_answers(suite, answers, verdicts, executor, inputs, seed)]
        if with_answers:
            rows.append(by_others(suite, answers, verdicts, executor, inputs, seed))
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n" if as_json else f"{shown(row)}\n")


def passing(name: str, labels: Path, suite: TaskSuite, executor: Executor) -> dict[str, str]:
    """The code of a model's answers that pass HumanEval's tests here; there, an answer can use what tests import."""
    (path,) = (path for path in labels.parent.glob(f"{name}.*.jsonl") if path != labels)
    samples = read_samples(path, suite)
    judged = judge_samples(suite, samples, executor)
    return {samples[number].task_id: verdict.code for number, verdict in judged if verdict.passed}


def verdicts_of(path: Path) -> dict[str, tuple[bool, bool]]:
    """For each task whether the answer passes HumanEval, and HumanEval+."""
    rows = map(json.loads, path.read_text().splitlines())
    return {row["task_id"]: (row["base"] == "pass", row["plus"] == "pass") for row in rows}


Answers = Mapping[str, Mapping[str, str]]
Verdicts = Mapping[str, Mapping[str, tuple[bool, bool]]]


def without_answers(
    suite: TaskSuite, answers: Answers, verdicts: Verdicts, executor: Executor, inputs: int, seed: int
) -> dict[str, Any]:
    """One hardened suite for the answers of all models."""
    began = time.monotonic()
    hardened = harden(suite, executor, inputs=inputs, seed=seed)
    row = {"answers": "none", "seconds": time.monotonic() - began, **mutants(hardened), **dict.fromkeys(COUNTS, 0)}
    for model in answers:
        add(row, counts(hardened.suite, answers[model], verdicts[model], executor))
    return row


def by_others(
    suite: TaskSuite, answers: Answers, verdicts: Verdicts, executor: Executor, inputs: int, seed: int
) -> dict[str, Any]:
    """For each model a suite that was hardened with the answers of the others."""
    began, row = time.monotonic(), {"answers": "of the other models", **dict.fromkeys((*MUTANTS, *COUNTS), 0)}
    for model in answers:
        others: dict[str, list[str]] = {}
        for other in answers:
            for task_id, code in answers[other].items() if other != model else ():
                others.setdefault(task_id, []).append(code)
        hardened = harden(suite, executor, inputs=inputs, passing=others, seed=seed)
        add(row, mutants(hardened) | counts(hardened.suite, answers[model], verdicts[model], executor))
    return row | {"seconds": time.monotonic() - began}


MUTANTS = ("added", "mutants", "killed_before", "killed", "doubtful_tasks", "left_out")
COUNTS = ("to_catch", "caught", "to_keep", "refused")


def mutants(hardened: HardenedSuite) -> dict[str, int]:
    """What became of the mutants."""
    return {
        "added": hardened.added,
        "mutants": sum(task.mutants for task in hardened.tasks),
        "killed_before": sum(task.killed_before for task in hardened.tasks),
        "killed": sum(task.killed for task in hardened.tasks),
        "doubtful_tasks": sum(task.doubtful_count > 0 for task in hardened.tasks),
        "left_out": sum(task.left_out is not None for task in hardened.tasks),
    }


def counts(
    hardened: TaskSuite, answers: Mapping[str, str], verdicts: Mapping[str, tuple[bool, bool]], executor: Executor
) -> dict[str, int]:
    """How many answers of a model are caught and refused, of those that pass HumanEval there and here."""
    found = dict.fromkeys(COUNTS, 0)
    known = [task for task in hardened if task.id in answers and verdicts.get(task.id, (False, False))[0]]
    judged = judge_many([(task, answers[task.id]) for task in known], executor)
    for task, verdict in zip(known, judged, strict=True):
        right = verdicts[task.id][1]
        found["to_keep" if right else "to_catch"] += 1
        if not verdict.passed:
            found["refused" if right else "caught"] += 1
    return found


def add(row: dict[str, Any], more: Mapping[str, int]) -> None:
    """Add counts."""
    for name, count in more.items():
        row[name] = row.get(name, 0) + count


def shown(row: Mapping[str, Any]) -> str:
    """A row as text."""
    return (
        f"answers: {row['answers']}; caught {row['caught']} of {row['to_catch']}, refused {row['refused']} of "
        f"{row['to_keep']} ({row['refused'] / max(1, row['to_keep']):.1%}); mutants killed {row['killed_before']} -> "
        f"{row['killed']} of {row['mutants']}; {row['added']} tests in {row['seconds']:.0f} s"
    )


if __name__ == "__main__":
    typer.run(main)
