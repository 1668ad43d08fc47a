"""One program in flight, whatever its process is: its streams, its limits, and its result.

The subclasses of `RunningProgram` know how a process is started, killed and found to have ended.
"""

from __future__ import annotations

import abc
import contextlib
import os
import select
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from code_env.harness.process.limits import MAX_STREAM_BYTES, WHOLE_RUN, ProcessLimits
from code_env.harness.process.watching import Watch, how_it_ended
from code_env.harness.wire.channel import BELL_VARIABLE, CHANNEL_VARIABLE
from code_env.harness.wire.records import MAX_RECORDS_BYTES
from code_env.languages import find_language

from .capture import HeadAndTail
from .program import Limits, Program
from .report import Report, read_report
from .result import ExecutionResult, Status, sandbox_error

GOODBYE_S = 1.0
"""How long a program may go on after its peer has ended, in seconds."""

_REPORT_BYTES = 1 << 17
"""How much of a report is kept: an error's texts are clipped far below that."""


class Caller(Protocol):
    """Who has a run watched; see `Place`."""

    def is_over(self) -> bool:
        """Whether nobody wants its result any more."""

    def sleeps(self, asleep: bool) -> None:
        """Say whether the run leaves its core to others."""


def watch(programs: list[RunningProgram], place: Caller | None = None) -> None:
    """Serve the streams and enforce the limits until all have ended.

    Args:
        programs: The halves of one run.
        place: Who waits for it, if anybody may lose interest.
    """
    running = list(programs)
    while running:
        poll = select.poll()
        by_fd = {fd: program for program in running for fd in program.readable()}
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        wait_s = min(program.wait_s() for program in running)
        for fd, _ in poll.poll(max(1, wait_s * 1000)):
            by_fd[fd].read(fd)
        for program in list(running):
            if program.has_ended():
                running.remove(program)
                # A program whose peer is gone has nobody to answer. A peer whose program is gone
                # finds the channel closed, and has its report to finish.
                for other in running:
                    if other.has_peer:
                        other.end_by(time.monotonic() + GOODBYE_S)
                continue
            if place is not None and place.is_over():
                program.kill(None)
            program.enforce()
        if place is not None:
            place.sleeps(bool(running) and all(program.clock.asleep for program in running))


