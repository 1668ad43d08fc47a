"""Runs a program and then its cells like the kernel of a notebook, in a process that runs nothing else.

The value of the last expression of a program or a cell is kept as text, and as HTML if it has a method for that; the
figures that it shows are kept as images. Cells run one after the other in the program's namespace. A cell that fails
does not stop the others. The results go to the executor as records, see `records.py`.
"""

from __future__ import annotations

import binascii
import contextlib
import linecache
import os
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

from ..wire.records import MAX_RECORDS_BYTES, Record
from . import figures
from .between_cells import carry_out, is_instruction
from .main_module import COMPILE_ERRORS, describe_error, exit_code_of, flush, leave, to_stderr

_MAX_TEXT_CHARS = 1 << 16
"""How much of a value's text is kept, in characters."""

_MAX_IMAGE_BYTES = 2 << 20
"""The largest image that is kept, in bytes."""

_MAX_OUTPUT_BYTES = 1 << 16
"""How much of the start and of the end of a cell's output its record holds, each in bytes."""

_VARIABLE = "result"
"""The variable that holds a cell's result if the cell gives no other result."""

_exec, _eval, _repr, _compile, _exit = exec, eval, repr, compile, os._exit


class _Code:
    """A program or a cell, compiled so that the value of its last expression is available.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError, OverflowError: If it does not compile.
    """

    def __init__(self, text: str, filename: str) -> None:
        linecache.cache[filename] = (lambda: text,)
        self.sets_variable = False
        self._last: CodeType | None = None
        try:
            self._compile(text, filename)
        except RecursionError:  # Python compiles deeper code from its text than from a tree.
            self._last = None
            self._body = _compile(text, filename, "exec", dont_inherit=True)

    def _compile(self, text: str, filename: str) -> None:
        import ast  # Only where it is needed: each fork of a server copies all that the server has loaded.

        tree = ast.parse(text, filename)
        self.sets_variable = _sets(tree, _VARIABLE)
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
            self._last = _compile(last, filename, "eval", dont_inherit=True)
        self._body = _compile(tree, filename, "exec", dont_inherit=True)

    def run(self, names: dict[str, Any]) -> Any:
        """Run the code; return the value of its last expression, None if it does not end with an expression."""
        _exec(self._body, names)
        return None if self._last is None else _eval(self._last, names)


class Kernel:
    """The names that a program and its cells share, and the results that they have shown.

    Args:
        names: The names from `prepare_main`.
        send: Called with each record.
    """

    def __init__(self, names: dict[str, Any], send: Callable[[Record], object]) -> None:
        self.names, self._send = names, send
        self._shown: list[dict[str, str]] = []
        self._bytes_left = MAX_RECORDS_BYTES
        figures.begin(self._show_image)

    def run(self, code: _Code) -> None:
        """Run a program or a cell, and keep its results."""
        value = code.run(self.names)
        if value is not None:
            self._show({"text/plain": _text_of(value), **_html_of(value)})
        figures.keep_figures(self._show_image)

    def send(self, record: Record) -> None:
        """Send a record with the results that have been shown since the last record."""
        shown, self._shown = self._shown, []
        self._send({**record, "results": shown})

    def forget_results(self) -> None:
        """Drop the results that have been shown since the last record."""
        self._shown, self._bytes_left = [], MAX_RECORDS_BYTES

    def variable(self) -> str | None:
        """Return the value of the result variable as text, None if the variable does not exist."""
        return _text_of(self.names[_VARIABLE]) if _VARIABLE in self.names else None

    def _show_image(self, image: bytes) -> None:
        if len(image) <= _MAX_IMAGE_BYTES:
            self._show({"image/png": binascii.b2a_base64(image, newline=False).decode()})

    def _show(self, forms: dict[str, str]) -> None:
        size = sum(map(len, forms.values()))
        if size <= self._bytes_left:
            self._bytes_left -= size
            self._shown.append(forms)


def run_as_notebook(
    source: bytes,
    filename: str,
    names: dict[str, Any],
    cells: list[str],
    send: Callable[[Record], object],
    *,
    echo: bool = True,
) -> NoReturn:
    """Run a program as `__main__` and cells after it, send records and an uncaught exception, and exit.

    The cells run if the program has reached its end, or has exited with code 0.

    Args:
        source: The program, UTF-8.
        filename: The program's file name.
        names: The names from `prepare_main`.
        cells: The cells.
        send: Called with each record, and with the dict from `describe_error` if the program ends by an exception.
        echo: Whether to write the output of cells to the program's standard output too.
    """
    exit_code = 0
    kernel = Kernel(names, send)
    output = _Output(echo) if cells else None
    try:
        kernel.run(_Code(source.decode("utf-8-sig"), filename))
    except SystemExit as error:
        exit_code = exit_code_of(error)
        figures.keep_figures(kernel._show_image)
    except BaseException as error:
        exit_code = 130 if type(error) is KeyboardInterrupt else 1
        described = describe_error(error.with_traceback(None) if isinstance(error, COMPILE_ERRORS) else error)
        send(described)
        to_stderr(described["traceback"])
    kernel.send({"cell": 0})
    if exit_code == 0 and output is not None:
        for number, cell in enumerate(cells, start=1):
            kernel.send(_run_cell(kernel, number, cell, output))
    leave(exit_code, names, in_cycles=True)


