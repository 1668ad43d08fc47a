"""Formats of tasks, one module each: how a row of a data set, or a directory, becomes a task.

A module for rows has `is_row(row)` and `task_from_row(row)`; a module for directories has `is_directory(path)` and
`tasks_from_directory(path)`. A new format needs a new module and one line in the table below. `docs/formats.md` lists
the formats for users. Several formats share these modules: `fields` reads fields, `contest` makes tests from contest
problems, `input_output_cases` makes tests from RewardKit's cases, and `tolerance` reads from a problem statement how
large the error of an answer may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..task import Task
from . import (
    apps,
    bigcodebench,
    code_contests,
    code_env,
    gem,
    harbor,
    humaneval,
    humaneval_plus,
    humaneval_x,
    kattis,
    livecodebench,
    mbpp,
    multipl_e,
    open_r1,
    rewardkit,
    skyrl,
    verl,
)


@dataclass(frozen=True)
class RowFormat:
    """A format of JSON lines."""

    detect: Callable[[Mapping[str, Any]], bool]
    """Whether a row is of this format, by its fields."""
    read: Callable[[Mapping[str, Any]], Task]
    """The task that a row describes."""


@dataclass(frozen=True)
class DirectoryFormat:
    """A format of directories."""

    detect: Callable[[Path], bool]
    """Whether a directory is of this format, by its layout."""
    read: Callable[[Path], Iterator[Task]]
    """The tasks in a directory."""


FORMATS: dict[str, RowFormat | DirectoryFormat] = {
    "humaneval+": RowFormat(humaneval_plus.is_row, humaneval_plus.task_from_row),
    "humaneval": RowFormat(humaneval.is_row, humaneval.task_from_row),
    "humaneval-x": RowFormat(humaneval_x.is_row, humaneval_x.task_from_row),
    "multipl-e": RowFormat(multipl_e.is_row, multipl_e.task_from_row),
    "mbpp": RowFormat(mbpp.is_row, mbpp.task_from_row),
    "bigcodebench": RowFormat(bigcodebench.is_row, bigcodebench.task_from_row),
    "taco": RowFormat(apps.is_taco_row, apps.task_from_row),
    "apps": RowFormat(apps.is_row, apps.task_from_row),
    "livecodebench": RowFormat(livecodebench.is_row, livecodebench.task_from_row),
    "code_contests": RowFormat(code_contests.is_row, code_contests.task_from_row),
    "verl": RowFormat(verl.is_row, verl.task_from_row),
    "skyrl": RowFormat(skyrl.is_row, skyrl.task_from_row),
    "open_r1": RowFormat(open_r1.is_row, open_r1.task_from_row),
    "gem": RowFormat(gem.is_row, gem.task_from_row),
    "rewardkit": RowFormat(rewardkit.is_row, rewardkit.task_from_row),
    "kattis": DirectoryFormat(kattis.is_directory, kattis.tasks_from_directory),
    "harbor": DirectoryFormat(harbor.is_directory, harbor.tasks_from_directory),
    "code_env": RowFormat(code_env.is_row, code_env.task_from_row),
}
"""Formats by name. The first format whose `detect` returns True is taken, so a format with more fields comes first."""


def format_of_row(row: Mapping[str, Any]) -> str | None:
    """The name of a row's format; None if the row has no known format."""
    return next((n for n, f in FORMATS.items() if isinstance(f, RowFormat) and f.detect(row)), None)


def format_of_directory(path: Path) -> str | None:
    """The name of a directory's format; None if the directory has no known format."""
    return next((n for n, f in FORMATS.items() if isinstance(f, DirectoryFormat) and f.detect(path)), None)
