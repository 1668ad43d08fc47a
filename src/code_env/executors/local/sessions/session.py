"""A session whose interpreters are kept: only cells whose interpreter was lost are run again."""

from __future__ import annotations

import logging

from code_env.errors import CheckpointRefused
from code_env.executors.program import Program, check_path
from code_env.executors.result import Status, sandbox_killed
from code_env.sessions.past import Attempt, Past, SessionOfCells
from code_env.sessions.session import Checkpoint

from ..worker import ServerDied
from .tree import Kept, RoomHold, SessionTree, StateLost

_log = logging.getLogger(__name__)


class LiveSession(SessionOfCells):
    """A session of the `local` executor at level `full`.

    Args:
        tree: The worker of this session and its branches.
        first: What it begins with, see `SessionOfCells`.
    """

    def __init__(self, tree: SessionTree, first: Program) -> None:
        super().__init__(first)
        self._tree = tree
        self._room: RoomHold | None = None

    def _branch(self) -> LiveSession:
        return LiveSession(self._tree, self._first)

    def checkpoint(self) -> Checkpoint:
        """See `Session.checkpoint`.

        Raises:
            CheckpointRefused: If the session holds something that no fork of it would have.
        """
        kept = self._past.kept
        if isinstance(kept, Kept) and kept.obstacles:
            raise CheckpointRefused(
                f"the session cannot be kept: it has {', '.join(kept.obstacles)}; end or close this first"
            )
        checkpoint = super().checkpoint()
        # Processes that will be forked from the checkpoint know this room. So this session goes on in another one.
        self._room = None
        return checkpoint

    def read(self, path: str) -> bytes:
        """See `Session.read`."""
        check_path(path)
        with self._working() as past:
            kept = past.kept
            if not isinstance(kept, Kept) or kept.cells < len(past.cells) or not kept.is_there:
                attempt = self._attempt(past, "")
                kept = attempt.kept
                self._past = Past((*past.plus("").cells,), past.spent, kept)
            content = self._tree.read(kept, path) if isinstance(kept, Kept) else None
            if content is None:
                raise FileNotFoundError(f"the session has no file {path!r}, or it is larger than its limit")
            return content

    def is_over(self) -> bool:
        """Return whether the cell that runs was interrupted."""
        return self._interrupted

    def sleeps(self, asleep: bool) -> None:
        """Nothing waits for the core of a cell that sleeps."""

    def _drop(self) -> None:
        super()._drop()
        self._room = None

    def _attempt(self, past: Past, cell: str) -> Attempt:
        kept = past.kept if isinstance(past.kept, Kept) else None
        died = False
        while True:
            repeated = past.cells if kept is None else past.cells[kept.cells :]
            program = self._program(past, cell, repeated)
            try:
                result, after, self._room = self._tree.run(program, kept, self._room, self)
                # An interpreter that has run cells can be in a state from which no cell begins: that is their doing.
                if result.status is not Status.SANDBOX_ERROR or kept is None:
                    return Attempt(None if self._interrupted else result, repeated, after)
            except StateLost:
                pass
            except ServerDied as problem:
                if died:
                    return Attempt(sandbox_killed(str(problem), with_peer=False, queue_s=0.0), repeated)
                died = True
                _log.warning("a cell is run again, because the worker of its session died: %s", problem)
            kept = None
