"""One program as a process group of the trainer's user: started, watched, ended, collected.

The process is `code_env/harness/boot.py` in a fresh interpreter, which says on a pipe that it is up
before it looks at the program. What the program does to that pipe later can no longer be taken
for a fault of ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import code_env.harness as harness
from code_env.harness.channel import CHANNEL_VARIABLE
from code_env.harness.limits import MAX_STREAM_BYTES, WHOLE_RUN, ProcessLimits
from code_env.harness.watching import Watch, how_it_ended, open_pidfd

from .capture import HeadAndTail
from .program import Limits, Program
from .result import ErrorInfo, ExecutionResult, Status

_BOOT = Path(harness.__file__).with_name("boot.py")

_GOODBYE_S = 1.0
"""How long a program may go on after its peer has ended, in seconds."""

_REPORT_BYTES = 1 << 17
"""How much of a report is kept: an error's texts are clipped far below that."""

_REMOVAL_S = 30.0
"""How long the removal of a working directory may take, in seconds."""

_DRAIN_S = 0.2
"""How long an ended program's streams are still read; a survivor may hold them open."""


def watch(processes: list[ProgramProcess], ended_early: Callable[[], bool]) -> None:
    """Serve the streams and enforce the limits until all processes have ended."""
    running = list(processes)
    while running:
        poll = select.poll()
        by_fd = {fd: process for process in running for fd in process.readable()}
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        wait_s = min(process.clock.wait_s() for process in running)
        for fd, _ in poll.poll(wait_s * 1000):
            by_fd[fd].read(fd)
        for process in list(running):
            if ended_early():
                process.kill(None)
            process.enforce()
            if process.has_ended():
                running.remove(process)
                # A program whose peer is gone has nobody to answer. A peer whose program is gone
                # finds the channel closed, and has its report to finish.
                for other in running:
                    if other.is_served:
                        other.end_by(time.monotonic() + _GOODBYE_S)


