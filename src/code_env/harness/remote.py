"""The peer's conversation with a loaded answer: asks for calls, takes what comes back as data.

On the other end is a process that has run the answer and may send anything. A reply is taken only
if it answers the request that was made, in time and in shape; otherwise the conversation is over
and the tests end, as they do when a program dies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from .channel import PER_MESSAGE, Channel, ChannelError, ChannelTimeout, Kind, parse_json
from .children import BROKEN_EXIT_CODE
from .handles import (
    CallableHandle,
    Handle,
    HandleMisuse,
    ObjectHandle,
    Origin,
    ProgramDied,
    rebuild_exception,
    update_in_place,
)
from .main_module import MAX_TEXT
from .plain import Decoder, Encoder, NotPlain

GRACE_S = 2.0
"""How much longer than a limit the peer waits: the serving process enforces the limit itself."""


class Problem:
    """Why an answer could not be tested: its own doing."""

    def __init__(self, status: str, message: str, error: dict[str, str] | None = None) -> None:
        self.status, self.message, self.error = status, message, error


class Ended:
    """How a child of the serving process ended, as it says."""

    _STATUSES = ("ok", "error", "signal", "timeout", "memory", "output_limit")

    def __init__(self, ended: Any) -> None:
        if not isinstance(ended, dict) or ended.get("status") not in self._STATUSES:
            raise ChannelError("a malformed end")
        self.status: str = ended["status"]
        error = ended.get("error")
        self.error = described(error) if isinstance(error, dict) else None
        self._exit_code = _whole_number(ended.get("exit_code"))
        self._signal = _whole_number(ended.get("signal"))
        stderr = ended.get("stderr")
        self._stderr = stderr if isinstance(stderr, str) else ""

    @property
    def fault(self) -> str:
        """The status of a test that this end cut short: ending unasked is a fault, whatever the exit code."""
        return "error" if self.status == "ok" else self.status

    @property
    def reason(self) -> str:
        """The end in words, for a message."""
        if self.error:
            return f"{self.error['name']}: {self.error['message']}".strip()
        return {
            "ok": "the program's process ended early",
            "error": self._exit_reason(),
            "signal": f"killed by signal {self._signal}",
            "timeout": "the time limit was reached",
            "memory": "the memory limit was reached",
            "output_limit": "too much output",
        }[self.status]

    def _exit_reason(self) -> str:
        if self._exit_code is None:
            return "the program's process sent what was not its to send"
        if self._exit_code == BROKEN_EXIT_CODE:
            return "the program broke the process that it ran in"
        return f"exit code {self._exit_code}"

    @property
    def details(self) -> dict[str, Any]:
        """What a report says of it beside the status."""
        details = {"exit_code": self._exit_code, "signal": self._signal, "error": self.error}
        return {key: value for key, value in details.items() if value is not None} | {"stderr": self._stderr}


def _update(old: Any, new: Any) -> None:
    """Make an argument what the program made of it, or find that it made something impossible of it."""
    try:
        update_in_place(old, new)
    except Exception as error:
        raise HandleMisuse(f"what became of an argument does not fit it: {type(error).__name__}") from error


def _refuse_object(tag: str, body: Any) -> object:
    kind = body[1] if isinstance(body, list) and len(body) == 3 else "object"
    raise NotPlain(f"the program's {str(kind)[:200]}")


def _whole_number(value: Any) -> int | None:
    return value if type(value) is int else None


class RemoteModule:
    """The answer loaded as a module in the program's sandbox: the conversation with it.

    Args:
        channel: To the serving process.
        wall_s: How long the module may live, or with `per_message` take for a reply, in seconds.
        objects: Whether operators on the program's objects are forwarded.
        per_message: See `wall_s`.
    """

    def __init__(self, channel: Channel, wall_s: float, objects: bool, *, per_message: bool) -> None:
        self._channel, self.wall_s, self._objects, self._per_message = channel, wall_s, objects, per_message
        self._deadline = time.monotonic() + wall_s + GRACE_S
        self._decoder = Decoder(self._reference)
        self._handles: dict[tuple[int, Origin], Handle] = {}
        self._origin = Origin.RESULT
        self._number = 0
        self._ended: Ended | None = None
        self._lost: str | None = None
        self._cases_open = 0
        self._held_back: list[tuple[Any, Any]] = []
        self.last_raised: tuple[BaseException, dict[str, str]] | None = None
        channel.send(Kind.LOAD, PER_MESSAGE if per_message else b"")

    def begin(self, entry_point: str | None) -> Problem | None:
        """Wait until the answer's top level has run; what kept it from it, if anything did."""
        try:
            error = self._receive(0).get("error")
            if error is not None:
                error = described(error)
                self._wait_for_end()
                status = "memory" if error["name"] == "MemoryError" else "error"
                message = f"{error['name']}: {error['message']}".strip()
                return Problem(status, f"the program failed before its first test: {message}", error)
            if entry_point is not None and not self.names([entry_point]).get(entry_point):
                return Problem("error", f"the program defines no function or class {entry_point!r}")
        except ProgramDied:
            ended = self._wait_for_end()
            return Problem(ended.fault, f"before the first test: {ended.reason}")
        return None

    def names(self, names: list[str]) -> dict[str, bool]:
        """Which of `names` the module defines, and whether each can be called."""
        found = self._ask("names", names=names).get("callable")
        if not isinstance(found, dict):
            raise ChannelError("a malformed reply")
        return {str(name): found[name] is True for name in found}

    def each(self, target: str | None, inputs: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Call `target` with each of the inputs in a process of its own; (end, reply) in turn."""
        self._number += 1
        self._send({"n": self._number, "op": "each", "target": target, "inputs": inputs})
        for _ in inputs:
            if self._per_message:
                self._deadline = time.monotonic() + self.wall_s + GRACE_S
            reply = self._receive(self._number)
            yield reply.get("ended"), reply.get("reply")

    def call(self, handle: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a name or an object of the program with plain data; see `Remote`."""
        encoder = Encoder(self._encode_other)
        reply = self._ask(
            "call",
            target=handle._code_env_target,
            args=[encoder.encode(arg) for arg in args],
            kwargs={name: encoder.encode(arg) for name, arg in kwargs.items()},
        )
        return self._outcome(reply, args, kwargs, handle._code_env_origin.of_call)

    def get(self, handle: Handle, name: str) -> Any:
        """Read an attribute of a name or an object of the program; see `Remote`."""
        reply = self._ask("get", target=handle._code_env_target, name=name)
        return self._outcome(reply, (), {}, handle._code_env_origin.of_attribute)

    def set(self, handle: Handle, name: str, value: Any) -> None:
        """Set an attribute of an object of the program; see `Remote`."""
        self.operate("setattr", (handle, name, value))

    def operate(self, name: str, args: tuple[Any, ...]) -> Any:
        """Apply an operator in the program's process; see `Remote`."""
        encoder = Encoder(self._encode_other)
        reply = self._ask("operate", name=name, args=[encoder.encode(arg) for arg in args])
        if (
            name == "next"
            and isinstance(reply.get("raised"), dict)
            and reply["raised"].get("builtin") == "StopIteration"
        ):
            raise StopIteration
        return self._outcome(reply, args, {}, Origin.RESULT)

    def around_case(self, begins: bool) -> None:
        """Hold changes to arguments back while a case is evaluated.

        `assert f(x) == sorted(x)` must not compare with what `f` made of `x`; after the statement
        the change is there for the tests to see.
        """
        self._cases_open += 1 if begins else -1
        if self._cases_open == 0:
            held_back, self._held_back = self._held_back, []
            for old, new in held_back:
                _update(old, new)

    def unpack(self, reply: Any, *, plain_only: bool = False) -> Any:
        """The value in a reply; raises what the program raised, as a builtin exception.

        Args:
            reply: The reply.
            plain_only: Whether an object of the program, which would be a handle, is refused.

        Raises:
            NotPlain: If the reply is malformed, or holds an object and may not.
        """
        decoder = Decoder(_refuse_object) if plain_only else self._decoder
        if not isinstance(reply, dict):
            raise NotPlain("a malformed reply")
        raised = reply.get("raised")
        if raised is not None:
            if not isinstance(raised, dict):
                raise NotPlain("a malformed reply")
            args = raised.get("args")
            raise rebuild_exception(raised, None if args is None else decoder.decode(args))
        if "value" not in reply:
            raise NotPlain("a malformed reply")
        return decoder.decode(reply["value"])

    def end(self) -> Ended:
        """End the module if it has not ended by itself; how it ended."""
        if self._ended is None and self._lost is None:
            try:
                self._channel.send(Kind.UNLOAD)
            except ChannelError:
                self._lost = "error"
        return self._wait_for_end()

    def check_alive(self) -> None:
        """Go on only if the conversation with the serving process is still in order.

        Raises:
            ProgramDied: If it is not.
        """
        if self._lost is not None:
            raise ProgramDied("the program's process is lost")

    def _outcome(self, reply: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], origin: Origin) -> Any:
        self._origin = origin
        value: Any = None
        failure: BaseException | None = None
        try:
            value = self.unpack(reply)
        except NotPlain as error:
            raise HandleMisuse(f"what came back is not plain data: {error}") from error
        except Exception as error:
            failure = error
        for old, new in self._changes(reply.get("changed"), args, kwargs):
            # A function that returns nothing is called for its effect, also within an assert.
            if self._cases_open and value is not None:
                self._held_back.append((old, new))
            else:
                _update(old, new)
        if failure is not None:
            self.last_raised = (failure, described(reply["raised"]))
            raise failure
        return value

    def _changes(self, changed: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Any, Any]]:
        try:
            named: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
            return [(named[key], self._decoder.decode(form)) for key, form in changed or ()]
        except (NotPlain, LookupError, TypeError, ValueError) as error:
            raise HandleMisuse(f"what became of an argument is not plain data: {error}") from error

    def _encode_other(self, value: object, why: str) -> Any:
        if isinstance(value, Handle):
            target = value._code_env_target
            if isinstance(target, int):
                return {"r": target}
        raise TypeError(f"a test handed the program a {why}; only plain data can be handed over")

    def _reference(self, tag: str, body: Any) -> Handle:
        if tag != "h" or not isinstance(body, list) or len(body) != 3 or type(body[0]) is not int:
            raise NotPlain("a malformed handle")
        number, type_name, can_be_called = body
        key = (number, self._origin)
        if key not in self._handles:
            kind = ObjectHandle if self._objects else CallableHandle if can_be_called is True else Handle
            self._handles[key] = kind(self, number, str(type_name)[:200], key[1])
        return self._handles[key]

    def _ask(self, op: str, **fields: Any) -> dict[str, Any]:
        self._number += 1
        self._send({"n": self._number, "op": op, **fields})
        return self._receive(self._number)

    def _send(self, request: dict[str, Any]) -> None:
        if self._ended is not None or self._lost is not None:
            raise ProgramDied("the program's process has ended")
        try:
            self._channel.send_json(Kind.MESSAGE, request)
        except ChannelError as error:
            self._lost = "error"
            raise ProgramDied(str(error)) from error

    def _receive(self, number: int) -> dict[str, Any]:
        """The reply to request `number`; anything else is the end of the conversation."""
        kind, payload = self._frame()
        if kind == Kind.ENDED:
            self._ended = Ended(parse_json(payload))
            raise ProgramDied(self._ended.reason)
        try:
            reply = parse_json(payload) if kind == Kind.MESSAGE else None
        except ChannelError as error:
            raise ProgramDied(str(error)) from error
        if not isinstance(reply, dict) or reply.get("n") != number:
            raise ProgramDied("the program's process sent what nobody asked for")
        return reply

    def _frame(self) -> tuple[int, bytes]:
        try:
            frame = self._channel.receive(max(0.0, self._deadline - time.monotonic()))
        except ChannelTimeout as error:
            self._lost = "timeout"
            raise ProgramDied("the time limit was reached") from error
        except ChannelError as error:
            self._lost = "error"
            raise ProgramDied(str(error)) from error
        if frame is None:
            self._lost = "error"
            raise ProgramDied("the program's process ended")
        return frame

    def _wait_for_end(self) -> Ended:
        """How the module's process ended, once it has; what is lost ended by its own fault."""
        self._deadline = max(self._deadline, time.monotonic() + GRACE_S)
        while self._ended is None and self._lost is None:
            try:
                kind, payload = self._frame()
                if kind == Kind.ENDED:
                    self._ended = Ended(parse_json(payload))
            except ProgramDied:
                break
        return self._ended or Ended({"status": self._lost})


def described(error: dict[str, Any]) -> dict[str, str]:
    """An exception as the program's process describes it, in the one shape that reports have."""
    return {key: str(error.get(key))[:MAX_TEXT] for key in ("name", "message", "traceback")}
