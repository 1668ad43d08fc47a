"""Runs a program with `notebook=True`: its code and its cells in the Jupyter kernel of a new sandbox.

The SDK says little about how a cell ended: a stream that was cut off looks like a stream that has ended, and a dead
connection looks like an endless loop. So the kernel first runs code of this package (`notebook_kernel.py`), and a cell
counts only if that code shows its result after the cell. This module enforces the time limit, not the SDK, and after a
timeout the sandbox is not used again. CPU time and memory of a kernel are not limited, except by the template.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from code_env.executors.capture import HeadAndTail
from code_env.executors.machines.faults import MachineFault, SupervisorDied, described
from code_env.executors.machines.loop import LET_GO_S, within
from code_env.executors.program import Program
from code_env.executors.result import CellResult, ErrorInfo, ExecutionResult, Status
from code_env.harness.process.limits import MAX_STREAM_BYTES, MAX_TEXT
from code_env.harness.wire.records import MAX_RECORDS_BYTES, MOST_RESULTS, characters

from .notebook_kernel import PROGRESS, beginning

_INFRA = frozenset(("UnexpectedEndOfExecution", "WebSocketError", "ExecutionAborted"))
"""Errors of the sandbox that E2B's server reports as if they were exceptions of the program."""

_KERNEL_DIED = "ContextRestarting"

_GRACE_S = 5.0
"""How long to wait after the time limit, in seconds: for a cell that was sent, but has not begun; and for the answer of
a cell that has ended."""

_LOOK_S = 0.25
"""The interval between two looks at the kernel's progress, in seconds."""

_MAX_TEXT_CHARS = 1 << 16
_MAX_IMAGE_BYTES = 2 << 20

_TEXTS = {
    "text": "text/plain",
    "html": "text/html",
    "markdown": "text/markdown",
    "svg": "image/svg+xml",
    "latex": "text/latex",
    "javascript": "application/javascript",
}
_BYTES = {"png": "image/png", "jpeg": "image/jpeg", "pdf": "application/pdf"}
_DATA = {"json": "application/json", "data": "application/vnd.e2b.data+json"}

_ANSI = re.compile(r"\x1b\[[0-9;]*m")

_FIGURE = "<Figure size"
"""Beginning of the text that matplotlib gives together with a picture."""


@dataclass
class _Cell:
    """The output of one cell so far."""

    stdout: HeadAndTail = field(default_factory=lambda: HeadAndTail(_MAX_TEXT_CHARS))
    results: list[Mapping[str, Any]] = field(default_factory=list)
    error: ErrorInfo | None = None
    variable: str | None = None
    ended: bool = False
    """Whether the kernel has reported the end of the cell."""


class _TooMuch(Exception):
    """The program has written more than the limit allows."""


