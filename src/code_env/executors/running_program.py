"""One running program, for any kind of process: its streams, its limits, and its result.

The subclasses of `RunningProgram` know how to start and kill a process, and how to find out that it has ended.
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
from .child_report import Report, read_report
from .limits import Limits
from .program import Program
from .result import ExecutionResult, Status, sandbox_error

GOODBYE_S = 1.0
"""How long a program may continue after its peer has ended, in seconds."""

_REPORT_BYTES = 1 << 17
"""How many bytes of a report are kept: the texts of an error are cut to much less."""


class Caller(Protocol):
    """The caller of `watch`; see `Place`."""

    def is_over(self) -> bool:
        """Whether the run's result is not wanted any more."""

    def sleeps(self, asleep: bool) -> None:
        """Report whether the run sleeps, so that another program may use its core."""


def watch(programs: list[RunningProgram], place: Caller | None = None) -> None:
    """Serve the streams and enforce the limits until all programs have ended.

    Args:
        programs: The program and, if it has one, its peer.
        place: The caller, if it can stop waiting for the result.
    """
    for program in programs:
        program.clock.partner = next((other.clock for other in programs if other is not program), None)
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
                # If the peer has ended, the program has nothing left to do and is ended soon. If the program has
                # ended, the peer sees that the channel is closed, and still has to finish its report.
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
        program: The program.
        role: `program`; for a program that a peer drives `served` or `loaded`, see `role_of`.
    """

    clock: Watch
    """Measures the time and memory that it uses; the subclass sets it when the process has started."""

    def __init__(self, program: Program, role: str) -> None:
        self.program, self.role = program, role
        self.is_served = role == "served"
        self.has_peer = role != "program"
        self.limits = process_limits(program.limits, WHOLE_RUN if self.is_served else 1)
        if self.is_served:
            # The serving process watches each test. This limit is for what that watch misses, so it must be larger.
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
        """Start a new run in the same process: drop the output so far, and start the clock again."""
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
        """Whether it has ended; if so, end all processes that it started, and read its streams to their ends."""

    @abc.abstractmethod
    def _kill(self) -> None:
        """Send SIGKILL, if it still runs."""

    @abc.abstractmethod
    def _files(self) -> Mapping[str, bytes]:
        """The files to bring back."""

    def serve_streams(self, stdout: int, stderr: int, report: int) -> None:
        """Set the file descriptors from which to read its output and its report."""
        self._streams = {stdout: self._stdout, stderr: self._stderr, report: self._report}

    def readable(self) -> list[int]:
        """The file descriptors to poll."""
        return list(self._streams)

    def wait_s(self) -> float:
        """How long the caller may wait before it checks the limits again, in seconds."""
        return self.clock.wait_s()

    def read(self, fd: int) -> None:
        """Read some of the available data of a stream."""
        self._read_some(fd)

    def read_streams(self) -> None:
        """Read everything that is in its streams now. They must not block."""
        for fd in list(self._streams):
            while self._read_some(fd):
                pass

    def _read_some(self, fd: int) -> bool:
        """Read from a stream once; return whether there was data."""
        stream = self._streams.get(fd)
        if stream is None:
            return False
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            del self._streams[fd]
            return False
        stream.take(data)
        if stream.total > MAX_STREAM_BYTES:
            self.kill("output_limit")
        return True

    def kill(self, reason: str | None) -> None:
        """Kill it; `reason` is the status to report, None if the program is not at fault."""
        if not self._killed:
            self._killed, self._killed_for = True, reason
        self._kill()

    def end_by(self, moment: float) -> None:
        """Set the time, on the monotonic clock, at which to kill it; this is not reported as the program's fault."""
        self._end_by = moment

    def enforce(self) -> None:
        """Kill it if it exceeds a limit."""
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
        # The peak of a serving process includes its tests. Each test has limits of its own, so the peak is not checked.
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
        # If the program has a peer, the peer reports everything except that the process has started.
        cells = len(self.program.cells) + 1 if self.program.notebook else None
        return read_report(self._report.text(), cells=cells, alone=not self.has_peer)


@contextlib.contextmanager
def joined(program: Program) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Make the file descriptors that join a program to its peer.

    They are closed when the context ends; the processes must have their own copies by then.

    Yields:
        Those of the program and those of the peer, each by the environment variable that holds the number.
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
    """The role of a program's process: `program`, `loaded` or `served`; see `boot.py`."""
    if program.peer is None:
        return "program"
    return "loaded" if program.one_process else "served"


def process_limits(limits: Limits, times: int) -> ProcessLimits:
    """The limits of one process, with CPU time and wall time multiplied by `times`."""
    return ProcessLimits(
        cpu_s=times * limits.cpu_s,
        wall_s=times * limits.wall_s,
        memory_bytes=limits.memory_bytes,
        file_bytes=limits.file_bytes,
        total_cpu_s=limits.total_cpu_s,
    )


def order_limits(program: Program) -> dict[str, Any]:
    """The limits of one test or of one run without a peer, as plain data for a process's order."""
    return process_limits(program.limits, 1)._asdict()


def report_ends() -> tuple[int, int]:
    """The two ends of the socket for a report: the trainer's and the program's.

    It is not a pipe, because a program could open a pipe again for reading.
    """
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()
