"""An executor of one's own: it spreads programs over several others, and proves that it keeps the contract.

The others may be of any kind, say `local` with two interpreters. Each program goes to the one that has the fewest in
flight. An installed package would name the class in the entry-point group `code_env.executors`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Future

from code_env import ExecutionResult, Executor, Isolation, Program, make_executor
from code_env.testing import examine


class SpreadingExecutor(Executor):
    """Runs each program on the least busy of several executors, which it owns.

    Args:
        executors: Names of executors.
        workers: How many programs each of them runs at once.
    """

    def __init__(self, executors: Sequence[str] = ("local", "local"), workers: int = 1) -> None:
        self._executors = [make_executor(name, workers=workers) for name in executors]
        self._in_flight: list[set[Future[ExecutionResult]]] = [set() for _ in executors]

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program where the fewest are."""
        least = min(range(len(self._executors)), key=lambda index: len(self._in_flight[index]))
        future = self._executors[least].submit(program)
        self._in_flight[least].add(future)
        future.add_done_callback(self._in_flight[least].discard)
        return future

    def describe(self) -> Isolation:
        """No more than all of them do."""
        told = [executor.describe() for executor in self._executors]
        weakest = min(told, key=lambda one: ("none", "contained", "full", "machine").index(one.level))
        enforced = frozenset.intersection(*(one.enforces for one in told))
        languages = frozenset.intersection(*(one.languages for one in told))
        return dataclasses.replace(weakest, enforces=enforced, languages=languages)

    def close(self) -> None:
        """Close all."""
        for executor in self._executors:
            executor.close()


if __name__ == "__main__":
    for found in examine(SpreadingExecutor):
        print(f"{found.check:<45} {found.outcome} {found.reason}")
