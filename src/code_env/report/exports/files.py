"""Writes exports: a results file or a file of trajectories becomes what another viewer opens."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from code_env.errors import OutputError, ReportError
from code_env.output_file import PARTIAL_SUFFIX, new_folder, partial_path, replaced_file, require_other
from code_env.report.items import Item
from code_env.report.reading import RunFile

from .atif import harbor_job, harbor_trials
from .common import Origin, json_text
from .inspect_log import inspect_log


def export_run(file: str | Path, output: str | Path, to: str) -> tuple[int, Path]:
    """Write a results file of `code-env eval`, or trajectories of `code-env rollout`, for another viewer.

    Args:
        file: The file.
        output: For `inspect` a file that ends in `.json`, or else a folder, in which the log gets a name that `inspect
            view` lists; for `atif` a folder that is not there yet.
        to: One of `FORMATS`.

    Returns:
        The number of samples and episodes, and what was written.

    Raises:
        ReportError: If there is no such format, the file cannot be read, or a line of it is malformed.
        OutputError: If the output cannot be written, or must not be replaced.
    """
    if to not in FORMATS:
        raise ReportError(f"the formats are {', '.join(FORMATS)}; got {to!r}")
    require_other(Path(output), [Path(file)])
    with contextlib.closing(RunFile(Path(file))) as run:
        counted = _Counted(run.items())
        written = FORMATS[to](counted, _origin(run.path), Path(output))
    return counted.count, written


class _Counted:
    """Items that are counted as they pass."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self.count = 0

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            self.count += 1
            yield item


def _origin(path: Path) -> Origin:
    there = path if path.exists() else partial_path(path)
    name = path.name.removesuffix(PARTIAL_SUFFIX).removesuffix(".jsonl")
    written = datetime.fromtimestamp(there.stat().st_mtime, UTC)
    return Origin(name, written, finished=there.suffix != PARTIAL_SUFFIX)


def _write_inspect(items: _Counted, origin: Origin, output: Path) -> Path:
    if output.suffix != ".json":
        # `inspect view` lists JSON files whose names begin with a time; underscores divide the parts of a name.
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", origin.name)
        output = output / f"{origin.written:%Y-%m-%dT%H-%M-%S}+00-00_{name}_{origin.key}.json"
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"the folder of the log cannot be made: {error}; give another path") from None
    with replaced_file(output) as log:
        log.writelines(part.encode() for part in inspect_log(items, origin))
    return output


def _write_atif(items: _Counted, origin: Origin, output: Path) -> Path:
    errors = 0
    with new_folder(output) as folder:
        for trial in harbor_trials(items, origin):
            place = folder / trial.name
            try:
                (place / "agent").mkdir(parents=True)
            except FileExistsError:
                raise ReportError(f"{origin.name}: each number was expected once; {trial.name} came again") from None
            _write_json(place / "agent" / "trajectory.json", trial.trajectory)
            _write_json(place / "result.json", trial.result)
            errors += "exception_info" in trial.result
        for name, data in harbor_job(origin, items.count, errors).items():
            _write_json(folder / name, data)
    return output


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json_text(data), encoding="ascii")


FORMATS: dict[str, Callable[[_Counted, Origin, Path], Path]] = {"inspect": _write_inspect, "atif": _write_atif}
"""What writes each format."""
