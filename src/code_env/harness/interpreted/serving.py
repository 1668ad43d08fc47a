"""The program's half of a judged run if the answer is not Python. The judge sees no difference to `program/serving.py`.

This process is trusted, and never runs the answer. Each `stdin`, `output` or `checker` test runs in a process of the
answer's interpreter. Each `call` test does so too: the interpreter cannot fork, so it loads the answer anew for each
call. A suite of tests in the answer's own language runs beside the answer, also in a process of the interpreter. Each
case has two seals, which this process makes, checks and removes: one is sent if the case passed, the other if not. So
a process between the two can spoil a record, but it has no seal with which a failed case would pass.

The first interpreter starts before there is a test, to check that it works here and that the answer compiles. It has
run no line of the answer at that point, and then serves the first call, or the suite.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Mapping
from typing import Any, NoReturn

from ..process.budget import CUT, NOT_RUN
from ..process.confinement import Confinement
from ..process.limits import ProcessLimits
from ..process.workspace import Workspace
from ..program.runs import CompiledAnswer, Outcome, Runs
from ..wire.channel import PER_MESSAGE, SUITE, Channel, Kind
from ..wire.endings import described
from .commands import Command, become
from .driver_process import Driven

_MANY_BYTES = 1 << 18
"""Outcomes of runs are sent when more than this many bytes of them wait."""


def serve_command(
    files: Mapping[str, bytes],
    command: Command,
    argv: list[str],
    limits: ProcessLimits,
    rlimits: list[tuple[int, int, int]],
    fd: int,
    confinement: Confinement | None = None,
) -> None:
    """Serve a program on channel `fd` until the peer closes it.

    Args:
        files: The files in the current directory, by path.
        command: How to run the program, which is one of these files.
        argv: The program's arguments, without its own name.
        limits: The limits of one test.
        rlimits: The limits that a test's process sets on itself, because this process has different ones.
        fd: The channel's descriptor.
        confinement: What the executor requires of each test's process.

    Raises:
        RuntimeError: If the interpreter does not start.
    """
    confinement = confinement or Confinement()
    workspace = Workspace(files, confinement.scratch, confinement.notice_changes)
    server = _Server(Channel(fd), command, argv, limits, rlimits, confinement, workspace)
    if not server.greet():
        return
    try:
        while (received := server.next_frame()) is not None:
            kind, payload = received
            if kind == Kind.RUN:
                server.run(payload)
            elif kind == Kind.LOAD and payload == SUITE:
                server.run_suite()
            elif kind == Kind.LOAD and payload == PER_MESSAGE:
                server.serve_calls()
            # Other frames are for a module that has ended in the meantime, and are ignored.
    finally:
        server.close()


class _Server:
    def __init__(
        self,
        channel: Channel,
        command: Command,
        argv: list[str],
        limits: ProcessLimits,
        rlimits: list[tuple[int, int, int]],
        confinement: Confinement,
        workspace: Workspace,
    ) -> None:
        self._channel, self._command, self._argv = channel, command, argv
        self._limits, self._rlimits = limits, rlimits
        self._confinement, self._workspace = confinement, workspace
        self._runs = _CommandRuns(command, argv, limits, rlimits, confinement, workspace)
        self._spare: Driven | None = None

    def greet(self) -> bool:
        """Send `HELLO` when the interpreter is known to work, then `COMPILED`.

        Return whether the answer compiles. Without a driver this is not known, and the result is True.

        Raises:
            RuntimeError: If the interpreter does not start.
        """
        if not self._command.driver:
            self._channel.send(Kind.HELLO)
            self._channel.send_json(Kind.COMPILED, {"error": None})
            return True
        first = self._start()
        if first.take() != "up":
            raise RuntimeError(f"{self._command.interpreter[0]} does not start: {first.end()}")
        self._channel.send(Kind.HELLO)
        said = first.take()
        if said == "compiled":
            self._spare = first
            self._channel.send_json(Kind.COMPILED, {"error": None})
            return True
        ended = first.end()
        error = said.get("uncompiled") if isinstance(said, dict) else None
        text = f"compiling it ended with {ended['status']}"
        self._channel.send_json(
            Kind.COMPILED, {"error": error or {"name": "SyntaxError", "message": text, "traceback": ""}}
        )
        self._channel.receive()  # The peer can start later than this process. It closes when it has read the error.
        return False

    def next_frame(self) -> tuple[int, bytes] | None:
        """Return the next frame from the peer, or None if the peer has closed. Send waiting outcomes before waiting."""
        received = self._channel.pop()
        if received is None:
            self._flush()
            received = self._channel.receive()
        return received

    def _flush(self) -> None:
        if self._runs.bytes_waiting:
            self._channel.send_frames(self._runs.frames())

    def close(self) -> None:
        """End the process that waits for its first test, and take back this process's own standard streams."""
        self._drop_spare()
        self._runs.leave_streams()

    def _drop_spare(self) -> None:
        if self._spare is not None:
            self._spare.end()
            self._spare = None

    def run(self, stdin: bytes) -> None:
        """Run the answer as a program with this standard input."""
        self._drop_spare()
        self._runs.run(stdin)
        if self._runs.bytes_waiting > _MANY_BYTES:
            self._flush()

    def _start(self) -> Driven:
        command, argv = self._command, self._argv

        def execute(fd: int) -> NoReturn:
            become(command.to_serve(fd, argv), command.environment, fd)

        limits = self._runs.budget.next_limits() or self._limits
        return Driven(execute, limits, self._rlimits, self._confinement, self._workspace, close=self._channel.fd)

    def _compiled(self) -> Driven:
        """Return a process that has compiled the answer: the first process if it still waits, otherwise a new one."""
        self._flush()
        self._runs.leave_streams()
        driven, self._spare = self._spare, None
        if driven is None:
            driven = self._start()
            for _ in ("up", "compiled"):
                driven.take()
        return driven

    def serve_calls(self) -> None:
        """Answer the peer's requests to a module, with each call in a process of its own."""
        first: Driven | None = None
        name = ""
        while (received := self._channel.receive()) is not None and received[0] == Kind.MESSAGE:
            request = marshal.loads(received[1])
            if request["op"] == "begin":
                name = request["names"][0]
                first = self._load_first(name)
                if first is None:
                    return
            elif request["op"] == "each":
                for number, (args, _) in enumerate(request["inputs"], start=request["n"]):
                    limits = self._runs.budget.next_limits()
                    if limits is None:
                        self._send({"n": number, "ended": NOT_RUN, "reply": None})
                        continue
                    driven, first = first or self._loaded(name)[0], None
                    said, ended = self._call(driven, args)
                    self._runs.budget.note(ended["status"], ended["cpu_s"])
                    if limits.cpu_s < self._limits.cpu_s:
                        ended["rest"] = CUT
                    self._send({"n": number, "ended": ended, "reply": said})
        if first is not None:
            first.end()
        self._channel.send_json(Kind.ENDED, _ENDED)

    def _loaded(self, name: str) -> tuple[Driven, Any]:
        """Return a process that has been told to load the answer, and what it said to that.

        After an error the process replies to no call, and its end says why.
        """
        driven = self._compiled()
        driven.tell({"do": "call", "name": name})
        return driven, driven.take()

    def _load_first(self, name: str) -> Driven | None:
        """Load the answer and tell the peer whether this worked. Return the process, or None if loading failed."""
        driven, said = self._loaded(name)
        if isinstance(said, dict) and type(said.get("loaded")) is bool:
            self._send({"n": 0, "error": None})
            self._send({"n": 1, "callable": {name: said["loaded"]}, "exceptions": {}})
            return driven
        self._tell_of_failure(said, driven.end(kill=_is_error(said)))
        return None

    def _call(self, driven: Driven, args: Any) -> tuple[Any, dict[str, Any]]:
        driven.tell(args)
        said = driven.take()
        return said, driven.end(kill=False)

    def _tell_of_failure(self, said: Any, ended: dict[str, Any]) -> None:
        """Tell the peer that the answer could not be loaded."""
        if _is_error(said):
            self._send({"n": 0, "error": described(said["error"])})
        self._channel.send_json(Kind.ENDED, {**ended, "error": None, "stderr": ""})

    def run_suite(self) -> None:
        """Run a suite beside the answer. Send each record that has the seal of its case to the peer."""
        received = self._channel.receive()
        if received is None:
            return
        request = marshal.loads(received[1])
        seals = [{"passed": os.urandom(16).hex(), "failed": os.urandom(16).hex()} for _ in request["sources"]]
        waiting: list[dict[str, str] | None] = [*seals]
        end = os.urandom(16).hex()
        driven = self._compiled()
        driven.tell({"do": "suite", "seals": seals, "end": end, "wall_s": self._limits.wall_s, **request})
        said = driven.take()  # The answer has not run yet.
        if isinstance(said, dict) and isinstance(said.get("malformed"), dict):
            self._send({"n": 0, "malformed": described(said["malformed"])})
        elif said == "prepared":
            said = driven.take()
        if not isinstance(said, dict) or type(said.get("loaded")) is not bool:
            self._tell_of_failure(said, driven.end(kill=_is_error(said)))
            return
        self._send({"n": 0, "error": None, "loaded": said["loaded"]})
        reason = None
        while (said := driven.take()) is not None and said != {"end": end}:
            record = _record(said, waiting)
            if record is None:
                reason = "error"
                break
            self._send(record)
        ended = driven.end(reason, kill=reason is not None)
        self._channel.send_json(Kind.ENDED, {**ended, "error": None, "stderr": ""})

    def _send(self, message: dict[str, Any]) -> None:
        self._channel.send_json(Kind.MESSAGE, message)


