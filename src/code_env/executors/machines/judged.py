"""A judged run: the program on a machine, its peer in a jail on this machine, and the relay between them.

The peer holds the tests and the expected values, which never leave this machine. What the program sends arrives as
lines of the command's output, and is written to the peer's channel; what the peer sends is written to the command's
input. The peer is started when the program's process runs, so the time that the machine needs before that does not
count against the peer's limits. These limits also have extra time for the connection, so that a slow connection is not
counted as the program's fault. If the machine fails, the peer's report is dropped.
"""

from __future__ import annotations

import asyncio
import binascii
import contextlib
import dataclasses
import os
import socket
import threading
from typing import Any

from code_env.executors.local.peer_host import PeerHost
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, Status
from code_env.harness.wire.channel import BELL_VARIABLE, CHANNEL_VARIABLE

from .faults import MachineFault
from .machine import Machine
from .machine_run import Run

SPARE_S = 60.0
"""How much longer a peer waits for a program than it would if both were on this machine, in seconds. It is longer than
the time after which a silent connection is given up."""

_PIECE = 1 << 18
"""How many bytes at most go to the machine in one request."""

_LAST_WORDS_S = 3.0
"""How long to wait for the result of a program after sending to it has failed, in seconds."""


async def run_judged(
    machine: Machine, program: Program, host: PeerHost, request_timeout_s: float, silence_s: float
) -> ExecutionResult:
    """Run a program with its peer; see `Run`.

    Raises:
        MachineFault: If the connection broke, or the peer's jail failed.
    """
    run = Run(machine, program, request_timeout_s, silence_s)
    peer = _Peer(program, host)
    try:
        await run.begin(peer.take)
        carried = asyncio.ensure_future(_converse(run, peer))
        try:
            result = await run.result()
            peer.close()
            told = await peer.result()
        finally:
            carried.cancel()
            await asyncio.wait({carried})
        if told.status is Status.SANDBOX_ERROR:
            raise MachineFault(f"the judge's sandbox failed: {told.error.message if told.error else told.status}")
        return dataclasses.replace(result, peer=told)
    finally:
        try:
            await run.close()
        finally:
            peer.abandon()


async def _converse(run: Run, peer: _Peer) -> None:
    """Start the peer when its program runs, and send the program what the peer sends."""
    await run.started.wait()
    try:
        await peer.start()
        while (piece := await peer.receive()) and not run.is_over:
            await run.send(binascii.b2a_base64(piece, newline=False))
        if not run.is_over:
            await run.send(b".")
    except Exception as error:
        # The program may just have ended. If it has not, the data that could not be sent is lost.
        if not await run.wait_for_result(_LAST_WORDS_S):
            run.fail(error)


class _Peer:
    """A program's peer, with this process's ends of its channel and bell."""

    def __init__(self, program: Program, host: PeerHost) -> None:
        self._program, self._host = program, host
        self._loop = asyncio.get_running_loop()
        self._channel: asyncio.Future[socket.socket] = self._loop.create_future()
        self._told: asyncio.Future[ExecutionResult] = self._loop.create_future()
        self._bell: int | None = None
        self._place = _Place()
        self._closed = False

    async def start(self) -> None:
        """Run the peer, in a thread that watches it."""
        threading.Thread(target=self._work, name="code_env-machine-peer", daemon=True).start()
        await asyncio.shield(self._channel)

    def _work(self) -> None:
        try:
            told = self._host.run(self._program, self._take_ends, self._place)
        # For example, no server or no file descriptor was available: the waiting caller gets the exception.
        except Exception as error:
            self._call(_settle, self._channel, None, error)
            self._call(_settle, self._told, None, error)
        else:
            self._call(_settle, self._told, told, None)

    def _take_ends(self, ends: dict[str, int]) -> None:
        channel = socket.socket(fileno=os.dup(ends[CHANNEL_VARIABLE]))
        channel.setblocking(False)
        bell = ends.get(BELL_VARIABLE)
        if bell is not None:
            bell = os.dup(bell)
            os.set_blocking(bell, False)
        self._call(self._joined, channel, bell)

    def _joined(self, channel: socket.socket, bell: int | None) -> None:
        self._bell = bell
        if self._channel.done():
            channel.close()
        else:
            self._channel.set_result(channel)
        if self._closed:
            self._close_ends()

    def _call(self, function: Any, *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed, so no caller waits.
            self._loop.call_soon_threadsafe(function, *args)

    async def receive(self) -> bytes:
        """The next data that the peer sends; empty when the peer has closed the channel."""
        channel = await asyncio.shield(self._channel)
        try:
            return await self._loop.sock_recv(channel, _PIECE)
        except OSError:  # This process has closed the channel, because the program has ended.
            return b""

    async def take(self, piece: bytes | None) -> None:
        """Send the peer what its program has sent; None if the program has closed the channel."""
        channel = await asyncio.shield(self._channel)
        if piece is None:
            self.close()
            return
        view = memoryview(piece)
        while view and not self._closed:
            try:
                view = view[channel.send(view) :]
            except BlockingIOError:
                self._ring()  # The peer sleeps, and has to read to make room.
                await self._room(channel)
            except OSError:  # The peer has closed its end.
                return
        self._ring()

    async def _room(self, channel: socket.socket) -> None:
        room: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_writer(channel, _settle, room, None, None)
        try:
            await room
        finally:
            self._loop.remove_writer(channel)

    def _ring(self) -> None:
        if self._bell is not None:
            with contextlib.suppress(OSError):  # The pipe is full, or the peer has ended.
                os.write(self._bell, b".")

    def close(self) -> None:
        """Close the channel, because the program has ended. The peer still has to finish its report."""
        self._closed = True
        self._close_ends()

    def _close_ends(self) -> None:
        if self._channel.done() and not self._channel.cancelled() and self._channel.exception() is None:
            channel = self._channel.result()
            with contextlib.suppress(OSError):
                channel.shutdown(socket.SHUT_WR)
        bell, self._bell = self._bell, None
        if bell is not None:
            os.close(bell)

    async def result(self) -> ExecutionResult:
        """Wait until the peer has ended, and return its result."""
        return await asyncio.shield(self._told)

    def abandon(self) -> None:
        """Free everything, and end the peer if it still runs."""
        self._place.over = True
        self._closed = True
        self._close_ends()
        if self._channel.done() and not self._channel.cancelled() and self._channel.exception() is None:
            self._channel.result().close()
        else:
            self._channel.cancel()
        if self._told.done() and not self._told.cancelled():
            self._told.exception()
        else:
            self._told.cancel()


class _Place:
    """Tells the thread that watches the peer whether its result is still wanted."""

    def __init__(self) -> None:
        self.over = False

    def is_over(self) -> bool:
        return self.over

    def sleeps(self, asleep: bool) -> None:
        pass


def _settle(future: asyncio.Future[Any], value: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
