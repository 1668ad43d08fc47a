"""Checks of programs that are run as the cells of a notebook."""

from __future__ import annotations

from code_env.executors import Executor, Status

from .contract import check, core_check, equal, need_notebooks, run


@check
def a_notebook_keeps_its_last_value(executor: Executor) -> None:
    """The result is the value of the last expression; without a last expression there is no result."""
    need_notebooks(executor)
    shown = run(executor, "1\nx = 2\n[x, 'a']", notebook=True)
    equal(shown.results, ({"text/plain": "[2, 'a']"},), "results")
    printed = run(executor, "print(1)", notebook=True)
    equal(printed.results, (), "results of a program whose last value is None")


@core_check
def a_program_that_is_no_notebook_shows_nothing(executor: Executor) -> None:
    """Without `notebook=True`, the value of the last expression is not in the result."""
    equal(run(executor, "1").results, (), "results")


@check
def cells_share_the_programs_names(executor: Executor) -> None:
    """A cell gives its last expression, otherwise what it prints, otherwise the variable `result`.

    If a cell fails, the next cells still run.
    """
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
    """After an uncaught exception of the program no cell is run; after an exit with code 0 all cells are run."""
    need_notebooks(executor)
    failed = run(executor, "print(1)\n1 / 0", notebook=True, cells=("2",))
    left = run(executor, "x = 5\nraise SystemExit", notebook=True, cells=("x",))
    equal((failed.status, failed.exit_code, failed.stdout, failed.cells), (Status.ERROR, 1, "1\n", ()), "the result")
    equal([cell.text for cell in left.cells], ["5"], "what the cell gave")
