"""The results file: one JSON line for each sample, kept from the moment the sample is judged.

While samples are judged, the lines are in a file whose name ends in `.partial`, in the order in which verdicts came.
When all samples are judged, the lines are put in the order of the samples, under the file's own name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

from code_env.errors import EvaluationError
from code_env.judging.timing import StepTiming
from code_env.judging.verdict import CaseResult, Verdict
from code_env.text import clip

from .samples import Sample

Row = dict[str, Any]
"""One line of a results file."""

_MOST_CASES = 20
"""A line describes at most so many of the cases that did not pass."""

_MOST_CHARS = 4000
"""A line holds at most so many characters of an output; the middle of a longer output is left out."""


def sample_row(number: int, sample: Sample, verdict: Verdict, about: Mapping[str, str]) -> Row:
    """Return a sample's line for the results file.

    Args:
        number: The number of the sample, from 0.
        sample: The sample.
        verdict: Its verdict.
        about: What is the same for all samples: the executor, its level of isolation, the version of this package.
    """
    failed = [case for case in verdict.cases if not case.passed]
    execution, error = verdict.execution, verdict.execution.error
    return {
        "sample": number,
        "task_id": sample.task_id,
        "completion": sample.completion,
        "code": verdict.code,
        "passed": verdict.passed,
        "outcome": str(verdict.outcome),
        "stage": None if verdict.stage is None else str(verdict.stage),
        "fraction": verdict.fraction,
        "tests_passed": verdict.tests_passed,
        "tests_total": verdict.tests_total,
        "judge": verdict.judge,
        "status": str(execution.status),
        "message": failed[0].message if failed else error.message if error else "",
        "failed_cases": [_case_row(case) for case in failed[:_MOST_CASES]],
        "stdout": clip(execution.stdout, _MOST_CHARS),
        "stderr": clip(execution.stderr, _MOST_CHARS),
        "cpu_s": execution.cpu_s,
        "peak_memory_bytes": execution.peak_memory_bytes,
        "timing": dataclasses.asdict(StepTiming.of(verdict)),
        **about,
    }


def _case_row(case: CaseResult) -> Row:
    return {
        "test": case.test,
        "case": case.case,
        "hidden": case.hidden,
        "status": str(case.status),
        "message": case.message,
        "expected": case.expected,
        "actual": case.actual,
        "stderr": clip(case.stderr, _MOST_CHARS),
        "cpu_s": case.cpu_s,
    }


class ResultsFile:
    """A results file that is being written.

    Args:
        file: The file for lines in the order of their verdicts, open for reading and writing without a buffer.
        samples: The samples, in order.
    """

    def __init__(self, file: FileIO, samples: Sequence[Sample]) -> None:
        self._file, self._samples = file, samples
        self._places: dict[int, tuple[int, int]] = {}
        """Where the line of each sample begins, and its length, in bytes."""

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, samples: Sequence[Sample], *, resume: bool = False) -> Iterator[ResultsFile]:
        """Open the results file of an evaluation. If the block ends without an exception, the file is complete.

        Args:
            path: Where the lines are when all samples are judged. A file that is there is replaced then.
            samples: The samples, in order.
            resume: Whether to go on with an evaluation of the same samples that was interrupted.

        Raises:
            EvaluationError: If the file cannot be written, or if an interrupted evaluation must not be continued.
        """
        path = Path(os.path.realpath(path))
        if path.exists() and not path.is_file():
            raise EvaluationError(f"{path} is no regular file; give another --output")
        partial = partial_path(path)
        if partial.exists() and not resume:
            raise EvaluationError(
                f"{partial} holds an evaluation that was interrupted: go on with --resume, or remove the file"
            )
        try:
            opened = FileIO(partial, "r+" if partial.exists() else "x+")
        except OSError as error:
            raise EvaluationError(f"the results cannot be written: {error}") from None
        with opened:
            file = cls(opened, samples)
            file._read(partial)
            yield file
            try:
                file._complete(path, partial)
            except OSError as error:
                raise EvaluationError(f"the results cannot be written: {error}; they are in {partial}") from None

    @property
    def judged(self) -> set[int]:
        """The numbers of the samples that have a line."""
        return set(self._places)

    def write(self, row: Row) -> None:
        """Write the line of a sample.

        Raises:
            EvaluationError: If it cannot be written.
        """
        line = json.dumps(row).encode() + b"\n"  # Lone surrogates are kept as JSON escapes.
        begin = self._file.seek(0, os.SEEK_END)
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise EvaluationError(
                f"the results cannot be written: {error}; go on with --resume when they can"
            ) from None
        self._places[row["sample"]] = begin, len(line)

    def rows(self) -> Iterator[Row]:
        """Yield the lines, in the order of the samples."""
        for line in self._lines():
            yield json.loads(line)

    def _lines(self) -> Iterator[bytes]:
        for number in sorted(self._places):
            begin, length = self._places[number]
            yield os.pread(self._file.fileno(), length, begin)

    def _read(self, partial: Path) -> None:
        """Read the lines of an interrupted evaluation; remove an unfinished line at the end.

        Raises:
            EvaluationError: If it is an evaluation of other samples.
        """
        begin = 0
        with partial.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                number = self._number_of(line)
                if number is None or number in self._places:
                    raise EvaluationError(
                        f"{partial}: this is no evaluation of these samples; remove the file, or give another --output"
                    )
                self._places[number] = begin, len(line)
                begin += len(line)
        self._file.truncate(begin)

    def _number_of(self, line: bytes) -> int | None:
        """Return the number of the sample that a line belongs to; None if it belongs to none."""
        try:
            row = json.loads(line)
            number = row["sample"]
            sample = self._samples[number] if type(number) is int and number >= 0 else None
            is_ours = sample == Sample(row["task_id"], row["completion"]) and type(row["passed"]) is bool
        except (ValueError, KeyError, TypeError, IndexError):
            return None
        return number if is_ours else None

    def _complete(self, path: Path, partial: Path) -> None:
        ordered = partial.with_name(path.name + ".ordered")
        with ordered.open("wb") as file:
            file.writelines(self._lines())
        ordered.replace(path)
        partial.unlink()


def partial_path(path: Path) -> Path:
    """Return where the lines of a results file are until it is complete."""
    return path.with_name(path.name + ".partial")
