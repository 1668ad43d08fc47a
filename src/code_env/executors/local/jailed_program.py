"""Runs one program in a worker: sends its order, watches it, ends it at its limits, and collects its result."""

from __future__ import annotations

import dataclasses
import errno
import os
import resource
import socket
import time
from collections.abc import Mapping
from types import MappingProxyType

from code_env.executors.child_report import REFUSALS
from code_env.executors.program import Program
from code_env.executors.result import ErrorInfo, ExecutionResult, Status
from code_env.executors.running_program import RunningProgram, order_limits, process_limits, report_ends
from code_env.harness.process.collecting import collect_files
from code_env.harness.process.descriptors import LOCK_TEXT, NAME_TEXT
from code_env.harness.process.limits import MAX_TASKS, NAME_BYTES
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.watching import TICK_S, Watch, descendants
from code_env.languages import PYTHON

from .file_watch import FileWatch
from .jail import namespaces, wire
from .work_directory import WorkDirectory
from .worker import ServerDied, Worker, signal_descendant

_PAGE = 4096

SELDOM_S = 0.2
"""The time between two checks of a trusted process, in seconds."""

_QUIET_S = 0.01
"""A program's streams are not read for this long after its start, in seconds."""

_LITTLE_BYTES, _PAUSE_S = 4096, 0.005
"""After a read of less than this, in bytes, the streams are not read for this long, in seconds. So a program that
writes single bytes wakes the trainer's thread no more than some 200 times a second."""

_GIVE_UP_S = 10.0
"""How long the trainer waits for a killed program to end before it gives up the server, in seconds."""


