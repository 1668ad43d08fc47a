"""The process that has loaded an answer: calls its functions for the peer.

It runs the answer's top level and is untrusted from then on. What it does here, it does on the
program's behalf: looks up a name, calls it, encodes what came back. Objects of the program's own
classes stay here; the peer gets a handle, a number in `_Answer._objects`.

Messages are JSON objects. Each request has a number `n`, which the reply repeats::

    {"n": 1, "op": "names", "names": ["add"]}           {"n": 1, "callable": {"add": true}}
    {"n": 2, "op": "call", "target": "add",             {"n": 2, "value": 3, "changed": []}
     "args": [1, 2], "kwargs": {}}                      {"n": 2, "raised": {...}, "changed": []}
    {"n": 3, "op": "get", "target": 7, "name": "x"}     as for a call
    {"n": 4, "op": "operate", "name": "eq", "args": []} as for a call
    {"n": 5, "op": "each", "target": "add",             one reply for each input, in order:
     "inputs": [[[1, 2], {}], ...]}                     {"n": 5, "ended": {...}, "reply": {...}}

`each` runs every call in a child of its own, so that no call sees what another left behind.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import operator
import os
import signal
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

from .channel import MAX_FRAME_BYTES, Channel, Kind, parse_json
from .children import Child, drain
from .limits import ProcessLimits
from .main_module import describe_error, new_module
from .plain import Decoder, Encoder, NotPlain, encode, type_name
from .workspace import Workspace

MODULE_NAME = "solution"
"""`__name__` of a loaded answer; not `__main__`, so its main block does not run."""

MAX_OBJECTS = 100_000
"""Most objects of the program that a peer holds handles of."""

# Bound here because the program shares this process and may replace them.
_exit, _close, _exec, _write, _getattr, _callable, _type = os._exit, os.close, exec, os.write, getattr, callable, type
_signal = signal.signal
_dumps, _set_depth, _get_depth = json.dumps, sys.setrecursionlimit, sys.getrecursionlimit
_BaseException, _Exception, _builtins = BaseException, Exception, dict(vars(builtins))

_IMMUTABLE_TAGS = frozenset({"i", "f", "b", "c", "rg", "de", "fr", "dt", "td", "ns", "r"})

_ENCODING_DEPTH = 4000
"""Recursion limit while a value is encoded: a program's own, lower one must not interfere."""


def answer(code: CodeType, argv: list[str], limits: ProcessLimits, fd: int) -> NoReturn:
    """Run the answer's top level as a module, then serve the peer on `fd` until it closes.

    Args:
        code: The compiled answer.
        argv: Its arguments, without its own name.
        limits: What each call of an `each` request may use.
        fd: The descriptor to serve.
    """
    channel = Channel(fd)
    workspace = Workspace()  # Of where we are now: the program may go elsewhere.
    module = new_module(MODULE_NAME, code.co_filename)
    sys.argv = [code.co_filename, *argv]
    try:
        _exec(code, module.__dict__)
    except BaseException as error:
        _flush()
        channel.send_json(Kind.MESSAGE, {"n": 0, "error": describe_error(error)})
        _exit(1)
    channel.send_json(Kind.MESSAGE, {"n": 0, "error": None})
    served = _Answer(module.__dict__, limits, channel, workspace)
    while (frame := channel.receive()) is not None:
        served.serve(parse_json(frame[1]))
    _exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # It may be closed, or an object of the program's own.
        with contextlib.suppress(_BaseException):
            stream.flush()