class _Kernel:
    """One kernel, and the output of its cells.

    Args:
        sandbox: The sandbox object of the SDK.
        program: The program.
        request_timeout_s: How long a request may take, in seconds.
    """

    def __init__(self, sandbox: Any, program: Program, request_timeout_s: float) -> None:
        self._sandbox, self._timeout_s = sandbox, request_timeout_s
        self._nonce = secrets.token_hex(16)
        self._number = 0
        self._bytes_left = MAX_RECORDS_BYTES
        self.stdout = HeadAndTail(program.limits.output_bytes)
        self.stderr = HeadAndTail(program.limits.output_bytes)

    async def begin(self, program: Program) -> None:
        """Prepare the kernel for a program.

        Raises:
            MachineFault: If the kernel cannot be prepared.
        """
        files = [{"path": name, "data": content} for name, content in program.files.items()]
        files.append({"path": PROGRESS, "data": b""})
        text = beginning(self._nonce, program.stdin, program.argv)

        async def prepare() -> Any:
            await self._sandbox.files.write_files(files, request_timeout=self._timeout_s)
            return await self._sandbox.run_code(text, timeout=0, request_timeout=self._timeout_s)

        execution = await within(self._timeout_s, prepare())
        if execution.error is not None:
            raise MachineFault(f"the kernel did not begin: {execution.error.name}: {execution.error.value}")

    async def run(self, text: str, seconds: float) -> _Cell:
        """Run a cell.

        Raises:
            TimeoutError: If it takes longer than `seconds`.
            _TooMuch: If it writes more than the limit allows.
            SupervisorDied: If the kernel died.
            MachineFault: If the sandbox failed.
        """
        self._number += 1
        cell = _Cell()
        running = asyncio.ensure_future(
            self._sandbox.run_code(
                text,
                on_stdout=lambda message: self._take(message.line, self.stdout, cell.stdout),
                on_stderr=lambda message: self._take(message.line, self.stderr),
                on_result=lambda result: self._take_result(result, cell),
                timeout=0,  # No timeout of the SDK: it is not exact, and does not say what was slow.
                request_timeout=self._timeout_s,
            )
        )
        try:
            await asyncio.wait({running}, timeout=seconds)
            is_late = not running.done() and await self._is_late(running)
            execution = running.result()
        finally:
            running.cancel()
            await asyncio.wait({running}, timeout=LET_GO_S)
        error = execution.error
        if error is not None:
            if error.name == _KERNEL_DIED:
                raise SupervisorDied(f"the kernel ended: {error.value}")
            if error.name in _INFRA:
                raise MachineFault(f"{error.name}: {error.value}")
            trace = _ANSI.sub("", str(error.traceback))
            cell.error = ErrorInfo(*(characters(text)[:MAX_TEXT] for text in (error.name, error.value, trace)))
        if not cell.ended:
            raise MachineFault("the kernel's output ended before the cell had")
        if is_late:
            raise TimeoutError
        return cell

    async def _is_late(self, running: asyncio.Future[Any]) -> bool:
        """Wait a little longer for a cell that has not answered in time.

        Most of these cells have not ended at all, and this raises: either the cell runs, or the connection is dead.

        Returns:
            Whether the cell began only after the time limit. Its answer is there when this returns.

        Raises:
            TimeoutError: If the cell is running.
            MachineFault: If the connection is dead.
        """
        deadline = time.monotonic() + _GRACE_S
        while True:
            noted = await self._noted()
            on_its_way = noted == f"{self._nonce} {self._number - 1} ended"
            has_ended = noted == f"{self._nonce} {self._number} ended"
            if not on_its_way and not has_ended and noted != "":  # The file is empty while it is written.
                raise TimeoutError  # The cell runs, or has removed the file: only a program can do that.
            if time.monotonic() > deadline:
                if noted == "":
                    raise TimeoutError
                raise MachineFault("the kernel is not at work, and nothing came of what it was given")
            await asyncio.wait({running}, timeout=_LOOK_S)
            if running.done():
                return on_its_way

    async def _noted(self) -> str | None:
        """The last line that the kernel has written about its progress; None if the file does not exist any more."""
        from e2b import FileNotFoundException

        try:
            reading = self._sandbox.files.read(PROGRESS, request_timeout=self._timeout_s)
            return str(await within(self._timeout_s, reading))
        except FileNotFoundException:
            return None

    def _take(self, text: str, *kept: HeadAndTail) -> None:
        data = text.encode("utf-8", "replace")
        for one in kept:
            one.take(data)
            if one.total > MAX_STREAM_BYTES:
                raise _TooMuch

    def _take_result(self, result: Any, cell: _Cell) -> None:
        text = result.text or ""
        mark = f"{self._nonce}:{self._number}:"
        if text.startswith(mark):
            cell.ended = True
            with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
                told = json.loads(base64.b64decode(text[len(mark) :])).get("variable")
                cell.variable = characters(told)[: _MAX_TEXT_CHARS + 3] if isinstance(told, str) else None
            return
        shown = _shown(result)
        size = sum(len(data) if isinstance(data, str | bytes) else len(json.dumps(data)) for data in shown.values())
        if shown and size <= self._bytes_left and len(cell.results) < MOST_RESULTS:
            self._bytes_left -= size
            cell.results.append(shown)


