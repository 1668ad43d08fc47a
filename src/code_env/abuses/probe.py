"""Runs abuses on an executor, each together with an honest program, and reports for each whether it was stopped."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path

from code_env.errors import ExecutorError
from code_env.executors import ExecutionResult, Executor, Program, Status
from code_env.harness.process.watching import descendants

from .canaries import LOOK, Abuse, Canaries, left_over
from .loading import KINDS, load_abuses

ABUSES = tuple(abuse for kind in KINDS for abuse in load_abuses(kind))
"""All abuses."""

SELECTION = tuple(abuse for abuse in ABUSES if abuse.selected)
"""A few abuses of each kind, for a test of a machine that takes only seconds."""

_PATIENCE_S = 60.0
"""How long an abuse and the honest program beside it may take together, in seconds, with any limits."""

_WORKERS, _SETTLE_S = 4, 0.2
"""The largest number of workers that an executor may have here, and how long a program keeps a worker busy at first, in
seconds."""

_MOST_ROUNDS, _MUCH_LONGER = 5, 5
"""The most rounds that keep all workers busy until no new worker starts; and how many times as long as the start of a
worker a round must last."""

_HONEST = "print(sum(i * i for i in range(20_000)))"
_HONEST_OUTPUT = "2666466670000\n"


@dataclass(frozen=True)
class Finding:
    """The result of one abuse."""

    name: str
    """Name of the abuse."""
    kind: str
    """Kind of the abuse."""
    held: bool
    """Whether the sandbox stopped it."""
    detail: str
    """If it was stopped, how its run ended; otherwise what it did."""
    wall_s: float
    """How long it took, in seconds."""


def probe(executor: Executor, abuses: Iterable[Abuse] = SELECTION) -> Iterator[Finding]:
    """Run abuses on an executor, one after the other, each together with an honest program.

    Args:
        executor: The executor, with two to four workers; with one worker, an abuse runs alone.
        abuses: The abuses to run; by default the selection.

    Yields:
        The result of each abuse.

    Raises:
        ExecutorError: If the executor says that it isolates nothing: the abuses would then reach the machine.

    Example:
        >>> from code_env import make_executor
        >>> with make_executor("local", workers=2) as executor:
        ...     findings = list(probe(executor, SELECTION[:2]))
        >>> [(finding.kind, finding.held) for finding in findings]
        [('processes', True), ('processes', True)]
    """
    level = executor.describe().level
    if level == "none":
        raise ExecutorError(
            'this executor isolates nothing (level "none"), and these programs are to be run inside a sandbox only; '
            'probe "local" instead'
        )
    with tempfile.TemporaryDirectory(prefix="code_env-canaries-") as directory, Canaries(Path(directory)) as canaries:
        look = settle(executor)
        for abuse in abuses:
            yield _try(executor, abuse, canaries, look)


def settle(executor: Executor) -> str:
    """Let an executor start all its workers, and return what an honest program finds after that, see `LOOK`.

    Raises:
        ExecutorError: If two honest programs do not find the same.
    """
    for imports in ("import time", "import csv, time"):  # Different programs can run in different processes.
        sleep_s = _SETTLE_S
        for _ in range(_MOST_ROUNDS):
            processes = set(descendants(os.getpid()))
            runs = executor.run_many([Program(f"{imports}\ntime.sleep({sleep_s})")] * _WORKERS)
            # If starting takes long, a single worker can have run all programs before another worker was ready.
            if not left_over(processes, 0.0) and sleep_s > _MUCH_LONGER * max(run.start_s for run in runs):
                break
            sleep_s *= 2
    looks = executor.run_many([Program(LOOK)] * 2 * _WORKERS)
    for look in looks:
        if look.status is not Status.OK or look.stdout != looks[0].stdout:
            raise ExecutorError(f"honest programs do not find the same each time: {_difference(looks[0], look)}")
    return looks[0].stdout


def _difference(one: ExecutionResult, other: ExecutionResult) -> str:
    """Describe how two results differ."""
    if one.status is not other.status or one.status is not Status.OK:
        return f"one ended as {one.status}, another as {other.status}: {other.stderr[-300:]}"
    lines = zip(one.stdout.splitlines(), other.stdout.splitlines(), strict=False)
    return next((f"{left[:300]!r} and {right[:300]!r}" for left, right in lines if left != right), "one is longer")


def _try(executor: Executor, abuse: Abuse, canaries: Canaries, look: str) -> Finding:
    started, processes = time.monotonic(), set(descendants(os.getpid()))
    futures = [executor.submit(canaries.program(abuse)), executor.submit(Program(_HONEST))]
    wait(futures, timeout=_PATIENCE_S)
    result, beside = (_result(future) for future in futures)
    found = [] if result is None else canaries.look(result)
    if result is None or beside is None:
        found.append(f"no result after {_PATIENCE_S:.0f} s")
    elif result.status is Status.SANDBOX_ERROR:
        found.append("the sandbox failed")
    if beside is not None and beside.stdout != _HONEST_OUTPUT:
        found.append(f"the program beside it gave {beside.stdout[:100]!r} and {beside.status}")
    if left := left_over(processes):
        found.append(f"processes were left: {sorted(left)}")
    if any(one.stdout != look for one in executor.run_many([Program(LOOK)] * _WORKERS)):
        found.append("the next program found something else")
    detail = "; ".join(found) or _how_it_ended(result)
    return Finding(abuse.name, abuse.kind, not found, detail, round(time.monotonic() - started, 2))


def _result(future: Future[ExecutionResult]) -> ExecutionResult | None:
    if future.done():
        return future.result()
    future.cancel()
    return None


def _how_it_ended(result: ExecutionResult | None) -> str:
    if result is None:
        return ""
    error = f", {result.error.name}" if result.error is not None else ""
    return f"{result.status.value}{error}"
