"""The lines of the results file: one for each sample, with all that is needed to see why it failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from code_env.judging.rows import verdict_row
from code_env.judging.verdict import Verdict
from code_env.numbered_lines import Row
from code_env.tasks.digests import task_digest
from code_env.tasks.task import Task

from .samples import Sample


def sample_row(number: int, sample: Sample, task: Task, verdict: Verdict, about: Mapping[str, str]) -> Row:
    """Return a sample's line for the results file.

    Args:
        number: The number of the sample, from 0.
        sample: The sample.
        task: Its task.
        verdict: Its verdict.
        about: What is the same for all samples: the executor, its level of isolation, the version of this package, and
            how the code was found.
    """
    return {
        "sample": number,
        "task_id": sample.task_id,
        "prompt": task.prompt,
        "task_digest": task_digest(task),
        "completion": sample.completion,
        "model": sample.model,
        "finish_reason": sample.finish_reason,
        **verdict_row(task, verdict),
        "limits": dataclasses.asdict(task.limits),
        **about,
    }


def is_row_of(row: Row, sample: Sample, task: Task, about: Mapping[str, str]) -> bool:
    """Whether a line tells of this sample, judged by these tests, within these limits and by this executor."""
    wanted = dataclasses.asdict(sample) | {"limits": dataclasses.asdict(task.limits), "task_digest": task_digest(task)}
    return all(row[name] == value for name, value in (wanted | dict(about)).items())
