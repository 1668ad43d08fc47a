"""Runs one program on a machine, as `subprocess` runs it on the trainer's machine, and reports its result.

It is run by path from the directory into which the bundle was unpacked, and reads its order from `job.json` in the
same directory. It prints lines:

* `~` and the number of the last line up to which all lines have arrived. The first such line says that the machine can
  run this file. Later ones come regularly, so that silence means that the connection is dead;
* `!` once, when the program's process has started;
* `>` and base64: what the program sends to its peer; `.` when the program has closed the channel;
* `{...}` last: the nonce of the order, and the whole result.

Standard input consists of lines too: a number, a space, and base64 for the program, or `.` when the peer has closed the
channel. The lines are numbered from 1, because a line may be lost or arrive twice: each line is passed on once, after
all lines with smaller numbers. If the order says so, the end of standard input ends the program: the trainer is gone.

The program runs as the same user as this process, and can do anything to it. So the trainer accepts nothing from this
process except a result of that program, and this process gets nothing secret: no expected value, no key.
"""

from __future__ import annotations

import binascii
import json
import os
import select
import socket
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

_SILENCE_S = 2.0
"""The longest silence before it prints a sign of life, in seconds."""

_PIECE = 48 << 10
"""How many bytes of the channel are sent in one line at most: as base64 they fit into one piece that E2B sends."""

_DRAIN_S = 1.0
"""How long the channel is still read after the program has ended, in seconds: a surviving child may hold it open."""


def name_packages(root: str) -> None:
    """Make this package importable without running the code of its `__init__` files, which import NumPy.

    Args:
        root: Directory that holds `code_env`.
    """
    for name in ("code_env", "code_env.executors"):
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(root, *name.split("."))]
        sys.modules[name] = module


