"""The program's half of a judged run: serves an answer to its peer.

This process compiles the answer and never runs it. For each thing the peer asks it forks a child:

* `RUN` (a `stdin` or `output` test): the child runs the answer as `__main__`, and its standard
  output streams to the peer as it comes.
* `LOAD` (an `assert` suite, or all `call` tests): the child imports the answer as a module and then
  answers messages; see `answering.py`. This process relays them, whole frames only, so no process
  that has run a line of the answer ever holds the channel.

Nothing here knows an expected value. A child that lies can only be wrong about itself.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from types import CodeType
from typing import Any, NoReturn

from .answering import answer
from .channel import PER_MESSAGE, Channel, ChannelError, Kind
from .children import Child, drain
from .limits import MAX_STREAM_BYTES, WHOLE_RUN, ProcessLimits
from .main_module import COMPILE_ERRORS, compile_program, describe_error, run_as_main
from .workspace import Workspace

STDERR_TAIL_BYTES = 8192
"""How much of a test's standard error is reported: its end, where the traceback is."""

_close, _dup2 = os.close, os.dup2


def serve(filename: str, argv: list[str], limits: ProcessLimits, fd: int) -> None:
    """Serve the program in `filename` on channel `fd` until the peer closes it.

    Args:
        filename: The program, a UTF-8 file.
        argv: Its arguments, without its own name.
        limits: What one test may use.
        fd: The channel's descriptor.
    """
    channel = Channel(fd)
    channel.send(Kind.HELLO)
    # This process's own work grows with the number of tests; it compiles under the same bounds.
    dataclasses.replace(limits, cpu_s=WHOLE_RUN * limits.cpu_s).apply()
    try:
        with open(filename, encoding="utf-8-sig", newline="") as file:
            code = compile_program(file.read(), os.path.basename(filename))
    except COMPILE_ERRORS as error:
        channel.send_json(Kind.COMPILED, {"error": describe_error(error)})
        channel.receive()  # The peer may come up later than we; it closes when it has heard.
        return
    channel.send_json(Kind.COMPILED, {"error": None})
    server = _Server(code, argv, limits, channel)
    while (frame := channel.receive()) is not None:
        kind, payload = frame
        if kind == Kind.RUN:
            server.run(payload)
        elif kind == Kind.LOAD:
            server.load(per_message=payload == PER_MESSAGE)
        # An `UNLOAD` or a message for a module that has ended meanwhile is out of date.


class _Server:
    def __init__(self, code: CodeType, argv: list[str], limits: ProcessLimits, channel: Channel) -> None:
        self._code, self._argv, self._limits, self._channel = code, argv, limits, channel
        self._workspace = Workspace()

    def run(self, stdin: bytes) -> None:
        """Run the answer as a program with this standard input, streaming its output."""
        given = _input_file(stdin)
        workspace = self._workspace.copy()
        child = Child(self._limits, lambda *fds: self._main(workspace, given, *fds), pipes=3)
        _close(given)
        from_stdout, from_stderr, from_report = child.fds
        written = 0
        stderr = bytearray()
        report = bytearray()

        def take_output(data: bytes) -> None:
            nonlocal written
            written += len(data)
            if written > MAX_STREAM_BYTES:
                child.end("output_limit")
            else:
                self._channel.send(Kind.OUTPUT, data)

        def take_stderr(data: bytes) -> None:
            stderr.extend(data)
            del stderr[:-STDERR_TAIL_BYTES]

        def take_report(data: bytes) -> None:
            if len(report) < MAX_STREAM_BYTES:
                report.extend(data)

        child.on_readable(from_stdout, drain(from_stdout, take_output))
        child.on_readable(from_stderr, drain(from_stderr, take_stderr))
        child.on_readable(from_report, drain(from_report, take_report))
        ended = child.watch()
        self._workspace.remove(workspace)
        self._send_ended(ended, _error_of(report), stderr.decode("utf-8", "replace"))

    def _main(self, workspace: str, stdin: int, stdout: int, stderr: int, report: int) -> NoReturn:
        _close(self._channel.fd)
        self._workspace.enter(workspace)
        for theirs, standard in ((stdin, 0), (stdout, 1), (stderr, 2)):
            _dup2(theirs, standard)
            _close(theirs)

        def send_report(error: dict[str, Any]) -> None:
            view = memoryview(json.dumps(error).encode())
            while view:
                view = view[os.write(report, view) :]

        run_as_main(self._code, self._argv, send_report)

    def load(self, per_message: bool) -> None:
        """Load the answer as a module and relay messages until either side ends it.

        Args:
            per_message: Whether the wall time limit holds for each message (`call` tests, which
                the module runs in children of its own) or for the module's whole life.
        """
        mine, theirs = socket.socketpair()
        workspace = self._workspace.copy()

        def body() -> NoReturn:
            _close(self._channel.fd)
            mine.close()
            self._workspace.enter(workspace)
            answer(self._code, self._argv, self._limits, theirs.detach())

        child = Child(self._limits, body)
        theirs.close()
        module = Channel(mine.fileno())

        def relay_to_peer() -> bool:
            try:
                if not module.fill():
                    return False
                while (frame := module.pop()) is not None:
                    if frame[0] != Kind.MESSAGE:
                        raise ChannelError("the program sent a frame that is not its to send")
                    self._channel.send(*frame)
                    if per_message:
                        child.clock.restart()
            except ChannelError:
                child.end("error")
                return False
            return True

        def relay_to_module() -> bool:
            while (frame := self._channel.pop()) is not None:
                if frame[0] != Kind.MESSAGE:
                    child.end(None)
                    return False
                try:
                    module.send(*frame)
                except ChannelError:  # It has ended; its end is reported below.
                    return False
            return True

        def from_peer() -> bool:
            if self._channel.fill():
                return relay_to_module()
            child.end(None)
            return False

        child.on_readable(module.fd, relay_to_peer)
        child.on_readable(self._channel.fd, from_peer, drain=False)
        relay_to_module()  # What came in one piece with the order to load.
        ended = child.watch()
        mine.close()
        self._workspace.remove(workspace)
        self._send_ended(ended, None, "")

    def _send_ended(self, ended: dict[str, Any], error: dict[str, str] | None, stderr: str) -> None:
        if error is not None and error["name"] == "MemoryError" and ended["status"] == "error":
            ended["status"] = "memory"
        self._channel.send_json(Kind.ENDED, {**ended, "error": error, "stderr": stderr})


def _input_file(data: bytes) -> int:
    """A descriptor to read `data` from: a file, whose size a program may ask for, and without a name."""
    if not hasattr(os, "memfd_create"):
        import tempfile

        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            return os.dup(file.fileno())
    fd = os.memfd_create("stdin")
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _error_of(report: bytearray) -> dict[str, str] | None:
    """The error that a child reported; it may have been forged, so only its shape is trusted."""
    try:
        value = json.loads(report)
        return {key: str(value[key]) for key in ("name", "message", "traceback")}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
