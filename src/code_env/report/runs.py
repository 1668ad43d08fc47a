"""The runs of a report: their items as they come, the short form of each for the list, and their figures."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from code_env.judging.timing import StepTiming
from code_env.text import clip

from .figures import RunFigures, outcome_of
from .items import Item, last_program
from .reading import RunFile

DEFAULT_KS = (1, 10, 100)
"""The values of k for which pass@k is shown, where a task has enough samples."""

_MESSAGE_CHARS = 120

Entry = list[Any]
"""The short form of an item, in the order of `COLUMNS`."""

COLUMNS = (
    "run",  # The number of the run.
    "number",  # The item's number in its run.
    "task",  # The task's id.
    "outcome",  # See `Outcome`.
    "status",  # See `Status`.
    "stage",  # See `Stage`; None without a verdict.
    "passed",  # How many cases passed.
    "total",  # How many cases there are.
    "reward",  # The sum of the item's rewards; None for a sample.
    "code",  # A number that items with the same program share.
    "seconds",  # How long its programs took, without the time in the queue.
    "turns",  # How many turns it has.
    "message",  # Why the first case failed, shortened.
)
"""What the list of items shows, filters and sorts by."""


class Runs:
    """The runs of a report; a context manager.

    Args:
        paths: A file for each run.
        ks: The values of k for pass@k.

    Raises:
        ReportError: If a file cannot be read.
    """

    def __init__(self, paths: Sequence[Path], ks: Sequence[int] = DEFAULT_KS) -> None:
        with contextlib.ExitStack() as stack:
            self._files = [stack.enter_context(contextlib.closing(RunFile(path))) for path in paths]
            self._stack = stack.pop_all()
        self._figures = [RunFigures(file.name, ks) for file in self._files]
        self._codes: dict[bytes, int] = {}

    def items(self) -> Iterator[tuple[Entry, Item]]:
        """Yield the items of all runs that came since the last call, each with its short form.

        Raises:
            ReportError: If a line is malformed.
        """
        for run, (file, figures) in enumerate(zip(self._files, self._figures, strict=True)):
            for item in file.items():
                figures.add(item)
                yield self._entry(run, item), item

    def figures(self) -> list[dict[str, Any]]:
        """Return the figures of each run, of the items so far."""
        return [figures.as_data() for figures in self._figures]

    def are_replaced(self) -> bool:
        """Whether a file was replaced by another."""
        return any(file.is_replaced() for file in self._files)

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _entry(self, run: int, item: Item) -> Entry:
        program = last_program(item)
        digest = hashlib.sha256(program["code"].encode("utf-8", "surrogatepass")).digest()
        timings = [StepTiming(**one["timing"]) for turn in item["turns"] for one in turn["programs"]]
        return [
            run,
            item["number"],
            item["task"],
            outcome_of(item),
            program["status"],
            program["stage"],
            program["tests_passed"],
            program["tests_total"],
            item["reward"],
            self._codes.setdefault(digest, len(self._codes)),
            round(sum(timing.start_s + timing.run_s + timing.judge_s for timing in timings), 4),
            len(item["turns"]),
            clip(program["message"], _MESSAGE_CHARS),
        ]
