"""Runs a program the way `python main.py` runs it, in a process that is all the program's.

The same function serves a plain run, a judge's peer and each `stdin` test, on every executor, so a
program behaves alike wherever it runs: a fresh `__main__`, a traceback on standard error that shows
the program's frames only, exit codes as Python gives them, threads waited for, `atexit` honoured.
The interpreter itself is never finalised: that costs ten times a fork.
"""

from __future__ import annotations

import _thread
import atexit
import builtins
import codecs
import contextlib
import io
import itertools
import linecache
import os
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from ..process.limits import MAX_TEXT

# Bound here because the program shares this process and may replace them.
_exit, _compile, _exec, _str, _type = os._exit, compile, exec, str, type
_format_exception = traceback.format_exception
_exit_functions, _run_exit_functions, _threads = atexit._ncallbacks, atexit._run_exitfuncs, _thread._count
_islice, _TextIOWrapper = itertools.islice, io.TextIOWrapper


def compile_program(source: bytes, filename: str) -> types.CodeType:
    """Compile a program, UTF-8, so that tracebacks can show its lines.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError, OverflowError: If it does not compile.
    """
    text = source.removeprefix(codecs.BOM_UTF8).decode()
    # Where the file is not found any more, this is; made into lines only when somebody asks.
    linecache.cache[filename] = (lambda: text,)
    if _rules is not None:
        return _rules.compile(text, filename)
    return _compile(text, filename, "exec", dont_inherit=True)


COMPILE_ERRORS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)
"""What `compile_program` raises for a program that does not compile."""


class Rules(Protocol):
    """What the programs of a process are held to, where they may not use all of Python."""

    def compile(self, text: str, filename: str) -> types.CodeType:
        """Compile a program; raises as `compile` does."""

    def furnish(self, names: dict[str, Any]) -> None:
        """Give a fresh module's names what a program finds there."""

    def at_end(self, names: dict[str, Any]) -> dict[str, Any] | None:
        """What to report of the names of a program that has ended."""

    def hides(self, filename: str) -> bool:
        """Whether the frames of a file are none of the program's."""


_rules: Rules | None = None


def keep_to(rules: Rules) -> None:
    """Hold all programs of this process to rules."""
    global _rules
    _rules = rules


def may_draw(source: bytes, *, brings_files: bool) -> bool:
    """Whether a program may use the generators of random numbers, which all forks of a process have in one state."""
    return brings_files or b"random" in source or b"statistics" in source


def reseed() -> None:
    """Give the generators of random numbers, where they are loaded, a state of their own."""
    for name in ("random", "numpy.random"):
        module = sys.modules.get(name)
        if module is not None:
            module.seed()


def new_module(name: str, filename: str) -> types.ModuleType:
    """A fresh module for a program, registered under `name` as an import would."""
    module = types.ModuleType(name)
    module.__dict__.update(__builtins__=builtins, __file__=filename, __doc__=None)
    sys.modules[name] = module
    if _rules is not None:
        _rules.furnish(module.__dict__)
    return module


def describe_error(error: BaseException) -> dict[str, str]:
    """Name, message and traceback of an exception, whatever its own methods do."""
    name = _type.__getattribute__(_type(error), "__name__")
    try:
        message = _str(error)
    # The program's class may do anything when asked for its text.
    except BaseException as failure:
        message = f"<its text cannot be had: {_type.__getattribute__(_type(failure), '__name__')}>"
    try:
        text = "".join(_format_exception(_type(error), error, _program_frames(error)))
    except BaseException:
        text = f"{name}: {message}\n"
    return {"name": _clip(name), "message": _clip(message), "traceback": _clip(text)}


def _program_frames(error: BaseException) -> types.TracebackType | None:
    """The frames of an exception that are the program's; those of the ones that led to it lose the others too."""
    chained: BaseException | None = error
    for _ in range(_MOST_CHAINED):
        if chained is None:
            break
        chained.__traceback__ = _without_ours(chained.__traceback__)
        chained = chained.__cause__ or chained.__context__
    return error.__traceback__


def _without_ours(frame: types.TracebackType | None) -> types.TracebackType | None:
    while frame is not None and _is_ours(frame):
        frame = frame.tb_next
    later = frame
    while later is not None and later.tb_next is not None:
        if _is_ours(later.tb_next):
            later.tb_next = later.tb_next.tb_next
        else:
            later = later.tb_next
    return frame


def _is_ours(frame: types.TracebackType) -> bool:
    filename = frame.tb_frame.f_code.co_filename
    return filename.startswith(_HERE) or (_rules is not None and _rules.hides(filename))