class RunningProgram(abc.ABC):
    """A program from its start to its result; a context manager.

    Args:
        program: What runs.
        role: `program`; `served` or `loaded` for one that a peer drives, see `role_of`.
    """

    clock: Watch
    """Measures what it uses; set by the subclass when it has started."""

    def __init__(self, program: Program, role: str) -> None:
        self.program, self.role = program, role
        self.is_served = role == "served"
        self.has_peer = role != "program"
        self.limits = process_limits(program.limits, WHOLE_RUN if self.is_served else 1)
        if self.is_served:
            # The serving process watches its tests; this is for what escapes it, and must not come first.
            self.limits = self.limits._replace(memory_bytes=2 * self.limits.memory_bytes + (64 << 20))
        self._stdout = HeadAndTail(program.limits.output_bytes)
        self._stderr = HeadAndTail(program.limits.output_bytes)
        self._report = HeadAndTail(MAX_RECORDS_BYTES + _REPORT_BYTES if program.notebook else _REPORT_BYTES)
        self._streams: dict[int, HeadAndTail] = {}
        self._killed_for: str | None = None
        self._killed = False
        self._end_by: float | None = None
        self._started = time.monotonic()
        self._status: int | None = None
        self._cpu_s = 0.0
        self._peak_bytes = 0

    def begin_anew(self) -> None:
        """Forget what came so far: what comes from here on is another run of the same process."""
        self._stdout = HeadAndTail(self.program.limits.output_bytes)
        self._stderr = HeadAndTail(self.program.limits.output_bytes)
        captures = iter((self._stdout, self._stderr))
        self._streams = {
            fd: self._report if kept is self._report else next(captures) for fd, kept in self._streams.items()
        }
        self._started = time.monotonic()
        self.clock.begin_anew()

    @abc.abstractmethod
    def has_ended(self) -> bool:
        """Whether it has ended; if so, all that it started is ended and its streams are read to their ends."""

    @abc.abstractmethod
    def _kill(self) -> None:
        """Have the kernel kill it, if it still runs."""

    @abc.abstractmethod
    def _files(self) -> Mapping[str, bytes]:
        """The files to bring back."""

    def serve_streams(self, stdout: int, stderr: int, report: int) -> None:
        """Take over the descriptors that it writes to from the other end."""
        self._streams = {stdout: self._stdout, stderr: self._stderr, report: self._report}

    def readable(self) -> list[int]:
        """Descriptors to wait for."""
        return list(self._streams)

    def wait_s(self) -> float:
        """How long one may wait before the next look."""
        return self.clock.wait_s()

    def read(self, fd: int) -> None:
        """Take what is there on a stream."""
        stream = self._streams.get(fd)
        if stream is None:
            return
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            del self._streams[fd]
            return
        stream.take(data)
        if stream.total > MAX_STREAM_BYTES:
            self.kill("output_limit")

    def kill(self, reason: str | None) -> None:
        """Kill it; `reason` is the status to report, None if it is no fault."""
        if not self._killed:
            self._killed, self._killed_for = True, reason
        self._kill()

    def end_by(self, moment: float) -> None:
        """Kill it at this moment, as no fault of its own."""
        self._end_by = moment

    def enforce(self) -> None:
        """Kill it if it has used more than it may."""
        overrun = self.clock.overrun()
        if overrun is not None:
            self.kill(overrun)
        if self._end_by is not None and time.monotonic() > self._end_by:
            self.kill(None)

    def result(self, queue_s: float, peer: ExecutionResult | None = None) -> ExecutionResult:
        """The result, once it has ended."""
        report = self._read_report()
        error = report.error
        if self._status is None or (not report.started and not self._killed):
            message = self._stderr.text().strip()[-500:] or "the program's process did not come up"
            return sandbox_error(message, queue_s)
        # Who serves tests is told what these have held, too, each of which has limits of its own.
        if not self.is_served and self.clock.outgrew(self._peak_bytes):
            self._killed_for = self._killed_for or "memory"
        ended = how_it_ended(self._status, self._cpu_s, self.limits, self._killed_for)
        status = Status(ended["status"])
        if status is Status.ERROR and error is not None and error.name == "MemoryError":
            status = Status.MEMORY
        if status is Status.SIGNAL and self._interpreter_says_out_of_memory():
            status = Status.MEMORY
        return ExecutionResult(
            status=status,
            exit_code=ended["exit_code"],
            signal=ended["signal"],
            stdout=self._stdout.text(),
            stderr=self._stderr.text(),
            stdout_truncated=self._stdout.truncated,
            stderr_truncated=self._stderr.truncated,
            error=error,
            results=report.results,
            cells=report.cells,
            files=self._files(),
            peer=peer,
            wall_s=time.monotonic() - self._started,
            cpu_s=self._cpu_s,
            peak_memory_bytes=max(self._peak_bytes, self.clock.peak_bytes),
            queue_s=queue_s,
        )

    def _interpreter_says_out_of_memory(self) -> bool:
        language = find_language(self.program.language)
        return language is not None and bool(language.out_of_memory) and language.out_of_memory in self._stderr.text()

    def _read_report(self) -> Report:
        # Its peer tells of all but that it came up.
        cells = len(self.program.cells) if self.program.notebook else None
        return read_report(self._report.text(), cells=cells, alone=not self.has_peer)


@contextlib.contextmanager
def joined(program: Program) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Descriptors that join a program to its peer, the program's and the peer's, by the variables that name them.

    They are closed at the end; whoever has them by then has copies.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        mine, peers = {CHANNEL_VARIABLE: ours.fileno()}, {CHANNEL_VARIABLE: theirs.fileno()}
        if not program.one_process:
            yield mine, peers
            return
        listen, ring = os.pipe()
        try:
            yield {**mine, BELL_VARIABLE: ring}, {**peers, BELL_VARIABLE: listen}
        finally:
            os.close(listen)
            os.close(ring)


def role_of(program: Program) -> str:
    """What the process of a program is: see `boot.py`."""
    if program.peer is None:
        return "program"
    return "loaded" if program.one_process else "served"


def process_limits(limits: Limits, times: int) -> ProcessLimits:
    """The limits of one process, with `times` the time."""
    return ProcessLimits(
        cpu_s=times * limits.cpu_s,
        wall_s=times * limits.wall_s,
        memory_bytes=limits.memory_bytes,
        file_bytes=limits.file_bytes,
        total_cpu_s=limits.total_cpu_s,
    )


def order_limits(program: Program) -> dict[str, Any]:
    """The limits of one test or plain run, as plain data for a process's order."""
    return process_limits(program.limits, 1)._asdict()


def report_ends() -> tuple[int, int]:
    """The trainer's and the program's end of a report: no pipe, which a program could open once more to read it."""
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()
