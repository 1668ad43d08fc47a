"""The parts of checks: the lists of all checks, and functions to run programs and compare results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from code_env.errors import UnsupportedProgram
from code_env.executors import ExecutionResult, Executor, Isolation, Program, Status

Check = Callable[[Executor], str | None]
"""A check takes an executor. It raises `ConformanceFailure` if it fails. It returns a reason if the executor has
declared that it does not support this, and otherwise None."""


class ConformanceFailure(AssertionError):
    """An executor breaks the contract; the message says how."""

    failures: Mapping[str, str] = MappingProxyType({})
    """If several checks were run: for each failed check, what it found."""


class Declared(Exception):
    """An executor has declared that it does not support what a check needs, and has refused it clearly."""


class _Refused(Exception):
    """A program was refused by a policy."""

    def __init__(self, result: ExecutionResult) -> None:
        super().__init__()
        self.result = result


CHECKS: list[Check] = []
"""Checks that take an executor and leave it usable."""

LIFE_CHECKS: list[Check] = []
"""Checks that take a fresh executor and close it."""


def check(function: Callable[[Executor], None]) -> Check:
    """Add a check whose programs a policy may refuse."""
    return _added(CHECKS, function, may_refuse=True)


def core_check(function: Callable[[Executor], None]) -> Check:
    """Add a check whose programs every policy must accept."""
    return _added(CHECKS, function, may_refuse=False)


def life_check(function: Callable[[Executor], None]) -> Check:
    """Add a check that closes its executor."""
    return _added(LIFE_CHECKS, function, may_refuse=True)


def _added(to: list[Check], function: Callable[[Executor], None], *, may_refuse: bool) -> Check:
    @functools.wraps(function)
    def checked(executor: Executor) -> str | None:
        try:
            function(executor)
        except Declared as declared:
            return str(declared)
        except _Refused as refused:
            return _refusal(refused.result, executor.describe(), may_refuse)
        return None

    to.append(checked)
    return checked


def _refusal(result: ExecutionResult, isolation: Isolation, may_refuse: bool) -> str:
    """Return why a program was refused, if the policy may refuse it."""
    error = result.error
    expect(bool(isolation.policy), f"a program was refused ({error}), and describe() names no policy")
    expect(may_refuse, f"the policy refuses a program that uses nothing but plain Python: {error}")
    expect(error is not None and bool(error.name and error.message), "a refusal does not say why")
    message = "" if error is None else error.message
    expect("line" in message.lower(), f"a refusal does not name the line: {message!r}")
    return f"{isolation.policy}: {message.splitlines()[0]}"


def expect(condition: bool, message: str) -> None:
    """Fail unless a condition holds."""
    if not condition:
        raise ConformanceFailure(message)


def equal(actual: Any, expected: Any, what: str) -> None:
    """Fail unless two values are equal."""
    expect(actual == expected, f"{what}: expected {expected!r}, got {actual!r}")


def run(executor: Executor, code: str, **fields: Any) -> ExecutionResult:
    """Run a program, and return its result; ends the check if a policy refuses the program."""
    return taken(executor.run(Program(code, **fields)))


def taken(result: ExecutionResult) -> ExecutionResult:
    """Return the result unchanged; ends the check if a policy refused the program."""
    if result.status is Status.REFUSED:
        raise _Refused(result)
    return result


def output(executor: Executor, code: str, expected: str, **fields: Any) -> ExecutionResult:
    """Run a program, and return its result; fail unless it ends with status `ok` and prints `expected`."""
    result = run(executor, code, **fields)
    equal((result.status, result.stdout), (Status.OK, expected), f"status and output (stderr: {result.stderr!r})")
    return result


def need_limit(executor: Executor, name: str) -> None:
    """End the check if the executor does not enforce a limit, which is allowed."""
    if name not in executor.describe().enforces:
        raise Declared(f"does not enforce {name}")


def need_peers(executor: Executor) -> None:
    """End the check if the executor supports no peers, which is allowed; it must then refuse a program with a peer."""
    if executor.describe().peer == "none":
        must_refuse(executor, Program("pass", peer=Program("pass")), "a program with a peer")
        raise Declared("joins no program to a peer")


def need_notebooks(executor: Executor) -> None:
    """End the check if the executor does not run notebooks, which is allowed; it must then refuse a notebook."""
    if not executor.describe().notebooks:
        must_refuse(executor, Program("1", notebook=True), "a notebook")
        raise Declared("runs no notebooks")


def must_refuse(executor: Executor, program: Program, what: str) -> None:
    """Fail unless `submit` refuses a program at once, with a reason."""
    try:
        executor.submit(program)
    except UnsupportedProgram as error:
        expect(bool(str(error)), f"{what} is refused without a reason")
        return
    raise ConformanceFailure(f"{what} was accepted, though describe() says that it cannot be run")
