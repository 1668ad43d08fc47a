"""Runs an answer as a program, once for each `stdin` test, each time in a fork of the process that has compiled it.

The outcomes of several tests are reported together, later: waking the peer costs as much as a small test.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple, NoReturn

from ..process.budget import CUT, NOT_RUN, Budget
from ..process.children import Child
from ..process.collecting import collect_files
from ..process.confinement import Confinement
from ..process.forks import ForkGate
from ..process.limits import BROKEN_EXIT_CODE, MAX_STREAM_BYTES, ProcessLimits, set_limits
from ..process.memory_file import memory_file
from ..process.streams import Streams
from ..process.watching import how_it_ended
from ..process.workspace import Workspace
from ..wire.channel import Kind, frame, json_bytes
from .main_module import prepare_main, reseed, run_as_main
from .notebook import run_as_notebook

_close, _write, _fork, _exit, _getpid = os.close, os.write, os.fork, os._exit, os.getpid
_closerange, _monotonic = os.closerange, time.monotonic

ALL_DESCRIPTORS = 1 << 30

MAX_COLLECTED_BYTES = 8 << 20
"""The most bytes that are collected from the files that a session leaves, all files together."""


_NOT_RUN = frame(Kind.ENDED, json_bytes(NOT_RUN))


class CompiledAnswer(NamedTuple):
    """An answer that is ready to run, and what each of its tests may use."""

    source: bytes
    code: CodeType
    argv: list[str]
    """The answer's arguments, without its own name."""
    limits: ProcessLimits
    rlimits: list[tuple[int, int, int]]
    """The limits that a test's process sets on itself, because they differ in the serving process."""
    draws: bool
    """Whether the answer might use the generators of random numbers."""


class Outcome(NamedTuple):
    """The outcome of one test."""

    status: int
    """The wait status."""
    cpu_s: float
    ended_for: str | None
    """Why the test was killed, if it was."""
    wall_s: float
    reading: tuple[int, ...]
    """The descriptors of output, error and report."""
    taken: dict[int, bytes | bytearray]
    """The data that was read, by descriptor."""
    limits: ProcessLimits | None
    """The limits of the test; None if it was not run."""


