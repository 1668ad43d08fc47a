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
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

from .answering import answer
from .channel import PER_MESSAGE, Channel, ChannelError, Kind
from .children import Child, drain
from .forks import ForkGate
from .limits import MAX_STREAM_BYTES, WHOLE_RUN, ProcessLimits
from .main_module import COMPILE_ERRORS, compile_program, describe_error, run_as_main
from .memory_file import memory_file
from .workspace import Workspace

STDERR_TAIL_BYTES = 8192
"""How much of a test's standard error is reported: its end, where the traceback is."""

_close, _dup2 = os.close, os.dup2


class Confinement:
    """What an executor asks of each test's process; as it stands, nothing."""

    def gate(self) -> ForkGate | None:
        """What counts the processes of the next test, if they are counted; it lets it start what its task allows."""
        return None

    def enter(self, *, counted: bool) -> int | None:
        """In the test's process: give up what a program must not have; the listener of its forks, if counted.

        Args:
            counted: Whether there is a gate; if not, it must not start processes.
        """
        return None

    def clean(self) -> None:
        """When a test's process has ended: end and remove what it left."""


def serve(
    filename: str, argv: list[str], limits: ProcessLimits, fd: int, confinement: Confinement | None = None
) -> None:
    """Serve the program in `filename` on channel `fd` until the peer closes it.

    Args:
        filename: The program, a UTF-8 file.
        argv: Its arguments, without its own name.
        limits: What one test may use.
        fd: The channel's descriptor.
        confinement: What the executor asks of each test's process.
    """
    channel = Channel(fd)
    channel.send(Kind.HELLO)
    # This process's own work grows with the number of tests; it compiles under the same bounds.
    # It copies the program's files, which the limit on files that a test writes does not concern.
    sizes = [os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(".") for name in names]
    file_bytes = max(limits.file_bytes, *sizes)
    dataclasses.replace(limits, cpu_s=WHOLE_RUN * limits.cpu_s, file_bytes=file_bytes).apply()
    try:
        with open(filename, encoding="utf-8-sig", newline="") as file:
            code = compile_program(file.read(), os.path.basename(filename))
    except COMPILE_ERRORS as error:
        channel.send_json(Kind.COMPILED, {"error": describe_error(error)})
        channel.receive()  # The peer may come up later than we; it closes when it has heard.
        return
    channel.send_json(Kind.COMPILED, {"error": None})
    server = _Server(code, argv, limits, channel, confinement or Confinement())
    while (frame := channel.receive()) is not None:
        kind, payload = frame
        if kind == Kind.RUN:
            server.run(payload)
        elif kind == Kind.LOAD:
            server.load(per_message=payload == PER_MESSAGE)
        # An `UNLOAD` or a message for a module that has ended meanwhile is out of date.


class _Server:
    def __init__(
        self, code: CodeType, argv: list[str], limits: ProcessLimits, channel: Channel, confinement: Confinement
    ) -> None:
        self._code, self._argv, self._limits, self._channel = code, argv, limits, channel
        self._confinement = confinement
        self._workspace = Workspace()

    def run(self, stdin: bytes) -> None:
        """Run the answer as a program with this standard input, streaming its output."""
        given = _input_file(stdin)
        room = self._workspace.make_room()
        gate = self._gate()
        child = self._fork(room, lambda *fds: self._main(given, *fds), 3, gate)
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
        ended = self._wait(child, room)
        self._send_ended(ended, _error_of(report), stderr.decode("utf-8", "replace"))

    def _fork(self, room: str, body: Callable[..., NoReturn], pipes: int = 0, gate: ForkGate | None = None) -> Child:
        def enter() -> int | None:
            _close(self._channel.fd)
            self._workspace.enter(room)
            return self._confinement.enter(counted=gate is not None)

        return Child(self._limits, body, pipes, enter, gate)

    def _gate(self, own_forks: bool = False) -> ForkGate | None:
        gate = self._confinement.gate()
        # Where none may be started and we start none, there is nothing to count: all are refused.
        return gate if gate is not None and (gate.allowed or own_forks) else None

    def _wait(self, child: Child, room: str) -> dict[str, Any]:
        ended = child.watch()
        self._workspace.remove(room)
        self._confinement.clean()
        return ended

    def _main(self, stdin: int, stdout: int, stderr: int, report: int) -> NoReturn:
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
        room = self._workspace.make_room()

        def body() -> NoReturn:
            mine.close()
            answer(self._code, self._argv, Channel(theirs.detach()), self._limits)

        gate = self._gate(own_forks=per_message)
        child = self._fork(room, body, gate=gate)
        theirs.close()
        module = Channel(mine.fileno())
        loaded: list[bool] = []

        def relay_to_peer() -> bool:
            try:
                if not module.fill():
                    return False
                while (frame := module.pop()) is not None:
                    if frame[0] != Kind.MESSAGE:
                        raise ChannelError("the program sent a frame that is not its to send")
                    self._channel.send(*frame)
                    if per_message:
                        child.clock.begin_anew()
                        if gate is not None and not loaded:
                            gate.allowed += 1  # From here on: the child that runs a test.
                            loaded.append(True)
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
        ended = self._wait(child, room)
        mine.close()
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
    return memory_file("stdin", data)


def _error_of(report: bytearray) -> dict[str, str] | None:
    """The error that a child reported; it may have been forged, so only its shape is trusted."""
    try:
        value = json.loads(report)
        return {key: str(value[key]) for key in ("name", "message", "traceback")}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
