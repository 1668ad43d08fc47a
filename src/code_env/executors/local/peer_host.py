"""Runs peers in the jail of this machine for programs that run elsewhere. Many threads can run peers at once.

As in `LocalExecutor`, a peer that is done is kept for the next program whose peer it can be. There each thread has a
keeper of its own. Here threads come and go, so free keepers are kept in a list, and the next thread takes one of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
from collections.abc import Callable

from code_env.executors.limits import MAX_SECONDS
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult
from code_env.executors.running_program import Caller, joined, watch

from .interpreter import find_interpreter
from .jail.configuration import Level
from .peer import PeerKeeper
from .servers import LEVELS, Servers, refuse_unsupported_machine
from .stocks import COMMON
from .worker import ServerDied, blamed_on


class PeerHost:
    """Runs peers.

    Args:
        spare_s: How much longer they wait for their programs than if these ran on this machine, in seconds.

    Raises:
        ExecutorError: On a system where `local` does not run.
    """

    def __init__(self, spare_s: float = 0.0) -> None:
        refuse_unsupported_machine()
        self._python = find_interpreter(None)
        self._spare_s = spare_s
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._servers: Servers | None = None
        self._free: list[PeerKeeper] = []
        self._closed = False

    def level(self) -> Level:
        """Return the level of isolation that this machine grants. Starts a server to find out.

        Raises:
            IsolationUnavailable: If this machine grants no level.
        """
        return self._started().level()

    def run(self, program: Program, take: Callable[[dict[str, int]], None], caller: Caller) -> ExecutionResult:
        """Run the peer of a program.

        Args:
            program: The program, which runs elsewhere.
            take: Called with the program's ends of the channel and the bell, by the environment variables that hold
                their numbers. It must copy the descriptors that it needs later.
            caller: The caller that waits for the result.

        Raises:
            ServerDied: If the peer's server died.
            OSError: If a process or a descriptor could not be created.
        """
        if program.peer is None:
            raise ValueError("a program with a peer was expected; got one without")
        limits = program.peer.limits
        longer = dataclasses.replace(limits, wall_s=min(MAX_SECONDS, limits.wall_s + self._spare_s))
        wanted = dataclasses.replace(program.peer, limits=longer)
        servers = self._started()
        keeper = self._take(servers, wanted)
        try:
            with blamed_on(keeper.worker.server), contextlib.ExitStack() as stack:
                with joined(program) as (ours, theirs):
                    take(ours)
                    peer = stack.enter_context(keeper.peer(wanted, theirs))
                watch([peer], caller)
                return peer.result(0.0)
        except ServerDied:
            servers.drop(keeper.worker.server)
            raise
        finally:
            self._give_back(keeper, servers)

    def close(self) -> None:
        """End all peers and servers. Idempotent."""
        with self._lock:
            self._closed = True
            servers, self._servers = self._servers, None
            keepers, self._free = self._free, []
        if servers is None or servers.pid != os.getpid():
            return
        for keeper in keepers:
            keeper.close()
        servers.close()

    def _started(self) -> Servers:
        with self._lock:
            if self._closed:
                raise ServerDied("this was closed")
            if self._servers is None or self._servers.pid != os.getpid():
                self._servers, self._free = Servers(self._python, LEVELS, ()), []
            return self._servers

    def _take(self, servers: Servers, wanted: Program) -> PeerKeeper:
        """Return a free keeper: one that keeps the wanted peer if there is one, else any other, else a new keeper."""
        with self._lock:
            unusable = [keeper for keeper in self._free if not keeper.worker.usable]
            self._free = [keeper for keeper in self._free if keeper.worker.usable]
            fitting = [keeper for keeper in self._free if keeper.serves(wanted)] or self._free
            keeper = fitting[-1] if fitting else None
            if keeper is not None:
                self._free.remove(keeper)
        for one in unusable:
            one.close()
        return keeper or PeerKeeper(servers.open_worker(COMMON), self._spare_s)

    def _give_back(self, keeper: PeerKeeper, servers: Servers) -> None:
        with self._lock:
            if keeper.worker.usable and self._servers is servers and not self._closed:
                self._free.append(keeper)
                return
        keeper.close()