_HERE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_MOST_CHAINED = 20
"""How many exceptions that led to one another are looked at."""


def _clip(text: str) -> str:
    plain: str = _str.__str__(text)
    if len(plain) <= MAX_TEXT:
        return plain
    half = MAX_TEXT // 2
    return f"{plain[:half]}\n... {len(plain) - 2 * half} characters left out ...\n{plain[-half:]}"


def prepare_main(filename: str, argv: list[str]) -> dict[str, Any]:
    """Make a fresh `__main__` and `sys.argv`, for this process or for forks of it; the module's names.

    Args:
        filename: The program.
        argv: Its arguments, without its own name.
    """
    names = new_module("__main__", filename).__dict__
    names.update(__annotations__={}, __cached__=None)
    sys.argv = [filename, *argv]
    return names


def run_as_main(code: types.CodeType, names: dict[str, Any], report: Callable[[dict[str, Any]], object]) -> NoReturn:
    """Run a compiled program as `__main__`, report an uncaught exception, and exit.

    Args:
        code: The program.
        names: What `prepare_main` gave.
        report: Called with `describe_error`'s dict if the program ends by an exception.
    """
    exit_code = 0
    try:
        _exec(code, names)
    except SystemExit as error:
        exit_code = exit_code_of(error)
    except BaseException as error:
        exit_code = 130 if _type(error) is KeyboardInterrupt else 1
        described = describe_error(error)
        report(described)
        to_stderr(described["traceback"])
    if _rules is not None and (shown := _rules.at_end(names)) is not None:
        report(shown)
    leave(exit_code, names)


def exit_code_of(error: SystemExit) -> int:
    """The exit code that an exit asks for."""
    value = error.code
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF
    to_stderr(f"{value}\n")
    return 1


def to_stderr(text: str) -> None:
    """Write to standard error, if there is one."""
    # The program may have closed or replaced it; its own loss.
    with contextlib.suppress(BaseException):
        sys.stderr.write(text)


def leave(exit_code: int, names: dict[str, Any]) -> NoReturn:
    """What the interpreter does at its end and a program can see, in its order, then exit at once."""
    try:
        try:
            if _threads():  # Where none was started there is nobody to wait for, and the asking costs.
                _wait_for_threads()
            if _exit_functions():
                _run_exit_functions()
        except BaseException:
            exit_code = exit_code or 1
        # Before its names go: a stream of the program's own uses them. Python exits with 120 where one fails.
        stdout, stderr = getattr(sys, "stdout", None), getattr(sys, "stderr", None)
        flushed = flush(stdout) & flush(stderr)
        exit_code = exit_code or (0 if flushed else 120)
        try:
            for name, own in (("stdout", stdout), ("stderr", stderr)):
                original = getattr(sys, f"__{name}__", None)
                if own is not original:
                    setattr(sys, name, original)
            _forget_names(names)
        except BaseException:  # As in Python, what a `__del__` raises is its own loss.
            pass
    except BaseException:
        exit_code = exit_code or 1
    finally:
        try:
            # What was written meanwhile, or to a stream in whose place the program had put another.
            flush(getattr(sys, "__stdout__", None))
            flush(getattr(sys, "__stderr__", None))
        finally:  # A signal's handler may raise anywhere.
            _exit(exit_code)


def _wait_for_threads() -> None:
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()


def flush(stream: Any) -> bool:
    """Flush a stream, which may be the program's own, or gone; False if that fails."""
    try:
        if stream is None:
            return True
        try:
            if stream.closed:
                return True
        except BaseException:  # It has no such attribute.
            pass
        stream.flush()
    except BaseException:
        return False
    return True


def _forget_names(names: dict[str, Any]) -> None:
    """End the objects that only the program's module keeps: a file is flushed, a `__del__` runs."""
    used = []
    # Without those that were there before it, which come first: to look at one writes to it.
    for name in [*_islice(reversed(names), max(0, len(names) - _OWN_NAMES))][::-1]:
        kind = _type(names[name])
        if kind in _USED:
            used.append(name)  # What a `__del__` uses goes last.
        elif kind not in _SIMPLE and not name.startswith("__"):
            names[name] = None
    for name in used:
        if not name.startswith("__"):
            names[name] = None


_OWN_NAMES = len(vars(types.ModuleType("__main__"))) + 4
"""How many names a fresh `__main__` has, see `prepare_main`."""

_USED = frozenset((types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type))
_SIMPLE = frozenset((int, float, complex, bool, str, bytes, type(None)))
"""Types of values whose end nobody can see."""
