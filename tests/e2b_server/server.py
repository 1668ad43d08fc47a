"""The server: one port for E2B's API and for all its sandboxes, told apart by headers as E2B's edge does.

A request without `E2b-Sandbox-Id` is for the control plane; any other goes to the sandbox, whose ports are
told apart by `E2b-Sandbox-Port`. A sandbox that has ended answers 502 on each of them.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass
from http.server import HTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any

from . import envd, interpreter
from .connection import HTML, MIDSTREAM, Connection, shut
from .control_plane import ControlPlane, concurrency_message, message
from .faults import AFTERWARDS, Fault, Faults
from .sandbox import Sandbox
from .timers import Timers


@dataclass(frozen=True)
class Request:
    """One request, without its body."""

    at: float
    """When it came, in seconds of the monotonic clock."""
    operation: str
    method: str
    path: str
    sandbox: str | None
    """The sandbox that it is for, None for the control plane."""
    fault: Fault | None
    """What was injected into it."""


class LoopbackServer:
    """E2B on 127.0.0.1, from its start to `close`; a context manager.

    Args:
        concurrency: How many sandboxes the team may have at once; no limit by default.
        count_lag_s: How long a sandbox that has ended still counts for that, as on E2B it does.
        delete_delay_s: How long a delete takes.
        api_key: The key that it wants.
    """

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        count_lag_s: float = 0.0,
        delete_delay_s: float = 0.0,
        api_key: str = "e2b_" + "0" * 40,
    ) -> None:
        self.api_key = api_key
        self.faults = Faults()
        self.requests: deque[Request] = deque(maxlen=100_000)
        """What came, oldest first."""
        self._closing = threading.Event()
        self._base = Path(tempfile.mkdtemp(prefix="e2b-loopback-")).resolve()
        self._timers = Timers()
        self.control_plane = ControlPlane(
            self._base, self._timers, api_key, concurrency, count_lag_s, delete_delay_s, self._closing.wait
        )
        self._listener: _Listener | None = None
        self._port = 0
        self._listen()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make the SDK come here."""
        return {"E2B_API_URL": self.url, "E2B_SANDBOX_URL": self.url, "E2B_API_KEY": self.api_key}

    @property
    def sandboxes(self) -> list[Sandbox]:
        """The sandboxes that live, oldest first."""
        return list(self.control_plane.alive.values())

    @property
    def created(self) -> int:
        """How many sandboxes there ever were."""
        return self.control_plane.created

    @property
    def peak(self) -> int:
        """How many sandboxes lived at once at most."""
        return self.control_plane.peak

    @contextlib.contextmanager
    def refusing(self):
        """Refuse connections, and end those there are; sandboxes live on."""
        self._hang_up()
        try:
            yield
        finally:
            self._listen()

    def close(self) -> None:
        """End all: connections, sandboxes with their processes and files, threads."""
        if self._closing.is_set():
            return
        self._closing.set()
        if self._listener is not None:
            self._listener.stop_listening()
        self.control_plane.kill_all()
        self._hang_up()
        # Made by requests that were being served meanwhile.
        self.control_plane.kill_all()
        self._timers.close()
        shutil.rmtree(self._base, ignore_errors=True)

    def __enter__(self) -> LoopbackServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        self._listener = _Listener(self, self._port)
        self._port = self._listener.server_port

    def _hang_up(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()

    def serve(self, call: Connection) -> None:
        """Answer one request, or do what a fault makes of it."""
        identifier = call.headers.get("E2b-Sandbox-Id")
        port = int(call.headers.get("E2b-Sandbox-Port") or envd.PORT)
        if identifier is None:
            operation = self.control_plane.operation(call.command, call.route)
        else:
            operation = (interpreter if port == interpreter.PORT else envd).operation(call.route)
        if operation is None:
            call.body.read()
            return call.reply_json(404, message(404, f"no route {call.command} {call.route}"))
        fault = self.faults.take(operation)
        self.requests.append(Request(time.monotonic(), operation, call.command, call.path, identifier, fault))
        sandbox = self.control_plane.alive.get(identifier or "")
        call.sandbox = sandbox
        if fault is not None and fault not in MIDSTREAM and fault not in AFTERWARDS:
            return self._fail(call, fault, identifier, port)
        call.fault = fault
        if identifier is None:
            return self.control_plane.serve(call, operation)
        if sandbox is None:
            call.body.read()
            return call.reply(502, _gone(identifier), "application/json")
        if port == envd.PORT:
            return envd.serve(call, sandbox, self._timers)
        if port == interpreter.PORT:
            return interpreter.serve(call, sandbox)
        call.body.read()
        return call.reply(502, _port_closed(identifier, port), "application/json")

    def _fail(self, call: Connection, fault: Fault, identifier: str | None, port: int) -> None:
        # A stream of input has no end that could be waited for.
        if call.route.endswith("/StreamInput"):
            call.close_connection = True
        else:
            call.body.read()
        if fault in (Fault.RESET, Fault.FIN):
            return call.drop(reset=fault is Fault.RESET)
        if fault is Fault.STALL:
            return call.hang()
        if fault is Fault.GONE:
            return call.reply(502, _gone(identifier or "unknown"), "application/json")
        if fault is Fault.PORT_CLOSED:
            return call.reply(502, _port_closed(identifier or "unknown", port), "application/json")
        if fault is Fault.BAD_GATEWAY:
            return call.reply(502, HTML, "text/html")
        if fault is Fault.RATE_LIMITED_NOT_JSON:
            return call.reply(429, HTML, "text/html")
        success = 201 if call.command == "POST" and identifier is None else 200
        if fault is Fault.NOT_JSON:
            return call.reply(success, HTML, "text/html")
        if fault is Fault.EMPTY_JSON:
            return call.reply_json(success, {})
        if fault is Fault.RATE_LIMITED:
            limits = {
                "Retry-After": str(self.faults.retry_after_s),
                "RateLimit-Limit": "60",
                "RateLimit-Remaining": "0",
            }
            return call.reply_json(429, message(429, "Rate limit exceeded"), limits)
        if fault is Fault.CONCURRENCY:
            return call.reply_json(429, concurrency_message(self.control_plane.concurrency))
        return call.reply_json(*_ERRORS[fault])


_ERRORS: dict[Fault, tuple[int, dict[str, Any]]] = {
    Fault.UNAUTHORIZED: (401, message(401, "Invalid API key, please visit https://e2b.dev/docs/api-key")),
    Fault.BAD_REQUEST: (400, message(400, "Timeout cannot be greater than 1 hours")),
    Fault.FORBIDDEN: (403, message(403, "team is blocked")),
    Fault.NOT_FOUND: (404, message(404, "not found")),
    Fault.INTERNAL: (500, message(500, "internal server error")),
    Fault.DISK_FULL: (507, message(507, "attempted to write 10 bytes: not enough disk space available")),
    Fault.UNAVAILABLE: (503, message(503, "no capacity for this sandbox", "sandbox_capacity_unavailable")),
    Fault.PLACEMENT_TIMEOUT: (504, message(504, "placement timed out", "sandbox_placement_timeout")),
}


def _gone(identifier: str) -> bytes:
    return json.dumps({"sandboxId": identifier, "message": "The sandbox was not found", "code": 502}).encode()


def _port_closed(identifier: str, port: int) -> bytes:
    text = "The sandbox is running but port is not open"
    return json.dumps({"sandboxId": identifier, "message": text, "port": port, "code": 502}).encode()


class _Listener(ThreadingMixIn, HTTPServer):
    """The socket, the connections made to it and their threads."""

    # The default of 5 lets the kernel reset connections when many come at once.
    request_queue_size = 512
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, loopback: LoopbackServer, port: int) -> None:
        self.loopback = loopback
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._stopped = False
        super().__init__(("127.0.0.1", port), Connection)
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, name="e2b-loopback", daemon=True
        )
        self._thread.start()

    def server_bind(self) -> None:
        """Bind, without looking up this host's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), name="e2b-connection", daemon=True
        )
        with self._lock:
            self._open[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """A connection has ended."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def stop_listening(self) -> None:
        """Take no more connections."""
        if not self._stopped:
            self._stopped = True
            self.shutdown()
            self._thread.join()
            self.socket.close()

    def stop(self) -> None:
        """End the connections too, and wait for their threads."""
        self.stop_listening()
        with self._lock:
            remaining = dict(self._open)
        for connection in remaining:
            shut(connection)
        for thread in remaining.values():
            thread.join()
