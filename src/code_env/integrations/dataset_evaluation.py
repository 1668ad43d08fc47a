"""RewardKit's `evaluate_dataset`: a reward function over the rows of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_env.errors import NoVerdict, TaskError
from code_env.tasks.loading import read_rows

from .reward_functions import Reward
from .reward_functions import reward_function as taking_columns
from .reward_outputs import RewardOutput

_ANSWERS = ("messages", "response")


@dataclass(frozen=True)
class DatasetEvaluation:
    """What a reward function found over a dataset."""

    results: tuple[Reward | None, ...]
    """What it gave for each row; None where the sandbox failed."""
    scores: tuple[float | None, ...]
    """The score of each row; None where the sandbox failed."""
    missing: int
    """Rows without a score; they are left out of the mean."""
    mean_score: float | None
    """Mean of the scores; None if there is none."""


def evaluate_dataset(
    reward_function: Callable[..., Reward], dataset_path: str | Path, additional_fields: Sequence[str] = ()
) -> DatasetEvaluation:
    """Call a reward function for each row of a file of JSON lines.

    A row has an answer, as `messages` or as text in `response`; it is passed under that name, and so is each additional
    field.

    Args:
        reward_function: The function.
        dataset_path: The file, plain or gzipped.
        additional_fields: Fields that are passed along, such as `expected_output`. Each row must have them.
            Those that the function does not take are left out, as by the decorator `reward_function`.

    Raises:
        TaskError: If the file is not there, is empty, or a row lacks a field; names file and line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        ...     _ = file.write('{"response": "print(1)", "expected_output": "1"}')
        ...     file.flush()
        ...     evaluate_dataset(lambda response, expected_output: 0.5, file.name, ["expected_output"]).mean_score
        0.5
    """
    path = Path(dataset_path)
    if not path.is_file():
        raise TaskError(f"{path}: there is no such file")
    function = taking_columns(reward_function)
    results: list[Reward | None] = []
    for number, row in read_rows(path):
        arguments = _arguments(row, additional_fields, f"{path}:{number}")
        try:
            results.append(function(**arguments))
        except NoVerdict:
            results.append(None)
    if not results:
        raise TaskError(f"{path}: there are no rows in it")
    scores = tuple(result.score if isinstance(result, RewardOutput) else result for result in results)
    known = [score for score in scores if score is not None]
    mean = math.fsum(known) / len(known) if known else None
    return DatasetEvaluation(tuple(results), scores, len(scores) - len(known), mean)


def _arguments(row: dict[str, Any], additional_fields: Sequence[str], where: str) -> dict[str, Any]:
    answer = next((name for name in _ANSWERS if row.get(name) is not None), None)
    missing = [name for name in additional_fields if name not in row]
    if answer is None or missing:
        lacks = ", ".join(missing) if answer else "messages, or response"
        raise TaskError(f"{where}: the row lacks {lacks}; it has {', '.join(row) or 'nothing'}")
    return {name: row[name] for name in dict.fromkeys((answer, *additional_fields))}
