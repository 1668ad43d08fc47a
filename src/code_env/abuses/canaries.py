"""The class `Abuse`, and the canaries that show whether an abuse succeeded.

If an abuse believes that it succeeded, it prints `BREACH` and what it got. `Canaries.look` checks the canaries from
outside: a secret that must not leak, a process that must stay alive, sockets that no program may reach, and files that
no program may change.

In the text of an abuse these words stand for canaries: `@SECRET@` (the path of a file with a secret), `@PID@` (a
process of the host), `@TRAINER@` (the trainer's process), `@TCP@` and `@UDP@` (ports), `@ABSTRACT@` (the name of an
abstract socket), `@SOCKET@` (the path of a socket), `@FILE@` and `@DIRECTORY@` (paths that every user may write to).
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from code_env.executors import ExecutionResult, Limits, Program
from code_env.harness.process.watching import descendants

SHORT = Limits(cpu_s=1, wall_s=4, memory_bytes=128 << 20)
"""Limits of an abuse that should end soon."""


class Abuse(NamedTuple):
    """A program that tries something that is forbidden."""

    name: str
    """What the abuse does, in a few words."""
    kind: str
    """The kind of the abuse, for example `processes` or `network`."""
    code: str
    """The text of the program, with words that stand for canaries."""
    limits: Limits = SHORT
    """The limits of the program."""
    stdin: str = ""
    """The standard input of the program."""
    selected: bool = False
    """Whether the abuse ends soon, and does no harm to a machine even if nothing stops it."""


_VARIABLE = "CODE_ENV_CANARY"

LOOK = """
import builtins, os, sys, time
def listing(path):
    try: return sorted(os.listdir(path))
    except OSError as error: return type(error).__name__
print(listing('.'), listing(os.environ['TMPDIR']), listing('/dev/shm'), sorted(os.environ))
print(sorted(sys.modules), sorted(vars(builtins)))
print(len(listing('/proc/self/fd')), os.getcwd() == os.environ['HOME'], os.stat('.').st_mode)
print(os.umask(0), os.getpriority(0, 0))
for one in map(os.stat, ('.', '..')):
    print(oct(one.st_mode), [abs(time.time() - when) < 3600 for when in (one.st_atime, one.st_mtime, one.st_ctime)])
"""
"""A program that prints what it finds. The output is the same each time, if no program leaves anything behind."""


class Canaries:
    """Files, processes and sockets of the host that a program must neither see nor change; a context manager.

    Args:
        directory: An empty directory for the canaries that are files.
    """

    def __init__(self, directory: Path) -> None:
        self.secret = f"secret-{os.getpid()}-{time.monotonic_ns()}"
        """The secret, which is in a file and in the environment of this process."""
        self._stack = contextlib.ExitStack()
        os.environ[_VARIABLE] = self.secret
        self._stack.callback(os.environ.pop, _VARIABLE, None)
        directory.chmod(0o755)
        self._secret_file = directory / "secret"
        self._secret_file.write_text(self.secret)
        self._file, self._directory = directory / "file", directory / "directory"
        self._file.write_text("unchanged")
        self._file.chmod(0o666)
        self._directory.mkdir()
        self._directory.chmod(0o777)
        self._process = self._stack.enter_context(
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        )
        self._stack.callback(self._process.kill)
        self.pid = self._process.pid
        self._abstract = f"code_env-{self.secret}"
        self._sockets = [
            self._listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            self._listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            self._listen(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self._abstract}"),
            self._listen(socket.AF_UNIX, socket.SOCK_STREAM, str(directory / "socket")),
        ]
        (directory / "socket").chmod(0o777)
        self._words = {
            "@SECRET@": str(self._secret_file),
            "@PID@": str(self._process.pid),
            "@TRAINER@": str(os.getpid()),
            "@TCP@": str(self._sockets[0].getsockname()[1]),
            "@UDP@": str(self._sockets[1].getsockname()[1]),
            "@ABSTRACT@": self._abstract,
            "@SOCKET@": str(directory / "socket"),
            "@FILE@": str(self._file),
            "@DIRECTORY@": str(self._directory),
        }

    def _listen(self, family: int, kind: int, address: Any) -> socket.socket:
        one = self._stack.enter_context(socket.socket(family, kind))
        one.bind(address)
        if kind == socket.SOCK_STREAM:
            one.listen()
        return one

    def program(self, abuse: Abuse) -> Program:
        """Return the program of an abuse, with real canaries in place of the words."""
        code = abuse.code
        for word, value in self._words.items():
            code = code.replace(word, value)
        return Program(code, stdin=abuse.stdin, limits=abuse.limits, collect=("out",))

    def look(self, result: ExecutionResult) -> list[str]:
        """Return what a program that has ended did to the canaries; the list is empty if it did nothing."""
        found = []
        if self.secret in repr(result):
            found.append("a secret came out")
        if "BREACH" in result.stdout + result.stderr:
            found.append(f"it says so itself: {(result.stdout + result.stderr)[:500]}")
        if self._process.poll() is not None:
            found.append("a process was ended")
        elif Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0] not in "SR":
            found.append("a process was stopped")
        ready, _, _ = select.select(self._sockets, [], [], 0)
        found += [f"something came in on {one.getsockname()}" for one in ready]
        if self._file.read_text() != "unchanged" or os.listdir(self._directory):
            found.append("files were changed")
        return found

    def close(self) -> None:
        """Close the sockets, and end the processes."""
        self._stack.close()

    def __enter__(self) -> Canaries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def left_over(before: set[int], patience_s: float = 3.0) -> set[int]:
    """Return the new descendants of this process, after a wait for those that are just ending.

    Args:
        before: Pids of the descendants that existed before.
        patience_s: How long to wait for new processes to end, in seconds.
    """
    deadline = time.monotonic() + patience_s
    while (left := set(descendants(os.getpid())) - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left
