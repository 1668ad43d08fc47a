"""Peers in the jail of this machine whose programs run elsewhere; many at once, from any thread.

A peer is kept when it is done, and serves the next program whose peer it can be, as in `LocalExecutor`. There each
thread has one keeper of its own; here threads come and go, so keepers that are free wait for whoever needs one next.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
from collections.abc import Callable

from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import MAX_SECONDS, Program
from code_env.executors.result import ExecutionResult
from code_env.executors.running import Caller, joined, watch

from .interpreter import find_interpreter
from .peer import PeerKeeper
from .servers import LEVELS, Level, Servers, refuse_unsupported_machine
from .stocks import COMMON
from .worker import ServerDied


class PeerHost:
    """Runs peers.

    Args:
        spare_s: How much longer than on one machine they wait for their programs, in seconds.

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
        """The level of isolation that this machine grants; starts a server to find out.

        Raises:
            IsolationUnavailable: If it grants none.
        """
        return self._started().level()

    def run(self, program: Program, take: Callable[[dict[str, int]], None], caller: Caller) -> ExecutionResult:
        """Run the peer of a program.

        Args:
            program: The program, which runs elsewhere.
            take: Is given the program's ends of what joins them, by the variables that name them; it copies what it
                wants to keep.
            caller: Who waits for the result.

        Raises:
            ServerDied: If its server died.
            OSError: If there is no process, or no descriptor, to be had.
        """
        if program.peer is None:
            raise ValueError("a program with a peer was expected; got one without")
        limits = program.peer.limits
        longer = dataclasses.replace(limits, wall_s=min(MAX_SECONDS, limits.wall_s + self._spare_s))
        wanted = dataclasses.replace(program.peer, limits=longer)
        servers = self._started()
        keeper = self._take(servers, wanted)
        try:
            with contextlib.ExitStack() as stack:
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
        """End all. Idempotent."""
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
        """A keeper that nobody uses: one of such a peer if there is one, else any, else a new one."""
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
