"""Converts test code of other systems to an `assert` test.

Other systems append the tests to the answer and run both as one program. Here the judge runs the tests itself, apart
from the answer. So statements `unittest.main(...)` are removed, and tests that define `check` and never call it are
refused.
"""

from __future__ import annotations

import ast
import warnings

from code_env.errors import TaskError
from code_env.executors.limits import Limits
from code_env.harness.judge.asserting import compile_suite
from code_env.tasks.kinds import AssertTest
from code_env.tasks.task import JudgeMode, Task


def assert_task(code: str, limits: Limits, what: str, judge: JudgeMode = "blind") -> Task:
    """Make a task from test code that calls the answer's functions by their names.

    Args:
        code: The test code; trusted.
        limits: The limits for answer and tests together.
        what: The name of the test code, for messages; also the task's id.
        judge: The judge mode.

    Raises:
        TaskError: If the test code is not Python, or if it would test nothing.

    Example:
        >>> assert_task("assert add(1, 2) == 3", Limits(), "references[0]").tests[0].cases
        1
    """
    try:
        test = AssertTest(_without_main(code))
    except TaskError as error:
        raise TaskError(f"{what}: {error}") from None
    suite = compile_suite(test.code, "<tests>")
    if suite.leaves_check_uncalled:
        raise TaskError(f"{what} defines check and never calls it, so nothing is tested; end it with check(<function>)")
    if suite.tests_nothing:
        raise TaskError(f"{what} asserts nothing and uses nothing of the answer's, so nothing is tested")
    return Task(what, "", (test,), limits=limits, judge=judge)


def _without_main(code: str) -> str:
    """Remove statements `unittest.main(...)` from the code, because the judge runs the test methods itself."""
    if not isinstance(code, str) or "unittest.main" not in code:
        return code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return code  # `AssertTest` reports what is wrong.
    kept = [statement for statement in tree.body if not _is_main(statement)]
    return code if len(kept) == len(tree.body) else ast.unparse(ast.Module(kept, []))


def _is_main(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "unittest.main"
    )