class _Answer:
    def __init__(self, names: dict[str, Any], limits: ProcessLimits, channel: Channel, workspace: Workspace) -> None:
        self._names, self._limits, self._channel = names, limits, channel
        self._workspace = workspace
        self._objects: list[object] = []
        self._numbers: dict[int, int] = {}
        self._decoder = Decoder(self._dereference)

    def serve(self, request: Any) -> None:
        op = request["op"]
        if op == "each":
            self._each(request)
            return
        if op == "names":
            found = {n: _callable(self._names[n]) for n in request["names"] if n in self._names}
            reply: dict[str, Any] = {"callable": found}
        elif op == "call":
            reply = self._call(self._target(request["target"]), request["args"], request["kwargs"])
        elif op == "get":
            reply = self._guard(lambda: _getattr(self._target(request["target"])(), request["name"]))
        else:
            operation = _OPERATIONS[request["name"]]
            reply = self._call(lambda: operation, request["args"], {})
        _flush()
        self._channel.send(Kind.MESSAGE, self._pack({"n": request["n"], **reply}))

    def _target(self, target: Any) -> Callable[[], Any]:
        if isinstance(target, str):
            return lambda: self._names[target]
        return lambda: self._objects[target]

    def _call(self, target: Callable[[], Any], args: Any, kwargs: Any) -> dict[str, Any]:
        """Call a target with decoded arguments; the reply says which of them it changed."""
        given = [self._decoder.decode(form) for form in args]
        named = {name: self._decoder.decode(form) for name, form in kwargs.items()}
        reply = self._guard(lambda: target()(*given, **named))
        mutable = [(i, form, given[i]) for i, form in enumerate(args) if _may_change(form)]
        mutable += [(name, form, named[name]) for name, form in kwargs.items() if _may_change(form)]
        changed = []
        for key, before, value in mutable:
            after = self._encode(value)
            if after != before:
                changed.append([key, after])
        return {**reply, "changed": changed}

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
        bases = _type.__getattribute__(_type(error), "__mro__")
        known = next(name for name in (c.__name__ for c in bases) if _builtins.get(name) in bases)
        return {**describe_error(error), "builtin": known, "args": args}

    def _encode(self, value: object) -> Any:
        depth = _get_depth()
        _set_depth(max(depth, _ENCODING_DEPTH))
        try:
            return Encoder(self._handle).encode(value)
        except NotPlain as error:
            return self._handle(value, f"{type_name(value)} ({error})")
        finally:
            _set_depth(depth)

    def _handle(self, value: object, why: str) -> dict[str, Any]:
        number = self._numbers.get(id(value))
        if number is None:
            if len(self._objects) >= MAX_OBJECTS:
                raise NotPlain(f"more than {MAX_OBJECTS} objects")
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)  # Kept alive, so its id stays its own.
        return {"h": [number, why, _callable(value)]}

    def _dereference(self, tag: str, number: Any) -> object:
        return self._objects[number]

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
        target = self._target(request["target"])
        for args, kwargs in request["inputs"]:
            _flush()
            result = bytearray()
            room = self._workspace.make_room()

            def body(to_parent: int, args: Any = args, kwargs: Any = kwargs, room: str = room) -> NoReturn:
                _close(self._channel.fd)
                self._workspace.enter(room)
                view = memoryview(self._pack(self._call(target, args, kwargs)))
                _flush()
                while view:
                    view = view[_write(to_parent, view) :]
                _exit(0)

            # Where the program ignores the end of its children, the kernel would not tell of it.
            _signal(signal.SIGCHLD, signal.SIG_DFL)
            child = Child(self._limits, body, pipes=1)

            def take(data: bytes, child: Child = child, result: bytearray = result) -> None:
                result.extend(data)
                if len(result) > MAX_FRAME_BYTES // 2:
                    child.end("output_limit")
                    result.clear()

            child.on_readable(child.fds[0], drain(child.fds[0], take))
            ended = _dumps(child.watch()).encode()
            self._workspace.remove(room)
            self._channel.send(
                Kind.MESSAGE, b'{"n":%d,"ended":%s,"reply":%s}' % (request["n"], ended, result or b"null")
            )


def _may_change(form: Any) -> bool:
    """Whether the value behind an encoded argument can be changed in place."""
    kind = _type(form)
    return kind is list or (kind is dict and not _IMMUTABLE_TAGS.issuperset(form))


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "and": operator.and_,
    "bool": bool,
    "divmod": divmod,
    "enter": lambda o: type(o).__enter__(o),
    "exit": lambda o, *_: type(o).__exit__(o, None, None, None),
    "float": float,
    "format": format,
    "hash": hash,
    "int": int,
    "iter": iter,
    "len": len,
    "next": next,
    "or": operator.or_,
    "repr": repr,
    "reversed": reversed,
    "round": round,
    "setattr": setattr,
    "str": str,
    **{
        name: getattr(operator, name)
        for name in (
            *("eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem", "setitem", "delitem"),
            *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
            *("lshift", "rshift", "xor", "neg", "pos", "abs", "invert", "index", "iadd", "isub", "imul"),
        )
    },
}
"""What a handle of a task marked `judge="objects"` forwards, by the name of the operation."""
