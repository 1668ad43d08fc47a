"""`local`: each program is a fork of a warm interpreter in a Linux jail. This is the trainer's side.

`jail/__init__.py` says which process runs what, and which processes are trusted. This module runs in the trainer, with
a queue and threads (`pool.py`). A thread sends a program's descriptors to its worker, reads the program's streams,
measures the program from outside, and ends it at its limits (`jailed_program.py`). The trainer is not forked and gets
no signals. Of everything that a program sends, it parses only a report of bounded length.

When a server dies, the programs that were running there are run again, each alone on a server of its own. If this
server dies too, the program is held responsible: its result is an `error`. A program whose process ends before the
program has begun is run again in the same way.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from code_env.checks import require_choice, require_whole
from code_env.errors import ExecutorClosed, ExecutorError, ImageError
from code_env.executors.base import Executor, Isolation
from code_env.executors.cores import own_cores
from code_env.executors.interpreters import installed_languages, refuse_unsupported
from code_env.executors.pool import Place, Pool, Runner, renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, Status, sandbox_killed
from code_env.executors.running_program import joined, role_of, watch

from .images import require_full, stock_in
from .interpreter import find_interpreter
from .jail.configuration import Level, SessionConfiguration
from .jailed_program import JailedProgram
from .neighbours import Neighbours, found_no_space
from .peer import PeerKeeper
from .servers import LEVELS, Servers, refuse_unsupported_machine
from .stocks import COMMON, SESSIONS, Stock, stock_for
from .worker import ServerDied, Worker, blamed_on

if TYPE_CHECKING:
    from code_env.sessions.session import Session

_log = logging.getLogger(__name__)

HEAVY_MODULES = ("numpy", "pandas", "matplotlib.pyplot")
"""Modules that take long to import; by default, programs that name them get a server that has loaded them."""

_IN_FLIGHT = 8
"""The largest number of programs in flight for each worker, with those that sleep."""


class LocalExecutor(Executor):
    """Runs each program in a jail of its own on this machine.

    Servers start with the first program; that takes some tenths of a second.

    Args:
        workers: How many programs run at once, without those that sleep; by default the number of cores that this
            process may use.
        python: Path of the interpreter that runs programs, with the packages of its environment; the trainer's
            by default.
        min_isolation: The lowest level to accept: `contained`, or `full`.
        preload: Modules that take long to import. If a program's text names one of these modules, the program is
            forked from a server that has loaded the module.
        readable: Additional paths that programs may read.
        max_isolation: The highest level to enter: `full`, or `contained` to run programs as on a machine that grants
            no user namespaces.

    Raises:
        ExecutorError: On another system than Linux on x86_64 or aarch64, or for arguments out of range.
    """

    def __init__(
        self,
        workers: int | None = None,
        python: str | None = None,
        min_isolation: str = "contained",
        preload: Iterable[str] = HEAVY_MODULES,
        readable: Iterable[str] = (),
        max_isolation: str = "full",
    ) -> None:
        refuse_unsupported_machine()
        if workers is not None:
            require_whole("workers", workers, ExecutorError, least=1)
        least, highest = _level("min_isolation", min_isolation), _level("max_isolation", max_isolation)
        self._levels = LEVELS[LEVELS.index(least) : LEVELS.index(highest) + 1]
        if not self._levels:
            raise ExecutorError(
                f"min_isolation must not be above max_isolation; got {min_isolation!r} and {max_isolation!r}"
            )
        self._preload = _texts("preload", preload)
        paths = [os.path.abspath(path) for path in _texts("readable", readable)]
        for path in paths:
            if not os.path.exists(path):
                raise ExecutorError(f"readable: {path!r} does not exist; give paths of files or directories that do")
        self._readable = tuple(dict.fromkeys([*map(os.path.realpath, paths), *paths]))
        self._workers = workers or own_cores()
        self._python = find_interpreter(python)
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._closed = False
        self._policy: dict[str, Any] | None = None
        self._live = _Live()
        # This ends everything if the user forgets `close`, or if the interpreter exits.
        weakref.finalize(self, self._live.close)

    def describe(self) -> Isolation:
        """Return the level that this machine grants, and what it enforces. Starts a server to find out.

        Raises:
            IsolationUnavailable: If it grants less than `min_isolation`.
            ExecutorClosed: If the executor was closed.
        """
        with self._lock:
            level = self._started().level()
        return Isolation(
            level=level,
            peer="isolated",
            languages=installed_languages(),
            enforces=frozenset({"cpu_s", "wall_s", "memory_bytes", "output_bytes", "file_bytes", "processes"}),
            network=False,
            notebooks=True,
            packages=True,
            images=level == "full",
            sessions="fork" if level == "full" else "replay",
            details=_DETAILS[level],
        )

    @property
    def python(self) -> str:
        """Path of the interpreter that runs programs."""
        return self._python

    def why_not_full(self) -> str:
        """Return why level `full` was not entered; empty if programs run at that level."""
        with self._lock:
            servers = self._started()
            servers.level()
            return servers.refused

    def submit(self, program: Program) -> Future[ExecutionResult]:
        """Start a program; see `Executor.submit`.

        Raises:
            IsolationUnavailable: If this machine grants less than `min_isolation`.
            PackagesNotPrepared: If the program's packages are not installed in the cache.
            ImageError: If there is no image where the program names one, or it does not start.
            ImageNotPrepared: If its image is not unpacked in the cache.
        """
        refuse_unsupported(program, "local", packages=True, images=True)
        with self._lock:
            servers, live = self._started(), self._live
            servers.level()
            if program.packages:
                servers.environments.find(program.packages)
            if program.trial:
                require_full(servers.level())
                servers.images.find(program.image)
            elif program.image:
                _prove(servers, stock_in(program, servers.level()))
            if live.pool is None:
                open_slot = partial(live.open_slot, servers, self._preload)
                live.pool = Pool("local", self._workers, open_slot, _IN_FLIGHT * self._workers)
            return live.pool.submit(program)

    def _new_session(self, first: Program) -> Session:
        """Begin a session. At level `full` its interpreters are kept, unless its cells may start processes."""
        if self.describe().sessions != "fork" or first.limits.processes:
            return super()._new_session(first)
        from .sessions.session import LiveSession
        from .sessions.tree import SessionTree

        return LiveSession(SessionTree(partial(self._open_session_worker, first), first), first)

    def _open_session_worker(self, first: Program, session: SessionConfiguration) -> Worker:
        with self._lock:
            servers = self._started()
        stock = SESSIONS._replace(image=first.image)
        if first.image:
            _prove(servers, stock)
        if first.packages:
            stock = servers.environments.stock(stock, first.packages)
        return servers.open_worker(stock, session)

    def close(self) -> None:
        """End all programs that still run, and all servers. Idempotent."""
        with self._lock:
            self._closed = True
        self._live.close()

    def _started(self) -> Servers:
        if self._closed:
            raise ExecutorClosed("this executor was closed; make a new one")
        live = self._live
        if live.servers is None or live.servers.pid != os.getpid():  # A fork needs its own.
            live.servers, live.pool = Servers(self._python, self._levels, self._readable, self._policy), None
        return live.servers


def _prove(servers: Servers, stock: Stock) -> None:
    """Start a server of an image the first time that one is used, to see whether programs can run there.

    Raises:
        ImageError: If it does not start: that is no fault of a program.
        ImageNotPrepared: If the image is not unpacked.
    """
    if stock not in servers.images.proven:
        try:
            servers.get(stock)
        except ServerDied as error:
            raise ImageError(f"programs cannot run in the image {stock.image}: {error}") from None
        servers.images.proven.add(stock)


@dataclass
class _Live:
    """The servers and threads of an executor, apart from it, so that they can be ended when the executor is gone."""

    servers: Servers | None = None
    pool: Pool | None = None
    slots: list[_Slot] = field(default_factory=list)

    def close(self) -> None:
        servers, pool = self.servers, self.pool
        self.servers, self.pool = None, None
        if servers is None or servers.pid != os.getpid():
            return
        if pool is not None:
            pool.close()
        servers.close()

    @contextlib.contextmanager
    def open_slot(self, servers: Servers, preload: tuple[str, ...]) -> Iterator[Runner]:
        """Yield the runner of one thread of the pool."""
        slot = _Slot(servers, preload)
        self.slots.append(slot)
        try:
            yield slot.run
        finally:
            self.slots.remove(slot)
            slot.close()


_DETAILS = {
    "full": "namespaces, Landlock, seccomp and rlimits; each program has a pid namespace and a tmpfs to itself",
    "contained": "Landlock, seccomp and rlimits, without namespaces: programs share the machine's list of processes",
}


def _level(name: str, value: str) -> Level:
    require_choice(name, value, LEVELS, ExecutorError)
    return cast(Level, value)


def _texts(name: str, values: Iterable[str]) -> tuple[str, ...]:
    found = tuple(values) if not isinstance(values, str) else (None,)
    if not all(isinstance(value, str) and value for value in found):
        raise ExecutorError(f"{name} must be a list of texts; got {values!r}")
    return tuple(value for value in found if value is not None)


_neighbours = Neighbours()


class _Slot:
    """Runs the programs of one thread, in workers of its own, which are opened when they are needed."""

    def __init__(self, servers: Servers, preload: tuple[str, ...]) -> None:
        self._servers, self._preload = servers, preload
        self._workers: dict[Stock, Worker] = {}
        self._keepers: dict[Stock, PeerKeeper] = {}

    def run(self, program: Program, place: Place) -> ExecutionResult:
        """Run a program. If its neighbours leave no space for its files, run it again when one of them has ended."""
        if program.trial:
            from code_env.harbor.answers import run_trial  # It needs boxes, which are in this folder.

            return run_trial(program, place)
        return _neighbours.run_beside(lambda: self._run(program, place), place)

    def _run(self, program: Program, place: Place) -> ExecutionResult:
        """Run a program; run it again, alone, if its server dies, or if it ends before it has begun."""
        stock = self._stock(program)
        with self._servers.using(stock):
            return self._run_shared(stock, program, place) or self._run_alone(stock, program, place)

    def _stock(self, program: Program) -> Stock:
        if program.image:
            return stock_in(program, self._servers.level())
        if program.packages:
            return self._servers.environments.stock(COMMON, program.packages)
        return stock_for(program, self._preload)

    def _run_shared(self, stock: Stock, program: Program, place: Place) -> ExecutionResult | None:
        """Run a program on servers that run other programs too; return None if it must be run again."""
        used: list[Worker] = []
        beside: Stock | None = None
        if program.peer is not None:
            beside = stock if program.peer.packages else COMMON
        try:
            used.append(self._worker(stock))
            keeper = None if beside is None else self._keeper(beside)
            if keeper is not None:
                used.append(keeper.worker)
            result = self._attempt(program, used[0], keeper, place)
            if result.status is not Status.SANDBOX_ERROR or found_no_space(result):
                return result
            _log.warning("a program is run again, alone: %s", result.error and result.error.message)
        except ServerDied as died:
            _log.warning("a program is run again, alone, because its server died: %s", died)
            if beside is not None:
                self._close_keeper(beside)
            for worker in used:
                self._servers.drop(worker.server)
        return None

    def _run_alone(self, stock: Stock, program: Program, place: Place) -> ExecutionResult:
        """Run a program on a server of its own: if this one dies, no other program is affected, or can be the cause."""
        with contextlib.ExitStack() as stack:
            if program.peer is not None:  # The program and its peer both run on this server, unless it is an image's.
                stock = stock._replace(modules=(*COMMON.modules, *stock.modules), judges=True)
            server = stack.enter_context(contextlib.closing(self._servers.fresh(stock)))
            own = stack.enter_context(contextlib.closing(server.open_worker()))
            peers = None
            if program.peer is not None:
                if stock.image:
                    server = stack.enter_context(contextlib.closing(self._servers.fresh(COMMON)))
                peers = stack.enter_context(contextlib.closing(PeerKeeper(server.open_worker())))
            try:
                return self._attempt(program, own, peers, place)
            except ServerDied as died:
                _log.warning("the server of a program that ran alone died too, so the program is to blame: %s", died)
                return sandbox_killed(str(died), with_peer=program.peer is not None, queue_s=place.queue_s)

    def close(self) -> None:
        """Let its workers end."""
        for stock in list(self._keepers):
            self._close_keeper(stock)
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def _worker(self, stock: Stock) -> Worker:
        worker = self._workers.get(stock)
        if worker is None or not worker.usable:
            self._close_unusable()
            worker = self._workers[stock] = self._servers.open_worker(stock)
        return worker

    def _close_unusable(self) -> None:
        """Close the workers and keepers whose servers have ended."""
        for stock in [stock for stock, keeper in self._keepers.items() if not keeper.worker.usable]:
            self._close_keeper(stock)
        for stock in [stock for stock, worker in self._workers.items() if not worker.usable]:
            self._workers.pop(stock).close()

    def _keeper(self, stock: Stock) -> PeerKeeper:
        keeper = self._keepers.get(stock)
        if keeper is None or not keeper.worker.usable:
            self._close_unusable()
            keeper = self._keepers[stock] = PeerKeeper(self._servers.open_worker(stock))
        return keeper

    def _attempt(self, program: Program, worker: Worker, peers: PeerKeeper | None, place: Place) -> ExecutionResult:
        servers = [worker.server, *([peers.worker.server] if peers is not None else [])]
        with blamed_on(*servers), contextlib.ExitStack() as stack:
            if program.peer is None or peers is None:
                main = stack.enter_context(JailedProgram(worker, program, "program"))
                watch([main], place)
                return main.result(place.queue_s)
            with joined(program) as (ours, theirs):
                peer = stack.enter_context(peers.peer(program.peer, theirs))
                main = stack.enter_context(JailedProgram(worker, program, role_of(program), ours))
            watch([main, peer], place)
            return main.result(place.queue_s, peer.result(place.queue_s))

    def _close_keeper(self, stock: Stock) -> None:
        keeper = self._keepers.pop(stock, None)
        if keeper is not None:
            keeper.close()