class ProgramProcess:
    """One program as a process group, from its start to its result; a context manager.

    Args:
        python: Path of the interpreter.
        program: What to run.
        role: `program`, or `served` for one that a peer drives.
        channel: Descriptor of its end of the channel to its partner, if it has one.
    """

    def __init__(self, python: str, program: Program, role: str, channel: int | None = None) -> None:
        self._program = program
        self.is_served = role == "served"
        self._killed_for: str | None = None
        self._killed = False
        self._end_by: float | None = None
        self._base = Path(tempfile.mkdtemp(prefix="code_env-"))
        try:
            self._work = self._base / "work"
            self._work.mkdir()
            _write_files(self._work, {**program.files, "main.py": program.code.encode("utf-8", "surrogatepass")})
            self._report_fd, report = os.pipe()
            try:
                self._process = self._start(python, role, channel, report)
            except BaseException:
                os.close(self._report_fd)
                raise
            finally:
                os.close(report)
        except BaseException:
            _remove(self._base)
            raise
        limits = _process_limits(program.limits, WHOLE_RUN if role == "served" else 1)
        self.clock = Watch(self._process.pid, limits)
        stdout, stderr = self._process.stdout, self._process.stderr
        if stdout is None or stderr is None:
            raise OSError("the process has no streams")
        self._streams = {
            stdout.fileno(): HeadAndTail(program.limits.output_bytes),
            stderr.fileno(): HeadAndTail(program.limits.output_bytes),
            self._report_fd: HeadAndTail(_REPORT_BYTES),
        }
        self._open = set(self._streams)
        self._stdout, self._stderr, self._report = self._streams.values()
        self._pidfd = open_pidfd(self._process.pid)
        self._started = time.monotonic()
        self._status: int | None = None
        self._cpu_s = 0.0

    def _start(self, python: str, role: str, channel: int | None, report: int) -> subprocess.Popen[bytes]:
        order: dict[str, Any] = {
            "role": role,
            "file": "main.py",
            "argv": list(self._program.argv),
            "limits": vars(_process_limits(self._program.limits, 1)),
            "report": report,
            "parent": os.getpid(),
        }
        environment = {
            "PATH": os.defpath,
            "HOME": str(self._work),
            "TMPDIR": str(self._work),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            # The order of a set of strings would differ from run to run, and so would verdicts.
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if channel is not None and role == "served":
            order["channel"] = channel
        elif channel is not None:
            environment[CHANNEL_VARIABLE] = str(channel)
        # A file without a name: input needs no feeding, and nobody finds it in a directory.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(self._program.stdin.encode("utf-8", "surrogatepass"))
            stdin.seek(0)
            return subprocess.Popen(
                # -s, -P: neither the user's packages nor the harness's own directory on the path.
                [python, "-s", "-P", str(_BOOT), json.dumps(order)],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._work,
                env=environment,
                pass_fds=(report,) if channel is None else (report, channel),
                start_new_session=True,
                bufsize=0,
            )

    def readable(self) -> list[int]:
        """Descriptors to wait for."""
        return [*self._open, *([] if self._pidfd is None else [self._pidfd])]

    def read(self, fd: int) -> None:
        """Take what is there on a stream."""
        if fd not in self._open:
            return
        data = os.read(fd, 1 << 16)
        if not data:
            self._open.discard(fd)
            return
        self._streams[fd].take(data)
        if self._streams[fd].total > MAX_STREAM_BYTES:
            self.kill("output_limit")

    def kill(self, reason: str | None) -> None:
        """Kill the whole group; `reason` is the status to report, None if it is no fault."""
        if not self._killed:
            self._killed, self._killed_for = True, reason
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end_by(self, moment: float) -> None:
        """Kill the group at this moment, as no fault of its own."""
        self._end_by = moment

    def enforce(self) -> None:
        """Kill the group if it has used more than it may."""
        overrun = self.clock.overrun()
        if overrun is not None:
            self.kill(overrun)
        if self._end_by is not None and time.monotonic() > self._end_by:
            self.kill(None)

    def has_ended(self) -> bool:
        """Whether the main process has ended; if so, reap it, end its group, read what is left."""
        if not _is_over(self._process.pid):
            return False
        # While it is not reaped its number stays its own, and its group's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        _, self._status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(self._status)
        self._cpu_s = usage.ru_utime + usage.ru_stime
        deadline = time.monotonic() + _DRAIN_S
        while self._open and time.monotonic() < deadline:
            poll = select.poll()
            for fd in self._open:
                poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                self.read(fd)
        return True

    def result(self, queue_s: float, peer: ExecutionResult | None = None) -> ExecutionResult:
        """The result, once it has ended."""
        started, error = self._read_report()
        if self._status is None or (not started and not self._killed):
            message = self._stderr.text().strip()[-500:] or "the interpreter did not start"
            return sandbox_error(message, queue_s)
        ended = how_it_ended(self._status, self._cpu_s, self.clock.limits, self._killed_for)
        status = Status(ended["status"])
        if status is Status.ERROR and error is not None and error.name == "MemoryError":
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
            files=_collect(self._work, self._program),
            peer=peer,
            wall_s=time.monotonic() - self._started,
            cpu_s=self._cpu_s,
            peak_memory_bytes=self.clock.peak_bytes,
            queue_s=queue_s,
        )

    def _read_report(self) -> tuple[bool, ErrorInfo | None]:
        """Whether the harness came up, and the program's uncaught exception if it says so."""
        lines = self._report.text().splitlines()
        if self.is_served:  # Its children may write there as well; its peer tells of their errors.
            return bool(lines), None
        try:
            error = json.loads(lines[1]) if len(lines) > 1 else {}
            return bool(lines), ErrorInfo(**{k: str(error[k]) for k in ("name", "message", "traceback")})
        # No second line, or one of the program's own making.
        except (ValueError, KeyError, TypeError, RecursionError):
            return bool(lines), None

    def __enter__(self) -> ProgramProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is None:
            self.kill(None)
            self._process.wait()
        os.close(self._report_fd)
        if self._pidfd is not None:
            os.close(self._pidfd)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        _remove(self._base)


def _process_limits(limits: Limits, times: int) -> ProcessLimits:
    return ProcessLimits(
        cpu_s=times * limits.cpu_s,
        wall_s=times * limits.wall_s,
        memory_bytes=limits.memory_bytes,
        file_bytes=limits.file_bytes,
    )


def _write_files(directory: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _collect(directory: Path, program: Program) -> dict[str, bytes]:
    """The files to bring back: regular ones inside the directory, within `file_bytes` together."""
    found: dict[str, bytes] = {}
    left = program.limits.file_bytes
    root = directory.resolve()
    for name in program.collect:
        path = directory / name
        try:
            # The program made these: a link may lead anywhere, a FIFO would block the open.
            if path.resolve().is_relative_to(root) and path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    content = file.read(left + 1)
                if len(content) <= left:
                    found[name] = content
                    left -= len(content)
        # A directory it made unreadable, a name too long, links in a circle: not there.
        except (OSError, RuntimeError, ValueError):
            continue
    return found


def _is_over(pid: int) -> bool:
    """Whether a child has ended, without reaping it where the system lets one look."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    # macOS before Python 3.13 has no waitid in Python; a zombie answers to signals as the living do.
    listed = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, check=False).stdout
    return listed.strip()[:1] in (b"", b"Z")


def _remove(directory: Path) -> None:
    """Remove a directory that a program has worked in; whatever it did there is no reason to fail."""
    with contextlib.suppress(Exception):
        shutil.rmtree(directory)
    if directory.exists():
        # Too deep for Python, or made unreadable: the system's tools know what to do.
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run([*command, str(directory)], capture_output=True, timeout=_REMOVAL_S, check=False)


def sandbox_error(message: str, queue_s: float) -> ExecutionResult:
    """The result of a run that our side failed to make."""
    return ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("SandboxError", message), queue_s=queue_s)
