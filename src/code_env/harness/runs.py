"""Runs an answer as a program, once for each `stdin` test, each in a fork of the process that has compiled it.

Nearly all that a small test costs is memory: after each fork, every page that either side writes to is copied or
remapped. So what is done between one fork and the next is written for few objects touched, not for few lines, and
what can wait until several tests have run waits.
"""

from __future__ import annotations

import json
import os
import random
import select
import time
from types import CodeType
from typing import Any, NoReturn

from .channel import Kind, frame, json_bytes
from .children import BROKEN_EXIT_CODE, Child
from .confinement import Confinement
from .limits import MAX_STREAM_BYTES, ProcessLimits, set_limit
from .main_module import run_as_main
from .memory_file import memory_file
from .streams import REPORT, Streams
from .watching import how_it_ended, open_pidfd
from .workspace import Workspace

_close, _write, _fork, _exit, _getpid = os.close, os.write, os.fork, os._exit, os.getpid
_wait4, _poll, _monotonic, _POLLIN = os.wait4, select.poll, time.monotonic, select.POLLIN

_QUIET_S = 0.01
"""How long nothing but a test's end is waited for, in seconds: most end before their pipes are full."""


class Runs:
    """The runs of one answer.

    Args:
        code: The compiled answer.
        argv: Its arguments, without its own name.
        limits: What each run may use.
        confinement: What the executor asks of each run's process.
        workspace: Where they run.
    """

    def __init__(
        self, code: CodeType, argv: list[str], limits: ProcessLimits, confinement: Confinement, workspace: Workspace
    ) -> None:
        self._code, self._argv, self._limits = code, argv, limits
        self._confinement, self._workspace = confinement, workspace
        self._draws = "random" in code.co_names
        self._rlimits, self._parent = limits.differing(), _getpid()
        self._streams: Streams | None = None
        self._outcomes: list[tuple[Any, ...]] = []
        self.bytes_waiting = 0
        """How much the outcomes hold that `frames` has not given yet."""

    def run(self, stdin: bytes) -> None:
        """Run the answer with this standard input."""
        streams = self._streams
        if streams is None:
            streams = self._streams = Streams()
        streams.begin()
        room = self._workspace.take_room()
        given = _input_file(stdin)
        gate = None
        if not self._confinement.refuses_forks:
            gate = self._confinement.gate()
            if gate is not None:
                gate.open()
        rlimits, parent = self._rlimits, self._parent
        started = _monotonic()
        pid = _fork()
        if pid == 0:
            try:
                for which, soft, hard in rlimits:
                    set_limit(which, (soft, hard))
                self._workspace.enter(room)
                listener = self._confinement.enter(parent, counted=gate is not None)
                if gate is not None and listener is not None:
                    gate.hand_over(listener)
                streams.enter(given)
                self._become()
            finally:
                _exit(BROKEN_EXIT_CODE)
        _close(given)
        pidfd = open_pidfd(pid) if gate is None else None
        ended: tuple[int, int, Any] | None = None
        if pidfd is not None:
            poll = _poll()
            poll.register(pidfd, _POLLIN)
            if poll.poll(1000 * _QUIET_S):
                ended = _wait4(pid, 0)
            _close(pidfd)
        ended_for = None
        if ended is None:
            child = Child(pid, self._limits, gate, started)

            def take() -> bool:
                if not streams.take():
                    child.end("output_limit")
                return True

            for fd in streams.fileno():
                child.on_readable(fd, take, drain=False)
            ended, ended_for = child.wait()
        wall_s = _monotonic() - started
        if not self._confinement.refuses_forks:
            self._confinement.clean()
        # Nobody is left who could write; where somebody may be, what comes later is not looked at.
        if not streams.take():
            ended_for = ended_for or "output_limit"
        self._workspace.leave(room)
        stdout = streams.stdout
        self._outcomes.append((ended[1], ended[2], ended_for, wall_s, stdout, streams.stderr, streams.report))
        self.bytes_waiting += len(stdout) + 1000
        if streams.too_much or not self._confinement.ends_all:
            streams.close()
            self._streams = None

    def _become(self) -> NoReturn:
        if self._draws:
            random.seed()  # All tests are forks of one process, whose generator is in one state.

        def send_report(error: dict[str, Any]) -> None:
            view = memoryview(json.dumps(error).encode())
            while view:
                view = view[_write(REPORT, view) :]

        run_as_main(self._code, self._argv, send_report)

    def frames(self) -> bytes:
        """What there is to say of the runs since the last call."""
        outcomes, self._outcomes, self.bytes_waiting = self._outcomes, [], 0
        frames = bytearray()
        for status, usage, ended_for, wall_s, stdout, stderr, report in outcomes:
            if stdout:
                frames += frame(Kind.OUTPUT, bytes(stdout[:MAX_STREAM_BYTES]))
            cpu_s = usage.ru_utime + usage.ru_stime
            ended = how_it_ended(status, cpu_s, self._limits, ended_for)
            error = _error_of(report)
            if error is not None and error["name"] == "MemoryError" and ended["status"] == "error":
                ended["status"] = "memory"
            ended |= {"cpu_s": round(cpu_s, 6), "wall_s": round(wall_s, 6)}
            ended |= {"error": error, "stderr": stderr.decode("utf-8", "replace")}
            frames += frame(Kind.ENDED, json_bytes(ended))
        return bytes(frames)


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
    if not report:
        return None
    try:
        value = json.loads(report)
        return {key: str(value[key]) for key in ("name", "message", "traceback")}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
