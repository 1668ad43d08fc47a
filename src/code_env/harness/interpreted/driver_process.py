"""One process of an interpreter in which a driver of ours loads an answer; seen from the process that starts it.

The driver speaks in lines of JSON on a socket. What it is to be told it asks for, a piece at a time, so that who
answers it never waits for room. From the answer's first line on, any line may be the answer's own: it is taken as
data, whatever it says, and what is no JSON, or too long, ends the process.
"""

from __future__ import annotations

import collections
import os
import struct
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
"""What comes before a piece: whether it is the last, and its length in bytes."""

_PIECE = 60_000
"""How much is sent at once, in bytes: less than a socket holds."""

_LONGEST_LINE = MAX_FRAME_BYTES // 2


class Driven:
    """One such process, from its start to its end.

    Args:
        execute: Becomes the interpreter, given the descriptor of the driver's socket.
        limits: What the process may use.
        rlimits: What of that it sets on itself.
        confinement: What the executor asks of it.
        workspace: Gives it a directory.
        close: A descriptor that it must not have.
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
        self._answer: bytes | None = None
        self._asked = self._is_over = self._is_deaf = False
        self._child.on_readable(self._socket.fileno(), self._read)

    def take(self) -> Any:
        """The next message; None if the process says no more."""
        self._child.serve_until(lambda: bool(self._messages) or self._is_over)
        return self._messages.popleft() if self._messages else None

    def tell(self, message: dict[str, Any]) -> None:
        """Answer the driver, which has asked or is going to."""
        self._answer = json_bytes(message)
        self._child.clock.restart()  # What it waited for us does not count.
        if self._asked:
            self._asked = False
            self._send()

    def end(self, reason: str | None = None, *, kill: bool = True) -> dict[str, Any]:
        """End it, and what it left; how it ended.

        Args:
            reason: The status to report, None if it is no fault.
            kill: Whether not to wait until it ends by itself.
        """
        self._is_deaf = True
        if kill:
            self._child.end(reason)
        ended = self._child.watch(self._confinement.clean)
        self._socket.close()
        self._workspace.leave(self._room)
        return ended

    def _read(self) -> bool:
        try:
            piece = self._socket.recv(1 << 16)
        except (BlockingIOError, ConnectionResetError):
            piece = b""
        if self._is_deaf:
            return bool(piece)
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
            if self._answer is None:
                self._asked = True
                return True
            return self._send()
        try:
            self._messages.append(parse_json(line))
        except ChannelError:
            return False
        return True

    def _send(self) -> bool:
        """Send the next piece of the answer; False if who asked did not read the last."""
        if self._answer is None:
            return False
        piece, rest = self._answer[:_PIECE], self._answer[_PIECE:]
        self._answer = rest or None
        data = _HEAD.pack(not rest, len(piece)) + piece
        try:
            return self._socket.send(data) == len(data)
        except OSError:  # There is no room, or nobody who would read it.
            return False
