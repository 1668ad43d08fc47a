"""Calls a function of an answer for `call` tests, so that no call sees the effects of another.

Each call has a child of its own, with a directory of its own. If the answer's functions keep nothing, as far as
`forgetting.py` can tell, the process that has loaded the answer can make the calls itself, because a child costs more
than most calls. That process stops at the first call whose result it cannot rely on. All calls are then made again, in
children.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple, NoReturn

from ..process.budget import CUT, NOT_RUN, Budget
from ..process.children import drain, start_child
from ..process.workspace import Workspace
from ..wire.channel import MAX_FRAME_BYTES, Channel, Kind, json_bytes
from .forgetting import Kept, Memory

# Bound here because the program shares this process and can replace them.
_exit, _close, _write, _signal, _threads = os._exit, os.close, os.write, signal.signal, _thread._count
_process_time, _clock = time.process_time, time.monotonic

_DONE = b'{"n":%d,"ended":{"status":"ok","exit_code":0,"cpu_s":%.6f,"wall_s":%.6f},"reply":%s}'


class Callee(NamedTuple):
    """A function to call, in the process that has loaded the answer."""

    call: Callable[[Any, Any], dict[str, Any]]
    """Calls the function with encoded arguments, and returns the reply."""
    pack: Callable[[dict[str, Any]], bytes]
    """Encodes a reply."""
    flush: Callable[[], None]
    """Flushes what the program has printed."""


class Together:
    """Makes all calls in this process.

    Args:
        code: The compiled answer.
        names: The names of the answer's module, after the top level has run.
        target: The name of the function to call.
        channel: The channel to the peer.
        loading_s: CPU time of the top level, in seconds. The limit of a call applies to it too.
    """

    def __init__(self, code: CodeType, names: dict[str, Any], target: str, channel: Channel, loading_s: float) -> None:
        self._channel, self._loading_s = channel, loading_s
        self._memory: Memory | None = None
        if _threads() == 0:
            with contextlib.suppress(Kept):
                self._memory = Memory(code, names, target)

    def run(self, callee: Callee, first: int, inputs: list[Any]) -> None:
        """Make a call with each of the inputs; stop with a last reply if the calls cannot be relied on."""
        for number, (args, kwargs) in enumerate(inputs, start=first):
            reply = self._reply(callee, args, kwargs)
            callee.flush()
            if reply is None:
                self._channel.send(Kind.MESSAGE, b'{"n":%d,"kept":true}' % number)
                return
            packed, cpu_s, wall_s = reply
            self._channel.send(Kind.MESSAGE, _DONE % (number, cpu_s, wall_s, packed))

    def _reply(self, callee: Callee, args: Any, kwargs: Any) -> tuple[bytes, float, float] | None:
        """Return the reply to a call, its CPU time and wall time; None if the call could differ in its own process."""
        if self._memory is None or not self._memory.forget():
            return None
        began_s, began = _process_time(), _clock()
        reply = callee.call(args, kwargs)
        # In a process of its own, the call might have enough memory.
        if "raised" in reply and reply["raised"]["builtin"] == "MemoryError":
            return None
        packed = callee.pack(reply)
        return packed, max(_process_time() - began_s, self._loading_s), _clock() - began


class Alone:
    """Makes each call in a child.

    Args:
        callee: The function to call.
        load_again: Runs the answer's top level again, in a child that lacks the threads that the top level started.
        channel: The channel to the peer.
        budget: What the calls may use.
        workspace: Gives each call a directory.
        loading_s: CPU time of the top level, in seconds. The limit of a call applies to it too.
    """

    def __init__(
        self,
        callee: Callee,
        load_again: Callable[[], None],
        channel: Channel,
        budget: Budget,
        workspace: Workspace,
        loading_s: float,
    ) -> None:
        self._callee, self._load_again, self._channel = callee, load_again, channel
        self._budget, self._workspace, self._loading_s = budget, workspace, round(loading_s, 6)
        self._has_threads = _threads() > 0
        self._drawn = _random_state()

    def run(self, first: int, inputs: list[Any]) -> None:
        """Make a call with each of the inputs, and report how each call ended and its reply."""
        self._workspace.keep_changes()
        for number, (args, kwargs) in enumerate(inputs, start=first):
            ended, reply = self._call(args, kwargs)
            self._channel.send(Kind.MESSAGE, b'{"n":%d,"ended":%s,"reply":%s}' % (number, ended, reply or b"null"))

    def _call(self, args: Any, kwargs: Any) -> tuple[bytes, bytes]:
        """Make a call; return how the child ended, and the reply, which is empty if there is none."""
        limits = self._budget.next_limits()
        if limits is None:
            return json_bytes(NOT_RUN), b""
        callee = self._callee
        callee.flush()
        room = self._workspace.make_room()

        def body(to_parent: int) -> NoReturn:
            _close(self._channel.fd)
            self._workspace.enter(room)
            if self._drawn is not None:  # `random` seeds itself anew in each fork, also where the answer has seeded it.
                _set_random_state(self._drawn)
            if self._has_threads:  # A fork has only the thread that forked.
                self._load_again()
            view = memoryview(callee.pack(callee.call(args, kwargs)))
            callee.flush()
            while view:
                view = view[_write(to_parent, view) :]
            _exit(0)

        # If the program ignored SIGCHLD, the kernel would not report how the child ended.
        _signal(signal.SIGCHLD, signal.SIG_DFL)
        child = start_child(limits, body, pipes=1)
        result = bytearray()

        def take(data: bytes) -> None:
            result.extend(data)
            if len(result) > MAX_FRAME_BYTES // 2:
                child.end("output_limit")
                result.clear()

        child.on_readable(child.fds[0], drain(child.fds[0], take))
        used = child.watch()
        # Another process watches this one too. It might have killed the child first, and does not report that here.
        self._budget.note("timeout" if used["signal"] == signal.SIGKILL else used["status"], used["cpu_s"])
        if limits.cpu_s < self._budget.limits.cpu_s:
            used["rest"] = CUT
        used["cpu_s"] = max(used["cpu_s"], self._loading_s)
        self._workspace.remove(room)
        return json_bytes(used), bytes(result)


def _random_state() -> Any:
    """The state of Python's random generator, if the answer has loaded it."""
    module = sys.modules.get("random")
    try:
        return None if module is None else module.getstate()
    except Exception:  # The answer has put something of its own there.
        return None


def _set_random_state(state: Any) -> None:
    with contextlib.suppress(Exception):
        sys.modules["random"].setstate(state)
