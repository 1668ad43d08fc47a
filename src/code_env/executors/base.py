"""The contract of an executor: one primitive, `submit`; everything else derives from it.

A program can do whatever it likes: `submit` returns a future whose result says how it ended. The
future raises only for misuse, never for what the program did. Third parties subclass `Executor`,
implement three methods, and prove it with `code_env.testing.check_executor`.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from .program import Program
from .result import ExecutionResult


@dataclass(frozen=True)
class Isolation:
    """What an executor keeps apart, and what it enforces. An executor states no more than it does."""

    level: Literal["none", "contained", "full", "machine"]
    """`none`: a program has all the rights of the trainer's user. `contained` and `full` are those of `local`.
    `machine`: it has a machine to itself, which is not the trainer's."""
    peer: Literal["isolated", "same_machine", "none"]
    """Between a program and its peer: out of reach, within reach of one another, or no peers at all."""
    languages: frozenset[str] = frozenset({"python"})
    """Languages it runs."""
    enforces: frozenset[str] = frozenset()
    """Names of the `Limits` fields that it enforces."""
    network: bool = True
    """Whether a program reaches the network."""
    notebooks: bool = False
    """Whether it runs programs with `notebook=True`."""
    policy: str = ""
    """Name of the policy that programs must keep to, if there is one; those that break it are `refused`."""
    details: str = ""
    """What else a user should know, in a sentence."""


class Executor(abc.ABC):
    """Runs programs. Usable as a context manager, from any thread, and from asyncio."""

    @abc.abstractmethod
    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; cancelling the future ends it.

        Raises:
            UnsupportedProgram: If the executor cannot do what the program asks.
            ExecutorClosed: If it was closed.
        """

    @abc.abstractmethod
    def describe(self) -> Isolation:
        """What this executor isolates and enforces."""

    @abc.abstractmethod
    def close(self) -> None:
        """End what still runs and free everything. Idempotent."""

    def run(self, program: Program) -> ExecutionResult:
        """Run a program and wait for its result."""
        return self.run_many([program])[0]

    def run_many(self, programs: Iterable[Program]) -> list[ExecutionResult]:
        """Run programs side by side; results in the order of the programs."""
        futures: list[Future[ExecutionResult]] = []
        try:
            for program in programs:
                futures.append(self.submit(program))
            wait(futures)  # For all at once: to be woken for each costs more than a little of a short program.
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # Of no effect on those that are done.

    async def arun(self, program: Program) -> ExecutionResult:
        """As `run`; cancelling the awaiting task ends the program."""
        return await asyncio.wrap_future(self.submit(program))

    async def arun_many(self, programs: Iterable[Program]) -> list[ExecutionResult]:
        """As `run_many`."""
        return await asyncio.gather(*[self.arun(program) for program in programs])

    def __deepcopy__(self, memo: object) -> Self:
        # Gymnasium copies an env's arguments for its spec; what is borrowed stays one and the same.
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
