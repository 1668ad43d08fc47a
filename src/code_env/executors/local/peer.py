"""A peer that is kept: one process that talks to one program after the other.

A peer says on a socket of its own that it is done with a program, and is sent the channel to the next there, with
another standard input if it takes one: so one judge serves all tasks. One that ends instead, or that had to be killed,
is not used again.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping

from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult
from code_env.executors.running import watch
from code_env.harness.process.memory_file import memory_file
from code_env.harness.process.watching import descendants
from code_env.harness.wire.channel import CONVERSATIONS_VARIABLE, SPARE_VARIABLE, TAKES_INPUT

from .run import SELDOM_S, JailedProgram
from .worker import ServerDied, Worker


class JailedPeer(JailedProgram):
    """A peer in a worker, from its order to its end, over one or more conversations.

    Args:
        worker: A worker that runs nothing now.
        program: The peer.
        joined: Descriptors that join it to its first program, by the variables that tell it their numbers.
        spare_s: How much longer than on one machine it is to wait for its programs, in seconds.

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
        """Whether it waits for another channel."""
        return self._idle

    def serves(self, program: Program) -> bool:
        """Whether it can be this peer from here on: if it is equal, or differs in an input that it takes anew."""
        own = self.program
        if own is program or own == program:
            return True
        return self._takes_input and vars(own) | {"stdin": ""} == vars(program) | {"stdin": ""}

    def converse(self, program: Program, joined: Mapping[str, int]) -> None:
        """Send it the descriptors that join it to its next program, which its result and its limits are about then.

        Args:
            program: The peer that it is to be.
            joined: The descriptors.

        Raises:
            ServerDied: If it is gone.
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
        """Its streams, the worker's socket, and its own."""
        return [*super().readable(), *([self._socket.fileno()] if self._socket.fileno() >= 0 else [])]

    def read(self, fd: int) -> None:
        """Take what is there on a stream, the worker's answer, or its word that it is done."""
        if fd != self._socket.fileno():
            super().read(fd)
        elif self._is_done():
            self._idle = True
            self.read_streams()
        else:
            self._socket.close()  # It ends.

    def _is_done(self) -> bool:
        try:
            said = self._socket.recv(16)
            self._takes_input = said == TAKES_INPUT
            return bool(said)
        except ConnectionResetError:  # It died before it took the channel.
            return False

    def has_ended(self) -> bool:
        """Whether it is done with its program, or has ended."""
        return self._idle or super().has_ended()

    def result(self, queue_s: float, peer: ExecutionResult | None = None) -> ExecutionResult:
        """What came of the last conversation."""
        if self._idle and self._status is None:
            self._status = 0
            try:
                return super().result(queue_s, peer)
            finally:
                self._status = None
        return super().result(queue_s, peer)

    @property
    def worker(self) -> Worker:
        """Whose child it is."""
        return self._worker

    def close(self) -> None:
        """End it."""
        try:
            if self._idle and self._status is None and self._worker.usable:
                # It ends when there is nobody any more who could send it another channel.
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
