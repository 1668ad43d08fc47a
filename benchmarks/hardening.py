"""What the tests that `harden` adds catch and refuse, and what they cost.

`humaneval`: the answers are those of four models, one to a task. Each has a verdict by HumanEval's tests and one by
those of HumanEval+. An answer that passes the first and not the second is to be caught; one that passes both is to be
kept. The suite is hardened without answers, and for each model with the answers of the others, as far as they pass: an
answer has no vote on the tests that it is judged by.

`mbpp`: there are no answers, so references with two changes take their place. Those that pass MBPP's own tests and not
those of MBPP+ are to be caught. `harden` chooses tests by references with one change, and has not seen these.

`price`: what a verdict on a reference costs before and after, on one worker, in rounds that alternate.

    python benchmarks/hardening.py humaneval HumanEval.jsonl.gz COMPLETIONS_DIRECTORY --inputs 20,400
    python benchmarks/hardening.py mbpp MBPP_PLUS.jsonl
    python benchmarks/hardening.py price HumanEval.jsonl.gz --tasks 20 --json

The directory holds `humaneval.MODEL.evalplus.jsonl` with the verdicts (`task_id`, `base`, `plus`), and the answers of
the same model in another file `humaneval.MODEL.*.jsonl` (`task_id`, `completion`). The rows of MBPP+ have MBPP's fields
and `test`.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from code_env import Executor, Task, TaskSuite, judge_many, load_suite, make_executor
from code_env.evaluation import judge_samples, read_samples
from code_env.hardening import HardenedTask, harden
from code_env.hardening.harden import Candidates
from code_env.hardening.mutants import mutants
from code_env.hardening.table import unfit

app = typer.Typer(add_completion=False, help=__doc__.split("\n")[0])

Tasks = Annotated[int, typer.Option(min=1, help="How many tasks, from the first on.")]
Inputs = Annotated[int, typer.Option(min=1, help="How many tests a task gets.")]
Seed = Annotated[int, typer.Option(min=0)]
AsJson = Annotated[bool, typer.Option("--json")]

VOTERS = ("nobody", "the other models")
COUNTS = ("added", "mutants", "killed_before", "killed", "left_out", "to_catch", "caught", "to_keep", "refused")
CHANGES = 8
"""The first change of a reference is one of so many, and so is the second."""


@app.command()
def humaneval(
    problems: Annotated[Path, typer.Argument(help="HumanEval's file.")],
    completions: Annotated[Path, typer.Argument(help="The directory with answers and their verdicts.")],
    tasks: Tasks = 164,
    inputs: Annotated[str, typer.Option(help="How many tests a task gets: numbers, with commas between.")] = "20",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Harden, judge, and print what is caught and refused."""
    suite = load_suite(problems)
    labels = {path.name.split(".evalplus")[0]: path for path in sorted(completions.glob("*.evalplus.jsonl"))}
    rows = {(int(count), voters): Counter(dict.fromkeys(COUNTS, 0)) for count in inputs.split(",") for voters in VOTERS}
    with make_executor("local") as executor:
        answers = {name: passing(name, path, suite, tasks, executor) for name, path in labels.items()}
        truth = {name: verdicts_of(path) for name, path in labels.items()}
        began = time.monotonic()
        for task in suite[:tasks]:
            if unfit(task) is None:
                right = {
                    name: truth[name][task.id] for name in labels if task.id in truth[name] and task.id in answers[name]
                }
                codes = {name: answers[name][task.id] for name in right}
                judge_task(task, codes, right, rows, executor, seed)
        seconds = time.monotonic() - began
    for (count, voters), row in rows.items():
        show({"inputs": count, "voters": voters, "seconds_for_all_rows": seconds, **row}, as_json)


def judge_task(
    task: Task,
    codes: Mapping[str, str],
    right: Mapping[str, bool],
    rows: Mapping[tuple[int, str], Counter[str]],
    executor: Executor,
    seed: int,
) -> None:
    """Harden a task in all ways and count what each does to the models' answers."""
    candidates = Candidates.of(task, executor, seed)
    voted = [
        (candidates.voted([code for other, code in codes.items() if other != name], executor), [name]) for name in codes
    ]
    for (count, voters), row in rows.items():
        for chosen, names in [(candidates, list(codes))] if voters == "nobody" else voted:
            new, told = chosen.hardened(count, executor, seed)
            add(row, told)
            for name, verdict in zip(names, judge_many([(new, codes[name]) for name in names], executor), strict=True):
                add_verdict(row, right[name], verdict.passed)


