"""Runs the code of one `assert` test, with handles in place of the program's functions and classes."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import sys
import types
from collections.abc import Mapping
from typing import Any

from ..wire.endings import ENDED, Problem
from ..wire.plain import Decoder
from .asserting import CALL, RECORDER, compile_helpers, compile_suite
from .cases import Cases
from .exceptions import MAY_BE_EXPECTED
from .function_testing import run_functions
from .handles import Handle, ProgramDied, Refusals, is_subclass, named_handle
from .held_changes import Moment
from .hints import hint_of
from .origin import Origin
from .remote import RemoteModule
from .time_limit import time_limit
from .unit_testing import run_further_methods, run_methods

MODULES = {name: name for name in ("cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools")}
MODULES |= {name: name for name in ("heapq", "inspect", "itertools", "json", "math", "numpy", "operator", "os")}
MODULES |= {name: name for name in ("pandas", "random", "re", "statistics", "string", "sys", "time", "typing")}
MODULES |= {"np": "numpy", "pd": "pandas"}
"""Modules whose attributes tests may use without an import, by the names under which tests use them. If a benchmark
puts answer and tests into one file, its tests can depend by mistake on an import of the reference."""


_NOTHING_ASKED = "they have asked the answer for nothing, so they say nothing about it"

_SAID_NOTHING: Mapping[str, bool] = types.MappingProxyType({})


class CompiledSuite:
    """One `assert` test: its code, compiled.

    Args:
        prefix: Helpers that are put before every answer, if they are not the same as `setup`.
        setup: Trusted code that runs before the tests.
        code: The test code.
        entry_point: The function or class that it tests.
        is_class: For each name that the task calls a function or a class: whether it is a class.
        foresees: Whether calls that can be foreseen are sent together.
    """

    def __init__(
        self,
        prefix: str,
        setup: str,
        code: str,
        entry_point: str | None,
        is_class: Mapping[str, bool] = _SAID_NOTHING,
        *,
        foresees: bool,
    ) -> None:
        self.suite = compile_suite(code, "<tests>", entry_point if foresees else None)
        self.entry_point = entry_point
        self._is_class = is_class
        self.unbound = self.suite.free_names - set(dir(builtins)) - {"candidate", entry_point}
        self.modules = self.unbound & MODULES.keys() & self.suite.owners
        self.before: list[types.CodeType] = []
        self.leaves_nothing = self.suite.leaves_nothing
        """Whether it may be run again in the same process, as far as the text shows."""
        # The prefix runs here again, so that tests use the task's helpers: the answer might have replaced them.
        with contextlib.suppress(SyntaxError):  # A prefix is not always complete code.
            self._put_before(prefix, "<prefix>")
        self._put_before(setup, "<setup>")
        texts = (prefix, setup, code)
        self.expected = self._expected()
        """The names that the tests use, without those of exceptions that must not end the tests or a loop of them."""
        self.uses_random = any("random" in text for text in texts)
        self.uses_numpy = "np" in self.modules or any("numpy" in text for text in texts)

    def origin_of(self, name: str) -> Origin:
        """Return the origin of the object that a name of the program refers to; the program cannot influence it."""
        is_class = self._is_class.get(name)
        if is_class is None:
            # By Python's convention, except where the result of a call is used as data: `Title("a b").startswith("A")`.
            is_class = name.lstrip("_")[:1].isupper() and name not in self.suite.used_as_data
        return Origin.CLASS if is_class else Origin.FUNCTION

    def _put_before(self, code: str, filename: str) -> None:
        if code:
            compiled, harmless = compile_helpers(code, filename)
            self.before.append(compiled)
            self.leaves_nothing = self.leaves_nothing and harmless

    def _expected(self) -> frozenset[str]:
        names = frozenset[str]().union(*(_names_in(code) for code in (self.suite.code, *self.before)))
        named = MAY_BE_EXPECTED & self.suite.free_names
        # A `StopIteration` that the program raises must not end a loop: `map` and others call functions in loops in C.
        return (names - MAY_BE_EXPECTED) | (named if _LOOPS.isdisjoint(names) else named & {"SystemExit"})


_LOOPS = frozenset(
    ("map", "filter", "iter", "itertools", "__next__", "__anext__", "__getitem__", "builtins", "getattr")
)
"""Names whose use can involve a loop that an exception of a function ends unnoticed."""


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that code uses or defines, also in the functions and classes within it."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return {*code.co_names, *code.co_varnames, *(one.co_name for one in inner)}.union(*map(_names_in, inner))


class SuiteRun:
    """One run of a suite. The code before the tests runs when this object is made.

    Args:
        compiled: The suite.
        until_failure: Whether the first case that fails ends the run.
    """

    def __init__(self, compiled: CompiledSuite, *, until_failure: bool = False) -> None:
        self._compiled, self._suite = compiled, compiled.suite
        self._module: RemoteModule | None = None
        self.cases = Cases(self._suite.sources, self._around, self._original, until_failure=until_failure)
        # The tests are in `sys.modules`, because dataclasses and annotations look up their own module there.
        module = sys.modules["tests"] = types.ModuleType("tests")
        self.names: dict[str, Any] = module.__dict__
        self.names[RECORDER], self.names[CALL] = self.cases, self._call
        self.names["__file__"] = "tests.py"
        self.names["id"] = lambda value: id(self._original(value))  # As where the tests write `is`.
        self.names["issubclass"] = is_subclass
        for code in compiled.before:
            exec(code, self.names)
        for name in compiled.modules - set(self.names):
            with contextlib.suppress(ImportError):  # Then the tests report that the name is missing.
                self.names[name] = importlib.import_module(MODULES[name])
        self.records = self.cases.records
        self.finish = self.cases.finish
        self.uncaught: dict[str, str] | None = None

    def _around(self, moment: Moment) -> None:
        if self._module is not None:
            self._module.around_statement(moment)

    def _original(self, value: Any) -> Any:
        return value if self._module is None else self._module.original(value)

    def _call(self, index: int, function: Any) -> Any:
        """Make a foreseen call."""
        foreseen = self._suite.foreseen
        if isinstance(function, Handle) and self._module is not None:
            return self._module.call_ahead(function, index, foreseen.together_with(index))
        args, kwargs = foreseen.inputs[index]
        decode = Decoder().decode
        return function(*map(decode, args), **{name: decode(form) for name, form in kwargs.items()})

    def run(self, module: RemoteModule) -> None:
        """Run the tests against the program.

        Raises:
            ProgramDied: If the program's process ended or stopped answering.
        """
        self._module = module
        module.exceptions.expected = self._compiled.expected
        module.checks_identity = self._suite.checks_identity
        self.cases.program_is_dead = lambda: module.is_dead
        self.cases.hint_of = hint_of
        Refusals.tell = self.cases.refuse
        names = set(self.names_wanted()) & module.callables
        for name in names if self._compiled.entry_point is None else [self._compiled.entry_point, *names]:
            methods, origin = module.classes.get(name), self._compiled.origin_of(name)
            handle = named_handle(module, name, origin, methods, forwards=module.forwards)
            self.names[name] = module.exceptions.named(name, handle)
        # The tests have a time limit too, because their work on the program's values can take for ever.
        with time_limit(module.wall_s):
            error = self.run_here()
            if error is not None:
                module.settle()
        if module.is_dead:
            raise ProgramDied(ENDED)  # The tests might have caught it.
        if not self._suite.sources and not module.was_asked:
            self.records[0].fail(_NOTHING_ASKED)
        if module.last_raised is not None and module.last_raised[0] is error:
            self.uncaught = module.last_raised[1]

    def run_here(self) -> BaseException | None:
        """Run the tests with the current names; return the exception that ended them early, or None.

        Raises:
            ProgramDied: If the program's process ended or stopped answering.
        """
        names, entry_point = self.names, self._compiled.entry_point
        if self._compiled.uses_random:
            _seed_generators(self._compiled.uses_numpy)
        if entry_point is not None:
            names.setdefault("candidate", names[entry_point])
        try:
            exec(self._suite.code, names)
            if self._suite.leaves_check_uncalled and entry_point is not None:
                names["check"](names[entry_point])
            fault = run_functions(self._suite.tests, names, self.cases)
            run_methods(self._suite.tests.methods, names, self.cases)
            if fault is not None:
                raise fault
            run_further_methods(self._suite.tests.methods, names)
        except ProgramDied:
            raise
        # An exception in the tests, because of a value of the program, ends the tests.
        except BaseException as error:
            if self._module is not None and self._module.is_dead:
                raise ProgramDied(ENDED) from error
            self.finish(self.cases.brief(error))
            return error
        self.finish(None)
        if self._suite.tests_nothing:
            self.records[0].fail(_NOTHING_ASKED)
        return None

    def begin(self, module: RemoteModule, *, calls_follow: bool = False) -> Problem | None:
        """Have the program begin; return why it cannot be tested, or None. For `calls_follow` see `RemoteModule`."""
        foreseen = self._suite.foreseen
        inputs = foreseen.together_with(0) if foreseen.begins_at_once else None
        is_all = foreseen.is_all and inputs is not None and len(inputs) == len(foreseen.inputs)
        how = {"last": is_all and not calls_follow, "calls_follow": calls_follow}
        return module.begin(self._compiled.entry_point, self.names_wanted(), inputs, **how)

    def names_wanted(self) -> list[str]:
        """Return the names that the tests take from the program: those that are defined nowhere else."""
        return sorted(self._compiled.unbound - set(self.names))


def _seed_generators(with_numpy: bool) -> None:
    """Seed the random generators, so that tests draw the same random inputs each time."""
    import random

    random.seed(0)
    if with_numpy:
        with contextlib.suppress(ImportError):  # The tests will report that it is missing.
            import numpy

            numpy.random.seed(0)