class JailedProgram(RunningProgram):
    """One program in a worker, from its order to its result; a context manager.

    Args:
        worker: A worker that runs nothing now.
        program: What to run.
        role: The role of its process, see `role_of`.
        joined: Descriptors that join it to its partner, if it has a partner, by the environment variables in which a
            peer finds their numbers.

    Raises:
        ServerDied: If the worker is gone.
    """

    keeps_to_policy = True
    """Whether it must follow the policy of its server, if the server has a policy. Trusted programs need not."""
    tick_s = TICK_S
    """The time between two checks of its limits, in seconds."""

    environment: Mapping[str, str] = MappingProxyType({})
    """Additional environment variables, if it is a peer."""

    def __init__(
        self, worker: Worker, program: Program, role: str, joined: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        super().__init__(program, role)
        self._worker = worker
        self._has_policy = worker.server.has_policy and self.keeps_to_policy
        self._directory, self._untouched = worker.directory, False
        worker.make_directory()
        self._collected: dict[str, bytes] = {}
        self._killed_at: float | None = None
        self._answering_s = 0.0
        self._locks = self._names = 0
        self._file_watch: FileWatch | None = None
        self._excess: str | None = None
        self._pipes: list[int] = []
        self._pause_until = 0.0
        reaper = worker.pid if program.limits.processes else None
        # A serving process watches its tests itself. But at level `contained` only the trainer measures its files.
        tick_s = SELDOM_S if self.is_served and self._directory is None else self.tick_s
        self.clock = Watch(
            lambda: descendants(worker.pid),
            self.limits,
            self._bytes_in_tmpfs,
            reaper=reaper,
            tick_s=tick_s,
            beside_s=lambda: self._answering_s,
            text_bytes=lambda: NAME_TEXT * self._names + LOCK_TEXT * self._locks,
            serves=self.is_served,
        )
        try:
            if self._directory is not None:
                self._file_watch = self._watch_files(self._directory)
            self._send(joined)
        except BaseException:
            self._release()
            raise

    def _order(self, joined: Mapping[str, int]) -> wire.ProgramOrder:
        program = self.program
        code = program.code.encode("utf-8", "surrogatepass")
        files = {str(name): bytes(content) for name, content in program.files.items()}
        scratch = namespaces.SCRATCH if self._directory is None else str(self._directory.run)
        environment: dict[str, str] = {}
        if not self.has_peer:
            numbers = {name: str(number) for number, name in enumerate(joined, start=wire.FIRST + 5)}
            environment = {**numbers, **self.environment}
        command = None if program.language == PYTHON.name else self._worker.server.commands.order(program.limits)
        limits = process_limits(program.limits, 1)
        rlimits, of_tests = limits.rlimits(), []
        if self.is_served:
            own = limits.of_whole_run(max(map(len, (code, *files.values())))).rlimits()
            # CPU time is watched. The kernel's limit is a precaution, and tests inherit that of the serving process.
            of_tests = [one for one in rlimits if one not in own and one[0] != resource.RLIMIT_CPU]
            rlimits = own
        further = None
        if self.is_served or environment or program.notebook or command is not None or self._has_policy:
            further = wire.FurtherOrder(
                environment=environment,
                command=command,
                cells=[str(one) for one in program.cells] if program.notebook else None,
                history=None if program.history is None else [str(one) for one in program.history],
                limits=order_limits(program),
                processes=program.limits.processes,
                scratch=scratch,
                policy=self._has_policy,
                test_rlimits=of_tests,
            )
        return wire.ProgramOrder(
            role=self.role,
            directory=namespaces.work_in(scratch),
            code=code,
            argv=[str(one) for one in program.argv],
            files=files,
            rlimits=rlimits,
            further=further,
        )

    def _send(self, joined: Mapping[str, int]) -> None:
        program = self.program
        order = wire.pack(self._order(joined))
        # A test of a served program has a copy of the input files.
        size = _in_pages(program.limits.file_bytes) + self._input_bytes() * (2 if self.is_served else 1)
        gated = 0 if self.is_served else program.limits.processes
        is_command = program.language != PYTHON.name
        flags = (wire.WANT_DIRECTORY if program.collect else 0) | (wire.COMMAND if is_command else 0)
        message = wire.ORDER.pack(size, len(order), min(gated, 1 << 20), flags)
        theirs: list[int] = []  # This process closes them; the worker gets copies.
        try:
            theirs.append(memory_file("order", order))
            # Each program gets a file of its own, even if it is empty: the program can set its offset, flags and times.
            theirs.append(memory_file("stdin", program.stdin.encode("utf-8", "surrogatepass")))
            for make in (os.pipe, os.pipe, report_ends):
                read_fd, write_fd = make()
                self._pipes.append(read_fd)
                theirs.append(write_fd)
                os.set_blocking(read_fd, False)
            # Whatever user the program runs as, it may open its own output by name (/dev/stdout).
            os.fchmod(theirs[-3], 0o666)
            os.fchmod(theirs[-2], 0o666)
            socket.send_fds(self._worker.sock, [message], [*theirs, *joined.values()])
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.ECONNRESET, errno.EBADF):
                raise ServerDied(f"a worker is gone: {error}") from error
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self.serve_streams(*self._pipes)

    def _input_bytes(self) -> int:
        """Return the size of the files that are put into its directory, in bytes, each rounded up to whole pages."""
        files = (self.program.code.encode("utf-8", "surrogatepass"), *self.program.files.values())
        return sum(_in_pages(len(content)) for content in files)

    def _watch_files(self, directory: WorkDirectory) -> FileWatch:
        worker, one = self._worker.pid, self.program.limits.file_bytes
        return FileWatch(
            directory.run,
            one + 2 * self._input_bytes(),
            one,
            self.program.limits.memory_bytes if directory.in_memory else None,
            lambda: descendants(worker),
            lambda pid, number: signal_descendant(pid, worker, number),
        )

    def readable(self) -> list[int]:
        """Return its streams and the worker's socket; only the socket shortly after the start or after a small read.

        Most programs end before their pipes are full, so this thread need not wake up for their output.
        """
        is_quiet = self.clock.wall_s < _QUIET_S or time.monotonic() < self._pause_until
        return [*([] if is_quiet else super().readable()), self._worker.sock.fileno()]

    def wait_s(self) -> float:
        """Return how long the caller may wait before the next check, in seconds."""
        quiet_s = _QUIET_S - self.clock.wall_s
        if quiet_s > 0:
            return quiet_s
        pause_s = self._pause_until - time.monotonic()
        return min(pause_s, super().wait_s()) if pause_s > 0 else super().wait_s()

    def read(self, fd: int) -> None:
        """Read from a stream, or take the worker's message.

        Raises:
            ServerDied: If the worker is gone.
        """
        if fd != self._worker.sock.fileno():
            before = self._stdout.total + self._stderr.total
            super().read(fd)
            if self._stdout.total + self._stderr.total - before < _LITTLE_BYTES:
                self._pause_until = time.monotonic() + _PAUSE_S
            return
        try:
            answer, fds = wire.receive(self._worker.sock)
        except OSError as error:
            raise ServerDied(f"a worker is gone: {error}") from error
        if len(answer) == wire.SPENT.size:
            self._answering_s, self._locks = wire.SPENT.unpack(answer)
            return
        if len(answer) != wire.ENDED.size:
            raise ServerDied("a worker ended while its program ran")
        self._status, self._cpu_s, self._peak_bytes = wire.ENDED.unpack(answer)
        for directory in fds:
            try:
                limit = self.program.limits.file_bytes
                self._collected = collect_files(directory, self.program.collect, limit)
            finally:
                os.close(directory)
        self.read_streams()  # No process is left that could write to them.

    def has_ended(self) -> bool:
        """Return whether the worker has reported its end. By then, none of its processes is left."""
        return self._status is not None

    def enforce(self) -> None:
        """Kill it if it exceeds a limit.

        Later calls kill it again, because its process did not necessarily exist at the first attempt.

        Raises:
            ServerDied: If it cannot be killed.
        """
        super().enforce()
        if self._file_watch is not None and self._file_watch.exceeds():
            self._excess = f"[Errno {errno.ENOSPC}] {self._file_watch.excess}"
            self.kill("error")
        # At level `full`, and under root, the kernel limits them.
        if self.clock.threads > MAX_TASKS and self._excess is None:
            self._excess = f"[Errno {errno.EAGAIN}] it had more than {MAX_TASKS} threads"
            self.kill("error")
        if self._killed:
            self._kill()
            if self._killed_at is None:
                self._killed_at = time.monotonic()
            if time.monotonic() - self._killed_at > _GIVE_UP_S:
                raise ServerDied("a program could not be killed")

    def result(self, queue_s: float, peer: ExecutionResult | None = None) -> ExecutionResult:
        """Return the result, once the program has ended."""
        if self._directory is not None:
            self._untouched = self._directory.is_as_made(self.program.limits.file_bytes)
            if not self._untouched and self._file_watch is not None:
                self._look_at_what_is_left(self._file_watch)
        result = super().result(queue_s, peer)
        if self._excess is not None and result.status is Status.ERROR:
            result = dataclasses.replace(result, error=ErrorInfo("OSError", self._excess))
        if self._has_policy and result.status is Status.ERROR:
            # A program can give an error of its own one of these names. It then counts as refused, and gains nothing.
            if result.error is None or result.error.name not in REFUSALS:
                return result
            result = dataclasses.replace(result, status=Status.REFUSED)
        return result

    def _look_at_what_is_left(self, watch: FileWatch) -> None:
        if watch.has_left_too_much():
            self._excess = f"[Errno {errno.ENOSPC}] {watch.excess}"
            self._killed_for = self._killed_for or "error"
        held = self._bytes_in_tmpfs()
        self._peak_bytes = max(self._peak_bytes, held)
        if held > self.program.limits.memory_bytes:
            self._killed_for = self._killed_for or "memory"

    def _bytes_in_tmpfs(self) -> int:
        if self._directory is not None:
            watch = self._file_watch if self._directory.in_memory else None
            return 0 if watch is None else watch.held_bytes + NAME_BYTES * watch.names
        try:
            scratch = os.statvfs(f"/proc/{self._worker.pid}/root{namespaces.SCRATCH}")
        except OSError:
            return 0
        self._names = scratch.f_files - scratch.f_ffree
        return (scratch.f_blocks - scratch.f_bfree) * scratch.f_frsize + NAME_BYTES * self._names

    def _kill(self) -> None:
        for pid in descendants(self._worker.pid):
            signal_descendant(pid, self._worker.pid)

    def _files(self) -> dict[str, bytes]:
        if self._directory is None:
            return self._collected
        return collect_files(self._directory.fd, self.program.collect, self.program.limits.file_bytes)

    def __enter__(self) -> JailedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is None:
            self._worker.abandon()
        self._release()

    def _release(self) -> None:
        for fd in self._pipes:
            os.close(fd)
        if self._file_watch is not None:
            self._file_watch.close()
        self._worker.clear_directory(untouched=self._untouched)


def _in_pages(size: int) -> int:
    return (size + _PAGE - 1) // _PAGE * _PAGE
