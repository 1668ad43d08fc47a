"""Graders in environments of their own: a process for each, asked by lines of JSON."""

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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from confining import confined

DRIVER = Path(__file__).with_name("driver.py")

PATIENCE_S = 180.0
"""How long a grader may take for one answer; `prime_code` gives all tests together 6 s, then each of ten 11 s."""


@dataclass(frozen=True)
class Mark:
    """What a grader says of a program."""

    passed: bool | None
    """None if it did not come to a verdict."""
    said: str = ""


class Driven:
    """A process of one grader; a new one is started where an answer brings it down.

    Args:
        name: The grader's name in the driver.
        python: The interpreter of its environment.
        driver: The program that asks it.
    """

    def __init__(self, name: str, python: str, driver: Path = DRIVER) -> None:
        self._command = [python, "-P", str(driver), name]
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._number = 0

    def mark(self, request: dict[str, Any]) -> Mark:
        """Ask for a verdict.

        Args:
            request: A form of the test, with the `code` to judge.
        """
        process = self._process or self._start()
        self._number += 1
        line = json.dumps({**request, "number": self._number}) + "\n"
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None
        with contextlib.suppress(BrokenPipeError):
            stdin.write(line.encode())
            stdin.flush()
        answer = _line(stdout.fileno(), time.monotonic() + PATIENCE_S)
        if answer.get("number") == self._number:
            return Mark(answer.get("passed"), str(answer.get("fault", "")))
        self.close()
        return Mark(None, "the grader ended or gave no answer")

    def close(self) -> None:
        """End the process, and all that it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            self._process = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> subprocess.Popen[bytes]:
        self._folder = tempfile.mkdtemp(prefix="grader-")
        environment = {"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": self._folder, "HOME": self._folder}
        self._process = subprocess.Popen(
            confined(self._command, self._folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        return self._process


def _line(descriptor: int, deadline: float) -> dict[str, Any]:
    """The object of the next line; empty if none comes before the deadline."""
    text = b""
    while not text.endswith(b"\n"):
        left = deadline - time.monotonic()
        data = os.read(descriptor, 1 << 16) if left > 0 and select.select([descriptor], [], [], left)[0] else b""
        if not data:
            return {}
        text += data
    with contextlib.suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    return {}


def mark_all(make: Callable[[], Driven], requests: Sequence[dict[str, Any]], workers: int) -> Iterable[Mark]:
    """The marks of many programs, by several processes of a grader."""
    idle: SimpleQueue[Driven] = SimpleQueue()
    made = [make() for _ in range(workers)]
    for one in made:
        idle.put(one)

    def mark(request: dict[str, Any]) -> Mark:
        one = idle.get()
        try:
            return one.mark(request)
        finally:
            idle.put(one)

    try:
        with ThreadPoolExecutor(workers) as threads:
            return list(threads.map(mark, requests))
    finally:
        for one in made:
            one.close()
