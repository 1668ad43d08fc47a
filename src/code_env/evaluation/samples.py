"""The samples of an evaluation: read from a file or taken from the suite's references, and judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.extract import Extraction, extract_code
from code_env.judging.judge import judge_as_completed
from code_env.judging.verdict import Verdict
from code_env.tasks.loading import read_rows
from code_env.tasks.suite import TaskSuite


@dataclass(frozen=True)
class Sample:
    """One completion for one task."""

    task_id: str
    """Id of the task."""
    completion: str
    """The text that the model wrote."""
    model: str | None = None
    """The model's name; None if the file does not say."""
    finish_reason: str | None = None
    """Why the model stopped, `length` at the limit of tokens; None if the file does not say."""


def read_samples(path: Path, suite: TaskSuite, field: str = "completion") -> list[Sample]:
    """Read the samples from a file of JSON lines with `task_id` and a completion.

    Lines may also have `model` and `finish_reason`. Of a trajectory of `code-env rollout` the last action is the
    completion.

    Raises:
        TaskError: If a row is malformed or does not name a task of the suite; the message names the file and line.
    """
    samples: list[Sample] = []
    for number, line in read_rows(path):
        row = _last_action(line, field)
        if type(row.get("task_id")) is int:  # Ids of tasks are texts, and a data set can have numbers.
            row["task_id"] = str(row["task_id"])
        try:
            for name in ("task_id", field):
                if not isinstance(row.get(name), str):
                    got = type(row[name]).__name__ if name in row else "nothing"
                    hint = "; --field names another field" if name == field else ""
                    raise TaskError(f"{name}: text was expected; got {got}{hint}")
            suite.task(row["task_id"])
        except (TaskError, LookupError) as error:
            raise TaskError(f"{path}:{number}: {error}") from None
        told = {name: row[name] for name in ("model", "finish_reason") if isinstance(row.get(name), str)}
        samples.append(Sample(row["task_id"], row[field], **told))
    if not samples:
        raise TaskError(f"{path}: there are no samples in it")
    return samples


def _last_action(row: dict[str, Any], field: str) -> dict[str, Any]:
    match row:
        case {"turns": [*_, {"action": str(action)}]} if field not in row:
            return {**row, field: action}
    return row


def passing_answers(suite: TaskSuite, files: Iterable[Path], executor: Executor) -> dict[str, list[str]]:
    """Judge samples, and return the code of those that pass, by the ids of their tasks.

    Args:
        suite: The suite that has the tasks.
        files: Files as `read_samples` reads them.
        executor: Where they run.

    Raises:
        TaskError: As `read_samples`.
    """
    samples = [sample for path in files for sample in read_samples(path, suite)]
    found: dict[str, list[str]] = {}
    for number, verdict in judge_samples(suite, samples, executor):
        if verdict.valid and verdict.passed:
            found.setdefault(samples[number].task_id, []).append(verdict.code)
    return found


def reference_samples(suite: TaskSuite) -> list[Sample]:
    """The suite's own references as samples.

    Raises:
        TaskError: If a task has no reference.
    """
    for task in suite:
        if task.reference is None:
            raise TaskError(f"task {task.id!r} has no reference")
    return [Sample(task.id, task.reference or "") for task in suite]


def judge_samples(
    suite: TaskSuite,
    samples: Sequence[Sample],
    executor: Executor,
    extract: Extraction = "fence",
    *,
    leave_out: Container[int] = (),
) -> Iterator[tuple[int, Verdict]]:
    """Judge samples, and yield the number of each sample, from 0, with its verdict, as soon as it is there.

    Args:
        suite: The suite that has the tasks.
        samples: The samples.
        executor: Where they run.
        extract: How the code is found in a completion.
        leave_out: Numbers of samples that are not judged.
    """
    numbers = [number for number in range(len(samples)) if number not in leave_out]
    chosen = [(samples[number], suite.task(samples[number].task_id)) for number in numbers]
    answers = ((task, extract_code(s.completion, task.language, extract, task.entry_point)) for s, task in chosen)
    for index, verdict in judge_as_completed(answers, executor):
        sample, _ = chosen[index]
        yield numbers[index], dataclasses.replace(verdict, response=sample.completion)
