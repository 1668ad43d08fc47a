"""Runs the code of one `assert` test in the peer, with handles where the program would be."""

from __future__ import annotations

import builtins
import contextlib
import sys
import types
from typing import Any

from .asserting import RECORDER, Cases, brief_error, compile_suite
from .handles import CallableHandle, Origin, ProgramDied
from .remote import GRACE_S, RemoteModule
from .time_limit import time_limit


class RunnableSuite:
    """One `assert` test: its code, ready to run, and the records of its cases."""

    def __init__(self, prefix: str, setup: str, code: str, entry_point: str | None) -> None:
        self._suite = compile_suite(code, "<tests>")
        self._module: RemoteModule | None = None
        self._cases = Cases(self._suite.sources, self._around)
        self._entry_point = entry_point
        self._uses_random = "random" in setup or "random" in code
        # A module like any other: dataclasses and annotations look their own up.
        module = sys.modules["tests"] = types.ModuleType("tests")
        self._names: dict[str, Any] = module.__dict__
        self._names[RECORDER] = self._cases
        # Helpers in front of every answer are the task's: the answer may have put others in their place.
        with contextlib.suppress(SyntaxError):  # A prefix need not stand by itself.
            exec(compile(prefix, "<prefix>", "exec", dont_inherit=True), self._names)
        exec(compile(setup, "<setup>", "exec", dont_inherit=True), self._names)
        self.records = self._cases.records
        self.finish = self._cases.finish
        self.uncaught: dict[str, str] | None = None

    def _around(self, begins: bool) -> None:
        if self._module is not None:
            self._module.around_case(begins)

    def run(self, module: RemoteModule) -> None:
        """Run the test code against the program.

        Raises:
            ProgramDied: If the program's process ended or stopped answering.
        """
        self._module = module
        if self._uses_random:
            import random

            random.seed(0)  # Tests that draw their inputs draw the same ones each time.
        names = self._names
        for name in self._program_names(module):
            names[name] = CallableHandle(module, name, f"function {name!r}", Origin.of_name(name))
        if self._entry_point is not None:
            names.setdefault("candidate", names[self._entry_point])
        # The tests wait no longer than the program may: what they do with its answers can take for ever.
        try:
            with time_limit(module.wall_s + GRACE_S):
                exec(self._suite.code, names)
                if self._suite.leaves_check_uncalled and self._entry_point is not None:
                    names["check"](names[self._entry_point])
        except ProgramDied:
            raise
        # The tests' own exception, provoked by what the program gave: it ends them.
        except BaseException as error:
            if module.last_raised is not None and module.last_raised[0] is error:
                self.uncaught = module.last_raised[1]
            self.finish(brief_error(error))
        else:
            self.finish(None)

    def _program_names(self, module: RemoteModule) -> list[str]:
        """The entry point, and what else the tests take from the program: names nobody else has."""
        wanted = self._suite.free_names - set(self._names) - set(dir(builtins)) - {"candidate"}
        found = module.names(sorted(wanted)) if wanted else {}
        names = [name for name, can_be_called in found.items() if can_be_called and name in wanted]
        return names if self._entry_point is None else [self._entry_point, *names]
