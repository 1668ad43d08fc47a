"""Has an executor run abuses, each beside an honest program, and says of each whether it was held."""

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
"""A few of each kind, for a look at a machine that takes seconds."""

_PATIENCE_S = 60.0
"""How long an abuse and its neighbour may take together, whatever their limits, in seconds."""

_WORKERS, _SETTLE_S = 4, 0.2
"""How many workers an executor is taken to have at the most, and how long a program keeps one busy, in seconds."""

_MOST_ROUNDS, _MUCH_LONGER = 5, 5
"""How often all workers are kept busy until none comes up any more, and how much longer than it takes to start."""

_HONEST = "print(sum(i * i for i in range(20_000)))"
_HONEST_OUTPUT = "2666466670000\n"


@dataclass(frozen=True)
class Finding:
    """What came of one abuse."""

    name: str
    """Of the abuse."""
    kind: str
    """Its class."""
    held: bool
    """Whether it got nowhere."""
    detail: str
    """If it was held, how its run ended; else what it did."""
    wall_s: float
    """How long it took, in seconds."""


def probe(executor: Executor, abuses: Iterable[Abuse] = SELECTION) -> Iterator[Finding]:
    """Run abuses against an executor, one after the other, each beside an honest program.

    Args:
        executor: The executor, with two to four workers; with one, an abuse is alone.
        abuses: What to run; by default the selection.

    Yields:
        What came of each.

    Raises:
        ExecutorError: If the executor says that it isolates nothing: then these programs would be let loose.

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
    """Have an executor start what it starts with its first programs; what an honest program finds then, see `LOOK`.

    Raises:
        ExecutorError: If two of them do not find the same.
    """
    for imports in ("import time", "import csv, time"):  # Different programs may be run by different processes.
        sleep_s = _SETTLE_S
        for _ in range(_MOST_ROUNDS):
            processes = set(descendants(os.getpid()))
            runs = executor.run_many([Program(f"{imports}\ntime.sleep({sleep_s})")] * _WORKERS)
            # Where starting takes long, one worker may have taken all before another was up.
            if not left_over(processes, 0.0) and sleep_s > _MUCH_LONGER * max(run.start_s for run in runs):
                break
            sleep_s *= 2
    looks = executor.run_many([Program(LOOK)] * 2 * _WORKERS)
    for look in looks:
        if look.status is not Status.OK or look.stdout != looks[0].stdout:
            raise ExecutorError(f"honest programs do not find the same each time: {_difference(looks[0], look)}")
    return looks[0].stdout


def _difference(one: ExecutionResult, other: ExecutionResult) -> str:
    """Where two results differ, in words."""
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
