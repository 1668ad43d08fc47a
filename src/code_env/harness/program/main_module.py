"""Runs a program the way `python main.py` runs it, in a process that runs nothing else.

The same function serves a plain run, a judge's peer and each `stdin` test, on every executor, so a program behaves the
same everywhere. It has a fresh `__main__`, and its traceback on standard error shows only the program's own frames. It
has Python's exit codes, its threads are waited for, and its `atexit` functions run. The interpreter itself is never
finalised: that costs ten times as much as a fork.
"""

from __future__ import annotations

import _thread
import atexit
import builtins
import codecs
import contextlib
import gc
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

# Bound here because the program shares this process and can replace them.
_exit, _compile, _exec, _str, _type = os._exit, compile, exec, str, type
_format_exception = traceback.format_exception
_exit_functions, _run_exit_functions, _threads = atexit._ncallbacks, atexit._run_exitfuncs, _thread._count
_islice, _collect, _get_objects = itertools.islice, gc.collect, gc.get_objects
_WRITERS = frozenset((io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom))


def compile_program(source: bytes, filename: str) -> types.CodeType:
    """Compile a program in UTF-8, so that tracebacks can show its lines.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError, OverflowError: If it does not compile.
    """
    text = source.removeprefix(codecs.BOM_UTF8).decode()
    # Used when the file no longer exists; split into lines only when they are needed.
    linecache.cache[filename] = (lambda: text,)
    if _rules is not None:
        return _rules.compile(text, filename)
    return _compile(text, filename, "exec", dont_inherit=True)


COMPILE_ERRORS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)
"""The exceptions that `compile_program` raises for a program that does not compile."""


class Rules(Protocol):
    """The rules for the programs of a process that may not use all of Python."""

    def compile(self, text: str, filename: str) -> types.CodeType:
        """Compile a program; raises the same exceptions as `compile`."""

    def furnish(self, names: dict[str, Any]) -> None:
        """Add the names that a program has from its start to those of a fresh module."""

    def at_end(self, names: dict[str, Any]) -> dict[str, Any] | None:
        """Return the report on the names of a program that has ended, or None."""

    def hides(self, filename: str) -> bool:
        """Return whether the frames of a file do not belong to the program."""


_rules: Rules | None = None


def keep_to(rules: Rules) -> None:
    """Apply rules to all programs of this process."""
    global _rules
    _rules = rules


def may_draw(source: bytes, *, brings_files: bool) -> bool:
    """Return whether a program might use the random number generators, which have the same state in all forks."""
    return brings_files or b"random" in source or b"statistics" in source


def reseed() -> None:
    """Give the random number generators that are loaded a new state."""
    for name in ("random", "numpy.random"):
        module = sys.modules.get(name)
        if module is not None:
            module.seed()


def new_module(name: str, filename: str) -> types.ModuleType:
    """Create a module for a program, and register it under `name` in `sys.modules`."""
    module = types.ModuleType(name)
    module.__dict__.update(__builtins__=builtins, __file__=filename, __doc__=None)
    sys.modules[name] = module
    if _rules is not None:
        _rules.furnish(module.__dict__)
    return module


def describe_error(error: BaseException) -> dict[str, str]:
    """Return the name, message and traceback of an exception, whatever its own methods do."""
    name = _type.__getattribute__(_type(error), "__name__")
    try:
        message = _str(error)
    # The class is the program's, so `str` can raise anything.
    except BaseException as failure:
        message = f"<its text cannot be read: {_type.__getattribute__(_type(failure), '__name__')}>"
    try:
        text = "".join(_format_exception(_type(error), error, _program_frames(error)))
    except BaseException:
        text = f"{name}: {message}\n"
    return {"name": _clip(name), "message": _clip(message), "traceback": _clip(text)}


def _program_frames(error: BaseException) -> types.TracebackType | None:
    """Return the program's frames of an exception; also remove all other frames from the exceptions that led to it."""
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
"""The most exceptions in a chain of causes from which other frames are removed."""


def _clip(text: str) -> str:
    plain: str = _str.__str__(text)
    if len(plain) <= MAX_TEXT:
        return plain
    half = MAX_TEXT // 2
    return f"{plain[:half]}\n... {len(plain) - 2 * half} characters left out ...\n{plain[-half:]}"


def prepare_main(filename: str, argv: list[str]) -> dict[str, Any]:
    """Create `__main__` and `sys.argv` for this process or its forks, and return the names of the module.

    Args:
        filename: The program's file name.
        argv: The program's arguments, without its own name.
    """
    names = new_module("__main__", filename).__dict__
    names.update(__annotations__={}, __cached__=None)
    sys.argv = [filename, *argv]
    return names


