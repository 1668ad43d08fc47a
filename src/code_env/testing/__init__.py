"""The contract of an executor as runnable checks.

Each check is a function that takes an executor and raises `ConformanceFailure` if the executor breaks the contract. If
an executor declares in `describe()` that it does not support something, the check does not demand it, but the executor
must refuse it with a clear error; the check then returns the reason. The first test of a new executor::

    import pytest
    from code_env.testing import CHECKS, LIFE_CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_conformance(check, executor):
        check(executor)

    @pytest.mark.parametrize("check", LIFE_CHECKS, ids=lambda check: check.__name__)
    def test_life(check):
        check(MyExecutor())

`code-env conformance NAME ...` prints a table of executors and checks, `--check` runs only some.
"""

from . import (  # noqa: F401  # Each module adds its checks.
    description,
    ends,
    languages,
    life,
    limits,
    notebooks,
    peers,
    reading_and_writing,
    sessions,
    surroundings,
    verdicts,
    ways_to_run,
)
from .contract import CHECKS, LIFE_CHECKS, Check, ConformanceFailure
from .running import Finding, check_executor, check_names, examine

__all__ = [
    "CHECKS",
    "LIFE_CHECKS",
    "Check",
    "ConformanceFailure",
    "Finding",
    "check_executor",
    "check_names",
    "examine",
]
