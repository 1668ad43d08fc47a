"""The contract of a session, whatever keeps its state."""

from __future__ import annotations

import abc
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Never, Self

from code_env.checks import require_whole
from code_env.executors.result import CellResult

MAX_SEED = 2**32 - 1
"""The largest seed: NumPy takes no larger one."""


class SessionState(StrEnum):
    """What a session can do now."""

    IDLE = "idle"
    """It takes the next cell."""
    BUSY = "busy"
    """It runs a cell, in another thread."""
    DEAD = "dead"
    """It takes no more cells: it was closed, or its limits are used up; `Session.ended` says which."""


@dataclass(frozen=True)
class Spent:
    """What the cells of a session and of those that it was forked from have used."""

    cells: int = 0
    """How many cells were run."""
    cpu_s: float = 0.0
    """Their CPU time, in seconds."""
    wall_s: float = 0.0
    """Their time from start to end, in seconds."""
    peak_memory_bytes: int = 0
    """The largest memory use that was measured, in bytes."""


class _Running:
    """An interpreter that runs, which can be branched and neither copied nor pickled."""

    def __reduce__(self) -> Never:
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled, because its interpreter runs: `fork` and `checkpoint` "
            "branch a session, and `clone_state` an episode"
        )


class Checkpoint(_Running, abc.ABC):
    """The state of a session at one moment: variables, files and working directory; see `Session.checkpoint`."""

    @abc.abstractmethod
    def restore(self) -> Session:
        """Return a new session in this state; can be called any number of times.

        Raises:
            SessionDied: If the checkpoint was released.
            ExecutorClosed: If the executor was closed.
        """

    @abc.abstractmethod
    def release(self) -> None:
        """Give the state up. Idempotent."""


class Session(_Running, abc.ABC):
    """An interpreter that keeps its state from cell to cell; a context manager.

    `Executor.open_session` opens it. One thread at a time runs cells; `interrupt`, `close`, `state` and `spent` are for
    any thread.

    Example:
        >>> from code_env import make_executor
        >>> with make_executor("local") as executor, executor.open_session() as session:
        ...     _ = session.run("rows = [3, 1, 2]")
        ...     checkpoint = session.checkpoint()
        ...     _ = session.run("rows.clear()")
        ...     with checkpoint.restore() as earlier:
        ...         session.run("rows").text, earlier.run("rows").text
        ('[]', '[3, 1, 2]')
    """

    @abc.abstractmethod
    def run(self, cell: str) -> CellResult:
        """Run a cell, and return its result, whatever the cell did.

        A cell that raises leaves what it did before that. A cell that ended its interpreter, was interrupted or reached
        a limit leaves nothing: the session is as before it.

        Raises:
            SessionBusy: If another thread runs a cell.
            SessionDied: If the session is dead.
            TypeError: If the cell is not text.
        """

    @abc.abstractmethod
    def checkpoint(self) -> Checkpoint:
        """Keep the state that the session has now.

        Raises:
            SessionBusy: If a cell runs.
            SessionDied: If the session is dead.
            CheckpointRefused: If the session holds something that cannot be kept, such as a thread or an open file. It
                is in `code_env.errors`.
        """

    @abc.abstractmethod
    def interrupt(self) -> None:
        """End the cell that runs, if one does; its result has the error `KeyboardInterrupt`."""

    @abc.abstractmethod
    def read(self, path: str) -> bytes:
        """Return a file of the session.

        Args:
            path: Its path, relative to the directory in which the session began.

        Raises:
            FileNotFoundError: If there is no such file, or it is larger than the limit.
            SessionBusy, SessionDied: As `run`.
        """

    @abc.abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a file of the session.

        Args:
            path: Its path, relative to the directory in which the session began.
            data: Its content.

        Raises:
            TaskError: If the path does not lead to a file inside that directory, or the content is larger than
                `limits.file_bytes`.
            SessionBusy, SessionDied: As `run`.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """End the session, and the cell that runs. Idempotent."""

    @property
    @abc.abstractmethod
    def state(self) -> SessionState:
        """What it can do now."""

    @property
    @abc.abstractmethod
    def ended(self) -> str:
        """Why it is dead, in words; empty if it is not."""

    @property
    @abc.abstractmethod
    def spent(self) -> Spent:
        """What its cells have used so far."""

    @abc.abstractmethod
    def reseed(self, seed: int) -> None:
        """Seed the module `random`, and NumPy's generator, also if the session loads it later.

        Args:
            seed: From 0 to `MAX_SEED`.

        Raises:
            SessionBusy, SessionDied: As `run`.
            ValueError: If it is no such number.
        """

    def fork(self, n: int, *, reseed: bool | Sequence[int] = False) -> list[Session]:
        """Return `n` sessions that begin in the state of this one; this one goes on independently of them.

        Args:
            n: The number of sessions.
            reseed: True if each session shall draw other random numbers, or a seed for each. By default all draw the
                same numbers.

        Raises:
            SessionBusy, SessionDied: As `checkpoint`.
            ValueError: If there are not `n` seeds, or one is no seed.
        """
        seeds = [secrets.randbits(32) for _ in range(n)] if reseed is True else list(reseed or ())
        if reseed is not False and len(seeds) != n:
            raise ValueError(f"{n} branches need {n} seeds; got {len(seeds)}")
        for seed in seeds:
            require_whole("a seed", seed, ValueError, least=0, most=MAX_SEED)
        checkpoint = self.checkpoint()
        try:
            branches = [checkpoint.restore() for _ in range(n)]
        finally:
            checkpoint.release()
        for branch, seed in zip(branches, seeds, strict=False):
            branch.reseed(seed)
        return branches

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