class Runs:
    """The runs of one answer.

    Args:
        answer: The answer.
        confinement: What the executor requires of each run's process.
        workspace: Gives each run a directory.
    """

    def __init__(self, answer: CompiledAnswer, confinement: Confinement, workspace: Workspace) -> None:
        self.answer, self.confinement, self.workspace = answer, confinement, workspace
        self.budget = Budget(answer.limits)
        """What the tests of the answer may use together."""
        self.names = prepare_main(answer.code.co_filename, answer.argv)
        self.streams: Streams | None = None
        self.outcomes: list[Outcome] = []
        self.bytes_waiting = 0
        """The approximate size of the outcomes that `frames` has not returned yet, in bytes."""

    def run(self, stdin: bytes) -> None:
        """Run the answer with this standard input, if the tests before have left CPU time."""
        if self.budget.next_limits() is None:
            self._leave_out()
        else:
            self._run(self.workspace.take_room(), stdin, self.become)

    def _leave_out(self) -> None:
        """Record that a test is not run."""
        self.outcomes.append(Outcome(0, 0.0, None, 0.0, (), {}, None))
        self.bytes_waiting += 1000

    def run_session(self, cells: list[str], collect: list[str]) -> bytes:
        """Run the answer as a notebook.

        Args:
            cells: The cells to run after the answer.
            collect: Relative paths of files to collect at the end.

        Returns:
            The frames that report the run.
        """
        if self.budget.next_limits() is None:
            return frame(Kind.RECORDS, b"") + frame(Kind.FILE, b"") * len(collect) + _NOT_RUN
        # Opened before the answer runs, because the answer could put something else at this path.
        room = self.workspace.take_room()
        directory = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        files: dict[str, bytes] = {}

        def look() -> None:
            files.update(collect_files(directory, collect, min(self.answer.limits.file_bytes, MAX_COLLECTED_BYTES)))

        def body() -> NoReturn:
            answer = self.answer
            if answer.draws:
                reseed()
            run_as_notebook(answer.source, answer.code.co_filename, self.names, cells, self._send_record, echo=False)

        try:
            self._run(room, b"", body, look)
        finally:
            _close(directory)
        outcome = self.outcomes.pop()
        found = b"".join(frame(Kind.FILE, b"=" + files[name] if name in files else b"") for name in collect)
        return self._frames_of(outcome, frame(Kind.RECORDS, bytes(outcome.taken.get(outcome.reading[2], b""))) + found)

    def _run(
        self, room: str, stdin: bytes, body: Callable[[], NoReturn], at_end: Callable[[], None] = lambda: None
    ) -> None:
        streams = self.streams = self.streams or Streams()
        streams.begin(_input_file(stdin))
        gate = None if self.confinement.refuses_forks else self.confinement.gate()
        if gate is not None:
            gate.open()
        parent, started = _getpid(), _monotonic()
        pid = _fork()
        if pid == 0:
            try:
                set_limits(self.answer.rlimits)
                self.workspace.enter(room)
                self.confinement.enter(parent, gate)
                _closerange(3, streams.report_fd)
                _closerange(streams.report_fd + 1, ALL_DESCRIPTORS)
                body()
            finally:
                _exit(BROKEN_EXIT_CODE)
        self.watch(pid, streams, started, gate)
        at_end()
        self.workspace.leave(room)
        if streams.too_much or not self.confinement.ends_all:
            self.leave_streams()

    def become(self) -> NoReturn:
        """In a test's process, after it has given up what it must not have: run the program."""
        if self.answer.draws:
            reseed()  # All tests are forks of one process, so their generators have the same state.
        run_as_main(self.answer.code, self.names, self._send_report)

    def watch(self, pid: int, streams: Streams, started: float, gate: ForkGate | None = None) -> None:
        """Watch a test until it has ended."""
        limits = self.budget.next_limits() or self.answer.limits
        child = Child(pid, limits, gate, started)

        def take() -> bool:
            if not streams.take():
                child.end("output_limit")
            return True

        for fd in streams.reading:
            child.on_readable(fd, take, drain=False)
        (_, status, usage), ended_for = child.wait()
        wall_s = _monotonic() - started
        cpu_s = usage.ru_utime + usage.ru_stime + child.answering_s
        if not self.confinement.refuses_forks:
            cpu_s += self.confinement.clean()
        # No process is left that could write. If one can be left, its later output is ignored.
        if not streams.take():
            ended_for = ended_for or "output_limit"
        self.budget.note(how_it_ended(status, cpu_s, limits, ended_for)["status"], cpu_s)
        self.outcomes.append(Outcome(status, cpu_s, ended_for, wall_s, streams.reading, streams.taken, limits))
        self.bytes_waiting += 1000 + sum(map(len, streams.taken.values()))

    def leave_streams(self) -> None:
        """Restore the process's own standard streams."""
        if self.streams is not None:
            self.streams.close()
            self.streams = None

    def _send_record(self, record: dict[str, Any]) -> None:
        self._send(json.dumps(record).encode() + b"\n")

    def _send_report(self, error: dict[str, Any]) -> None:
        self._send(json.dumps(error).encode())

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view and self.streams is not None:
            view = view[_write(self.streams.report_fd, view) :]

    def frames(self) -> bytes:
        """Return the frames that report the runs since the last call."""
        outcomes, self.outcomes, self.bytes_waiting = self.outcomes, [], 0
        return b"".join([self._frames_of(outcome) for outcome in outcomes])

    def _frames_of(self, outcome: Outcome, between: bytes = b"") -> bytes:
        """Return the frames that report one run.

        Args:
            outcome: The outcome of the run.
            between: Frames to put after the run's output and before the `ENDED` frame.
        """
        if outcome.limits is None:
            return _NOT_RUN
        stdout, stderr, report = [outcome.taken.get(fd, b"") for fd in outcome.reading]
        output = frame(Kind.OUTPUT, bytes(stdout[:MAX_STREAM_BYTES])) if stdout else b""
        ended = how_it_ended(outcome.status, outcome.cpu_s, outcome.limits, outcome.ended_for)
        error = _error_of(report)
        if error is not None and error["name"] == "MemoryError" and ended["status"] == "error":
            ended["status"] = "memory"
        ended |= {"cpu_s": round(outcome.cpu_s, 6), "wall_s": round(outcome.wall_s, 6)}
        ended |= {"error": error, "stderr": stderr.decode("utf-8", "replace")}
        if outcome.limits.cpu_s < self.answer.limits.cpu_s:
            ended["rest"] = CUT
        return output + between + frame(Kind.ENDED, json_bytes(ended))


def _input_file(data: bytes) -> int:
    """Return a descriptor that reads `data`: a file without a name, because a program may ask for its size."""
    if not hasattr(os, "memfd_create"):
        import tempfile

        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            return os.dup(file.fileno())
    return memory_file("stdin", data)


def _error_of(report: bytes | bytearray) -> dict[str, str] | None:
    """Return the error that a child reported, with strings as its fields; the program can forge the contents."""
    for line in report.split(b"\n") if report else ():
        try:
            value = json.loads(line)
            return {key: str(value[key]) for key in ("name", "message", "traceback")}
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return None
