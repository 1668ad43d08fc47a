"""The program's half of a judged run: serves an answer to its peer.

This process compiles the answer and never runs it. It forks a child for each request of the peer:

* `RUN` (a `stdin` or `output` test): the child runs the answer as `__main__`. Its output goes to the peer after its
  end, often together with that of other tests.
* `SESSION` (`cell`, `file` and `insight` tests): the child runs the answer like a notebook, with cells after it. The
  results that it has shown go to the peer, with files that it has left.
* `LOAD` (an `assert` suite, or all `call` tests): the child imports the answer as a module and then answers messages;
  see `answering.py`. This process relays the messages, whole frames only, so no process that has run a line of the
  answer ever holds the channel.

This process knows no expected value. A child that lies can only give wrong information about itself.
"""

from __future__ import annotations

import contextlib
import marshal
import math
import os
import select
import signal
import time
from collections.abc import Mapping
from typing import NoReturn

from ..process.budget import CUT, NOT_RUN, Budget
from ..process.children import POLLIN, Child, start_child
from ..process.confinement import Confinement
from ..process.forks import ForkGate
from ..process.limits import ProcessLimits
from ..process.sockets import socket_pair
from ..process.watching import descendants
from ..process.workspace import Workspace
from ..wire.channel import PER_MESSAGE, Channel, ChannelError, Kind, frame, json_bytes, parse_json
from ..wire.endings import Ended
from .answering import answer
from .fast_runs import FastRuns
from .main_module import COMPILE_ERRORS, compile_program, describe_error, may_draw
from .runs import CompiledAnswer, Runs

_MANY_BYTES, _LONG_S = 1 << 18, 0.02
"""Outcomes are sent when this many bytes of them wait, or this many seconds after outcomes were sent the last time."""

_REACTION_S = 1.0
"""How long a module may take to report a test that was killed, in seconds."""

_HEAD = 200
"""How a test ended is stated in this many bytes at the start of a module's message."""

_COMPILED = frame(Kind.COMPILED, json_bytes({"error": None}))

_close, _monotonic = os.close, time.monotonic


def serve(
    files: Mapping[str, bytes],
    filename: str,
    argv: list[str],
    limits: ProcessLimits,
    rlimits: list[tuple[int, int, int]],
    fd: int,
    confinement: Confinement | None = None,
) -> None:
    """Serve a program on channel `fd` until the peer closes it.

    Args:
        files: The files in the current directory, by path.
        filename: The program's file, one of `files`.
        argv: The program's arguments, without its own name.
        limits: What one test may use.
        rlimits: The limits that a test's process sets on itself, because they differ in this process.
        fd: The channel's descriptor.
        confinement: What the executor requires of each test's process.
    """
    channel = Channel(fd)
    channel.send(Kind.HELLO)
    try:
        code = compile_program(files[filename], filename)
    except COMPILE_ERRORS as error:
        channel.send_json(Kind.COMPILED, {"error": describe_error(error)})
        channel.receive()  # The peer can start later than this process; it closes the channel after reading.
        return
    channel.send_frames(_COMPILED)
    confinement = confinement or Confinement()
    workspace = Workspace(files, confinement.scratch, confinement.notice_changes)
    draws = may_draw(files[filename], brings_files=len(files) > 1)
    answer = CompiledAnswer(files[filename], code, argv, limits, rlimits, draws)
    runs_kind = Runs if confinement.steps is None else FastRuns
    server = _Server(channel, runs_kind(answer, confinement, workspace))
    try:
        while (received := channel.pop() or server.wait()) is not None:
            kind, payload = received
            if kind == Kind.RUN:
                server.run(payload)
            elif kind == Kind.SESSION:
                server.run_session(payload)
            elif kind == Kind.LOAD:
                server.load(per_message=payload == PER_MESSAGE)
            # An `UNLOAD`, or a message for a module, is out of date if the module has ended meanwhile.
    finally:
        server.close()  # So that an error appears on this process's own standard error.