_ENDED = {"status": "ok", "exit_code": 0, "signal": None, "error": None, "stderr": ""}
"""The reported end of a module that had no process of its own, only one process for each call."""


def _is_error(said: Any) -> bool:
    return isinstance(said, dict) and isinstance(said.get("error"), dict)


def _record(said: Any, waiting: list[dict[str, str] | None]) -> dict[str, Any] | None:
    """Return the record of a case, or None if it has no seal of its case. Each case has one record."""
    case = said.get("case") if isinstance(said, dict) else None
    if not isinstance(case, int) or isinstance(case, bool) or not 0 <= case < len(waiting):
        return None
    seals = waiting[case]
    if seals is None:
        return None
    waiting[case] = None
    if said.get("seal") == seals["passed"]:
        return {"case": case, "ran": True, "message": "", "unfinished": False}
    message = said.get("message")
    if said.get("seal") != seals["failed"] or not isinstance(message, str) or not message:
        return None
    return {"case": case, "ran": said.get("ran"), "message": message, "unfinished": said.get("unfinished")}


class _CommandRuns(Runs):
    """The runs of an answer, each in a process of its interpreter."""

    def __init__(
        self,
        command: Command,
        argv: list[str],
        limits: ProcessLimits,
        rlimits: list[tuple[int, int, int]],
        confinement: Confinement,
        workspace: Workspace,
    ) -> None:
        code = compile("", command.file, "exec")  # In place of the answer, which Python cannot compile.
        super().__init__(CompiledAnswer(b"", code, argv, limits, rlimits, draws=False), confinement, workspace)
        self._command = command

    def become(self) -> NoReturn:
        """Replace this process, which a test has for itself, by the interpreter that runs the program."""
        if self.streams is None:
            raise RuntimeError("a run has streams")
        report = self.streams.report_fd
        become(self._command.to_run(report, self.answer.argv), self._command.environment, report)

    def frames(self) -> bytes:
        """Return the frames about the runs since the last call."""
        self.outcomes = [self._understood(outcome) for outcome in self.outcomes]
        return super().frames()

    def _understood(self, outcome: Outcome) -> Outcome:
        """Return an outcome without the first line of its report, which says that the driver has started.

        If the interpreter ran out of memory, the outcome says so.
        """
        if outcome.limits is None:
            return outcome
        _, stderr_fd, report_fd = outcome.reading
        report = bytes(outcome.taken.get(report_fd, b""))
        taken = {**outcome.taken, report_fd: report.partition(b"\n")[2]}
        status = "signal" if os.WIFSIGNALED(outcome.status) else ""
        ended_for = outcome.ended_for
        if ended_for is None and self._command.ran_out_of_memory(status, bytes(taken.get(stderr_fd, b""))):
            ended_for = "memory"
        return outcome._replace(taken=taken, ended_for=ended_for)
