"""Runs all checks on an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from code_env.executors import Executor

from .contract import CHECKS, LIFE_CHECKS, Check, ConformanceFailure


class Finding(NamedTuple):
    """The result of one check."""

    check: str
    """Name of the check."""
    outcome: Literal["holds", "declared", "fails"]
    """`holds`: the executor passes the check; `declared`: it has declared that it does not support this; `fails`: it
    breaks the contract."""
    reason: str = ""
    """The reason, unless the outcome is `holds`."""


def check_executor(make: Callable[[], Executor]) -> None:
    """Run all checks, also after a check has failed.

    Args:
        make: Makes a new executor.

    Raises:
        ConformanceFailure: If a check fails. The message lists all failed checks; `failures` has them by name.

    Example:
        >>> from code_env import make_executor
        >>> check_executor(lambda: make_executor("local"))
    """
    findings = list(examine(make))
    failures = {found.check: found.reason for found in findings if found.outcome == "fails"}
    if failures:
        lines = [f"{name}: {reason}" for name, reason in failures.items()]
        failure = ConformanceFailure("\n".join([f"{len(failures)} of {len(findings)} checks fail:", *lines]))
        failure.failures = failures
        raise failure


def examine(make: Callable[[], Executor]) -> Iterator[Finding]:
    """Run all checks one after the other, and yield the result of each.

    Args:
        make: Makes a new executor.
    """
    with make() as executor:
        for check in CHECKS:
            yield _finding(check, executor)
    for check in LIFE_CHECKS:
        with make() as executor:
            yield _finding(check, executor)


def _finding(check: Check, executor: Executor) -> Finding:
    name = getattr(check, "__name__", str(check))
    try:
        reason = check(executor)
    except ConformanceFailure as failure:
        return Finding(name, "fails", str(failure))
    except Exception as error:  # The executor raises where the contract does not allow it.
        return Finding(name, "fails", f"{type(error).__name__}: {error}")
    return Finding(name, "holds") if reason is None else Finding(name, "declared", reason)
