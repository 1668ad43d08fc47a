"""Runs a suite beside the program, in its process: what a task marked `judge="shared"` asks for.

Tests that patch a module, or look at the program's objects and files, can only run there. So the program can reach
them, and what is reported proves nothing: it may come from the program. Each record carries a seal, which reaches this
process after the program's top level has run; that is a price, not a barrier. The verdict says `shared`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .judge.suite import CompiledSuite, SuiteRun


def run_beside(
    request: dict[str, Any],
    names: dict[str, Any],
    entry_point: Callable[[], Any],
    send: Callable[[dict[str, Any]], None],
) -> None:
    """Run a suite with the program's own functions and report each case once it is known how it went.

    Args:
        request: `prefix`, `setup`, `code`, `entry_point` and `seal`.
        names: The program's names.
        entry_point: Gives what the entry point stands for; for a method, that of a fresh instance.
        send: Takes `{"seal", "case", "ran", "message", "unfinished"}` for each test method that has ended, then for
            all cases, then `{"seal", "done"}`.
    """
    name, seal = request["entry_point"], request["seal"]
    compiled = CompiledSuite(request["prefix"], request["setup"], request["code"], name, foresees=False)
    run = SuiteRun(compiled)

    def tell(case: int) -> None:
        send({"seal": seal, "case": case, **run.records[case].outcome})

    run.cases.on_method_end = tell
    run.names.update({wanted: names[wanted] for wanted in run.names_wanted() if wanted in names})
    if name is not None:
        method = "." in name
        run.names[name] = (lambda *args, **kwargs: entry_point()(*args, **kwargs)) if method else entry_point()
    run.run_here()
    for case in range(len(run.records)):
        tell(case)
    send({"seal": seal, "done": True})
