"""envd's process service: commands are real processes, their streams a stream of events.

The thread of the connection that started a command moves its output. When that client goes, the
thread goes on until the command ends; others may follow the command too.
"""

from __future__ import annotations

import base64
import contextlib
import os
import queue
import select
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from .connection import Connection, EventStream, envelope, envelopes, write_all
from .paths import NoSuchPath, to_host
from .sandbox import Sandbox
from .timers import Timers

STREAM = "application/connect+json"
_CHUNK = 32 * 1024
_LOOK_S = 0.5
"""How often a silent command's sandbox is looked at."""
_PROFILES = (".bash_profile", ".bash_login", ".profile")
_SIGNALS = {"SIGNAL_SIGKILL": signal.SIGKILL, "SIGNAL_SIGTERM": signal.SIGTERM, 9: signal.SIGKILL, 15: signal.SIGTERM}


class RpcError(Exception):
    """What a call is answered with that cannot be carried out."""

    STATUS = {"invalid_argument": 400, "not_found": 404, "already_exists": 409, "unimplemented": 501}

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.body = {"code": code, "message": text}
        self.status = self.STATUS.get(code, 500)


class Command:
    """One process of a sandbox, started; its output goes to the followers."""

    def __init__(self, sandbox: Sandbox, order: dict[str, Any]) -> None:
        config = order.get("process") or {}
        if order.get("pty"):
            raise RpcError("unimplemented", "this server has no terminals")
        self.config = config
        self.tag = order.get("tag")
        self.expired = False
        self._followers: list[queue.SimpleQueue[dict[str, Any] | None]] = []
        self._lock = threading.Lock()
        self._stdin_lock = threading.Lock()
        with sandbox.lock:
            if sandbox.ended.is_set():
                raise RpcError("unavailable", "The sandbox was not found")
            self._process = self._start(sandbox, config, order.get("stdin", True))
            self.pid = self._process.pid
            sandbox.commands[self.pid] = self
        self._stdin = self._process.stdin
        self._sandbox = sandbox

    @staticmethod
    def _start(sandbox: Sandbox, config: dict[str, Any], stdin: bool) -> subprocess.Popen[bytes]:
        cwd = config.get("cwd") or "."
        try:
            directory = to_host(sandbox, cwd)
        except NoSuchPath:
            directory = None
        if directory is None or not directory.is_dir():
            raise RpcError("invalid_argument", f"cwd '{cwd}' does not exist")
        try:
            return subprocess.Popen(
                [*sandbox.prefix(), config.get("cmd", ""), *_own_profile(config, sandbox.home)],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory,
                env=sandbox.environment() | (config.get("envs") or {}),
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            raise RpcError("invalid_argument", f"error starting process '{config.get('cmd')}': {error}") from error

    def pump(self, stream: EventStream, keepalive_s: float, deadline: float | None) -> None:
        """Move its output until both its streams are closed and it has ended."""
        stream.send(envelope({"event": {"start": {"pid": self.pid}}}))
        process = self._process
        names = {process.stdout.fileno(): "stdout", process.stderr.fileno(): "stderr"}
        poll = select.poll()
        for fd in (*names, stream.client):
            poll.register(fd, select.POLLIN)
        watched, quiet_until = True, time.monotonic() + keepalive_s
        while names:
            until = keepalive_s if deadline is None else max(0.0, min(keepalive_s, deadline - time.monotonic()))
            # A process that got out of sight may hold the streams of a sandbox that has ended.
            ready = poll.poll(min(until, _LOOK_S) * 1000 + 1)
            if not ready and self._sandbox.ended.is_set():
                break
            if deadline is not None and time.monotonic() >= deadline:
                stream.send(_over("deadline_exceeded", "context deadline exceeded"), last=True)
                stream.end_early()
                deadline = None
            elif not ready and time.monotonic() >= quiet_until:
                stream.send(envelope({"event": {"keepalive": {}}}))
            if ready or time.monotonic() >= quiet_until:
                quiet_until = time.monotonic() + keepalive_s
            for fd, _ in ready:
                if fd not in names:
                    stream.left()
                elif data := os.read(fd, _CHUNK):
                    event = {"event": {"data": {names[fd]: base64.b64encode(data).decode()}}}
                    self._publish(event)
                    stream.send(envelope(event))
                else:
                    poll.unregister(fd)
                    del names[fd]
            if watched and stream.gone:
                poll.unregister(stream.client)
                watched = False
        end = {"event": {"end": _ending(process.wait())}}
        self._finish(end)
        if self._sandbox.ended.is_set():
            text = f"the connection to sandbox {self._sandbox.id} ended before the stream completed"
            stream.send(_over("unavailable", text), last=True)
        elif self.expired:
            stream.send(_over("deadline_exceeded", "context deadline exceeded"), last=True)
        else:
            stream.send(envelope(end), last=True)
            stream.send(envelope({}, flags=2), last=True)

    def follow(self, stream: EventStream, keepalive_s: float) -> None:
        """Pass on what comes from now on."""
        events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with self._lock:
            self._followers.append(events)
        stream.send(envelope({"event": {"start": {"pid": self.pid}}}))
        event: dict[str, Any] | None = {}
        while event is not None and not stream.left():
            try:
                event = events.get(timeout=keepalive_s)
            except queue.Empty:
                event = {"event": {"keepalive": {}}}
            if event is not None:
                stream.send(envelope(event), last="end" in event["event"])
        stream.send(envelope({}, flags=2), last=True)

    def kill(self, number: signal.Signals) -> None:
        """Send its process, not that one's children, a signal."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def expire(self) -> None:
        """Kill it, since its time is over."""
        if self._process.poll() is None:
            self.expired = True
            self.kill(signal.SIGKILL)

    def feed(self, data: bytes) -> None:
        """Write to its stdin."""
        with self._stdin_lock:
            if self._stdin is None or self._stdin.closed:
                raise RpcError("failed_precondition", "stdin not enabled or closed")
            try:
                write_all(self._stdin.fileno(), data)
            except OSError as error:
                raise RpcError("internal", f"error writing to stdin: {error}") from error

    def close_stdin(self) -> None:
        """End its stdin."""
        with self._stdin_lock:
            if self._stdin is not None:
                self._stdin.close()

    def _publish(self, event: dict[str, Any] | None) -> None:
        with self._lock:
            for follower in self._followers:
                follower.put(event)

    def _finish(self, end: dict[str, Any]) -> None:
        with self._sandbox.lock:
            self._sandbox.commands.pop(self.pid, None)
        self._publish(end)
        self._publish(None)
        self._process.stdout.close()
        self._process.stderr.close()
        self.close_stdin()


def serve(call: Connection, sandbox: Sandbox, method: str, timers: Timers) -> None:
    """Answer a call of the process service."""
    try:
        if method in ("Start", "Connect"):
            _serve_stream(call, sandbox, method, timers)
        elif method == "StreamInput":
            _stream_input(call, sandbox)
        else:
            call.reply_json(200, _unary(sandbox, method, call.json()))
    except RpcError as error:
        call.body.read()
        if method in ("Start", "Connect", "StreamInput"):
            stream = EventStream(call, STREAM)
            stream.send(envelope({"error": error.body}, flags=2), last=True)
            stream.close()
        else:
            call.reply_json(error.status, error.body)


def _serve_stream(call: Connection, sandbox: Sandbox, method: str, timers: Timers) -> None:
    keepalive_s = float(call.headers.get("Keepalive-Ping-Interval") or 90)
    timeout_ms = call.headers.get("Connect-Timeout-Ms")
    order = next(envelopes(call.body), {})
    call.body.read()
    if method == "Connect":
        command = _selected(sandbox, order)
        stream = EventStream(call, STREAM)
        command.follow(stream, keepalive_s)
    else:
        command = Command(sandbox, order)
        deadline = None
        if timeout_ms:
            deadline = time.monotonic() + int(timeout_ms) / 1000
            timers.at(deadline, command.expire)
        stream = EventStream(call, STREAM)
        command.pump(stream, keepalive_s, deadline)
    stream.close()


def _stream_input(call: Connection, sandbox: Sandbox) -> None:
    command = None
    for order in envelopes(call.body):
        if "start" in order:
            command = _selected(sandbox, order["start"])
        elif "data" in order and command is not None:
            command.feed(_input(order["data"]))
    stream = EventStream(call, STREAM)
    stream.send(envelope({}))
    stream.send(envelope({}, flags=2), last=True)
    stream.close()


def _unary(sandbox: Sandbox, method: str, order: dict[str, Any]) -> dict[str, Any]:
    if method == "List":
        commands = list(sandbox.commands.values())
        return {
            "processes": [
                {"config": command.config, "pid": command.pid, **({"tag": command.tag} if command.tag else {})}
                for command in commands
            ]
        }
    if method == "SendSignal":
        _selected(sandbox, order).kill(_SIGNALS[order["signal"]])
    elif method == "SendInput":
        _selected(sandbox, order).feed(_input(order))
    elif method == "CloseStdin":
        _selected(sandbox, order).close_stdin()
    else:
        raise RpcError("unimplemented", f"no method {method}")
    return {}


def _selected(sandbox: Sandbox, order: dict[str, Any]) -> Command:
    selector = order.get("process") or {}
    for command in list(sandbox.commands.values()):
        if command.pid == selector.get("pid") or (command.tag and command.tag == selector.get("tag")):
            return command
    raise RpcError("not_found", f"process with {' '.join(f'{k} {v}' for k, v in selector.items())} not found")


def _input(order: dict[str, Any]) -> bytes:
    return base64.b64decode((order.get("input") or {}).get("stdin", ""))


def _over(code: str, text: str) -> bytes:
    return envelope({"error": {"code": code, "message": text}}, flags=2)


def _ending(code: int) -> dict[str, Any]:
    if code < 0:
        status = f"signal: {signal.Signals(-code).name}"
        return {"exitCode": -1, "exited": False, "status": status, "error": status}
    status = f"exit status {code}"
    return {"exitCode": code, "exited": True, "status": status, **({"error": status} if code else {})}


def _own_profile(config: dict[str, Any], home: Path) -> list[str]:
    """The arguments; a login shell reads the sandbox's profile and not this machine's, which would set PATH."""
    arguments = list(config.get("args") or [])
    if os.path.basename(config.get("cmd", "")) != "bash" or arguments[:2] != ["-l", "-c"]:
        return arguments
    profile = next((name for name in _PROFILES if (home / name).is_file()), None)
    if profile is not None:
        arguments[2] = f". ~/{profile}\n{arguments[2]}"
    return ["--noprofile", *arguments]
