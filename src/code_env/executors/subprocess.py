"""`subprocess`: each program is an ordinary process of the trainer's user. It isolates nothing.

For macOS and for debugging; a program can read and change whatever its user can. What is enforced
is what a parent can enforce on a process group from outside: a fresh interpreter, working directory
and environment for each program; wall and CPU time and memory of its main process; file size;
bounded output; and the whole group is killed when the program ends, for whatever reason.

A program with a peer is two such processes joined by a socket pair. They run as the same user, so
the program could read its peer's memory: `describe().peer` is `same_machine`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import code_env.harness as harness
from code_env.errors import ExecutorClosed, ExecutorError, UnsupportedProgram
from code_env.harness.channel import CHANNEL_VARIABLE
from code_env.harness.limits import MAX_STREAM_BYTES, TICK_S, WHOLE_RUN, ProcessLimits, Watch, how_it_ended

from .base import Executor, Isolation
from .capture import HeadAndTail
from .program import Limits, Program
from .result import ErrorInfo, ExecutionResult, Status

_BOOT = Path(harness.__file__).with_name("boot.py")

_GOODBYE_S = 1.0
"""How long a program may go on after its peer has ended, and a peer after its program, in seconds."""

_REPORT_BYTES = 1 << 17
"""How much of a report is kept: an error's texts are clipped far below that."""

_DRAIN_S = 0.2
"""How long an ended program's streams are still read; a survivor may hold them open."""


