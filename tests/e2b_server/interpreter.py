"""The code interpreter on port 49999 of each sandbox: contexts, and cells run in them one at a time.

A Python context is a process that keeps its names, see kernel.py; a cell of JavaScript is a process of its
own. A client that goes interrupts the cell, and leaves the context in the state that the real one is found
in: see `Context`.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .connection import Connection, EventStream
from .paths import NoSuchPath, resolve, to_host
from .sandbox import HOME, Sandbox

PORT = 49999
KEEPALIVE_S = 5.0
ABORTS_FOR_S = 0.1
"""How long after an interrupt the kernel answers a cell with what the server does not understand."""
SHORT_CELL_S = 0.04
"""How long a cell may take that meets the interrupt of an earlier one, and be told of that."""
_LOOK_S = 0.1
_HERE = Path(__file__).parent
_LANGUAGES = {"python": "python", "javascript": "javascript", "js": "javascript"}


class Context:
    """Where cells of one language run, one after the other.

    When a client has gone in mid-cell, the cell is interrupted. A cell that comes at once then is never
    answered. After a second interrupt the next cell suffers it: it ends with KeyboardInterrupt, or if it
    takes longer with nothing at all. A restart heals that.

    Args:
        sandbox: Whose it is.
        language: `python` or `javascript`.
        cwd: Where cells begin, as the client says it.
    """

    def __init__(self, sandbox: Sandbox, language: str, cwd: str = HOME) -> None:
        self.id = str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self._sandbox = sandbox
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._interrupts = 0
        self._interrupted_at = float("-inf")
        self._had_envs = False
        self._cells = 0

    def execute(self, code: str, envs: dict[str, str], stream: EventStream) -> None:
        """Run a cell, and send what it does."""
        if not self._wait_for_turn(stream):
            return
        try:
            if time.monotonic() - self._interrupted_at < ABORTS_FOR_S:
                self._never_answer(stream)
                return
            if not self._had_envs:
                self._had_envs = True
                envs = {**self._sandbox.envs, **envs}
            if self.language == "python" and envs:
                # Source text, unescaped, as the real server has it.
                code = "\n".join(["import os", *(f"os.environ['{k}'] = '{v}'" for k, v in envs.items()), code])
            try:
                self._start(code)
            except FileNotFoundError:
                stream.cut()
                return
            if self.language == "python":
                self._channel.sendall(json.dumps({"code": code, "envs": list(envs)}).encode() + b"\n")
            else:
                self._cells += 1
                stream.send(_line({"type": "number_of_executions", "execution_count": self._cells}))
            if self.language == "python" and self._interrupts >= 2:
                self._suffer(stream)
            else:
                self._pass_on(stream)
        finally:
            if self._sandbox.ended.is_set():
                self._close()
            self._turn.release()

    def is_idle_after(self, interrupts: int) -> bool:
        """Whether it runs no cell, and has been interrupted so often since a cell last met that."""
        return self._interrupts == interrupts and not self._turn.locked()

    def restart(self) -> None:
        """Begin anew."""
        self.kill()
        with self._turn:
            self._close()
            self._interrupts = 0
            self._interrupted_at = float("-inf")

    def kill(self) -> None:
        """End its process; who waits for a cell finds that out."""
        process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            if self._turn.acquire(blocking=False):
                self._close()
                self._turn.release()

    def _wait_for_turn(self, stream: EventStream) -> bool:
        quiet_until = time.monotonic() + KEEPALIVE_S
        while not self._turn.acquire(timeout=_LOOK_S):
            if stream.left() or self._sandbox.ended.is_set():
                stream.cut()
                return False
            if time.monotonic() >= quiet_until:
                stream.send(_line({"type": "keepalive"}))
                quiet_until = time.monotonic() + KEEPALIVE_S
        return True

    def _never_answer(self, stream: EventStream) -> None:
        while not stream.left() and not self._sandbox.ended.wait(_LOOK_S):
            pass
        stream.cut()

    def _start(self, code: str) -> None:
        if self._process is not None and self.language == "python":
            return
        self._close()
        ours, theirs = socket.socketpair()
        with theirs, self._sandbox.lock:
            if self._sandbox.ended.is_set():
                ours.close()
                raise FileNotFoundError
            if self.language == "python":
                command = [sys.executable, "-s", "-P", str(_HERE / "kernel.py"), str(theirs.fileno())]
                give = (theirs.fileno(),)
            else:
                # Node writes to descriptor 3.
                script = 'exec 3>&"$1"; shift; exec "$@"'
                node = shutil.which("node") or "node"
                command = ["/bin/bash", "-c", script, "cell", str(theirs.fileno()), node]
                command += [str(_HERE / "node_cell.js"), code]
                give = (theirs.fileno(),)
            self._process = subprocess.Popen(
                [*self._sandbox.prefix(), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=to_host(self._sandbox, self.cwd),
                env=self._sandbox.environment(),
                start_new_session=True,
                pass_fds=give,
                bufsize=0,
            )
        self._channel = ours

    def _pass_on(self, stream: EventStream) -> None:
        """Send what the process says and prints, until the cell has ended, with whatever end."""
        process, channel = self._process, self._channel
        output = _Output(process, stream)
        messages = channel.fileno()
        poll = select.poll()
        for fd in (messages, *output.names, stream.client):
            poll.register(fd, select.POLLIN)
        quiet_until = time.monotonic() + KEEPALIVE_S
        buffer, watched, said_all = b"", True, False
        while True:
            ready = [fd for fd, _ in poll.poll(5 if said_all else _LOOK_S * 1000)]
            if self._sandbox.ended.is_set():
                stream.cut()
                return
            for fd in ready:
                if fd == messages:
                    data = channel.recv(1 << 20)
                    buffer += data
                    if not data:
                        poll.unregister(fd)
                        said_all = True
                elif fd not in output.names:
                    stream.left()
                elif not output.read(fd):
                    poll.unregister(fd)
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event["type"] == "done":
                    output.drain()
                    stream.send(_line({"type": "end_of_execution"}), last=True)
                    return
                stream.send(_line(event))
            if watched and stream.gone:
                watched = False
                poll.unregister(stream.client)
                self._interrupt()
            if process.poll() is not None and (said_all or not ready):
                output.drain()
                self._process_ended(stream)
                return
            if ready:
                quiet_until = time.monotonic() + KEEPALIVE_S
            elif time.monotonic() >= quiet_until:
                stream.send(_line({"type": "keepalive"}))
                quiet_until = time.monotonic() + KEEPALIVE_S

    def _suffer(self, stream: EventStream) -> None:
        """What a cell gets that meets the interrupt of an earlier one: nothing of what it does is told."""
        self._interrupts = 0
        deadline = time.monotonic() + SHORT_CELL_S
        buffer, interrupted = b"", False
        while b'"done"' not in buffer:
            if select.select([self._channel], [], [], max(0.0, deadline - time.monotonic()))[0]:
                data = self._channel.recv(1 << 20)
                if not data:
                    break
                buffer += data
            elif not interrupted:
                interrupted = True
                deadline += 1.0
                self._signal()
            else:
                self._process.kill()
                self._close()
                break
        if self._process is not None:
            _Output(self._process, None).drain()
        stream.send(_line({"type": "number_of_executions", "execution_count": 1}))
        if not interrupted:
            error = {"type": "error", "name": "KeyboardInterrupt", "value": "", "traceback": "KeyboardInterrupt: "}
            stream.send(_line(error))
        stream.send(_line({"type": "end_of_execution"}), last=True)

    def _process_ended(self, stream: EventStream) -> None:
        code = self._process.returncode
        self._close()
        if self.language == "python":
            # A new one is started for the next cell.
            restarting = {"name": "ContextRestarting", "value": "Context was restarted", "traceback": ""}
            stream.send(_line({"type": "error", **restarting}))
        elif code:
            stream.send(_line({"type": "error", "name": "Error", "value": f"node ended with {code}", "traceback": ""}))
        stream.send(_line({"type": "end_of_execution"}), last=True)

    def _interrupt(self) -> None:
        self._interrupts += 1
        self._interrupted_at = time.monotonic()
        self._signal()

    def _signal(self) -> None:
        if self.language == "python":
            self._process.send_signal(signal.SIGINT)
        else:
            self._process.kill()

    def _close(self) -> None:
        process, self._process = self._process, None
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        if process is not None:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


class _Output:
    """What a process prints, as events."""

    def __init__(self, process: subprocess.Popen[bytes], stream: EventStream | None) -> None:
        self.names = {process.stdout.fileno(): "stdout", process.stderr.fileno(): "stderr"}
        self._stream = stream
        self._decoders = {fd: codecs.getincrementaldecoder("utf-8")("replace") for fd in self.names}
        for fd in self.names:
            os.set_blocking(fd, False)

    def read(self, fd: int) -> bool:
        """Send what is there; false at the end of the stream."""
        try:
            data = os.read(fd, 1 << 20)
        except BlockingIOError:
            return True
        text = self._decoders[fd].decode(data, final=not data)
        if text and self._stream is not None:
            event = {"type": self.names[fd], "text": text, "timestamp": datetime.now(UTC).isoformat()}
            self._stream.send(_line(event))
        return bool(data)

    def drain(self) -> None:
        """Send what is left."""
        for fd in self.names:
            while select.select([fd], [], [], 0)[0] and self.read(fd):
                pass


def operation(route: str) -> str | None:
    """What a request asks for."""
    if route == "/execute":
        return "run_code"
    if route == "/contexts" or route.startswith("/contexts/"):
        return "contexts"
    return "health" if route == "/health" else None


def serve(call: Connection, sandbox: Sandbox) -> None:
    """Answer a request."""
    if call.route == "/health":
        call.body.read()
        return call.reply_text(200, "OK")
    order = call.json()
    if call.route == "/execute":
        return _execute(call, sandbox, order)
    _, _, identifier, *action = f"{call.route}/".rstrip("/").split("/") + [""] * (2 - call.route.count("/"))
    if not identifier:
        if call.command == "GET":
            return call.reply_json(200, [_described(context) for context in _contexts(sandbox)])
        return _create(call, sandbox, order)
    context = sandbox.contexts.get(identifier)
    if context is None:
        return call.reply_text(404, f"Context {identifier} not found")
    if action == ["restart"]:
        context.restart()
        return call.reply_json(200, None)
    sandbox.contexts.pop(identifier, None)
    context.kill()
    return call.reply(204)


def _create(call: Connection, sandbox: Sandbox, order: dict[str, Any]) -> None:
    language = _LANGUAGES.get(order.get("language") or "python")
    cwd = resolve(order.get("cwd") or HOME)
    try:
        there = to_host(sandbox, cwd).is_dir()
    except NoSuchPath:
        there = False
    if language is None or not there:
        what = f"no kernel for {order['language']}" if language is None else f"directory {cwd} does not exist"
        return call.reply_text(500, f"Failed to create context: {json.dumps({'message': what})}")
    # The default contexts are the first.
    _contexts(sandbox)
    context = Context(sandbox, language, cwd)
    sandbox.contexts[context.id] = context
    return call.reply_json(200, _described(context))


def _execute(call: Connection, sandbox: Sandbox, order: dict[str, Any]) -> None:
    if call.headers.get("X-Access-Token") != sandbox.token:
        return call.reply_text(401, "Invalid access token")
    if order.get("context_id") and order.get("language"):
        return call.reply_text(400, "Only one of context_id or language can be provided")
    if order.get("context_id"):
        context = sandbox.contexts.get(order["context_id"])
        if context is None:
            return call.reply_text(404, f"Context {order['context_id']} not found")
    else:
        language = _LANGUAGES.get(order.get("language") or "python")
        if language is None:
            text = json.dumps({"message": f"no kernel for {order['language']}"})
            return call.reply_text(500, f"Failed to create context: {text}")
        context = next(context for context in _contexts(sandbox) if context.language == language)
    stream = EventStream(call, None)
    context.execute(order["code"], order.get("env_vars") or {}, stream)
    return stream.close()


def _contexts(sandbox: Sandbox) -> list[Context]:
    """Its contexts; two are there from the start, and cost nothing before they are used."""
    with sandbox.lock:
        for language in ("python", "javascript"):
            if not any(context.language == language for context in sandbox.contexts.values()):
                context = Context(sandbox, language)
                sandbox.contexts[context.id] = context
        return list(sandbox.contexts.values())


def _described(context: Context) -> dict[str, str]:
    return {"id": context.id, "language": context.language, "cwd": context.cwd}


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode() + b"\n"
