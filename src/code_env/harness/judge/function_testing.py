"""Runs test functions and the test methods of plain classes, as pytest does.

If a function has `assert` statements that count, these are the cases; otherwise the function itself is one case. An
exception other than a failed `assert` ends the function, and the next function runs.

Fixtures work if the text defines them, and are made again for each test. `pytest.mark.parametrize` works: the function
is called with each row. A parameter that is not a fixture gets the value of the global of that name, for example
`candidate`. All this runs in the judge's process, on trusted test code.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from .cases import Cases
from .handles import Handle, ProgramDied
from .runner_tests import RunnerTests


def run_functions(tests: RunnerTests, names: dict[str, Any], cases: Cases) -> BaseException | None:
    """Run test functions, and record each that is a case.

    Args:
        tests: The tests.
        names: The namespace that holds the functions and the classes.
        cases: Records the results.

    Returns:
        The first exception that ended a function whose `assert` statements are the cases, or None.

    Raises:
        ProgramDied: If the program's process ended.
    """
    first = len(cases.records) - len(tests.cases)
    numbers = {one: first + place for place, one in enumerate(tests.silent)}
    fault: BaseException | None = None
    for one in tests.functions:
        if cases.until_failure and (fault or any(record.message for record in cases.records)):
            break
        number = numbers.get(one)
        if number is not None:
            cases.begin(number)
        try:
            _run(*one, names)
        except ProgramDied:
            raise
        except BaseException as error:
            if number is None:
                fault = fault or error
            else:
                cases.fail_method(number, str(error) if type(error) is AssertionError else cases.brief(error))
        else:
            if number is not None:
                cases.succeed(number)
    return fault


def _run(kind: str, name: str, names: dict[str, Any]) -> None:
    holder = names[kind] if kind else None
    function = names[name] if holder is None else getattr(holder, name)
    for row in _rows(function, holder):
        with ExitStack() as stack:
            bound = function
            if holder is not None:
                instance = holder()
                bound = getattr(instance, name)
                for before, after in (("setup_method", "teardown_method"), ("setUp", "tearDown")):
                    _call_if_there(instance, before)
                    stack.callback(_call_if_there, instance, after)
            _call(bound, _arguments(bound, row, names, stack))


def _call_if_there(instance: Any, name: str) -> None:
    method = getattr(instance, name, None)
    if method is not None:
        wants = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
        method(*[None] * len(wants))


def _call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    result = function(**arguments)
    if inspect.iscoroutine(result):
        import asyncio  # It takes 40 ms, and few tests need it.

        asyncio.run(result)


def _rows(function: Any, holder: Any) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each call that `parametrize` marks ask for; without a mark, `{}` for the one call."""
    marks = [mark for one in (function, holder) for mark in getattr(one, "pytestmark", ())]
    wanted = [mark.args for mark in marks if mark.name == "parametrize"]
    for chosen in itertools.product(*(rows for _, rows in wanted)):
        arguments: dict[str, Any] = {}
        for (keys, _), row in zip(wanted, chosen, strict=True):
            names = [key.strip() for key in keys.split(",") if key.strip()] if isinstance(keys, str) else list(keys)
            is_from_param = hasattr(row, "marks")
            values = row.values if is_from_param else [row] if len(names) == 1 else row
            arguments |= dict(zip(names, values, strict=True))
        yield arguments


def _arguments(
    function: Callable[..., Any], given: Mapping[str, Any], names: Mapping[str, Any], stack: ExitStack
) -> dict[str, Any]:
    """Return the arguments of a call: those that are given, and fixtures and values of the tests by their names."""
    arguments = dict(given)
    for one in inspect.signature(function).parameters.values():
        if one.name not in given and one.name in names and one.default is one.empty:
            value = names[one.name]
            made = _behind_fixture(value)
            arguments[one.name] = value if made is None else _made(made, names, stack)
    return arguments


def _behind_fixture(value: Any) -> Callable[..., Any] | None:
    """Return the function that `pytest.fixture` has wrapped; None for any other value."""
    if isinstance(value, Handle):
        return None
    wrapped = getattr(value, "__pytest_wrapped__", None)  # Before pytest 8.4.
    return getattr(value, "_fixture_function", None) if wrapped is None else wrapped.obj


def _made(fixture: Callable[..., Any], names: Mapping[str, Any], stack: ExitStack) -> Any:
    """Return what a fixture gives to a test; what follows its `yield` runs after the test."""
    arguments = _arguments(fixture, {}, names, stack)
    if inspect.isgeneratorfunction(fixture):
        return stack.enter_context(contextmanager(fixture)(**arguments))
    return fixture(**arguments)
