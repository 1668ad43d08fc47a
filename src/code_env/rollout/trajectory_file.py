"""The file of a collection: one JSON line for each episode. A line is on the disk before the collection continues."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from code_env.errors import RolloutError
from code_env.output_file import try_lock

from .plan import Plan


class TrajectoryFile:
    """A file of trajectories with one JSON line for each episode; `write` returns after the lines are on the disk.

    Args:
        file: The file, open for writing without a buffer, and locked.
        found: The data of the episodes that were already in the file, as `_read` returns them.
    """

    def __init__(self, file: FileIO, found: list[dict[str, Any]]) -> None:
        self._file, self.found = file, found

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, resume: bool, plan: Plan) -> Iterator[TrajectoryFile]:
        """Open a file for a collection. One that is made here, and gets no line, is removed again.

        Raises:
            RolloutError: If the file cannot be opened, or must not be used for this collection.
        """
        is_new = not path.exists()
        try:
            file = FileIO(path, "x+" if is_new else "r+")
        except OSError as error:
            raise RolloutError(f"the trajectories cannot be written: {error}") from None
        with file:
            if not try_lock(file, path):
                raise RolloutError(f"{path}: another collection is writing to it")
            if not resume and path.stat().st_size:
                raise RolloutError(f"{path} is there already; resume to go on with it, or name another file")
            found, length = _read(path, plan)
            try:
                # Remove an unfinished line, or an unfinished group of lines, that a killed writer left.
                file.truncate(length)
                file.seek(length)
                _sync_directory(path)
            except OSError as error:
                raise RolloutError(f"the trajectories cannot be written: {error}") from None
            try:
                yield cls(file, found)
            finally:
                if is_new and os.fstat(file.fileno()).st_size == 0:
                    path.unlink(missing_ok=True)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Write lines, and wait until they are on the disk.

        Raises:
            RolloutError: If they cannot be written.
        """
        if not rows:
            return
        rest = memoryview("".join(json.dumps(row) + "\n" for row in rows).encode())
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RolloutError(f"the trajectories cannot be written: {error}; resume when they can") from None


def _sync_directory(path: Path) -> None:
    """Make sure that the file's name is on the disk too."""
    with contextlib.suppress(OSError):  # Not every file system can sync a directory.
        fd = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


_LINE_BEGINS = b'{"collection": "'
"""The beginning of each line. An unfinished last line begins with it too, or is a prefix of it."""


def _why_not_ours(row: dict[str, Any], plan: Plan) -> str:
    """Return why an episode does not belong to a collection, and what would change that; empty if it does."""
    if row["collection"] == plan.fingerprint:
        if 0 <= row["episode"] < plan.episodes:
            return ""
        return f"episode {row['episode']} is not among the {plan.episodes} episodes of this collection; ask for more"
    if row["episode"] >= 0 and row["seed"] != plan.seed_of(row["episode"]):
        return f"the file's episodes were played with another seed than {plan.seed}; use the same seed"
    if row.get("model") != plan.model:
        return f"{_played_by(row.get('model'))} played the file's episodes, not {_played_by(plan.model)}; use the same"
    return (
        "the file's episodes belong to a collection with other prompts, tests, limits, rewards, order, group size, "
        "executor, version of code_env, settings of the model or options of the environment, such as turns and "
        "samples; use the same"
    )


def _played_by(model: Any) -> str:
    return "a policy without a model's name" if model is None else f"the model {model!r}"


def _read(path: Path, plan: Plan) -> tuple[list[dict[str, Any]], int]:
    """Read the episodes of a file, without an unfinished line or group at its end.

    Returns:
        The data of the episodes, and the length of their part of the file, in bytes.

    Raises:
        RolloutError: If the file does not belong to this collection.
    """
    found: dict[int, tuple[dict[str, Any], int]] = {}
    length = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n") and line.startswith(_LINE_BEGINS[: len(line)]):
                break
            length += len(line)
            try:
                row = json.loads(line)
                known = {
                    "episode": row["episode"],
                    "passed": bool(row["passed"]),
                    "valid": bool(row["valid"]),
                    "return": float(row["return"]),
                    "turns": [
                        {
                            "programs": [
                                {
                                    "outcome": str(p["outcome"]),
                                    "status": str(p["status"]),
                                    "stage": p["stage"],
                                }
                                for p in turn["programs"]
                            ]
                        }
                        for turn in row["turns"]
                    ],
                }
                refused = _why_not_ours(row, plan)
            except (ValueError, KeyError, TypeError):
                raise RolloutError(f"{path}:{number}: this is no line of a collection; name another file") from None
            if refused:
                raise RolloutError(f"{path}:{number}: {refused}, or name another file")
            if known["episode"] in found:
                raise RolloutError(f"{path}:{number}: episode {known['episode']} is there for the second time")
            found[known["episode"]] = known, length
    # The lines of a group are written together, so only the last group of the file can be incomplete.
    while found and not all(number in found for number in plan.group_of(next(reversed(found)))):
        found.popitem()
    torn = [number for number in found if not all(other in found for other in plan.group_of(number))]
    if torn:
        raise RolloutError(f"{path}: episode {torn[0]} is there without the others of its group; name another file")
    rows = [known for known, _ in found.values()]
    return rows, next(reversed(found.values()))[1] if found else 0
