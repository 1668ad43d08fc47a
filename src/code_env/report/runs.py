"""The runs of a report: their items as they come, the short form of each for the list, and their figures."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from code_env.judging.timing import StepTiming
from code_env.rewards.pass_at_k import DEFAULT_KS

from .figures import RunFigures, outcome_of
from .items import Item, last_program, why_not
from .reading import RunFile


class Entry(NamedTuple):
    """The short form of an item: what the list of items shows, filters and sorts by."""

    run: int
    """The number of the run."""
    number: int
    """The item's number in its run."""
    task: str
    """The task's id."""
    outcome: str
    """See `Outcome`."""
    status: str
    """See `Status`."""
    stage: str | None
    """See `Stage`; None without a verdict."""
    passed: int
    """How many cases passed."""
    total: int
    """How many cases there are."""
    reward: float | None
    """The sum of the item's rewards; None for a sample."""
    code: int
    """A number that items with the same program share."""
    seconds: float
    """How long its programs took, without the time in the queue."""
    turns: int
    """How many turns it has."""
    message: str
    """Why the first case failed: the first line of the message, shortened at its end."""


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
        self.names = [file.name for file in self._files]
        """The names of the runs."""
        self._figures = [RunFigures(name, ks) for name in self.names]
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

    def doubts(self) -> list[str]:
        """Return what to tell of files that do not grow: which hold nothing, or end within a line."""
        return [told for file in self._files if (told := file.doubt()) is not None]

    def are_replaced(self) -> bool:
        """Whether a file was replaced by another."""
        return any(file.is_replaced() for file in self._files)

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _entry(self, run: int, item: Item) -> Entry:
        program = last_program(item)
        digest = hashlib.sha256(program["code"].encode("utf-8", "surrogatepass")).digest()
        timings = [StepTiming(**one["timing"]) for turn in item["turns"] for one in turn["programs"]]
        return Entry(
            run=run,
            number=item["number"],
            task=item["task"],
            outcome=outcome_of(item),
            status=program["status"],
            stage=program["stage"],
            passed=program["tests_passed"],
            total=program["tests_total"],
            reward=item["reward"],
            code=self._codes.setdefault(digest, len(self._codes)),
            seconds=round(sum(timing.start_s + timing.run_s + timing.judge_s for timing in timings), 4),
            turns=len(item["turns"]),
            message=why_not(item),
        )