def run_in_session(
    source: bytes, names: dict[str, Any], history: list[str], send: Callable[[Record], object]
) -> NoReturn:
    """Run the cells of a session again, then its next cell; send a record of this cell if it ends, and exit.

    Args:
        source: The next cell, UTF-8.
        names: The names from `prepare_main`.
        history: The cells before it.
        send: Called with the record.
    """
    kernel = Kernel(names, send)
    run_cell_after(kernel, history, source.decode("utf-8-sig"), len(history) + 1, os.getcwd())
    _exit(0)


def run_cell_after(kernel: Kernel, history: list[str], text: str, number: int, start: str) -> None:
    """Run cells whose output nobody wants, then another cell; send a record of this cell.

    Args:
        kernel: What the cells share.
        history: The cells that nobody wants to see, and instructions between them (`between_cells.py`).
        text: The other cell.
        number: The number of that cell, for its file name.
        start: The directory in which the session began.
    """
    first = number - len(history)
    if history:
        own = [os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for fd in (1, 2):
            os.dup2(nowhere, fd)
        for before, cell in enumerate(history, start=first):
            with contextlib.suppress(BaseException):
                if is_instruction(cell):
                    carry_out(cell, start)
                else:
                    kernel.run(_Code(cell, f"<cell {before}>"))
        for stream in (sys.stdout, sys.stderr):
            flush(stream)
        for fd, kept in zip((1, 2), own, strict=True):
            os.dup2(kept, fd)
        for fd in (*own, nowhere):
            os.close(fd)
    kernel.forget_results()
    error, variable = _outcome(kernel, number, text)
    for stream in (sys.stdout, sys.stderr):
        flush(stream)
    kernel.send({"cell": 1, "stdout": "", "error": error, "variable": variable})


def _run_cell(kernel: Kernel, number: int, text: str, output: _Output) -> Record:
    """Run a cell, and return its record without the results that it has shown."""
    output.begin()
    try:
        error, variable = _outcome(kernel, number, text)
    finally:
        written = output.end()
    return {"cell": number, "stdout": written, "error": error, "variable": variable}


def _outcome(kernel: Kernel, number: int, text: str) -> tuple[dict[str, str] | None, str | None]:
    """Run a cell; return the exception that ended it, and the result variable if the cell sets it."""
    try:
        code = _Code(text, f"<cell {number}>")
        kernel.run(code)
        return None, kernel.variable() if code.sets_variable else None
    # Any exception of a cell ends only this cell, also an exit with any code.
    except BaseException as raised:
        return describe_error(raised), None


class _Output:
    """The standard output of one cell after another: a file without a name.

    Args:
        echo: Whether to copy the content to the program's standard output.
    """

    def __init__(self, echo: bool) -> None:
        self._echo = echo
        name = f".output-{os.getpid()}"
        self._fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(name)
        self._own = -1

    def begin(self) -> None:
        """Redirect standard output to the file, at the start of a cell."""
        flush(sys.stdout)
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        self._own = os.dup(1)
        os.dup2(self._fd, 1)

    def end(self) -> str:
        """Restore standard output at the end of a cell, and return what the cell has written."""
        flush(sys.stdout)
        os.dup2(self._own, 1)
        os.close(self._own)
        size = os.fstat(self._fd).st_size
        done = 0 if self._echo else size
        while done < size and (piece := os.pread(self._fd, 1 << 16, done)):
            done += os.write(1, piece)
        head = os.pread(self._fd, _MAX_OUTPUT_BYTES, 0)
        left_out = size - 2 * _MAX_OUTPUT_BYTES
        tail = os.pread(self._fd, _MAX_OUTPUT_BYTES, max(_MAX_OUTPUT_BYTES, size - _MAX_OUTPUT_BYTES))
        gap = b"\n... %d bytes left out ...\n" % left_out if left_out > 0 else b""
        return (head + gap + tail).decode("utf-8", "replace")


def _sets(tree: Any, name: str) -> bool:
    """Return whether code sets a variable at its top level, as far as its text shows."""
    import ast

    if isinstance(tree, ast.Name):
        return tree.id == name and isinstance(tree.ctx, ast.Store)
    # These nodes have variables of their own.
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.comprehension)
    return any(_sets(node, name) for node in ast.iter_child_nodes(tree) if not isinstance(node, inner))


def _text_of(value: Any) -> str:
    """Return a value as text, as a notebook shows it; an exception of its own method counts as the program's."""
    text = str.__str__(_repr(value))
    return text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}..."


def _html_of(value: Any) -> dict[str, str]:
    """Return the HTML that a value's method `_repr_html_` makes, by its MIME type, as a notebook does; else nothing.

    A part of HTML would be broken, so what is too long is left out. The text is there in any case.
    """
    try:
        html = type(value)._repr_html_(value)
    except Exception:  # Most values have no such method, and what fails in it does not make the cell fail.
        return {}
    return {"text/html": str.__str__(html)} if isinstance(html, str) and len(html) <= _MAX_TEXT_CHARS else {}
