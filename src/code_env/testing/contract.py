"""What checks are made of: the lists that they are in, and how they ask and compare."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from code_env.errors import UnsupportedProgram
from code_env.executors import ExecutionResult, Executor, Isolation, Program, Status

Check = Callable[[Executor], str | None]
"""A check: takes an executor; raises `ConformanceFailure` if it fails, and gives the reason back where the executor has
declared that it does not do this."""


class ConformanceFailure(AssertionError):
    """An executor breaks the contract; the text says how."""

    failures: Mapping[str, str] = MappingProxyType({})
    """For each check that failed what it found, where several were run."""


class Declared(Exception):
    """An executor does not do what a check asks for, has declared so, and has said so clearly."""


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
    """Add a check, which a policy may keep an executor from."""
    return _added(CHECKS, function, may_refuse=True)


def core_check(function: Callable[[Executor], None]) -> Check:
    """Add a check whose programs every policy has to let through."""
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
    """Why a program was refused, if that is as it should be."""
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
    """The result of a program; ends the check if a policy refuses it."""
    return taken(executor.run(Program(code, **fields)))


def taken(result: ExecutionResult) -> ExecutionResult:
    """A result, if the program was not refused by a policy."""
    if result.status is Status.REFUSED:
        raise _Refused(result)
    return result


def output(executor: Executor, code: str, expected: str, **fields: Any) -> ExecutionResult:
    """The result of a program that shall end well and print this."""
    result = run(executor, code, **fields)
    equal((result.status, result.stdout), (Status.OK, expected), f"status and output (stderr: {result.stderr!r})")
    return result


def need_limit(executor: Executor, name: str) -> None:
    """End the check if an executor does not enforce a limit, as it may."""
    if name not in executor.describe().enforces:
        raise Declared(f"does not enforce {name}")


def need_peers(executor: Executor) -> None:
    """End the check if an executor joins no program to a peer, as it may; it must refuse one then."""
    if executor.describe().peer == "none":
        must_refuse(executor, Program("pass", peer=Program("pass")), "a program with a peer")
        raise Declared("joins no program to a peer")


def need_notebooks(executor: Executor) -> None:
    """End the check if an executor runs no notebooks, as it may; it must refuse one then."""
    if not executor.describe().notebooks:
        must_refuse(executor, Program("1", notebook=True), "a notebook")
        raise Declared("runs no notebooks")


def must_refuse(executor: Executor, program: Program, what: str) -> None:
    """Fail unless a program is refused at once, with a reason."""
    try:
        executor.submit(program)
    except UnsupportedProgram as error:
        expect(bool(str(error)), f"{what} is refused without a reason")
        return
    raise ConformanceFailure(f"{what} was accepted, though describe() says that it cannot be run")
