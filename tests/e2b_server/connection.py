"""One connection of a client: requests read, replies written, and the ways for a reply to go wrong.

HTTP/1.1 with keep-alive, chunked in both directions. A thread serves a connection.
"""

import contextlib
import json
import os
import socket
import struct
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, BinaryIO
from urllib.parse import parse_qs, urlsplit

from .faults import AFTERWARDS, MIDSTREAM, Fault
from .sandbox import Sandbox

HTML = b"<html><head><title>Error</title></head><body>upstream connect error</body></html>"


class ClientGone(Exception):
    """The connection is no more; there is nobody to answer."""


class Body:
    """A request's body, read as it comes, whether its length was said or it comes in chunks."""

    def __init__(self, stream: BinaryIO, headers: Mapping[str, str]) -> None:
        self._stream = stream
        self._chunked = "chunked" in headers.get("Transfer-Encoding", "").lower()
        self._left = 0 if self._chunked else int(headers.get("Content-Length") or 0)
        self._over = not self._chunked and self._left == 0

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end only; all that are left for -1."""
        parts = []
        while size and not self._over:
            if self._left == 0:
                self._next_chunk()
                continue
            part = self._stream.read(self._left if size < 0 else min(size, self._left))
            if not part:
                raise ClientGone
            self._left -= len(part)
            size = size if size < 0 else size - len(part)
            parts.append(part)
            if self._left == 0:
                if self._chunked:
                    self._stream.readline()
                else:
                    self._over = True
        return b"".join(parts)

    def _next_chunk(self) -> None:
        line = self._stream.readline()
        if not line:
            raise ClientGone
        self._left = int(line.split(b";")[0], 16)
        if self._left == 0:
            while self._stream.readline() not in (b"\r\n", b""):
                pass
            self._over = True


class Connection(BaseHTTPRequestHandler):
    """Serves the requests of one connection; the server says what they mean."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_any(self) -> None:
        """Serve one request."""
        address = urlsplit(self.path)
        self.route = address.path
        self.query = {name: values[-1] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        self.body = Body(self.rfile, self.headers)
        self.fault: Fault | None = None
        self.sandbox: Sandbox | None = None
        self.status = 0
        try:
            self.server.loopback.serve(self)
        except (ClientGone, ConnectionError):
            self.close_connection = True

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_any

    def handle(self) -> None:
        """Serve requests until the connection ends, in whatever way."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, *_: object) -> None:
        """Nothing: the server has its own log."""

    def json(self) -> Any:
        """The request's body as JSON."""
        return json.loads(self.body.read() or b"{}")

    def reply(
        self, status: int, body: bytes = b"", content_type: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer, or do what a fault makes of the answer."""
        fault, self.fault = self.fault, None
        self.status = status
        if fault is Fault.RESET_AFTER:
            return self.drop(reset=True)
        if fault is Fault.UNANSWERED:
            return self.hang()
        self.send_response_only(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        if content_type is not None:
            self.send_header("Content-Type", content_type)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        # Head and body in one packet.
        self._headers_buffer += [b"\r\n", body[: len(body) // 2] if fault in MIDSTREAM else body]
        self.flush_headers()
        if fault in MIDSTREAM:
            self.break_off(fault)
        return None

    def reply_json(self, status: int, value: object, headers: Mapping[str, str] | None = None) -> None:
        """Answer with JSON."""
        self.reply(status, json.dumps(value).encode(), "application/json", headers)

    def reply_text(self, status: int, text: str) -> None:
        """Answer with text."""
        self.reply(status, text.encode(), "text/plain; charset=utf-8")

    def client_left(self) -> bool:
        """Whether the client has closed the connection, when there is something to be read from it."""
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def hang(self) -> None:
        """Say nothing more until the client goes."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            while self.connection.recv(65536):
                pass

    def drop(self, *, reset: bool = False) -> None:
        """End the connection where it is."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            if reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # The descriptor is closed when the last file made of it is.
                self.rfile.close()
                self.connection.close()
            else:
                self.connection.shutdown(socket.SHUT_RDWR)

    def break_off(self, fault: Fault) -> None:
        """End a reply in the middle, as a fault has it."""
        if fault is Fault.STALL_MIDSTREAM:
            self.hang()
            return
        if fault is Fault.KILLED_MIDSTREAM and self.sandbox is not None:
            self.sandbox.kill()
        self.drop(reset=fault is Fault.RESET_MIDSTREAM)


class EventStream:
    """A chunked reply made of events, which a fault may break after the second of them, or instead of the last.

    What is sent after that, or when the client has gone, goes nowhere.
    """

    def __init__(self, call: Connection, content_type: str | None) -> None:
        self._call = call
        self._fault, call.fault = call.fault, None
        self._sent = 0
        self.client = call.connection.fileno()
        """The descriptor of the connection, to watch for the client's end."""
        self.gone = False
        """Whether the connection has ended."""
        self._silent = self._fault in AFTERWARDS
        if not self._silent:
            call.status = 200
            call.send_response_only(200)
            call.send_header("Transfer-Encoding", "chunked")
            if content_type is not None:
                call.send_header("Content-Type", content_type)
            self._write(b"".join([*call._headers_buffer, b"\r\n"]))
            call._headers_buffer.clear()

    def send(self, event: bytes, *, last: bool = False) -> None:
        """Send one event."""
        if self.gone or self._silent:
            return
        if self._fault in MIDSTREAM and (last or self._sent >= 2):
            self._break(event)
        else:
            self._write(b"%x\r\n%s\r\n" % (len(event), event))
            self._sent += 1

    def close(self) -> None:
        """End the reply, as it should end or as the fault has it."""
        if self.gone:
            self._call.close_connection = True
        elif self._silent and self._fault is not Fault.NO_END:
            if self._fault is Fault.RESET_AFTER:
                self._call.drop(reset=True)
            else:
                self._call.hang()
        else:
            self._write(b"0\r\n\r\n")

    def left(self) -> bool:
        """Look whether the client has gone."""
        self.gone = self.gone or self._call.client_left()
        return self.gone

    def cut(self) -> None:
        """End the connection in the middle of the reply."""
        self.gone = True
        self._call.drop()

    def end_early(self) -> None:
        """End the reply, while its thread has still to do."""
        self._write(b"0\r\n\r\n")
        self.cut()

    def _break(self, event: bytes) -> None:
        if self._fault in (Fault.NO_END, Fault.STALL_MIDSTREAM):
            # What was started goes on, and the connection is taken until its end.
            self._silent = True
            return
        if self._fault is Fault.TRUNCATED:
            self._write(b"%x\r\n%s" % (len(event), event[: len(event) // 2]))
        self.gone = True
        self._call.break_off(self._fault)

    def _write(self, data: bytes) -> None:
        if self.gone:
            return
        try:
            self._call.connection.sendall(data)
        except OSError:
            self.gone = True


def shut(connection: socket.socket) -> None:
    """End a connection that another thread may be waiting on."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def envelope(value: object, flags: int = 0) -> bytes:
    """A message of a Connect stream."""
    data = json.dumps(value).encode()
    return struct.pack(">BI", flags, len(data)) + data


def envelopes(body: Body):
    """The messages of a Connect stream, as they come."""
    while head := body.read(5):
        _, length = struct.unpack(">BI", head)
        yield json.loads(body.read(length))


def write_all(fd: int, data: bytes) -> None:
    """Write to a descriptor that takes what fits."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
