"""Checks of the ways to run programs: many at a time, from threads, from asyncio; cancelling; pickling of results."""

from __future__ import annotations

import asyncio
import pickle
import threading
from concurrent.futures import CancelledError, wait

from code_env.executors import Executor, Limits, Program

from .contract import ConformanceFailure, core_check, equal, expect, output, run, taken


@core_check
def many_results_keep_their_order(executor: Executor) -> None:
    """`run_many` returns results in the order of the programs, also for more programs than workers."""
    results = executor.run_many(Program(f"print({n})") for n in range(12))
    equal([result.stdout for result in results], [f"{n}\n" for n in range(12)], "outputs")


@core_check
def a_cancelled_future_ends_its_program(executor: Executor) -> None:
    """Cancelling frees the worker long before the program reaches its limits."""
    future = executor.submit(Program("while True: pass", limits=Limits(cpu_s=50, wall_s=50)))
    wait([future], timeout=0.5)
    expect(future.cancel(), "the future of a running program cannot be cancelled")
    try:
        future.result()
    except CancelledError:
        pass
    else:
        raise ConformanceFailure("a cancelled future gave a result")
    output(executor, "print('next')", "next\n", limits=Limits(wall_s=10))


@core_check
def it_works_from_asyncio(executor: Executor) -> None:
    """`arun` and `arun_many` await results, and cancelling a task ends its program."""

    async def session() -> list[str]:
        slow = asyncio.create_task(executor.arun(Program("while True: pass", limits=Limits(cpu_s=50, wall_s=50))))
        await asyncio.sleep(0.2)
        slow.cancel()
        results = await executor.arun_many([Program("print(1)"), Program("print(2)")])
        return [result.stdout for result in results]

    equal(asyncio.run(session()), ["1\n", "2\n"], "outputs")


@core_check
def it_works_from_threads(executor: Executor) -> None:
    """Several threads may submit at once."""
    outputs: dict[int, str] = {}

    def work(number: int) -> None:
        outputs[number] = executor.run(Program(f"print({number})")).stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(outputs, {number: f"{number}\n" for number in range(4)}, "outputs")


@core_check
def no_programs_give_no_results(executor: Executor) -> None:
    """An empty batch is allowed, and gives an empty list."""
    equal(executor.run_many([]), [], "results of no programs")


@core_check
def a_burst_is_served(executor: Executor) -> None:
    """Many more programs than workers all get their results; waiting time does not count against their limits."""
    limits = Limits(cpu_s=5, wall_s=10)
    results = executor.run_many([Program(f"print({n} * {n})", limits=limits) for n in range(32)])
    equal([taken(result).stdout for result in results], [f"{n * n}\n" for n in range(32)], "outputs")


@core_check
def what_waits_can_be_cancelled(executor: Executor) -> None:
    """A waiting program can be cancelled, and the other programs still get their results."""
    futures = [executor.submit(Program("while True: pass", limits=Limits(cpu_s=50, wall_s=50))) for _ in range(32)]
    for future in futures:
        expect(future.cancel(), "the future of a program cannot be cancelled")
    output(executor, "print('next')", "next\n")


@core_check
def a_result_can_be_pickled(executor: Executor) -> None:
    """A result can be sent to another process."""
    result = run(executor, "print('hello')")
    equal(pickle.loads(pickle.dumps(result)), result, "a result that was pickled")
