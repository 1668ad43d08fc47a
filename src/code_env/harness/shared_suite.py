"""Runs a suite beside the program, in the program's process, for tasks marked `judge="shared"`.

Tests that patch a module, or look at the program's objects and files, can only run there. So the program can reach the
tests, and the reported results prove nothing, because they can come from the program. Each record carries a seal, which
reaches this process after the program's top level has run. The seal makes forgery harder, but not impossible. The
verdict says `shared`.
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
    """Run a suite with the program's own functions and report each case when its result is known.

    Args:
        request: `prefix`, `setup`, `code`, `entry_point` and `seal`.
        names: The program's names.
        entry_point: Returns the object that the entry point names; for a method, the method of a new instance.
        send: Called with `{"seal", "case", "ran", "message", "unfinished"}` for each test method that has ended, then
            for all cases, then with `{"seal", "done"}`.
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
