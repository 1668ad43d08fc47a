"""RewardKit's `evaluate_dataset`: calls a reward function for the rows of a file, a list or a dataset."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_env.checks import require_whole
from code_env.errors import NoVerdict, TaskError
from code_env.tasks.loading import read_rows

from .reward_functions import Reward
from .reward_functions import reward_function as taking_columns
from .reward_outputs import RewardOutput

_ANSWERS = ("messages", "response", "completion")

_AT_ONCE = 32
"""The number of rows that are scored at once: more than sandboxes run, so that no sandbox waits for a row."""


@dataclass(frozen=True)
class DatasetEvaluation(Sequence["Reward | None"]):
    """The results of a reward function over a dataset: a sequence with the function's return value for each row."""

    results: tuple[Reward | None, ...]
    """The function's return value for each row; None if the sandbox failed."""
    scores: tuple[float | None, ...]
    """The score of each row; None if the sandbox failed."""
    missing: int
    """The number of rows without a score. The mean leaves them out."""
    mean_score: float | None
    """Mean of the scores; None if there are no scores."""

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: Any) -> Any:
        return self.results[index]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as data that JSON can hold.

        Example:
            >>> DatasetEvaluation((0.5, None), (0.5, None), 1, 0.5).to_dict()
            {'results': [0.5, None], 'scores': [0.5, None], 'missing': 1, 'mean_score': 0.5}
        """
        results = [dataclasses.asdict(one) if isinstance(one, RewardOutput) else one for one in self.results]
        return {
            "results": results,
            "scores": list(self.scores),
            "missing": self.missing,
            "mean_score": self.mean_score,
        }


def evaluate_dataset(
    reward_function: Callable[..., Reward],
    dataset_path: str | Path | Iterable[Mapping[str, Any]],
    additional_fields: Sequence[str] = (),
    *,
    at_once: int = _AT_ONCE,
) -> DatasetEvaluation:
    """Call a reward function for each row of a dataset, for many rows at once.

    A row has an answer, either as `messages`, or as text in `response` or `completion`. The function gets the answer as
    `messages` or `response`, and each additional field under its own name.

    Args:
        reward_function: The function. Several threads call it.
        dataset_path: A file of JSON lines, plain or gzipped; or the rows, in a list or a `datasets.Dataset`.
        additional_fields: Fields that are passed to the function, for example `expected_output`. Each row must have
            them. Fields that the function does not take are removed, as by the decorator `reward_function`.
        at_once: How many rows are scored at once. The number of programs that run at once is the executor's number of
            workers. Use 1 for a function that is not thread-safe.

    Raises:
        TaskError: If the file does not exist, there are no rows, or a row lacks a field; the message names file and
            line. In these cases no row is scored.
        ValueError: If `at_once` is not a whole number of at least 1.

    Example:
        >>> rows = [{"response": "print(1)", "expected_output": "1"}, {"response": "print(2)", "expected_output": "1"}]
        >>> from code_env.integrations.rewardkit import local_code_execution_reward
        >>> found = evaluate_dataset(local_code_execution_reward, rows, ["expected_output"])
        >>> list(found), found.mean_score
        ([1.0, 0.0], 0.5)
    """
    require_whole("at_once", at_once, ValueError, least=1)
    function = taking_columns(reward_function)
    calls = [_arguments(row, additional_fields, where) for where, row in _rows(dataset_path)]
    if not calls:
        what = dataset_path if isinstance(dataset_path, str | Path) else "the dataset"
        raise TaskError(f"{what}: there are no rows in it")

    def result(arguments: Mapping[str, Any]) -> Reward | None:
        try:
            return function(**arguments)  # type: ignore[no-any-return]
        except NoVerdict:
            return None

    with ThreadPoolExecutor(min(at_once, len(calls)), "evaluate_dataset") as pool:
        futures = [pool.submit(result, arguments) for arguments in calls]
        try:
            results = [future.result() for future in futures]
        except BaseException:  # The function probably raises for other rows too, so cancel them.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    scores = tuple(result.score if isinstance(result, RewardOutput) else result for result in results)
    known = [score for score in scores if score is not None]
    mean = math.fsum(known) / len(known) if known else None
    return DatasetEvaluation(tuple(results), scores, len(scores) - len(known), mean)


def _rows(dataset: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each row with its position, as text for messages."""
    if isinstance(dataset, str | Path):
        path = Path(dataset)
        if not path.is_file():
            raise TaskError(f"{path}: there is no such file")
        yield from ((f"{path}:{number}", row) for number, row in read_rows(path))
        return
    if isinstance(dataset, Mapping) or not isinstance(dataset, Iterable):
        raise TaskError(f"a file, or a list of rows, was expected; got {type(dataset).__name__}")
    for number, row in enumerate(dataset, start=1):
        if not isinstance(row, Mapping):
            raise TaskError(f"row {number}: an object was expected; got {type(row).__name__}")
        yield f"row {number}", row


def _arguments(row: Mapping[str, Any], additional_fields: Sequence[str], where: str) -> dict[str, Any]:
    answer = next((name for name in _ANSWERS if row.get(name) is not None), None)
    missing = [name for name in additional_fields if name not in row]
    if answer is None or missing:
        lacks = ", ".join(missing) if answer else "messages, or response"
        raise TaskError(f"{where}: the row lacks {lacks}; it has {', '.join(row) or 'nothing'}")
    passed_as = "response" if answer == "completion" else answer
    return {**{name: row[name] for name in additional_fields}, passed_as: row[answer]}
