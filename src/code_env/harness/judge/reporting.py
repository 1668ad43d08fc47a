"""Writes the judge's report on an answer, case by case, as the cases are decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..wire.endings import Problem


class Reporter:
    """Reports cases, and remembers what was reported.

    Args:
        report: Called with each line of the report, as a dictionary.
        until_failure: Whether tests after the first that fails need not run.
        cases_of: Returns the number of cases of a test, given the test's number.
    """

    def __init__(self, report: Callable[[dict[str, Any]], Any], until_failure: bool, cases_of: Callable[[int], int]):
        self._report, self._until_failure, self._cases_of = report, until_failure, cases_of
        self._began, self._failed = False, False
        self._tests: set[int] = set()

    def begin(self) -> None:
        """Report, once, that the tests begin: cases that are not reported from now on have failed."""
        if not self._began:
            self._began = True
            self._report({"began": True})

    @property
    def enough(self) -> bool:
        """Whether no further test needs to be run."""
        return self._failed and self._until_failure

    def uncompiled(self, error: dict[str, str]) -> None:
        """Report that the answer does not compile."""
        self._report({"uncompiled": error})

    def has_reported(self, index: int) -> bool:
        """Whether a case of this test was reported."""
        return index in self._tests

    def case(self, index: int, status: str, message: str, **fields: Any) -> None:
        """Report one case of a test, by default the first."""
        self._failed = self._failed or not fields.get("passed")
        self._tests.add(index)
        self._report({"test": index, "case": 0, "passed": False, "status": status, "message": message, **fields})

    def untested(self, index: int, problem: Problem, cases: int = 1) -> None:
        """Report the cases of a test that could not be run on the answer."""
        for case in range(cases):
            self.case(index, problem.status, problem.message, case=case, tested=False, error=problem.error)

    def skip(self, index: int) -> None:
        """Report that a test is not run, because a test before it failed."""
        problem = Problem("ok", "not run: a test before it failed")
        self.untested(index, problem, cases=self._cases_of(index))
