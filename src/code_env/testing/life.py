"""Checks of how an executor is closed and copied."""

from __future__ import annotations

import copy
import time
from concurrent.futures import wait

from code_env.errors import ExecutorClosed
from code_env.executors import Executor, Limits, Program

from .contract import ConformanceFailure, equal, expect, life_check, output


@life_check
def closing_is_idempotent_and_final(executor: Executor) -> None:
    """`close` may be called twice; afterwards `submit` raises `ExecutorClosed`."""
    output(executor, "print(1)", "1\n")
    executor.close()
    executor.close()
    try:
        executor.submit(Program("print(1)"))
    except ExecutorClosed:
        return
    raise ConformanceFailure("a closed executor took a program")


@life_check
def closing_ends_what_runs(executor: Executor) -> None:
    """`close` ends running programs, and does not wait until they reach their limits."""
    future = executor.submit(Program("while True: pass", limits=Limits(cpu_s=50, wall_s=50)))
    wait([future], timeout=0.5)
    expect(not future.done(), "a program without end has ended")
    started = time.monotonic()
    executor.close()
    expect(time.monotonic() - started < 20, "close() waited for the program")
    expect(future.done(), "a program still runs after close()")


@life_check
def an_unused_executor_closes(executor: Executor) -> None:
    """An executor can be closed before any program has run."""
    executor.close()


@life_check
def closing_cancels_what_waits(executor: Executor) -> None:
    """`close` cancels the waiting programs, so that no caller waits forever for a result."""
    # So short that an executor which fails this check, and waits for all of them, is not waited for too long.
    futures = [executor.submit(Program("while True: pass", limits=Limits(cpu_s=10, wall_s=10))) for _ in range(32)]
    executor.close()
    _, waiting = wait(futures, timeout=20)
    equal(len(waiting), 0, "futures without an end after close()")


@life_check
def a_copy_is_the_same_executor(executor: Executor) -> None:
    """A deep copy of an executor is the executor itself, because Gymnasium copies an environment's arguments."""
    expect(copy.deepcopy({"executor": executor})["executor"] is executor, "a deep copy is another executor")
