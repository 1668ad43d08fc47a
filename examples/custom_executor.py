"""An executor of one's own: it spreads programs over several others, and proves that it keeps the contract.

The others may be of any kind. Each program goes to the one that has the fewest in flight. An installed package would
name what makes one in the entry-point group `code_env.executors`.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Future

from code_env import ExecutionResult, Executor, Isolation, Program, make_executor
from code_env.testing import examine


class SpreadingExecutor(Executor):
    """Runs each program on the least busy of several executors, which are its own from then on."""

    def __init__(self, *executors: Executor) -> None:
        self._executors = executors
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
        return dataclasses.replace(
            min(told, key=lambda one: ("none", "contained", "full", "machine").index(one.level)),
            peer=min((one.peer for one in told), key=("none", "same_machine", "isolated").index),
            languages=frozenset.intersection(*(one.languages for one in told)),
            enforces=frozenset.intersection(*(one.enforces for one in told)),
            network=any(one.network for one in told),
            notebooks=all(one.notebooks for one in told),
            policy=", ".join(one.policy for one in told if one.policy),
        )

    def close(self) -> None:
        """Close all."""
        for executor in self._executors:
            executor.close()


if __name__ == "__main__":
    for found in examine(
        lambda: SpreadingExecutor(make_executor("local", workers=1), make_executor("local", workers=1))
    ):
        print(f"{found.check:<45} {found.outcome} {found.reason}")