@app.command()
def mbpp(
    rows: Annotated[Path, typer.Argument(help="Rows of MBPP+.")],
    tasks: Tasks = 1000,
    inputs: Inputs = 20,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Harden MBPP, judge references with two changes, and print what is caught and refused."""
    read = [json.loads(line) for line in rows.read_text().splitlines()][:tasks]
    plus = load_suite(rows)[: len(read)]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file, make_executor("local") as executor:
        file.writelines(json.dumps({**one, "test": None}) + "\n" for one in read)
        file.flush()
        suite = load_suite(file.name)
        began = time.monotonic()
        hardened = harden(suite, executor, inputs=inputs, seed=seed)
        row = Counter(dict.fromkeys(COUNTS, 0))
        for told in hardened.tasks:
            add(row, told)
        seconds = time.monotonic() - began
        for base, new, more in zip(suite, hardened.suite, plus, strict=True):
            answers = twice_changed(base.reference or "", seed)
            by_base = judge_many([(base, answer) for answer in answers], executor)
            passed = [answer for answer, verdict in zip(answers, by_base, strict=True) if verdict.passed]
            pairs = judge_many([(task, answer) for answer in passed for task in (more, new)], executor)
            for by_plus, by_new in zip(pairs[::2], pairs[1::2], strict=True):
                add_verdict(row, by_plus.passed, by_new.passed)
    show({"inputs": inputs, "voters": "nobody", "seconds_for_all_rows": seconds, **row}, as_json)


def twice_changed(code: str, seed: int) -> list[str]:
    """Programs that differ from another in two places."""
    found = dict.fromkeys(other for one in mutants(code, CHANGES, seed) for other in mutants(one, CHANGES, seed))
    return [other for other in found if other != code]


@app.command()
def price(
    problems: Annotated[Path, typer.Argument(help="HumanEval's file.")],
    tasks: Tasks = 164,
    inputs: Inputs = 20,
    rounds: Annotated[int, typer.Option(min=1)] = 7,
    as_json: AsJson = False,
) -> None:
    """Judge each reference by the tests as they were and as they are, in turn, and print the ratios."""
    suite = load_suite(problems)
    suite = TaskSuite(suite.name, suite[:tasks])
    with make_executor("local", workers=1) as executor:
        hardened = harden(suite, executor, inputs=inputs).suite
        spent: dict[str, list[float]] = {"before": [], "after": []}
        for _ in range(rounds):
            for name, some in (("before", suite), ("after", hardened)):
                began = time.monotonic()
                if not all(one.passed for one in judge_many([(task, task.reference or "") for task in some], executor)):
                    raise SystemExit(f"references fail {name}")
                spent[name].append(time.monotonic() - began)
    ratios = [after / before for before, after in zip(*spent.values(), strict=True)]
    row = {"tasks": len(suite), "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    row |= {name: statistics.median(seconds) / len(suite) for name, seconds in spent.items()}
    text = "{tasks} tasks: a verdict takes {ratio:.2f} times as long ({least:.2f} to {most:.2f}); {before:.4f} s before"
    sys.stdout.write(json.dumps(row) + "\n" if as_json else text.format(**row) + "\n")


def passing(name: str, labels: Path, suite: TaskSuite, tasks: int, executor: Executor) -> dict[str, str]:
    """The code of a model's answers that pass HumanEval's tests here; there, an answer can use what tests import."""
    (path,) = (path for path in labels.parent.glob(f"{name}.*.jsonl") if path != labels)
    asked = {task.id for task in suite[:tasks]}
    samples = [sample for sample in read_samples(path, suite) if sample.task_id in asked]
    judged = judge_samples(suite, samples, executor)
    return {samples[number].task_id: verdict.code for number, verdict in judged if verdict.passed}


def verdicts_of(path: Path) -> dict[str, bool]:
    """For each task whose answer passes HumanEval, whether it passes HumanEval+."""
    rows = map(json.loads, path.read_text().splitlines())
    return {row["task_id"]: row["plus"] == "pass" for row in rows if row["base"] == "pass"}


def add(row: Counter[str], told: HardenedTask) -> None:
    """Count what became of a task and of the mutants of its reference."""
    row["added"] += told.added
    row["mutants"] += told.mutants
    row["killed_before"] += told.killed_before
    row["killed"] += told.killed
    row["left_out"] += told.left_out is not None


def add_verdict(row: Counter[str], right: bool, passed: bool) -> None:
    """Count an answer that passes the tests that were there."""
    row["to_keep" if right else "to_catch"] += 1
    row["refused" if right else "caught"] += not passed


def show(row: Mapping[str, Any], as_json: bool) -> None:
    """Print a row."""
    refused = row["refused"] / max(1, row["to_keep"])
    text = (
        f"{row['inputs']} inputs, {row['voters']} voted: caught {row['caught']} of {row['to_catch']}, refused "
        f"{row['refused']} of {row['to_keep']} ({refused:.1%}); mutants killed {row['killed_before']} -> "
        f"{row['killed']} of {row['mutants']}; {row['added']} tests; {row['seconds_for_all_rows']:.0f} s for all rows"
    )
    sys.stdout.write((json.dumps(row) if as_json else text) + "\n")


if __name__ == "__main__":
    app()
