"""Programs that are run as a notebook's cells."""

from __future__ import annotations

from code_env.executors import Executor, Status

from .contract import check, core_check, equal, need_notebooks, run


@check
def a_notebook_keeps_its_last_value(executor: Executor) -> None:
    """Only the last expression's, and not where there is none."""
    need_notebooks(executor)
    shown = run(executor, "1\nx = 2\n[x, 'a']", notebook=True)
    equal(shown.results, ({"text/plain": "[2, 'a']"},), "results")
    printed = run(executor, "print(1)", notebook=True)
    equal(printed.results, (), "results of a program whose last value is None")


@core_check
def a_program_that_is_no_notebook_shows_nothing(executor: Executor) -> None:
    """The value of its last expression is lost."""
    equal(run(executor, "1").results, (), "results")


@check
def cells_share_the_programs_names(executor: Executor) -> None:
    """Each gives its last expression, else what it prints, else the variable `result`; a failing one ends alone."""
    cells = ("result = x * 2", "print(x)\nx += 1", "x", "1 / 0", "def broken(:", "raise SystemExit(3)", "result")
    need_notebooks(executor)
    ran = run(executor, "x = 3", notebook=True, cells=cells)
    equal(ran.status, Status.OK, "status")
    equal([cell.text for cell in ran.cells], ["6", "3\n", "4", "", "", "", "6"], "what the cells gave")
    errors = [cell.error.name if cell.error else None for cell in ran.cells]
    equal(errors, [None, None, None, "ZeroDivisionError", "SyntaxError", "SystemExit", None], "errors of the cells")
    equal(ran.stdout, "3\n", "standard output")


@check
def cells_need_a_program_that_has_not_failed(executor: Executor) -> None:
    """None is run after an uncaught exception; all are after an exit with code 0."""
    need_notebooks(executor)
    failed = run(executor, "print(1)\n1 / 0", notebook=True, cells=("2",))
    left = run(executor, "x = 5\nraise SystemExit", notebook=True, cells=("x",))
    equal((failed.status, failed.exit_code, failed.stdout, failed.cells), (Status.ERROR, 1, "1\n", ()), "the result")
    equal([cell.text for cell in left.cells], ["5"], "what the cell gave")