class Output:
    """Writes lines to the trainer's side; it can be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = time.monotonic()
        self.received = 0
        """The number of the last line up to which all lines have arrived and were passed on; -1 while a line is being
        passed on, and after the program has not taken a line."""

    def say(self, line: bytes) -> None:
        """Write a whole line."""
        with self._lock:
            view = memoryview(line + b"\n")
            while view:
                view = view[os.write(1, view) :]
            self._said = time.monotonic()

    def keep_alive(self) -> None:
        """Print a sign of life after each longer silence, for ever."""
        while True:
            time.sleep(_SILENCE_S / 2)
            if time.monotonic() > self._said + _SILENCE_S:
                self.say(b"~%d" % self.received)


class Relay:
    """Carries data between a program and the standard streams of this process.

    Args:
        channel: The peer's end of the channel.
        bell: The peer's end of the bell, if there is one.
        output: Gets what the program sends.
        excuse: Called with the number of seconds for which the program waited for its peer. It is called when data for
            the program arrives; before that it is not known whether the program waits for its peer or sleeps.
    """

    def __init__(
        self, channel: socket.socket, bell: int | None, output: Output, excuse: Callable[[float], None]
    ) -> None:
        self._channel, self._bell, self._output, self._excuse = channel, bell, output, excuse
        self._moved = time.monotonic()
        """When data last went through the channel, in either direction."""
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._ended = self._is_passing_on = False

    def start(self, ended: Callable[[], None], at_end: Callable[[], None]) -> None:
        """Start the threads.

        Args:
            ended: Called when the peer has closed the channel.
            at_end: Called at the end of standard input.
        """
        self._sender.start()
        threading.Thread(target=self._take, args=(ended, at_end), daemon=True).start()

    def finish(self) -> None:
        """Wait until all that the ended program has sent is written to the output."""
        self._ended = True
        self._sender.join(_DRAIN_S)

    def received(self) -> int:
        """`Output.received`, after all lines that have arrived by now are passed on."""
        deadline = time.monotonic() + _DRAIN_S
        while time.monotonic() < deadline and (select.select([0], [], [], 0)[0] or self._is_passing_on):
            time.sleep(0.001)
        return self._output.received

    def _take(self, ended: Callable[[], None], at_end: Callable[[], None]) -> None:
        buffer, count = bytearray(), 0
        early: dict[int, bytes] = {}
        taken = True
        while piece := os.read(0, 1 << 16):
            *lines, rest = (buffer + piece).split(b"\n") if b"\n" in piece else (buffer + piece,)
            buffer = bytearray(rest)
            for line in lines:
                number, _, text = bytes(line).partition(b" ")
                if number.isdigit() and int(number) > count:
                    early[int(number)] = text
                while count + 1 in early:
                    self._is_passing_on, self._output.received = True, -1
                    # After the program has not taken a line, it does not need the later lines.
                    taken = self._pass_on(early.pop(count + 1), ended) and taken
                    count += 1
                    self._output.received = count if taken else -1
                    self._is_passing_on = False
        at_end()

    def _pass_on(self, line: bytes, ended: Callable[[], None]) -> bool:
        """Pass a line on to the program; return whether the program took it."""
        try:
            if line == b".":
                self._channel.shutdown(socket.SHUT_WR)
                ended()
            else:
                self._excuse(time.monotonic() - self._moved)
                self._channel.sendall(binascii.a2b_base64(line))
                self._moved = time.monotonic()
        except OSError:  # The program has ended.
            return False
        return True

    def _send(self) -> None:
        # With a bell, data is read only when the bell rings: the program need not wait, and the pieces are fewer.
        while self._bell is None or os.read(self._bell, 4096):
            if not self._send_what_is_there():
                break
        else:
            while self._send_what_is_there(to_the_end=True):
                pass
        self._output.say(b".")

    def _send_what_is_there(self, to_the_end: bool = False) -> bool:
        flags = 0 if self._bell is None or to_the_end else socket.MSG_DONTWAIT
        while True:
            try:
                piece = self._channel.recv(_PIECE, flags)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not piece:
                return False
            self._moved = time.monotonic()
            self._output.say(b">" + binascii.b2a_base64(piece, newline=False))
            if self._bell is None:
                return True


def _skip_input(at_end: Callable[[], None]) -> None:
    while os.read(0, 1 << 16):
        pass
    at_end()


def run(order: dict[str, Any], output: Output) -> dict[str, Any]:
    """Run the program of an order, and return its result as plain data.

    Args:
        order: The order that `bundle.order_of` made.
        output: Gets the lines.
    """
    from code_env.executors.limits import Limits
    from code_env.executors.program import Program
    from code_env.executors.program_process import ProgramProcess
    from code_env.executors.running_program import GOODBYE_S, joined, role_of, watch

    fields = order["program"]
    files = {name: binascii.a2b_base64(content) for name, content in fields["files"].items()}
    peer = Program("") if order["judged"] else None
    history = fields["history"]
    program = Program(
        fields["code"],
        fields["language"],
        fields["stdin"],
        tuple(fields["argv"]),
        files,
        tuple(fields["collect"]),
        Limits(**fields["limits"]),
        peer=peer,
        one_process=fields["one_process"],
        notebook=history is not None,
        history=None if history is None else tuple(history),
    )
    if peer is None:
        with ProgramProcess(sys.executable, program, "program") as main:
            output.say(b"!")
            if order["ends_with_input"]:
                threading.Thread(target=_skip_input, args=(lambda: main.end_by(time.monotonic()),), daemon=True).start()
            watch([main])
            return plain(main.result(0.0))
    with joined(program) as (programs, peers):
        main = ProgramProcess(sys.executable, program, role_of(program), programs)
        numbers = list(peers.values())
        channel = socket.socket(fileno=os.dup(numbers[0]))
        bell = os.dup(numbers[1]) if len(numbers) > 1 else None
    with main:
        relay = Relay(channel, bell, output, main.clock.excuse)
        output.say(b"!")
        relay.start(
            lambda: main.end_by(time.monotonic() + GOODBYE_S),
            lambda: main.end_by(time.monotonic()) if order["ends_with_input"] else None,
        )
        watch([main])
        relay.finish()
        return plain(main.result(0.0)) | {"received": relay.received()}


def plain(result: Any) -> dict[str, Any]:
    """A result as plain data."""
    error = result.error
    return {
        "status": str(result.status),
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "stdout_truncated": result.stdout_truncated,
        "stderr_truncated": result.stderr_truncated,
        "error": None if error is None else [error.name, error.message, error.traceback],
        "cells": [_record(number, cell) for number, cell in enumerate(result.cells, start=1)],
        "files": {name: _text(data) for name, data in result.files.items()},
        "wall_s": result.wall_s,
        "cpu_s": result.cpu_s,
        "peak_memory_bytes": result.peak_memory_bytes,
    }


def _record(number: int, cell: Any) -> dict[str, Any]:
    """What a cell of a session gave, as `code_env.harness.wire.records` has it."""
    shown = [
        {kind: _text(data) if isinstance(data, bytes) else data for kind, data in one.items()} for one in cell.results
    ]
    error = cell.error and {"name": cell.error.name, "message": cell.error.message, "traceback": cell.error.traceback}
    return {"cell": number, "results": shown, "stdout": cell.stdout, "error": error, "variable": cell.variable}


def _text(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def main() -> None:
    """Carry out the order in `job.json`, which lies in the directory of the bundle."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    path = os.path.join(root, "job.json")
    with open(path, encoding="ascii") as file:
        order = json.load(file)
    os.unlink(path)  # The program should not find its own order there.
    name_packages(root)
    output = Output()
    output.say(b"~0")
    threading.Thread(target=output.keep_alive, daemon=True).start()
    try:
        told: dict[str, Any] = {"result": run(order, output)}
    # For example, a directory, a process or an interpreter is missing: that is reported as a fault of the sandbox.
    except Exception as error:
        told = {"fault": [type(error).__name__, str(error)]}
    # The line break first: the program may have written an unfinished line here.
    output.say(b"\n" + json.dumps({"nonce": order["nonce"], **told}).encode())
    os._exit(0)  # Does not join the threads, which wait for lines that will not come.


if __name__ == "__main__":
    main()
