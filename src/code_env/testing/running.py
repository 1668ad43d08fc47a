"""Runs all checks on an executor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
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


def check_names() -> list[str]:
    """The names of all checks, in the order in which they run."""
    return [_name_of(check) for check in (*CHECKS, *LIFE_CHECKS)]


def examine(make: Callable[[], Executor], names: Collection[str] | None = None) -> Iterator[Finding]:
    """Run checks one after the other, and yield the result of each.

    Args:
        make: Makes a new executor.
        names: The names of the checks that run; None for all.
    """
    core, life = ([one for one in some if names is None or _name_of(one) in names] for some in (CHECKS, LIFE_CHECKS))
    with make() as executor:
        for check in core:
            yield _finding(check, executor)
    for check in life:
        with make() as executor:
            yield _finding(check, executor)


def _name_of(check: Check) -> str:
    return getattr(check, "__name__", str(check))


def _finding(check: Check, executor: Executor) -> Finding:
    name = _name_of(check)
    try:
        reason = check(executor)
    except ConformanceFailure as failure:
        return Finding(name, "fails", str(failure))
    except Exception as error:  # The executor raises where the contract does not allow it.
        return Finding(name, "fails", f"{type(error).__name__}: {error}")
    return Finding(name, "holds") if reason is None else Finding(name, "declared", reason)
