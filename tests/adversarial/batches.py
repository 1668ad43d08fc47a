"""Abuses in batches: several attack their jails at once, beside honest programs, and none of them gets anywhere."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from code_env import Executor, Program, Status
from code_env.abuses import LOOK, Canaries, left_over
from code_env.harness.process.watching import descendants
from support import HONEST, PATIENCE_S

TOGETHER = 8
"""How many abuses run at once."""

Abuses = Mapping[str, Callable[[Canaries], Program]]
"""Abuses by name; each is made a program with the canaries that it is to look for."""


def breaches(jail: Executor, abuses: Abuses, directory: Path, alone: list, fresh: str) -> dict[str, list[str]]:
    """What each abuse did that it must not; empty if all of them were held.

    Where a batch did something, each of its abuses is tried once more by itself, to learn which one it was.

    Args:
        jail: The executor.
        abuses: What to run.
        directory: An empty directory for canaries.
        alone: What `HONEST` gives while nothing else runs.
        fresh: What `LOOK` finds where nothing was done.
    """
    found: dict[str, list[str]] = {}
    names = list(abuses)
    for start in range(0, len(names), TOGETHER):
        batch = names[start : start + TOGETHER]
        if together := _try(jail, {name: abuses[name] for name in batch}, directory / str(start), alone, fresh):
            found[f"together: {', '.join(batch)}"] = together
            for name in batch:
                if by_itself := _try(
                    jail, {name: abuses[name]}, directory / f"{start}-{batch.index(name)}", alone, fresh
                ):
                    found[name] = by_itself
    return found


def _try(jail: Executor, abuses: Abuses, directory: Path, alone: list, fresh: str) -> list[str]:
    processes = set(descendants(os.getpid()))
    directory.mkdir()
    with Canaries(directory) as canaries:
        processes.add(canaries.pid)
        runs = {name: jail.submit(make(canaries)) for name, make in abuses.items()}
        beside = [jail.submit(program) for program in HONEST]
        results = {name: run.result() for name, run in runs.items()}
        found = [f"{name}: {what}" for name, result in results.items() for what in canaries.look(result)]
        found += [f"{name}: {result}" for name, result in results.items() if result.status is Status.SANDBOX_ERROR]
        if [run.result() for run in beside] != alone:
            found.append("honest programs beside it gave something else")
        if left := left_over(processes, PATIENCE_S):
            found.append(f"processes were left: {sorted(left)}")
    # On every worker, as far as one can tell.
    if {look.stdout for look in jail.run_many([Program(LOOK)] * 4)} != {fresh}:
        found.append("the next programs found something else")
    return found
