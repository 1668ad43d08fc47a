"""Test code of other systems as an `assert` test.

There the tests are put behind the answer and both run as one program, so what they leave to that program is made up for
here: a bare call of `unittest.main()`, and a `check` that nobody calls.
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
    """The task of passing test code that calls the answer's functions by their names.

    Args:
        code: The test code; trusted.
        limits: What the answer and the tests may use together.
        what: What the code is, for messages.
        judge: How it is judged.

    Raises:
        TaskError: If it is not Python, or nothing would be tested.

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
    """The code without statements `unittest.main(...)`: the judge runs the test methods itself."""
    if not isinstance(code, str) or "unittest.main" not in code:
        return code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return code  # Whoever makes a test of it says what is wrong.
    kept = [statement for statement in tree.body if not _is_main(statement)]
    return code if len(kept) == len(tree.body) else ast.unparse(ast.Module(kept, []))


def _is_main(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "unittest.main"
    )
