"""Peers in the jail of this machine whose programs run elsewhere; many at once, from any thread.

A peer is kept when it is done, and serves the next program whose peer it can be, as in `LocalExecutor`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.program import MAX_SECONDS, Program
from code_env.executors.result import ExecutionResult
from code_env.executors.running import Caller, joined, watch

from .executor import LocalExecutor
from .peer import JailedPeer
from .servers import LEVELS, Level, Servers
from .stocks import COMMON
from .worker import ServerDied, Worker


@dataclass
class _Seat:
    """A worker, and the peer that it keeps."""

    worker: Worker
    peer: JailedPeer | None = None


class PeerHost:
    """Runs peers.

    Args:
        spare_s: How much longer than on one machine they wait for their programs, in seconds.

    Raises:
        ExecutorError: On a system where `local` does not run.
    """

    def __init__(self, spare_s: float = 0.0) -> None:
        # What it checks of the system holds here as well.
        with LocalExecutor() as local:
            self._python = local.python
        self._spare_s = spare_s
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._servers: Servers | None = None
        self._free: list[_Seat] = []
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
        seat = self._seat(servers, wanted)
        try:
            with joined(program) as (ours, theirs):
                take(ours)
                peer = self._peer_on(seat, wanted, theirs)
            watch([peer], caller)
            return peer.result(0.0)
        except ServerDied:
            servers.drop(seat.worker.server)
            raise
        finally:
            self._give_back(seat, servers)

    def close(self) -> None:
        """End all. Idempotent."""
        with self._lock:
            self._closed = True
            servers, self._servers = self._servers, None
            seats, self._free = self._free, []
        if servers is None or servers.pid != os.getpid():
            return
        for seat in seats:
            _leave(seat)
        servers.close()

    def _started(self) -> Servers:
        with self._lock:
            if self._closed:
                raise ServerDied("this was closed")
            if self._servers is None or self._servers.pid != os.getpid():
                self._servers, self._free = Servers(self._python, LEVELS, ()), []
            return self._servers

    def _seat(self, servers: Servers, wanted: Program) -> _Seat:
        """A worker: one that keeps such a peer, if there is one, else one that is free, else a new one."""
        unusable = []
        try:
            with self._lock:
                unusable = [seat for seat in self._free if not seat.worker.usable]
                self._free = [seat for seat in self._free if seat.worker.usable]
                fitting = [seat for seat in self._free if seat.peer is not None and seat.peer.serves(wanted)]
                if fitting or self._free:
                    seat = (fitting or self._free)[-1]
                    self._free.remove(seat)
                    return seat
        finally:
            for seat in unusable:
                _leave(seat)
        server = servers.get(COMMON)
        try:
            return _Seat(server.open_worker())
        except ServerDied:
            servers.drop(server)
            raise

    def _peer_on(self, seat: _Seat, wanted: Program, descriptors: dict[str, int]) -> JailedPeer:
        if seat.peer is not None and seat.peer.serves(wanted):
            try:
                seat.peer.converse(wanted, descriptors)
                return seat.peer
            except ServerDied:  # It died while nobody looked, and nobody but it.
                pass
        _end_peer(seat)
        seat.peer = JailedPeer(seat.worker, wanted, descriptors, self._spare_s)
        return seat.peer

    def _give_back(self, seat: _Seat, servers: Servers) -> None:
        if seat.peer is not None and not seat.peer.idle:
            _end_peer(seat)
        with self._lock:
            if seat.worker.usable and self._servers is servers and not self._closed:
                self._free.append(seat)
                return
        _leave(seat)


def _end_peer(seat: _Seat) -> None:
    peer, seat.peer = seat.peer, None
    if peer is not None:
        with contextlib.suppress(OSError):
            peer.close()


def _leave(seat: _Seat) -> None:
    _end_peer(seat)
    seat.worker.close()
