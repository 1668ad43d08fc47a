"""The file of a collection: one JSON line for each episode, on the disk before anything goes on."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from code_env.errors import RolloutError

from .plan import Plan


class TrajectoryFile:
    """A file of trajectories, one JSON line for each, written to disk before anything goes on.

    Args:
        file: The file, open for writing without a buffer, and locked.
        found: What is known of the episodes in it.
    """

    def __init__(self, file: FileIO, found: list[dict[str, Any]]) -> None:
        self._file, self.found = file, found

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, resume: bool, plan: Plan) -> Iterator[TrajectoryFile]:
        """Open a file for a collection.

        Raises:
            RolloutError: If it is not to be had.
        """
        try:
            file = FileIO(path, "r+" if path.exists() else "x+")
        except OSError as error:
            raise RolloutError(f"the trajectories cannot be written: {error}") from None
        with file:
            _lock(file, path)
            if not resume and path.stat().st_size:
                raise RolloutError(f"{path} is there already; resume to go on with it, or name another file")
            found, length = _read(path, plan)
            try:
                # What a killed writer has begun and not ended: a line, or a group of them.
                file.truncate(length)
                file.seek(length)
                _sync_directory(path)
            except OSError as error:
                raise RolloutError(f"the trajectories cannot be written: {error}") from None
            yield cls(file, found)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Write lines, and see that they are on the disk.

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


def _lock(file: FileIO, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Where there are no such locks, one has to see to it oneself.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RolloutError(f"{path}: another collection is writing to it") from None


def _sync_directory(path: Path) -> None:
    """See that the file's name is on the disk too."""
    with contextlib.suppress(OSError):  # Not every file system has directories that can be.
        fd = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


_LINE_BEGINS = b'{"collection": "'
"""How each line begins, and so what may be left of one that was not written to its end."""


def _read(path: Path, plan: Plan) -> tuple[list[dict[str, Any]], int]:
    """What is known of the episodes in a file, and how long it is with just those: whole lines, of whole groups.

    Raises:
        RolloutError: If it belongs to something else.
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
                    "return": float(row["return"]),
                    "turns": [
                        {
                            "programs": [
                                {
                                    "outcome": str(p["outcome"]),
                                    "status": str(p["status"]),
                                    "has_code": bool(p.get("has_code", True)),
                                }
                                for p in turn["programs"]
                            ]
                        }
                        for turn in row["turns"]
                    ],
                }
                is_ours = row["collection"] == plan.fingerprint and 0 <= row["episode"] < plan.episodes
            except (ValueError, KeyError, TypeError):
                raise RolloutError(f"{path}:{number}: this is no line of a collection; name another file") from None
            if not is_ours:
                raise RolloutError(
                    f"{path}:{number}: this episode is none of this collection, of which prompts, turns, samples, "
                    "rewards, seed, order, group size or number of episodes are other; name another file"
                )
            if known["episode"] in found:
                raise RolloutError(f"{path}:{number}: episode {known['episode']} is there for the second time")
            found[known["episode"]] = known, length
    # The lines of a group are written together, so only those at the end can be of one that is not whole.
    while found and not all(number in found for number in plan.group_of(next(reversed(found)))):
        found.popitem()
    torn = [number for number in found if not all(other in found for other in plan.group_of(number))]
    if torn:
        raise RolloutError(f"{path}: episode {torn[0]} is there without the others of its group; name another file")
    rows = [known for known, _ in found.values()]
    return rows, next(reversed(found.values()))[1] if found else 0
