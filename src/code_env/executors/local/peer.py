"""A kept peer: one process that talks to one program after another; and its keeper.

When a peer is done with a program, it says so on a socket of its own. On that socket it gets the channel to its next
program, and a new standard input if it accepts one. So one judge can serve all tasks. A peer that ends instead, or that
had to be killed, is not used again. The keeper decides that, for executors whose programs run here (`executor.py`) or
elsewhere (`peer_host.py`).
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping

from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult
from code_env.executors.running_program import watch
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.watching import descendants
from code_env.harness.wire.channel import CONVERSATIONS_VARIABLE, SPARE_VARIABLE, TAKES_INPUT

from .jailed_program import SELDOM_S, JailedProgram
from .worker import ServerDied, Worker


class JailedPeer(JailedProgram):
    """A peer in a worker, from its order to its end, over one or more conversations.

    Args:
        worker: A worker that runs nothing now.
        program: The peer.
        joined: Descriptors that join it to its first program, by the environment variables that hold their numbers.
        spare_s: How much longer it waits for its programs than if they ran on this machine, in seconds.

    Raises:
        ServerDied: If the worker is gone.
    """

    keeps_to_policy = False
    tick_s = SELDOM_S

    def __init__(self, worker: Worker, program: Program, joined: Mapping[str, int], spare_s: float = 0.0) -> None:
        if spare_s:
            self.environment = {SPARE_VARIABLE: str(spare_s)}
        self._socket, theirs = socket.socketpair()
        self._idle, self._takes_input = False, False
        self._pid = 0
        with theirs:
            try:
                super().__init__(worker, program, "program", {**joined, CONVERSATIONS_VARIABLE: theirs.fileno()})
            except BaseException:
                self._socket.close()
                raise

    @property
    def idle(self) -> bool:
        """Whether the peer waits for its next channel."""
        return self._idle

    def serves(self, program: Program) -> bool:
        """Return whether this process can be this peer from now on.

        It can if its current program is equal, or if only the standard input differs and the process accepts a new one.
        """
        own = self.program
        if own is program or own == program:
            return True
        return self._takes_input and vars(own) | {"stdin": ""} == vars(program) | {"stdin": ""}

    def converse(self, program: Program, joined: Mapping[str, int]) -> None:
        """Send the peer the descriptors of its next program. From then on, its result and limits are for that program.

        Args:
            program: The peer that this process becomes.
            joined: The descriptors, by the environment variables that hold their numbers.

        Raises:
            ServerDied: If the peer is gone.
        """
        if not self._pid:
            self._pid = next(iter(descendants(self._worker.pid)), 0)
            self.clock.pids = lambda: [self._pid]
        self.begin_anew()
        another = []
        if program.stdin != self.program.stdin:
            another.append(memory_file("stdin", program.stdin.encode("utf-8", "surrogatepass")))
        self.program = program
        try:
            socket.send_fds(self._socket, [TAKES_INPUT if another else b"."], [*another, *joined.values()])
        except OSError as error:
            raise ServerDied(f"a peer is gone: {error}") from error
        finally:
            for fd in another:
                os.close(fd)
        self._idle = False

    def readable(self) -> list[int]:
        """Return the descriptors of its streams, of the worker's socket and of its own socket."""
        return [*super().readable(), *([self._socket.fileno()] if self._socket.fileno() >= 0 else [])]

    def read(self, fd: int) -> None:
        """Read from a stream, or take the worker's message, or the peer's message that it is done."""
        if fd != self._socket.fileno():
            super().read(fd)
        elif self._is_done():
            self._idle = True
            self.read_streams()
        else:
            self._socket.close()  # The peer is ending.

    def _is_done(self) -> bool:
        try:
            said = self._socket.recv(16)
            self._takes_input = said == TAKES_INPUT
            return bool(said)
        except ConnectionResetError:  # The peer died before it took the channel.
            return False

    def has_ended(self) -> bool:
        """Return whether the peer is done with its program, or has ended."""
        return self._idle or super().has_ended()

    def result(self, queue_s: float, peer: ExecutionResult | None = None) -> ExecutionResult:
        """Return the result of the last conversation."""
        if self._idle and self._status is None:
            self._status = 0
            try:
                return super().result(queue_s, peer)
            finally:
                self._status = None
        return super().result(queue_s, peer)

    def close(self) -> None:
        """End the peer."""
        try:
            if self._idle and self._status is None and self._worker.usable:
                # The peer ends by itself when it cannot get another channel any more.
                self._idle = False
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
                with contextlib.suppress(ServerDied, OSError):
                    watch([self])
        finally:
            self._socket.close()
            super().__exit__()

    def __exit__(self, *_: object) -> None:
        self.close()


class PeerKeeper:
    """A worker for peers, and the peer in it that waits for its next program. Only one thread at a time may use it.

    Args:
        worker: A worker that runs nothing else. The keeper closes it.
        spare_s: How much longer its peers wait for their programs than if these ran on this machine, in seconds.
    """

    def __init__(self, worker: Worker, spare_s: float = 0.0) -> None:
        self.worker, self._spare_s = worker, spare_s
        self._peer: JailedPeer | None = None

    def serves(self, program: Program) -> bool:
        """Return whether it keeps a process that can be this peer."""
        return self._peer is not None and self._peer.serves(program)

    @contextlib.contextmanager
    def peer(self, program: Program, joined: Mapping[str, int]) -> Iterator[JailedPeer]:
        """Yield a process that is this peer: the kept process if it can be this peer, else a new process.

        Afterwards the process is kept if it is done with its program and waits for another; otherwise it is ended.

        Args:
            program: The peer.
            joined: Descriptors that join it to its program, by the environment variables that hold their numbers.

        Raises:
            ServerDied: If the worker is gone.
        """
        if self._peer is not None and self._peer.serves(program):
            try:
                self._peer.converse(program, joined)
            except ServerDied:  # The peer died while it waited; its worker can still be usable.
                self._end()
        else:
            self._end()
        if self._peer is None:
            self._peer = JailedPeer(self.worker, program, joined, self._spare_s)
        peer = self._peer
        try:
            yield peer
        finally:
            if not peer.idle:
                self._end()

    def _end(self) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            peer.close()

    def close(self) -> None:
        """End the peer and the worker."""
        self._end()
        self.worker.close()