class _Server:
    """Does what the peer requests with one answer.

    Args:
        channel: The channel to the peer.
        runs: The runs of the answer as a program.
    """

    def __init__(self, channel: Channel, runs: Runs) -> None:
        self._channel, self._runs = channel, runs
        self._confinement, self._workspace = runs.confinement, runs.workspace
        self._flushed_at = _monotonic()

    def run(self, stdin: bytes) -> None:
        """Run the answer as a program with this standard input."""
        self._runs.run(stdin)
        # The peer is not woken for each test, because waking it costs as much as a small test.
        if self._runs.bytes_waiting > _MANY_BYTES or _monotonic() > self._flushed_at + _LONG_S:
            self.flush()

    def run_session(self, payload: bytes) -> None:
        """Run the answer as a notebook."""
        self.flush()
        self._runs.leave_streams()
        asked = marshal.loads(payload)
        self._channel.send_frames(self._runs.run_session(asked["cells"], asked["collect"]))

    def close(self) -> None:
        """Restore this process's own standard streams."""
        self._runs.leave_streams()

    def wait(self) -> tuple[int, bytes] | None:
        """Send what is waiting to be sent, then wait for the next frame and return it."""
        self.flush()
        return self._channel.receive()

    def flush(self) -> None:
        """Send what is waiting to be sent."""
        if self._runs.bytes_waiting:
            self._channel.send_frames(self._runs.frames())
        self._flushed_at = _monotonic()

    def load(self, per_message: bool) -> None:
        """Load the answer as a module and relay messages until either side ends it.

        Args:
            per_message: Whether the wall time limit holds for each message (`call` tests, which the module runs in
                children of its own) or for the module's whole life.
        """
        self.flush()
        self._runs.leave_streams()
        compiled, budget = self._runs.answer, self._runs.budget
        limits = budget.next_limits()
        if limits is None:
            self._channel.send_json(Kind.ENDED, NOT_RUN)
            return
        mine, theirs = socket_pair()
        room = self._workspace.take_room()

        def body() -> NoReturn:
            mine.close()
            workspace = Workspace(self._workspace.files) if per_message else None
            if not self._confinement.measures:
                # This process limits the wall time instead, because it can tell waiting from working; see below.
                budget.limits = budget.limits._replace(wall_s=math.inf)
            answer(compiled.code, compiled.argv, Channel(theirs.detach()), budget, workspace)

        # If the answer may start no processes, and the module starts none for tests, there is nothing to count.
        gate = self._confinement.gate() if per_message or not self._confinement.refuses_forks else None

        def enter(parent: int) -> None:
            _close(self._channel.fd)
            self._workspace.enter(room)
            self._confinement.enter(parent, gate)

        child = start_child(limits, body, enter=enter, gate=gate, rlimits=compiled.rlimits)
        tests = _ModulesTests(child, mine.fileno(), budget, gate)
        child.forks_tests = per_message
        if per_message:
            child.spare = tests.end
        theirs.close()
        relay = _Relay(self._channel, Channel(mine.fileno()), child, tests, per_message=per_message)
        child.on_readable(mine.fileno(), relay.from_module)
        child.on_readable(self._channel.fd, relay.from_peer, drain=False)
        relay.to_module()  # Messages that came together with the `LOAD`.
        ended = child.watch(self._confinement.clean)
        self._workspace.leave(room)
        mine.close()
        if not per_message:
            budget.note(ended["status"], ended["cpu_s"])
        if limits.cpu_s < compiled.limits.cpu_s:
            ended["rest"] = CUT
        self._channel.send_json(Kind.ENDED, {**ended, "error": None, "stderr": ""})