def run_as_main(code: types.CodeType, names: dict[str, Any], report: Callable[[dict[str, Any]], object]) -> NoReturn:
    """Run a compiled program as `__main__`, report an uncaught exception, and exit.

    Args:
        code: The program.
        names: The names from `prepare_main`.
        report: Called with the dict from `describe_error` if the program ends by an exception, and with the report of
            the rules, if there is one.
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
    leave(exit_code, names, in_cycles=_may_end_in_cycles(code))


def _may_end_in_cycles(code: types.CodeType) -> bool:
    """Whether a program uses what acts when it is deleted: a class or a cycle of objects may refer to it."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return not _ACTS_AT_ITS_END.isdisjoint(code.co_names) or any(map(_may_end_in_cycles, inner))


_ACTS_AT_ITS_END = frozenset(("open", "fdopen", "FileIO", "BufferedWriter", "TextIOWrapper", "__del__", "finalize"))


_LONG = 1 << 63


def exit_code_of(error: SystemExit) -> int:
    """Return the exit code for a `SystemExit`; like Python, print a value that is not an exit code."""
    value = error.code
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF if -_LONG <= value < _LONG else 0xFF  # Python exits with -1 if no C long can hold it.
    to_stderr(f"{value}\n")
    return 1


def to_stderr(text: str) -> None:
    """Write to standard error, if there is one."""
    # The program might have closed or replaced it; then the text is lost.
    with contextlib.suppress(BaseException):
        sys.stderr.write(text)


def leave(exit_code: int, names: dict[str, Any], *, in_cycles: bool = False) -> NoReturn:
    """Do, in the same order, all that a program can see of the interpreter's end, then exit at once.

    Args:
        exit_code: The exit code, if nothing fails meanwhile.
        names: The names of the program's module.
        in_cycles: Whether to delete also what only cycles of objects refer to, which takes time.
    """
    try:
        try:
            if _threads():  # Without threads there is nothing to wait for, and the call would cost time.
                _wait_for_threads()
            if _exit_functions():
                _run_exit_functions()
        except BaseException:
            exit_code = exit_code or 1
        # Before the names are removed, because a stream of the program's own uses them. Python exits with 120 if a
        # flush fails.
        stdout, stderr = getattr(sys, "stdout", None), getattr(sys, "stderr", None)
        flushed = flush(stdout) & flush(stderr)
        exit_code = exit_code or (0 if flushed else 120)
        try:
            for name, own in (("stdout", stdout), ("stderr", stderr)):
                original = getattr(sys, f"__{name}__", None)
                if own is not original:
                    setattr(sys, name, original)
            own = original = stdout = stderr = None  # A stream over another one passes its text on when it is deleted.
            _forget_names(names)
            if in_cycles:
                # A collection could close a file before the stream over it has passed its text on.
                for found in _get_objects():
                    if _type(found) in _WRITERS:
                        flush(found)
                found = None
                _collect()
        except BaseException:  # Python ignores exceptions of a `__del__` too.
            pass
    except BaseException:
        exit_code = exit_code or 1
    finally:
        try:
            # Text that was written meanwhile, or to a stream that the program had replaced.
            flush(getattr(sys, "__stdout__", None))
            flush(getattr(sys, "__stderr__", None))
        finally:  # A signal handler can raise anywhere.
            _exit(exit_code)


def _wait_for_threads() -> None:
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()


def flush(stream: Any) -> bool:
    """Flush a stream, which can be the program's own or None; return False if this fails."""
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
    """Delete the objects to which only the program's module refers: a file is flushed, a `__del__` runs."""
    used = []
    # Without the names that existed before the program ran, which come first: reading an object writes to it.
    for name in [*_islice(reversed(names), max(0, len(names) - _OWN_NAMES))][::-1]:
        kind = _type(names[name])
        if kind in _USED:
            used.append(name)  # A `__del__` can use it, so it is removed last.
        elif kind not in _SIMPLE and name not in _KEPT:
            names[name] = None
    for name in used:
        if name not in _KEPT:
            names[name] = None


_OWN_NAMES = len(vars(types.ModuleType("__main__"))) + 4
"""How many names a fresh `__main__` has, see `prepare_main`."""

_KEPT = frozenset(("__builtins__", "__name__", "__file__", "__annotations__", "__doc__"))
_USED = frozenset((types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type))
_SIMPLE = frozenset((int, float, complex, bool, str, bytes, type(None)))
"""Types of values whose deletion has no visible effect."""