def _shown(result: Any) -> dict[str, Any]:
    """A result by MIME types, with limited sizes."""
    shown: dict[str, Any] = {}
    for name, kind in _TEXTS.items():
        text = getattr(result, name, None)
        if isinstance(text, str):
            text = characters(text)
            shown[kind] = text if len(text) <= _MAX_TEXT_CHARS else f"{text[:_MAX_TEXT_CHARS]}..."
    for name, kind in _BYTES.items():
        with contextlib.suppress(binascii.Error, ValueError, TypeError):
            data = binascii.a2b_base64(getattr(result, name, None) or "")
            if 0 < len(data) <= _MAX_IMAGE_BYTES:
                shown[kind] = data
    for name, kind in _DATA.items():
        value = getattr(result, name, None)
        if value is not None:
            shown[kind] = value
    text = shown.get("text/plain", "")
    if text and not text.startswith("<"):
        shown.pop("application/json", None)  # The value is a list or dict, and the text shows it too.
    if "image/png" in shown and text.startswith(_FIGURE):
        del shown["text/plain"]  # This text only replaces the picture in a console without pictures.
    return shown


async def run_notebook(sandbox: Any, program: Program, request_timeout_s: float) -> ExecutionResult:
    """Run a program and its cells.

    Raises:
        SupervisorDied: If the kernel died.
        MachineFault: If the sandbox failed.
    """
    kernel = _Kernel(sandbox, program, request_timeout_s)
    await kernel.begin(program)
    began = time.monotonic()
    until = began + program.limits.wall_s
    results: tuple[Mapping[str, Any], ...] = ()
    cells: list[CellResult] = []
    status, exit_code, error = Status.OK, 0, None
    try:
        main = await kernel.run(program.code, program.limits.wall_s)
        results = tuple(main.results)
        status, exit_code, error = _end_of(main.error, kernel.stderr)
        for text in program.cells if exit_code == 0 else ():
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            cell = await kernel.run(text, left_s)
            cells.append(CellResult(tuple(cell.results), cell.stdout.text(), cell.error, cell.variable))
    except TimeoutError:
        status = Status.TIMEOUT
    except _TooMuch:
        status = Status.OUTPUT_LIMIT
    wall_s = time.monotonic() - began
    ended = status not in (Status.TIMEOUT, Status.OUTPUT_LIMIT)
    return ExecutionResult(
        status=status,
        exit_code=exit_code if ended else None,
        stdout=kernel.stdout.text(),
        stderr=kernel.stderr.text(),
        stdout_truncated=kernel.stdout.truncated,
        stderr_truncated=kernel.stderr.truncated,
        error=error,
        results=results,
        cells=tuple(cells),
        files=await _files(sandbox, program, request_timeout_s),
        wall_s=wall_s,
    )


def _end_of(error: ErrorInfo | None, stderr: HeadAndTail) -> tuple[Status, int, ErrorInfo | None]:
    """Status, exit code and exception of a program that ended with this exception, or with none."""
    if error is None:
        return Status.OK, 0, None
    if error.name == "SystemExit":
        code = error.message.strip()
        if code in ("", "None"):
            return Status.OK, 0, None
        number = int(code) & 255 if re.fullmatch(r"-?\d{1,9}", code) else 1
        if number == 1 and code != "1":
            stderr.take(f"{code}\n".encode())
        return (Status.ERROR if number else Status.OK), number, None
    stderr.take(f"{error.traceback}\n".encode("utf-8", "replace"))
    return (Status.MEMORY if error.name == "MemoryError" else Status.ERROR), 1, error


async def _files(sandbox: Any, program: Program, request_timeout_s: float) -> dict[str, bytes]:
    """The files to bring back, together not larger than `file_bytes`."""
    from e2b import FileNotFoundException, FileType, NotFoundException

    left, found = program.limits.file_bytes, {}
    for name in program.collect:
        try:
            async with asyncio.timeout(request_timeout_s):
                about = await sandbox.files.get_info(name, request_timeout=request_timeout_s)
                # Reading a FIFO would block; a link may point anywhere.
                if about.type is not FileType.FILE or about.symlink_target or about.size > left:
                    continue
                content = await sandbox.files.read(name, format="bytes", request_timeout=request_timeout_s)
        except (FileNotFoundException, NotFoundException):
            continue
        except Exception as error:
            raise MachineFault(f"a file could not be brought back: {described(error)}") from None
        if len(content) <= left:
            found[name] = bytes(content)
            left -= len(content)
    return found
