"""The process that has loaded an answer: calls its functions for the peer.

It runs the answer's top level and is untrusted from then on. What it does here, it does on the
program's behalf: looks up a name, calls it, encodes what came back. Objects of the program's own
classes stay here; the peer gets a handle, a number in `_Answer._objects`.

Messages are JSON objects. Each request has a number `n`, which the reply repeats::

    {"n": 1, "op": "begin", "names": ["add"]}           {"n": 1, "callable": {"add": true}, "exceptions": {}}
    {"n": 2, "op": "call", "target": "add",             {"n": 2, "value": 3, "changed": []}
     "args": [1, 2], "kwargs": {}}                      {"n": 2, "raised": {...}, "changed": []}
    {"n": 3, "op": "get", "target": 7, "name": "x"}     as for a call
    {"n": 4, "op": "operate", "name": "eq", "args": []} as for a call
    {"n": 5, "op": "next", "target": 8, "count": 4}     {"n": 5, "values": [1, 2], "more": false}
    {"n": 6, "op": "calls", "target": "add",            a reply for each, numbered from 6 on, without `changed`;
     "inputs": [[[1, 2], {}], ...]}                     after one that raised, {"n": 7, "skipped": true}
    {"n": 9, "op": "each", "target": "add",             one reply for each input, in order:
     "inputs": [[[1, 2], {}], ...]}                     {"n": 9, "ended": {...}, "reply": {...}}

`begin` may hold what `calls` does, and `last` if nothing more will be asked. The first message says that the answer's
top level has run, `{"n": 0, "error": null}`, or why not. While a call runs that was handed a function of the tests,
the program may call that: `{"callback": 1, "args": [...], "kwargs": {}}` is answered like a call.

`each` runs every call in a child of its own, so that no call sees what another left behind.
"""

from __future__ import annotations

import builtins
import codecs
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

from .channel import MAX_FRAME_BYTES, Channel, ChannelError, Kind, parse_json
from .children import Child, drain
from .limits import ProcessLimits
from .main_module import COMPILE_ERRORS, compile_program, describe_error, new_module
from .operations import OPERATIONS
from .plain import Decoder, Encoder, NotPlain, encode, is_coroutine, is_iterator, type_name
from .quiet import RingingChannel
from .workspace import Workspace

MODULE_NAME = "solution"
"""`__name__` of a loaded answer; not `__main__`, so its main block does not run."""

MAX_OBJECTS = 100_000
"""Most objects of the program that a peer holds handles of."""

# Bound here because the program shares this process and may replace them.
_exit, _close, _exec, _write, _getattr, _callable, _type = os._exit, os.close, exec, os.write, getattr, callable, type
_next, _isinstance, _issubclass = next, isinstance, issubclass
_signal, _process_time = signal.signal, time.process_time
_dumps, _set_depth, _get_depth = json.dumps, sys.setrecursionlimit, sys.getrecursionlimit
_BaseException, _Exception, _builtins = BaseException, Exception, dict(vars(builtins))

_IMMUTABLE_TAGS = frozenset({"i", "f", "b", "c", "rg", "de", "fr", "dt", "td", "ns", "r", "bn", "cb"})

_ENCODING_DEPTH = 4000
"""Recursion limit while a value is encoded: a program's own, lower one must not interfere."""


def answer_alone(source: bytes, filename: str, argv: list[str], fd: int) -> NoReturn:
    """Compile and load an answer in this process, then serve the peer on `fd` until it closes.

    Args:
        source: The answer, UTF-8.
        filename: What its tracebacks call it.
        argv: Its arguments, without its own name.
        fd: The descriptor to serve.
    """
    try:
        code = compile_program(source.removeprefix(codecs.BOM_UTF8).decode(), filename)
    except COMPILE_ERRORS as error:
        uncompiled = describe_error(error.with_traceback(None))  # It shows the program's line; the frames are ours.
        Channel(fd).send_json(Kind.MESSAGE, {"n": 0, "error": uncompiled, "uncompiled": True})
        _exit(1)
    answer(code, argv, RingingChannel(fd))


def answer(code: CodeType, argv: list[str], channel: Channel, limits: ProcessLimits | None = None) -> NoReturn:
    """Run the answer's top level as a module, then serve the peer on `channel` until it closes.

    Args:
        code: The compiled answer.
        argv: Its arguments, without its own name.
        channel: To the peer.
        limits: What each call of an `each` request may use; None if there will be none.
    """
    workspace = Workspace() if limits is not None else None  # Of where we are now: the program may go elsewhere.
    module = new_module(MODULE_NAME, code.co_filename)
    sys.argv = [code.co_filename, *argv]
    try:
        _exec(code, module.__dict__)
    except BaseException as error:
        _flush()
        channel.send_json(Kind.MESSAGE, {"n": 0, "error": describe_error(error)})
        _exit(1)
    channel.send(Kind.MESSAGE, b'{"n":0,"error":null}')
    served = _Answer(module.__dict__, channel, limits, workspace)
    try:
        while (frame := channel.receive()) is not None:
            served.serve(parse_json(frame[1]))
    except ChannelError:  # The peer has heard enough.
        pass
    _exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # It may be closed, or an object of the program's own.
        with contextlib.suppress(_BaseException):
            stream.flush()


