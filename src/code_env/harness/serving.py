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
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

from .answering import answer
from .channel import PER_MESSAGE, Channel, ChannelError, Kind, frame, json_bytes
from .children import Child
from .forks import ForkGate
from .limits import MAX_STREAM_BYTES, WHOLE_RUN, ProcessLimits
from .main_module import COMPILE_ERRORS, compile_program, describe_error, run_as_main
from .memory_file import memory_file
from .streams import REPORT, Streams
from .workspace import Workspace

_QUIET_S = 0.01
"""How long a test's streams are not looked at, in seconds: most end before their pipes are full."""

_MANY_BYTES, _LONG_S = 1 << 18, 0.02
"""How much may wait to be sent, and how long after the last was."""

_close, _write, _monotonic = os.close, os.write, time.monotonic


class Confinement:
    """What an executor asks of each test's process; as it stands, nothing."""

    ends_all = False
    """Whether nothing that a test started outlives `clean`."""
    scratch: str | None = None
    """A directory that holds nothing but what is the tests', if there is one."""
    stamps_changes = False
    """Whether its file system is one of the kernel's own that stamps each change."""

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
        """When a test's process has ended: end what it left."""


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
    while (frame := channel.pop() or server.wait()) is not None:
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
        self._workspace = Workspace(confinement.scratch, stamped=confinement.stamps_changes)
        self._streams: Streams | None = None
        self._replies = bytearray()
        self._flushed_at = _monotonic()

    def run(self, stdin: bytes) -> None:
        """Run the answer as a program with this standard input."""
        given = _input_file(stdin)
        room = self._workspace.take_room()
        gate = self._gate()
        streams = self._streams = self._streams or Streams()
        streams.begin()
        child = self._fork(room, lambda: self._main(given, streams), gate=gate)
        _close(given)

        def take() -> bool:
            if not streams.take():
                child.end("output_limit")
            return True

        for fd in streams.fileno():
            child.on_readable(fd, take, drain=False)
        ended = child.watch(_QUIET_S)
        self._confinement.clean()
        # Nobody is left who could write; where somebody may be, what comes later is not looked at.
        if not streams.take() and ended["status"] in ("ok", "error"):
            ended["status"] = "output_limit"
        self._workspace.leave(room)
        if streams.too_much or not self._confinement.ends_all:
            streams.close()
            self._streams = None
        if streams.stdout:
            self._replies += frame(Kind.OUTPUT, bytes(streams.stdout[:MAX_STREAM_BYTES]))
        self._send_ended(ended, _error_of(streams.report), streams.stderr.decode("utf-8", "replace"))

    def wait(self) -> tuple[int, bytes] | None:
        """The next frame, for which one has to wait."""
        self.flush()
        return self._channel.receive()

    def flush(self) -> None:
        """Send what is waiting to be sent."""
        if self._replies:
            self._channel.send_frames(self._replies)
            self._replies = bytearray()
        self._flushed_at = _monotonic()

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
        self._confinement.clean()
        self._workspace.leave(room)
        return ended

    def _main(self, stdin: int, streams: Streams) -> NoReturn:
        streams.enter(stdin)

        def send_report(error: dict[str, Any]) -> None:
            view = memoryview(json.dumps(error).encode())
            while view:
                view = view[_write(REPORT, view) :]

        run_as_main(self._code, self._argv, send_report)

    def load(self, per_message: bool) -> None:
        """Load the answer as a module and relay messages until either side ends it.

        Args:
            per_message: Whether the wall time limit holds for each message (`call` tests, which
                the module runs in children of its own) or for the module's whole life.
        """
        self.flush()
        mine, theirs = socket.socketpair()
        room = self._workspace.take_room()

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
                        child.clock.restart()
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
        self._replies += frame(Kind.ENDED, json_bytes({**ended, "error": error, "stderr": stderr}))
        # The peer is not woken for each: waking it costs as much as a small test.
        if len(self._replies) > _MANY_BYTES or _monotonic() > self._flushed_at + _LONG_S:
            self.flush()


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
