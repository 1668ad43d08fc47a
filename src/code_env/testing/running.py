"""Runs all checks on an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from code_env.executors import Executor

from .contract import CHECKS, LIFE_CHECKS, Check, ConformanceFailure


class Finding(NamedTuple):
    """What came of one check."""

    check: str
    """Its name."""
    outcome: Literal["holds", "declared", "fails"]
    """Whether the contract holds; is not asked for, because the executor has declared what it does not do; or fails."""
    reason: str = ""
    """Why, unless it holds."""


def check_executor(make: Callable[[], Executor]) -> None:
    """Run every check, to the last, whatever fails.

    Args:
        make: Builds a fresh executor.

    Raises:
        ConformanceFailure: If one fails. The text lists those that do; `failures` has them by the check's name.

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
    """Run every check and say what came of it, one after the other.

    Args:
        make: Builds a fresh executor.
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
    except Exception as error:  # An executor that raises where it must not.
        return Finding(name, "fails", f"{type(error).__name__}: {error}")
    return Finding(name, "holds") if reason is None else Finding(name, "declared", reason)