class _Answer:
    def __init__(
        self, names: dict[str, Any], channel: Channel, limits: ProcessLimits | None, workspace: Workspace | None
    ) -> None:
        self._names, self._limits, self._channel = names, limits, channel
        self._workspace = workspace
        self._objects: list[object] = []
        self._skipped = False
        self._numbers: dict[int, int] = {}
        self._decoder = Decoder(self._dereference)

    def serve(self, request: Any) -> None:
        op = request["op"]
        if op == "each":
            self._each(request)
        elif op == "calls":
            self._call_each(request["n"], request["target"], request["inputs"])
        elif op == "begin":
            found = self._describe(request["names"])
            self._reply(1, found)
            if "inputs" in request and found["callable"].get(request["target"]):
                self._call_each(2, request["target"], request["inputs"])
                if request["last"] and not self._objects and not self._skipped:
                    _exit(0)
        else:
            self._reply(request["n"], self._do(op, request))

    def _do(self, op: str, request: Any) -> dict[str, Any]:
        if op == "call":
            return self._call(self._target(request["target"]), request["args"], request["kwargs"])
        if op == "get":
            return self._guard(lambda: _getattr(self._target(request["target"])(), request["name"]))
        if op == "next":
            return self._take(self._objects[request["target"]], request["count"])
        if op == "await":
            return self._guard(lambda: _run(self._objects[request["target"]]))
        operation = OPERATIONS[request["name"]]
        return self._call(lambda: operation, request["args"], {})

    def _call_each(self, first: int, name: str, inputs: list[Any]) -> None:
        target = self._target(name)
        self._skipped = False
        for number, (args, kwargs) in enumerate(inputs, start=first):
            reply: dict[str, Any] = {"skipped": True}
            if not self._skipped:
                given, named = self._decode(args, kwargs)
                reply = self._guard(lambda: target()(*given, **named))  # noqa: B023 (called at once)
                # Another exception ends the tests, as far as one can tell here.
                self._skipped = "raised" in reply and reply["raised"]["builtin"] != "AssertionError"
            self._reply(number, reply)

    def _reply(self, number: int, reply: dict[str, Any]) -> None:
        _flush()
        self._channel.send(Kind.MESSAGE, self._pack({"n": number, **reply}))

    def _describe(self, names: list[str]) -> dict[str, Any]:
        """Which of `names` there are: whether each can be called, and for exceptions the nearest builtin class."""
        found: dict[str, bool] = {}
        exceptions: dict[str, str] = {}
        for name in names:
            with contextlib.suppress(_BaseException):
                value = self._target(name)()
                found[name] = _callable(value)
                if _isinstance(value, _type) and _issubclass(value, _Exception):
                    exceptions[name] = _nearest_builtin(value)
        return {"callable": found, "exceptions": exceptions}

    def _target(self, target: Any) -> Callable[[], Any]:
        if not _isinstance(target, str):
            return lambda: self._objects[target]
        owner, dot, method = target.partition(".")
        if not dot:
            return lambda: self._names[target]
        if owner in self._names:
            # As the sites that ask for a `class Solution` do: a fresh instance for each call.
            return lambda: _getattr(self._names[owner](), method)
        return lambda: self._names[method]

    def _decode(self, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        decode = self._decoder.decode
        return [decode(form) for form in args], {name: decode(form) for name, form in kwargs.items()}

    def _call(self, target: Callable[[], Any], args: Any, kwargs: Any) -> dict[str, Any]:
        """Call a target with decoded arguments; the reply says which of them it changed."""
        given, named = self._decode(args, kwargs)
        reply = self._guard(lambda: target()(*given, **named))
        mutable = [(i, form, given[i]) for i, form in enumerate(args) if _may_change(form)]
        mutable += [(name, form, named[name]) for name, form in kwargs.items() if _may_change(form)]
        changed = []
        for key, before, value in mutable:
            after = self._encode(value)
            if after != before:
                changed.append([key, after])
        return {**reply, "changed": changed}

    def _take(self, iterator: Any, count: int) -> dict[str, Any]:
        """The next values of an iterator."""
        values: list[Any] = []
        try:
            for _ in range(count):
                values.append(self._encode(_next(iterator)))
        except StopIteration:
            return {"values": values, "more": False}
        except _BaseException as error:
            return {"values": values, "raised": self._raised(error)}
        return {"values": values, "more": True}

    def _call_back(self, number: int) -> Callable[..., Any]:
        """A stand-in for a function of the tests."""

        def callback(*args: Any, **kwargs: Any) -> Any:
            form = {
                "callback": number,
                "args": [self._encode(arg) for arg in args],
                "kwargs": {name: self._encode(arg) for name, arg in kwargs.items()},
            }
            self._channel.send(Kind.MESSAGE, self._pack(form))
            reply = self._reply_to_callback()
            if "raised" in reply:
                kind = _builtins.get(reply["raised"]["builtin"], _Exception)
                raise kind(reply["raised"]["message"])
            return self._decoder.decode(reply["value"])

        return callback

    def _reply_to_callback(self) -> Any:
        while True:
            frame = self._channel.receive()
            if frame is None:
                _exit(0)
            message = parse_json(frame[1])
            if "op" not in message:
                return message
            self.serve(message)  # The function of the tests called into the answer in turn.

    def _guard(self, action: Callable[[], Any]) -> dict[str, Any]:
        """The outcome of an action as a reply: its encoded value, or what it raised."""
        try:
            return {"value": self._encode(action())}
        except _BaseException as error:
            return {"raised": self._raised(error)}

    def _raised(self, error: BaseException) -> dict[str, Any]:
        try:
            args = encode(list(error.args))
        # Arguments that are not plain, or an `args` of the program's own.
        except _BaseException:
            args = None
        return {**describe_error(error), "builtin": _nearest_builtin(_type(error)), "args": args}

    def _encode(self, value: object) -> Any:
        depth = _get_depth()
        _set_depth(max(depth, _ENCODING_DEPTH))
        try:
            return Encoder(self._stand_in).encode(value)
        except NotPlain as error:
            return self._stand_in(value, f"{type_name(value)} ({error})")
        finally:
            _set_depth(depth)

    def _stand_in(self, value: object, why: str) -> dict[str, Any]:
        """What goes to the peer in place of an object that stays here."""
        number = self._numbers.get(id(value))
        if number is None:
            if len(self._objects) >= MAX_OBJECTS:
                raise NotPlain(f"more than {MAX_OBJECTS} objects")
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)  # Kept alive, so its id stays its own.
        if is_iterator(value):
            return {"it": number}
        if is_coroutine(value):
            return {"co": number}
        return {"h": [number, why, _callable(value)]}

    def _dereference(self, tag: str, body: Any) -> object:
        return self._call_back(body) if tag == "cb" else self._objects[body]

    def _pack(self, reply: dict[str, Any]) -> bytes:
        depth = _get_depth()
        _set_depth(max(depth, _ENCODING_DEPTH))
        try:
            text = _dumps(reply, ensure_ascii=False, separators=(",", ":"))
        finally:
            _set_depth(depth)
        packed = text.encode("utf-8", "surrogatepass")
        if len(packed) <= MAX_FRAME_BYTES // 2:
            return packed
        error = {"name": "ValueTooLarge", "message": f"{len(packed)} bytes of data came back"}
        raised = {**error, "traceback": "", "builtin": "Exception", "args": None}
        return self._pack({"n": reply.get("n"), "raised": raised, "changed": []})

    def _each(self, request: Any) -> None:
        if self._workspace is None or self._limits is None:
            raise ValueError("this process was to answer one suite")
        target, limits, workspace = self._target(request["target"]), self._limits, self._workspace
        loading_s = round(_process_time(), 6)
        for args, kwargs in request["inputs"]:
            _flush()
            result = bytearray()
            room = workspace.make_room()

            def body(to_parent: int, args: Any = args, kwargs: Any = kwargs, room: str = room) -> NoReturn:
                _close(self._channel.fd)
                workspace.enter(room)
                view = memoryview(self._pack(self._call(target, args, kwargs)))
                _flush()
                while view:
                    view = view[_write(to_parent, view) :]
                _exit(0)

            # Where the program ignores the end of its children, the kernel would not tell of it.
            _signal(signal.SIGCHLD, signal.SIG_DFL)
            child = Child(limits, body, pipes=1)

            def take(data: bytes, child: Child = child, result: bytearray = result) -> None:
                result.extend(data)
                if len(result) > MAX_FRAME_BYTES // 2:
                    child.end("output_limit")
                    result.clear()

            child.on_readable(child.fds[0], drain(child.fds[0], take))
            used = child.watch()
            # Loading is held to the same limit as a call.
            used["cpu_s"] = max(used["cpu_s"], loading_s)
            ended = _dumps(used).encode()
            workspace.remove(room)
            self._channel.send(
                Kind.MESSAGE, b'{"n":%d,"ended":%s,"reply":%s}' % (request["n"], ended, result or b"null")
            )


def _may_change(form: Any) -> bool:
    """Whether the value behind an encoded argument can be changed in place."""
    kind = _type(form)
    return kind is list or (kind is dict and not _IMMUTABLE_TAGS.issuperset(form))


def _nearest_builtin(kind: type) -> str:
    bases = _type.__getattribute__(kind, "__mro__")
    for base in bases:
        name: str = _type.__getattribute__(base, "__name__")
        if _builtins.get(name) is base:
            return name
    return "Exception"


def _run(coroutine: Any) -> Any:
    import asyncio

    return asyncio.run(coroutine)
