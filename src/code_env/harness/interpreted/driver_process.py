"""A process of an interpreter in which our driver loads an answer. This file is the side of the process that starts it.

The driver sends lines of JSON on a socket. It asks for each message that it receives, piece by piece, so that the
sender never waits for room. From the answer's first line on, any line can come from the answer. So each line is taken
as data, whatever it says. A line that is not JSON, or is too long, or asks again before there was a message, ends the
process. The CPU time that reading costs here is charged to it: an answer can send much with little effort.
"""

from __future__ import annotations

import collections
import os
import struct
import time
from collections.abc import Callable
from typing import Any, NoReturn

from ..process.children import start_child
from ..process.confinement import Confinement
from ..process.limits import ProcessLimits
from ..process.sockets import socket_pair
from ..process.workspace import Workspace
from ..wire.channel import MAX_FRAME_BYTES, ChannelError, json_bytes, parse_json

_ASK = b'"ask"'
_HEAD = struct.Struct(">?I")
"""The header of a piece: whether the piece is the last, and its length in bytes."""

_PIECE = 60_000
"""The longest piece that is sent at once, in bytes. A socket's buffer holds more than this."""

_LONGEST_LINE = MAX_FRAME_BYTES // 2

_READ = 1 << 16
_READS_AFTER_END = 16
"""How often to read what a process sent before its end. A socket's buffer holds less, but a process that it left can go
on sending."""


class Driven:
    """One process of the interpreter, from its start to its end.

    Args:
        execute: Replaces the process by the interpreter; called with the descriptor of the driver's socket.
        limits: The limits of the process.
        rlimits: The limits that the process sets on itself.
        confinement: What the executor requires of the process.
        workspace: Gives the process a directory.
        close: A descriptor that the process must not have.
    """

    def __init__(
        self,
        execute: Callable[[int], NoReturn],
        limits: ProcessLimits,
        rlimits: list[tuple[int, int, int]],
        confinement: Confinement,
        workspace: Workspace,
        close: int,
    ) -> None:
        self._confinement, self._workspace = confinement, workspace
        self._socket, theirs = socket_pair()
        self._socket.setblocking(False)
        self._room = room = workspace.take_room()
        gate = None if confinement.refuses_forks else confinement.gate()

        def enter(parent: int) -> None:
            os.close(close)
            workspace.enter(room)
            confinement.enter(parent, gate)

        def body() -> NoReturn:
            execute(theirs.fileno())

        with theirs:
            self._child = start_child(limits, body, enter=enter, gate=gate, rlimits=rlimits)
        self._received = bytearray()
        self._messages: collections.deque[Any] = collections.deque()
        self._answer: memoryview | None = None
        self._asked = self._is_over = False
        self._reads_left = _READS_AFTER_END
        self._child.on_readable(self._socket.fileno(), self._read)

    def take(self) -> Any:
        """Return the next message, or None if the process sends no more."""
        self._child.serve_until(lambda: bool(self._messages) or self._is_over)
        while not self._messages and not self._is_over:
            self._is_over = self._reads_left == 0 or not self._read()
            self._reads_left -= 1
        return self._messages.popleft() if self._messages else None

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message to the driver, which has asked for it or will ask for it."""
        self._answer = memoryview(json_bytes(message))
        self._child.clock.restart()  # The time that it waited for this process does not count.
        if self._asked:
            self._asked = False
            self._send()

    def end(self, reason: str | None = None, *, kill: bool = True) -> dict[str, Any]:
        """End the process and everything that it left; return how it ended.

        Args:
            reason: The status to report, or None if the end is not a fault.
            kill: Whether to kill the process; otherwise wait until it ends by itself.
        """
        self._child.forget(self._socket.fileno())
        self._socket.close()  # What it still sends would only cost time here.
        if kill:
            self._child.end(reason)
        ended = self._child.watch(self._confinement.clean)
        self._workspace.leave(self._room)
        return ended

    def _read(self) -> bool:
        began_s = time.thread_time()
        try:
            return self._read_piece()
        finally:
            self._child.reading_s += time.thread_time() - began_s

    def _read_piece(self) -> bool:
        try:
            piece = self._socket.recv(_READ)
        except (BlockingIOError, ConnectionResetError):
            piece = b""
        self._received += piece
        lines: list[bytearray] = []
        if b"\n" in piece:
            *lines, self._received = self._received.split(b"\n")
        if not all(map(self._take_line, map(bytes, lines))) or len(self._received) > _LONGEST_LINE:
            self._child.end("error")
            piece = b""
        self._is_over = self._is_over or not piece
        return not self._is_over

    def _take_line(self, line: bytes) -> bool:
        if line == _ASK:
            if self._answer is not None:
                return self._send()
            asked, self._asked = self._asked, True
            return not asked
        try:
            self._messages.append(parse_json(line))
        except ChannelError:
            return False
        return True

    def _send(self) -> bool:
        """Send the next piece of the message; return False if there is none, or the last piece has not been read."""
        if self._answer is None:
            return False
        piece, rest = self._answer[:_PIECE], self._answer[_PIECE:]
        self._answer = rest or None
        data = b"".join((_HEAD.pack(not rest, len(piece)), piece))
        try:
            return self._socket.send(data) == len(data)
        except OSError:  # The socket has no room, or the other end is closed.
            return False