class _Relay:
    """Relays messages between the peer and a loaded answer, whose process ends if it breaks the protocol.

    Each method returns whether to go on relaying in its direction.

    Args:
        peer: The channel to the peer.
        module: The channel to the process that has loaded the answer.
        child: That process.
        tests: The processes that it starts for tests.
        per_message: Whether each of its messages reports a test, after the first, which says that it has loaded.
    """

    def __init__(
        self, peer: Channel, module: Channel, child: Child, tests: _ModulesTests, *, per_message: bool
    ) -> None:
        self._peer, self._module, self._child, self._tests = peer, module, child, tests
        self._per_message = per_message

    def from_module(self) -> bool:
        """Relay what the module has sent."""
        try:
            if not self._module.fill():
                self._tests.can_report = False
                return False
            while (received := self._module.pop()) is not None:
                if received[0] != Kind.MESSAGE:
                    raise ChannelError("the program sent a frame that it may not send")
                message = self._tests.corrected(received[1])
                self._peer.send(Kind.MESSAGE, message)
                if self._per_message:
                    self._tests.note(message)
        except ChannelError:
            self._child.end("error")
            return False
        return True

    def from_peer(self) -> bool:
        """Relay what the peer has sent."""
        if self._peer.fill():
            return self.to_module()
        self._child.end(None)
        return False

    def to_module(self) -> bool:
        """Relay the messages of the peer that have been read already."""
        while (received := self._peer.pop()) is not None:
            if received[0] != Kind.MESSAGE:
                self._child.end(None)
                return False
            try:
                self._module.send(*received)
            except ChannelError:  # The module has ended; `load` reports this.
                return False
        return True


class _ModulesTests:
    """The processes that a module starts for its tests, seen from outside.

    The module watches them too, and acts faster, but at the level `contained` it cannot measure all that they use.

    Args:
        module: The module's process.
        fd: The descriptor on which the module reports each test.
        budget: What the tests may use together.
        gate: Counts the module's processes; None if they are not counted.
    """

    def __init__(self, module: Child, fd: int, budget: Budget, gate: ForkGate | None) -> None:
        self._module, self._budget, self._gate = module, budget, gate
        self._told = select.poll()
        self._told.register(fd, POLLIN)
        self._ended_for: str | None = None
        self._give_up_at: float | None = None
        self._has_loaded = self._has_noted = False
        self.can_report = True
        """Whether the module still has its end of `fd`."""

    def end(self, reason: str) -> bool:
        """Kill the processes that the module has started, but not the module, so that it can run the next test.

        Returns:
            Whether to go on: False if the module itself is at fault, or if it does not report the test in time.
        """
        if not (self.can_report and self._has_loaded):
            return False
        if self._told.poll(0):
            return True  # The module has reported the test already.
        if self._give_up_at is not None:
            return _monotonic() < self._give_up_at
        module = self._module.pid
        # Without a gate, the clock watches only the module.
        tests = {*self._module.clock.pids(), *descendants(module)} - {module}
        for pid in tests:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if tests:
            self._ended_for = reason
        elif reason != "timeout":
            return False
        # If there is no process, a test that used the time has just ended, and the module is about to report it.
        self._give_up_at = _monotonic() + _REACTION_S
        return True

    def note(self, message: bytes) -> None:
        """Charge the budget with the test that a message reports, and begin to measure the next one."""
        if self._budget.is_shared or b'"timeout"' in message[:_HEAD]:  # Otherwise it is not parsed.
            self._budget.note(*_end_of(message, self._module.clock.cpu_s))
        self._module.clock.begin_anew()
        if self._gate is not None and not self._has_noted:
            self._gate.allowed += 1  # From now on, for the child that runs a test.
            self._has_noted = True

    def corrected(self, message: bytes) -> bytes:
        """Return the module's message on a test, with the reason for the kill, which the module does not know."""
        self._has_loaded, self._give_up_at = True, None
        if self._ended_for is None:
            return message
        reason, self._ended_for = self._ended_for, None
        said = parse_json(message)
        if not isinstance(said, dict) or not isinstance(said.get("ended"), dict):
            raise ChannelError("a message that says nothing of the test that was ended")
        return json_bytes({**said, "ended": {**said["ended"], "status": reason, "exit_code": None}})


def _end_of(message: bytes, cpu_s: float) -> tuple[str, float]:
    """Return how the test in a module's message ended, and its CPU time: at least the time that was measured here.

    Raises:
        ChannelError: If the message is malformed.
    """
    said = parse_json(message)
    if not isinstance(said, dict) or "ended" not in said:
        return "", cpu_s
    ended = Ended(said["ended"])
    return ended.status, max(cpu_s, ended.used.get("cpu_s", 0.0))
