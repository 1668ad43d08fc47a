"""Frames on the descriptor that joins a program to its peer.

A frame is a 4-byte big-endian length, one byte that names its kind, and the payload. The
descriptor may be a socket or a pipe, so nothing here depends on message boundaries. Each side
bounds what it accepts before it allocates: a length above `MAX_FRAME_BYTES` ends the conversation.
"""

from __future__ import annotations

import json
import marshal
import os
import select
import struct
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..process.sockets import Socket, receive_descriptors

MAX_FRAME_BYTES = 24 * 1024 * 1024
"""Longest payload either side accepts; above the largest stream (16 MiB) and its JSON overhead."""

CHANNEL_VARIABLE = "CODE_ENV_CHANNEL"
"""Environment variable that holds the number of the channel's descriptor in a peer."""

BELL_VARIABLE = "CODE_ENV_BELL"
"""Environment variable with the number of the bell, where the program answers in one process; see `bell_channel.py`."""

CONVERSATIONS_VARIABLE = "CODE_ENV_CONVERSATIONS"
TAKES_INPUT = b"+"
"""Environment variable that holds, where the executor keeps peers, the number of a socket for further channels."""

SPARE_VARIABLE = "CODE_ENV_SPARE_S"
"""Environment variable that tells a peer how much longer than usual it is to wait for what its program sends, in
seconds, where that comes from another machine."""

PER_MESSAGE = b"per message"
"""Payload of a `LOAD` frame that gives each message, not the module, the wall time limit."""

SUITE = b"suite"
"""Payload of a `LOAD` frame that has tests in the answer's own language run beside it; see `interpreted/serving.py`."""

# Bound here because a program shares this process and may replace them in `os` or `json`.
_read, _write, _select, _clock = os.read, os.write, select.select, time.monotonic
_poll: Any = getattr(select, "poll", None)
_loads, _join = json.loads, "".join
_header = struct.Struct(">IB")


_PIECE = 65536
"""How much is read at once; the allocator gives and takes larger pieces by system calls."""


class ChannelError(Exception):
    """The other side broke the protocol, or is gone in the middle of a frame."""


class ChannelTimeout(ChannelError):
    """The other side sent no complete frame in the time it had."""


class Kind:
    """The kinds of frame, each a single byte."""

    HELLO = ord("H")
    """Program to peer, first of all and before the answer is looked at: empty."""
    COMPILED = ord("K")
    """Program to peer: JSON, `{"error": null}` or why the answer does not compile."""
    RUN = ord("R")
    """Peer to program: run the answer as `__main__`; the payload is its standard input."""
    SESSION = ord("S")
    """Peer to program: run the answer as a notebook and cells after it; the payload is marshalled, see `session.py`."""
    OUTPUT = ord("O")
    """Program to peer: a piece of the running program's standard output."""
    RECORDS = ord("N")
    """Program to peer: what the child of `SESSION` has shown, lines of JSON; see `notebook.py`."""
    FILE = ord("F")
    """Program to peer: a file that the child of `SESSION` has left, in the order in which they were asked for; the
    payload is its content behind a byte, and empty if there is no such file."""
    LOAD = ord("L")
    """Peer to program: load the answer as a module in a child that then takes `MESSAGE`s."""
    MESSAGE = ord("M")
    """Both ways, between the peer, which sends marshalled data, and the loaded module, which sends JSON; relayed by the
    serving process if there is one."""
    UNLOAD = ord("U")
    """Peer to program: end the loaded module."""
    ENDED = ord("E")
    """Program to peer: JSON, how the child of `RUN` or `LOAD` ended."""


