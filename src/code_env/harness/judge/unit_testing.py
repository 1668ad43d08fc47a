"""Runs the test methods of `unittest.TestCase` classes as cases.

The methods are found in the text, so their number does not depend on a program. A method that is skipped has not
passed. Methods that the tests add to a class while they run are not in the text, so they are not cases. They run too,
and if one fails, the tests have not run to their end.
"""

from __future__ import annotations

import itertools
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .cases import Cases
from .handles import ProgramDied

if TYPE_CHECKING:
    import unittest

    _ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


def run_methods(methods: list[tuple[str, str]], names: dict[str, Any], cases: Cases) -> None:
    """Run test methods, class by class, and record each as a case.

    Args:
        methods: Class and name of each method; their cases are the last of `cases`.
        names: The namespace that holds the classes.
        cases: Records the results.

    Raises:
        ProgramDied: If the program's process ended.
    """
    if not methods:
        return
    import unittest  # Tests of this kind have imported it themselves.

    first = len(cases.records) - len(methods)
    numbered = list(enumerate(methods, start=first))
    for name, group in itertools.groupby(numbered, key=lambda one: one[1][0]):
        if cases.until_failure and any(record.message for record in cases.records):
            return
        tests = [(number, names[name](method)) for number, (_, method) in group]
        # A `TestSuite` also runs `setUpClass` and `tearDownClass`.
        unittest.TestSuite(test for _, test in tests).run(_result({id(t): n for n, t in tests}, cases))


def run_further_methods(methods: list[tuple[str, str]], names: dict[str, Any]) -> None:
    """Run the test methods of the tests' classes that are not among `methods`.

    Raises:
        AssertionError: If one fails.
        ProgramDied: If the program's process ended.
    """
    if "unittest" not in sys.modules:
        return
    import unittest

    known = set(methods)
    kinds = [(name, kind) for name, kind in names.items() if issubclass(type(kind), type)]
    for kind in dict.fromkeys(kind for _, kind in kinds if issubclass(kind, unittest.TestCase)):
        if kind.__module__ != names["__name__"]:
            continue
        known_as = {name for name, one in kinds if one is kind}
        further = [
            name
            for name in unittest.defaultTestLoader.getTestCaseNames(kind)
            if not known & {(known_name, name) for known_name in known_as}
        ]
        result = unittest.TestResult()
        unittest.TestSuite(map(kind, further)).run(result)
        for test, told in [*result.errors, *result.failures]:
            raise AssertionError(f"{test.id().rpartition('.')[2]}: {told.strip().splitlines()[-1]}")
        for test, _ in result.skipped:
            raise AssertionError(f"{test.id().rpartition('.')[2]} was skipped")
        if result.unexpectedSuccesses:
            raise AssertionError("a test was expected to fail")


def _result(numbers: dict[int, int], cases: Cases) -> unittest.TestResult:
    import unittest

    class Result(unittest.TestResult):  # `unittest` calls its methods by these names.
        def _record(self, test: Any, error: _ExcInfo | None, message: str = "") -> None:
            if error is not None and isinstance(error[1], ProgramDied):
                raise error[1]
            if error is not None and error[1] is not None:
                plain = type(error[1]) is AssertionError
                message = str(error[1]) if plain else cases.brief(error[1])
            number = numbers.get(id(test))
            # A failure outside the methods of a class fails all of them.
            for one in numbers.values() if number is None else [number]:
                cases.fail_method(one, message)
            if cases.until_failure:
                self.stop()

        def startTest(self, test: Any) -> None:  # noqa: N802
            cases.begin(numbers[id(test)])

        # `stopTest` is also called for a method that was stopped halfway, so only `addSuccess` counts as a success.
        def addSuccess(self, test: Any) -> None:  # noqa: N802
            cases.succeed(numbers[id(test)])

        def addExpectedFailure(self, test: Any, err: _ExcInfo) -> None:  # noqa: N802
            cases.succeed(numbers[id(test)])

        def addFailure(self, test: Any, err: _ExcInfo) -> None:  # noqa: N802
            self._record(test, err)

        def addError(self, test: Any, err: _ExcInfo) -> None:  # noqa: N802
            self._record(test, err)

        def addSubTest(self, test: Any, subtest: Any, err: _ExcInfo | None) -> None:  # noqa: N802
            if err is not None:
                self._record(test, err)

        def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
            self._record(test, None, f"skipped: {reason}")

        def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
            self._record(test, None, "it was expected to fail")

    return Result()