class UnisolatedSubprocessExecutor(Executor):
    """Runs each program as a process of the trainer's own user, with all its rights.

    Args:
        workers: How many programs run at once; the cores this process may use by default.
        python: Path of the interpreter that runs programs; the trainer's by default.

    Raises:
        ExecutorError: On a system without POSIX processes, or for arguments out of range.
    """

    def __init__(self, workers: int | None = None, python: str | None = None) -> None:
        if not hasattr(os, "fork"):
            raise ExecutorError(f"the subprocess executor needs a POSIX system, not {sys.platform}; use WSL")
        if workers is not None and (type(workers) is not int or workers < 1):
            raise ExecutorError(f"workers must be a whole number of at least 1; got {workers!r}")
        if python is not None and shutil.which(python) is None:
            raise ExecutorError(f"python={python!r} is not an executable file")
        self._workers = workers or len(_own_cores())
        self._python = python or sys.executable
        self._lock = threading.Lock()
        self._closed = False
        self._pool: _Pool | None = None

    def describe(self) -> Isolation:
        """Nothing is isolated; see the module's text for what is enforced."""
        enforced = {"cpu_s", "wall_s", "output_bytes", "file_bytes"}
        if sys.platform == "linux":
            enforced.add("memory_bytes")
        return Isolation(
            level="none",
            peer="same_machine",
            enforces=frozenset(enforced),
            network=True,
            details="programs run with all rights of the user who started the trainer",
        )

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`."""
        for language in (program.language, program.peer.language if program.peer else "python"):
            if language != "python":
                raise UnsupportedProgram(f"the subprocess executor runs python, not {language!r}")
        with self._lock:
            if self._closed:
                raise ExecutorClosed("this executor was closed; make a new one")
            if self._pool is None or self._pool.pid != os.getpid():  # A fork has no threads of its parent.
                self._pool = _Pool(self._workers, self._python)
            return self._pool.submit(program)

    def close(self) -> None:
        """End what still runs. Idempotent."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None and pool.pid == os.getpid():
            pool.close()


def _own_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


class _Pool:
    """Threads that each run one program at a time.

    Daemon threads, so an interpreter that exits without `close` does not wait for a program. The
    programs then end with it: each asks the kernel to be killed with the thread that started it.
    """

    def __init__(self, workers: int, python: str) -> None:
        self.pid = os.getpid()
        self._python = python
        self._orders: queue.SimpleQueue[tuple[Program, Future[ExecutionResult], float] | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"code_env-subprocess-{i}", daemon=True) for i in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, program: Program) -> Future[ExecutionResult]:
        # The future stays pending until its result is there: only so can `cancel` reach a running one.
        future: Future[ExecutionResult] = Future()
        self._orders.put((program, future, time.monotonic()))
        return future

    def close(self) -> None:
        self._closing.set()
        for _ in self._threads:
            self._orders.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            program, future, submitted = order
            if future.cancelled():
                continue
            if self._closing.is_set():
                future.cancel()
                continue
            queue_s = time.monotonic() - submitted
            try:
                result = self._run(program, future, queue_s)
            # No directory, no process, no descriptor to be had: the sandbox's fault.
            except OSError as error:
                result = _sandbox_error(f"{type(error).__name__}: {error}", queue_s)
            if future.set_running_or_notify_cancel():
                future.set_result(result)

    def _run(self, program: Program, future: Future[ExecutionResult], queue_s: float) -> ExecutionResult:
        with contextlib.ExitStack() as stack:
            ended_early = lambda: future.cancelled() or self._closing.is_set()  # noqa: E731
            if program.peer is None:
                main = stack.enter_context(_Process(self._python, program, "program"))
                _watch([main], ended_early)
                return main.result(queue_s)
            ours, theirs = socket.socketpair()
            with ours, theirs:
                peer = stack.enter_context(_Process(self._python, program.peer, "program", channel=theirs.fileno()))
                main = stack.enter_context(_Process(self._python, program, "served", channel=ours.fileno()))
            _watch([main, peer], ended_early)
            return main.result(queue_s, peer.result(queue_s))


def _sandbox_error(message: str, queue_s: float) -> ExecutionResult:
    return ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("SandboxError", message), queue_s=queue_s)


def _watch(processes: list[_Process], ended_early: Any) -> None:
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
                for other in running:  # Its partner is gone: nothing is left to do but to say goodbye.
                    other.end_by(time.monotonic() + _GOODBYE_S)


class _Process:
    """One program as a process group, from its start to its result; a context manager.

    Args:
        python: Path of the interpreter.
        program: What to run.
        role: `program`, or `served` for one that a peer drives.
        channel: Descriptor of its end of the channel to its partner, if it has one.
    """

    def __init__(self, python: str, program: Program, role: str, channel: int | None = None) -> None:
        self._program = program
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
            shutil.rmtree(self._base, ignore_errors=True)
            raise
        limits = _process_limits(program.limits, WHOLE_RUN if role == "served" else 1)
        self.clock = Watch(self._process.pid, limits)
        assert self._process.stdout is not None and self._process.stderr is not None  # noqa: S101 (for mypy)
        self._streams = {
            self._process.stdout.fileno(): HeadAndTail(program.limits.output_bytes),
            self._process.stderr.fileno(): HeadAndTail(program.limits.output_bytes),
            self._report_fd: HeadAndTail(_REPORT_BYTES),
        }
        self._open = set(self._streams)
        self._stdout, self._stderr, self._report = self._streams.values()
        self._pidfd = _pidfd(self._process.pid)
        self._started = time.monotonic()
        self._status: int | None = None
        self._cpu_s = 0.0
        self._peak_bytes = 0

    def _start(self, python: str, role: str, channel: int | None, report: int) -> subprocess.Popen[bytes]:
        order: dict[str, Any] = {
            "role": role,
            "file": "main.py",
            "argv": list(self._program.argv),
            "limits": vars(_process_limits(self._program.limits, 1)),
            "report": report,
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
        if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            return False
        # While it is not reaped its number stays its own, and its group's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        _, self._status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(self._status)
        self._cpu_s = usage.ru_utime + usage.ru_stime
        self._peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        deadline = time.monotonic() + _DRAIN_S
        while self._open and time.monotonic() < deadline:
            for fd in select.select(list(self._open), [], [], TICK_S)[0]:
                self.read(fd)
        return True

    def result(self, queue_s: float, peer: ExecutionResult | None = None) -> ExecutionResult:
        """The result, once it has ended."""
        started, error = self._read_report()
        if self._status is None or (not started and not self._killed):
            message = self._stderr.text().strip()[-500:] or "the interpreter did not start"
            return _sandbox_error(message, queue_s)
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
            peak_memory_bytes=max(self._peak_bytes, self.clock.peak_bytes),
            queue_s=queue_s,
        )

    def _read_report(self) -> tuple[bool, ErrorInfo | None]:
        """Whether the harness came up, and the program's uncaught exception if it says so."""
        lines = self._report.text().splitlines()
        try:
            error = json.loads(lines[1]) if len(lines) > 1 else {}
            return bool(lines), ErrorInfo(**{k: str(error[k]) for k in ("name", "message", "traceback")})
        # No second line, or one of the program's own making.
        except (ValueError, KeyError, TypeError, RecursionError):
            return bool(lines), None

    def __enter__(self) -> _Process:
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
        _make_removable(self._base)
        shutil.rmtree(self._base, ignore_errors=True)


def _process_limits(limits: Limits, times: int) -> ProcessLimits:
    return ProcessLimits(
        cpu_s=times * limits.cpu_s,
        wall_s=times * limits.wall_s,
        memory_bytes=limits.memory_bytes,
        file_bytes=limits.file_bytes,
    )


def _pidfd(pid: int) -> int | None:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None


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
        except OSError:  # A directory it made unreadable, or a name too long: not there.
            continue
    return found


def _make_removable(base: Path) -> None:
    """Undo what a program did to the modes of its directories, so that they can be removed."""
    for directory, _, _ in os.walk(base):
        with contextlib.suppress(OSError):
            os.chmod(directory, 0o700)