class Channel:
    """Sends and receives frames on one duplex descriptor.

    Args:
        fd: The descriptor; it stays the caller's to close.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._buffer = bytearray()
        self._poll: Any = None

    def fileno(self) -> int:
        """The descriptor, for `select`."""
        return self.fd

    def send(self, kind: int, payload: bytes = b"") -> None:
        """Send one frame, waiting until the other side has taken it.

        Raises:
            ChannelError: If the payload is too long, or the other side is gone.
        """
        self.send_frames(frame(kind, payload))

    def send_frames(self, frames: bytes | bytearray) -> None:
        """Send what `frame` gave, for one or more.

        Raises:
            ChannelError: If the other side is gone.
        """
        view = memoryview(frames)
        while view:
            try:
                view = view[_write(self.fd, view) :]
            except BlockingIOError:  # The program may have set it so.
                self.before_waiting_for_room()
                _select([], [self.fd], [])
            except OSError as error:
                raise ChannelError(f"the other side is gone: {error}") from error

    def send_json(self, kind: int, value: Any) -> None:
        """Send one frame that holds `value` as JSON; lone surrogates survive."""
        self.send(kind, json_bytes(value))

    def receive(self, timeout_s: float | None = None) -> tuple[int, bytes] | None:
        """The next frame as (kind, payload), or None when the other side has closed.

        Args:
            timeout_s: Seconds to wait for a complete frame; None waits for ever.

        Raises:
            ChannelTimeout: If no complete frame came in time.
            ChannelError: If a frame is too long or was cut short.
        """
        deadline = None if timeout_s is None else _clock() + timeout_s
        while True:
            frame = self.pop()
            if frame is not None:
                return frame
            left_s = None if deadline is None else deadline - _clock()
            # Whoever sends and never ends a frame has no more time than one who sends nothing.
            if left_s is not None and left_s <= 0:
                raise ChannelTimeout(f"no frame within {timeout_s} s")
            if not self.more(left_s):
                if self._buffer:
                    raise ChannelError("the other side closed in the middle of a frame")
                return None

    def before_waiting(self) -> None:
        """Do what must be done before one waits for the other side to say something."""

    def before_waiting_for_room(self) -> None:
        """Do what must be done before one waits for the other side to take something."""

    def more(self, left_s: float | None) -> bool:
        """Wait for more to read, and read it; False when the other side has closed.

        Raises:
            ChannelTimeout: If there was nothing in time.
        """
        self.before_waiting()
        if self._poll is None:
            self._poll = _poll()
            self._poll.register(self.fd, select.POLLIN)
        if not self._poll.poll(milliseconds(left_s)):
            raise ChannelTimeout(f"no frame within {left_s:.1f} s")
        return self.fill()

    def fill(self) -> bool:
        """Read what is there into the buffer; False when the other side has closed."""
        try:
            data = _read(self.fd, _PIECE)
        except ConnectionResetError:
            return False
        self._buffer += data
        return bool(data)

    def pop(self) -> tuple[int, bytes] | None:
        """The next frame of those already read, or None if none is complete.

        Raises:
            ChannelError: If the frame is longer than allowed.
        """
        if len(self._buffer) < _header.size:
            return None
        length, kind = _header.unpack_from(self._buffer)
        if length > MAX_FRAME_BYTES:
            raise ChannelError(f"a frame of {length} bytes; at most {MAX_FRAME_BYTES} are taken")
        end = _header.size + length
        if len(self._buffer) < end:
            return None
        payload = bytes(memoryview(self._buffer)[_header.size : end])
        del self._buffer[:end]
        return kind, payload


def milliseconds(seconds: float | None) -> float | None:
    """Seconds as `poll` takes them, which counts in no more than 31 bits."""
    return None if seconds is None else 1000 * min(seconds, 1e6)


def frame(kind: int, payload: bytes = b"") -> bytes:
    """One frame as it is sent.

    Raises:
        ChannelError: If the payload is too long.
    """
    if len(payload) > MAX_FRAME_BYTES:
        raise ChannelError(f"a frame of {len(payload)} bytes; at most {MAX_FRAME_BYTES} fit")
    return _header.pack(len(payload), kind) + payload


def _no_json(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} is no JSON value")


# What `json.dumps` comes to in the end, without the classes and methods between, which a program may replace.
_json_pieces: Any = getattr(json.encoder, "c_make_encoder")(  # noqa: B009 (typeshed does not know it)
    None, _no_json, json.encoder.encode_basestring, None, ":", ",", False, False, True
)


def json_bytes(value: Any) -> bytes:
    """A JSON value as a payload; lone surrogates survive."""
    return _join(_json_pieces(value, 0)).encode("utf-8", "surrogatepass")


def pack_request(request: dict[str, Any]) -> bytes:
    """What a peer asks of a loaded module, as a payload; what comes back is JSON.

    Whoever reads it has no need to be protected from its peer, and `marshal` is little work there. Version 2 is
    understood by every Python 3.
    """
    return marshal.dumps(request, 2)


def parse_json(payload: bytes) -> Any:
    """The JSON value of a payload that may come from an untrusted side.

    Raises:
        ChannelError: If it is not JSON, or nested deeper than the parser follows.
    """
    try:
        return _loads(payload.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ChannelError(f"not a JSON payload: {type(error).__name__}") from error


class Conversation(NamedTuple):
    """One of the programs that a peer talks to, by descriptors."""

    channel: int
    bell: int | None
    """What its process rings, if it has one."""
    stdin: int | None = None
    """A file with what the peer has on standard input from here on, if that is something new; the taker's to close."""


def conversations(*, takes_input: bool = False) -> Iterator[Conversation]:
    """The programs of the peer that this process is, one after the other.

    The first is there from the start. Asking for the next says that one is done with the last, and that all that was
    to be said of it has been written; whoever ends instead is not used again.

    Args:
        takes_input: Whether the next may come with another standard input.

    Raises:
        ChannelError: If this process is not a peer.
    """
    channel, bell = open_channel().fd, os.environ.get(BELL_VARIABLE)
    fds = [channel] if bell is None else [channel, int(bell)]
    yield Conversation(*fds) if len(fds) > 1 else Conversation(fds[0], None)
    number = os.environ.get(CONVERSATIONS_VARIABLE)
    if number is None:
        return
    with Socket(fileno=int(number)) as further:
        while True:
            for fd in fds:
                os.close(fd)
            further.send(TAKES_INPUT if takes_input else b".")
            said, fds = receive_descriptors(further, 1, 3)
            if not fds:
                return
            stdin = fds.pop(0) if said == TAKES_INPUT else None
            yield Conversation(fds[0], fds[1] if len(fds) > 1 else None, stdin)


def open_channel() -> Channel:
    """The channel of the peer that this process is.

    Raises:
        ChannelError: If this process is not a peer.
    """
    number = os.environ.get(CHANNEL_VARIABLE)
    if number is None:
        raise ChannelError(f"{CHANNEL_VARIABLE} is not set: this process is not a peer")
    return Channel(int(number))
