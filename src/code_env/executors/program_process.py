"""Runs one program as a process group of the trainer's user: start, watch, end, collect files.

The process runs `code_env/harness/boot.py` in a new interpreter, which reports on a socket that it is up
before it reads the program. So whatever the program does to that socket later is not mistaken for a fault
of the sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import code_env.harness as harness
from code_env.harness.process.collecting import collect_files
from code_env.harness.process.watching import Watch, descendants, open_pidfd
from code_env.harness.wire.channel import BELL_VARIABLE, CHANNEL_VARIABLE
from code_env.languages import PYTHON, find_language

from .files import remove_directory, write_files
from .interpreters import drivers_directory, interpreter_for
from .loader import loader_environment
from .program import Program, main_file
from .running_program import RunningProgram, order_limits, report_ends

_BOOT = Path(harness.__file__).with_name("boot.py")

_DRAIN_S = 0.2
"""How long the streams are still read after the program has ended, in seconds; a surviving child can hold them open."""


class ProgramProcess(RunningProgram):
    """One program as a process group, from its start to its result; a context manager.

    Args:
        python: Path of the interpreter.
        program: What to run.
        role: The role of the process, see `role_of`.
        joined: File descriptors that connect the program and its peer, if there are two, by the environment variables
            in which a peer finds their numbers.
    """

    def __init__(
        self, python: str, program: Program, role: str, joined: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        super().__init__(program, role)
        self._base = Path(tempfile.mkdtemp(prefix="code_env-"))
        try:
            self._work = self._base / "work"
            self._work.mkdir()
            self._file = main_file(program.language)
            write_files(self._work, {**program.files, self._file: program.code.encode("utf-8", "surrogatepass")})
            self._report_fd, report = report_ends()
            try:
                self._process = self._start(python, joined, report)
            except BaseException:
                os.close(self._report_fd)
                raise
            finally:
                os.close(report)
        except BaseException:
            remove_directory(self._base)
            raise
        pid = self._process.pid
        self.clock = Watch(lambda: [pid, *descendants(pid)], self.limits)
        stdout, stderr = self._process.stdout, self._process.stderr
        if stdout is None or stderr is None:
            raise OSError("the process has no streams")
        self.serve_streams(stdout.fileno(), stderr.fileno(), self._report_fd)
        self._pidfd = open_pidfd(pid)

    def _start(self, python: str, joined: Mapping[str, int], report: int) -> subprocess.Popen[bytes]:
        order: dict[str, Any] = {
            "role": self.role,
            "file": self._file,
            "command": self._command(),
            "argv": list(self.program.argv),
            "limits": order_limits(self.program),
            "report": report,
            "parent": os.getpid(),
            "cells": list(self.program.cells) if self.program.notebook else None,
            "history": self.program.history,
        }
        environment = {
            "PATH": os.defpath,
            "HOME": str(self._work),
            "TMPDIR": str(self._work),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            # Without this, the order of a set of strings would differ from run to run, and so would verdicts.
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            **loader_environment(python),
        }
        if self.has_peer:
            order |= {"channel": joined[CHANNEL_VARIABLE], "bell": joined.get(BELL_VARIABLE)}
        else:
            environment |= {name: str(fd) for name, fd in joined.items()}
        # Files without names: no thread has to feed them, no program finds them in a directory, and an order, which can
        # hold all cells of a session, may be longer than an argument.
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as ordered:
            stdin.write(self.program.stdin.encode("utf-8", "surrogatepass"))
            stdin.seek(0)
            ordered.write(json.dumps(order).encode())
            ordered.seek(0)
            return subprocess.Popen(
                # -s, -P: neither the user's packages nor the harness's own directory on the path.
                [python, "-s", "-P", str(_BOOT), str(ordered.fileno())],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._work,
                env=environment,
                pass_fds=(ordered.fileno(), report, *joined.values()),
                start_new_session=True,
                bufsize=0,
            )

    def _command(self) -> dict[str, Any] | None:
        """How to run the program, if it is not Python."""
        language = find_language(self.program.language)
        if language is None or language is PYTHON:
            return None
        return interpreter_for(language).command(self.program.limits, str(drivers_directory()))

    def readable(self) -> list[int]:
        """The file descriptors of its streams, and the pidfd, which becomes readable when the process ends."""
        return [*super().readable(), *([] if self._pidfd is None else [self._pidfd])]

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Whether the main process has ended; if so, end its group, reap it, and read the rest of its streams."""
        if not _is_over(self._process.pid):
            return False
        # Kill the group before the process is reaped: until then its pid cannot be used again.
        self._kill()
        _, self._status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(self._status)
        # `usage` does not count children that the process has not waited for; the clock has counted them.
        self._cpu_s = max(usage.ru_utime + usage.ru_stime, self.clock.cpu_s)
        deadline = time.monotonic() + _DRAIN_S
        while self._streams and time.monotonic() < deadline:
            poll = select.poll()
            for fd in self._streams:
                poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                self.read(fd)
        return True

    def _files(self) -> dict[str, bytes]:
        try:
            directory = os.open(self._work, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # The program has removed the directory, or replaced it.
            return {}
        try:
            return collect_files(directory, self.program.collect, self.program.limits.file_bytes)
        finally:
            os.close(directory)

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
        remove_directory(self._base)


def _is_over(pid: int) -> bool:
    """Whether a child process has ended. It is not reaped."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    # On macOS Python has no waitid before 3.13, and a signal does not tell a zombie from a running process.
    listed = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, check=False).stdout
    return listed.strip()[:1] in (b"", b"Z")
