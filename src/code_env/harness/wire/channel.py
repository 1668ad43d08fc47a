"""Frames on the descriptor that joins a program to its peer.

A frame is a 4-byte big-endian length, one byte for its kind, and the payload. The descriptor can be a socket or a pipe,
so nothing here depends on message boundaries. Each side checks the length before it allocates memory: a length above
`MAX_FRAME_BYTES` ends the conversation.
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
"""The longest payload that either side accepts, in bytes: more than the largest stream (16 MiB) takes as JSON."""

CHANNEL_VARIABLE = "CODE_ENV_CHANNEL"
"""Environment variable that holds the number of the channel's descriptor in a peer."""

BELL_VARIABLE = "CODE_ENV_BELL"
"""Environment variable that holds the number of the bell's descriptor, if the program is loaded; see
`bell_channel.py`."""

CONVERSATIONS_VARIABLE = "CODE_ENV_CONVERSATIONS"
TAKES_INPUT = b"+"
"""If the executor keeps peers, the environment variable `CONVERSATIONS_VARIABLE` holds the number of a socket. The peer
receives further channels over this socket. The peer sends `TAKES_INPUT` if it can take another standard input, and the
keeper sends it if a new standard input comes with the channel."""

SPARE_VARIABLE = "CODE_ENV_SPARE_S"
"""Environment variable of a peer whose programs run on another machine: it must wait this much longer than usual for
what its program sends, in seconds."""

PER_MESSAGE = b"per message"
"""Payload of a `LOAD` frame which says that the wall time limit holds for each message, not for the module."""

SUITE = b"suite"
"""Payload of a `LOAD` frame that asks for tests in the answer's own language, to be run beside the answer; see
`interpreted/serving.py`."""

# Bound here because a program shares this process and can replace them in `os` or `json`.
_read, _write, _select, _clock = os.read, os.write, select.select, time.monotonic
_poll: Any = getattr(select, "poll", None)
_loads, _join = json.loads, "".join
_header = struct.Struct(">IB")


_PIECE = 65536
"""The most bytes that one read returns. The allocator gets and frees larger pieces by system calls."""


class ChannelError(Exception):
    """Raised if the other side broke the protocol, or is gone in the middle of a frame."""


class ChannelTimeout(ChannelError):
    """Raised if the other side sent no complete frame in time."""


class Kind:
    """The kinds of frames, each a single byte."""

    HELLO = ord("H")
    """Program to peer: the first frame, sent before the answer is examined; it is empty."""
    COMPILED = ord("K")
    """Program to peer: JSON, `{"error": null}` or the reason why the answer does not compile."""
    RUN = ord("R")
    """Peer to program: run the answer as `__main__`; the payload is its standard input."""
    SESSION = ord("S")
    """Peer to program: run the answer as a notebook, then run cells; the payload is marshalled, see `session.py`."""
    OUTPUT = ord("O")
    """Program to peer: a piece of the running program's standard output."""
    RECORDS = ord("N")
    """Program to peer: what the child of `SESSION` showed, as lines of JSON; see `notebook.py`."""
    FILE = ord("F")
    """Program to peer: a file that the child of `SESSION` left. There is one frame for each requested file, in the same
    order. The payload is one byte and then the file's content; it is empty if there is no file."""
    LOAD = ord("L")
    """Peer to program: load the answer as a module in a child, which then takes `MESSAGE` frames."""
    MESSAGE = ord("M")
    """In both directions: the peer sends marshalled data, the loaded module sends JSON. If there is a serving process,
    it relays these frames."""
    UNLOAD = ord("U")
    """Peer to program: end the loaded module."""
    ENDED = ord("E")
    """Program to peer: JSON that says how the child of `RUN`, `SESSION` or `LOAD` ended."""


class Channel:
    """Sends and receives frames on one duplex descriptor.

    Args:
        fd: The descriptor. The caller must close it.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._buffer = bytearray()
        self._poll: Any = None

    def fileno(self) -> int:
        """Return the descriptor, for `select`."""
        return self.fd

    def send(self, kind: int, payload: bytes = b"") -> None:
        """Send one frame, and wait until it is written completely.

        Raises:
            ChannelError: If the payload is too long, or the other side is gone.
        """
        self.send_frames(frame(kind, payload))

    def send_frames(self, frames: bytes | bytearray) -> None:
        """Send one or more frames, each as `frame` returned it.

        Raises:
            ChannelError: If the other side is gone.
        """
        view = memoryview(frames)
        while view:
            try:
                view = view[_write(self.fd, view) :]
            except BlockingIOError:  # The descriptor can be non-blocking: a program can have set this.
                self.before_waiting_for_room()
                _select([], [self.fd], [])
            except OSError as error:
                raise ChannelError(f"the other side is gone: {error}") from error

    def send_json(self, kind: int, value: Any) -> None:
        """Send one frame that holds `value` as JSON; lone surrogates survive."""
        self.send(kind, json_bytes(value))

    def receive(self, timeout_s: float | None = None) -> tuple[int, bytes] | None:
        """Return the next frame as (kind, payload), or None if the other side has closed.

        Args:
            timeout_s: Seconds to wait for a complete frame; None waits without a limit.

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
            # The limit also holds for a side that keeps sending and never completes its frame.
            if left_s is not None and left_s <= 0:
                raise ChannelTimeout(f"no frame within {timeout_s} s")
            if not self.more(left_s):
                if self._buffer:
                    raise ChannelError("the other side closed in the middle of a frame")
                return None

    def before_waiting(self) -> None:
        """Do what is necessary before this side waits for data from the other side."""

    def before_waiting_for_room(self) -> None:
        """Do what is necessary before this side waits until the other side makes room."""

    def more(self, left_s: float | None) -> bool:
        """Wait for data and read it; return False if the other side has closed.

        Raises:
            ChannelTimeout: If no data came in time.
        """
        self.before_waiting()
        if self._poll is None:
            self._poll = _poll()
            self._poll.register(self.fd, select.POLLIN)
        if not self._poll.poll(milliseconds(left_s)):
            raise ChannelTimeout(f"no frame within {left_s:.1f} s")
        return self.fill()

    def fill(self) -> bool:
        """Read the available data into the buffer; return False if the other side has closed."""
        try:
            data = _read(self.fd, _PIECE)
        except ConnectionResetError:
            return False
        self._buffer += data
        return bool(data)

    def pop(self) -> tuple[int, bytes] | None:
        """Return the next frame from the buffer, or None if the buffer holds no complete frame.

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
    """Convert seconds to milliseconds for `poll`, whose timeout must fit into 31 bits."""
    return None if seconds is None else 1000 * min(seconds, 1e6)


def frame(kind: int, payload: bytes = b"") -> bytes:
    """Return the bytes of one frame.

    Raises:
        ChannelError: If the payload is too long.
    """
    if len(payload) > MAX_FRAME_BYTES:
        raise ChannelError(f"a frame of {len(payload)} bytes; at most {MAX_FRAME_BYTES} fit")
    return _header.pack(len(payload), kind) + payload


def _no_json(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


# The function in C that `json.dumps` calls in the end. A program can replace the classes and methods in between.
_json_pieces: Any = getattr(json.encoder, "c_make_encoder")(  # noqa: B009 (typeshed does not know it)
    None, _no_json, json.encoder.encode_basestring, None, ":", ",", False, False, True
)


def json_bytes(value: Any) -> bytes:
    """Return a JSON value as a payload; lone surrogates survive."""
    return _join(_json_pieces(value, 0)).encode("utf-8", "surrogatepass")


def pack_request(request: dict[str, Any]) -> bytes:
    """Return a peer's request to a loaded module as a payload. The reply is JSON.

    The reader needs no protection from its peer, so the request can be marshalled, and `marshal` costs the reader
    little time. Every Python 3 can read version 2.
    """
    return marshal.dumps(request, 2)


def parse_json(payload: bytes) -> Any:
    """Return the JSON value of a payload that can come from an untrusted side.

    Raises:
        ChannelError: If it is not JSON, or is nested too deeply for the parser.
    """
    try:
        return _loads(payload.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ChannelError(f"not a JSON payload: {type(error).__name__}") from error


class Conversation(NamedTuple):
    """The descriptors that join a peer to one of its programs."""

    channel: int
    bell: int | None = None
    """The end of the program's bell to listen to; None if it has no bell."""
    stdin: int | None = None
    """A file with the new standard input of the peer; None if the input is the same as before. The caller closes it."""


def conversations(*, takes_input: bool = False) -> Iterator[Conversation]:
    """Yield the programs that this process, which is a peer, talks to, one after the other.

    The first program is there from the start. When the caller asks for the next one, this tells the executor that the
    peer is done with the last program and has written everything about it. The executor does not use a peer again if
    the peer ends instead.

    Args:
        takes_input: Whether the next program can come with another standard input.

    Raises:
        ChannelError: If this process is not a peer.
    """
    channel, bell = open_channel().fd, os.environ.get(BELL_VARIABLE)
    fds = [channel] if bell is None else [channel, int(bell)]
    yield Conversation(*fds)
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
            yield Conversation(*fds)._replace(stdin=stdin)


def open_channel() -> Channel:
    """Return the channel of this process, which must be a peer.

    Raises:
        ChannelError: If this process is not a peer.
    """
    number = os.environ.get(CHANNEL_VARIABLE)
    if number is None:
        raise ChannelError(f"{CHANNEL_VARIABLE} is not set: this process is not a peer")
    return Channel(int(number))
