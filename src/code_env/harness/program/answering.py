"""Runs in the process that has loaded an answer, and calls the answer's functions for the peer.

This process runs the answer's top level and is untrusted from then on. All that it does is for the program: it looks up
a name, calls it and encodes the return value. Objects of the program's own classes stay here; the peer gets a handle, a
number in `_Answer._objects`.

Requests are marshalled, because they come from the trusted side, and replies are JSON. Each request has a number `n`,
which the reply repeats::

    {"n": 1, "op": "begin", "names": ["add"]}           {"n": 1, "callable": {"add": true}, "exceptions": {}}
    {"n": 2, "op": "call", "target": "add",             {"n": 2, "value": 3, "changed": []}
     "args": [1, 2], "kwargs": {}}                      {"n": 2, "raised": {...}, "changed": [[0, [1]]]}
     with "same": true                                  also "same": [...], see `identities.py`
    {"n": 3, "op": "get", "target": 7, "name": "x"}     as for a call
    {"n": 4, "op": "operate", "name": "eq", "args": []} as for a call
    {"n": 5, "op": "next", "target": 8}                 {"n": 5, "values": [1], "more": true}, and what
    {"n": 5, "op": "resume", "target": 8,               `lasting.py` adds
     "do": "send", "args": [1]}
    {"n": 5, "op": "make", "target": "MyError",         {"n": 5, "made": {...}}, in the form of `raised`
     "args": [1], "kwargs": {}}
    {"n": 6, "op": "calls", "target": "add",            a reply for each, numbered from 6 on, without `changed`;
     "inputs": [[[1, 2], {}], ...]}                     later calls can be skipped: {"n": 7, "skipped": true}
    {"n": 8, "op": "beside", "seal": "...", ...}        a reply for each case and one at the end, see `shared_suite.py`
    {"n": 9, "op": "each", "target": "add",             a reply for each, numbered from 9 on:
     "inputs": [[[1, 2], {}], ...]}                     {"n": 9, "ended": {...}, "reply": {...}}
    {"n": 9, "op": "together", ...}                     as for `each`, or a last reply {"n": 11, "kept": true}

`begin` can include the fields of `calls`, `last` if no other request will follow, and `calls_follow` if `together`
will. The first message reports that the answer's top level has run, `{"n": 0, "error": null}`, or why it has not. While
a request is served, the program can call a function that the tests have handed over: it sends `{"callback": 1,
"args": [...], "kwargs": {}}`, and the tests answer as for a call. `borrowing.py` defines what else the program can ask
of the tests, and `turns.py` which of its threads can ask when.

If any container among the arguments was changed, `changed` has the number and the new content of each container;
`containers.py` defines these numbers.

`each` runs every call in a child of its own, so that no call sees what another left behind. `together`, which `begin`
can include too, makes the calls in this process, as long as that makes no difference; see `calling.py`.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from collections.abc import Callable
from types import CodeType, GeneratorType
from typing import Any, NoReturn

from ..process.budget import Budget
from ..process.workspace import Workspace
from ..wire.bell_channel import RingingChannel
from ..wire.by_name import NAMED_FOR_PROGRAM, is_async, is_coroutine, is_iterator, name_for_tests
from ..wire.channel import Channel, ChannelError, Kind
from ..wire.containers import Containers
from ..wire.operations import OPERATIONS
from ..wire.plain import SMALL, Decoder, Encoder, NotPlain, encode, may_hold_changes, type_name
from ..wire.shapes import class_methods, special_methods
from ..wire.subclasses import Members, any_subclass
from .borrowing import Borrowed
from .calling import Alone, Callee, Together
from .identities import Identities
from .lasting import Steps
from .loops import Loops, run_alone
from .main_module import COMPILE_ERRORS, compile_program, describe_error, new_module
from .packing import ENCODING_DEPTH, packed
from .raising import names_of_bases, report_of
from .turns import Turns

MODULE_NAME = "solution"
"""`__name__` of a loaded answer. It is not `__main__`, so the answer's main block does not run."""

MAX_OBJECTS = 100_000
"""The most objects of the program for which a peer can hold handles."""

# Bound here because the program shares this process and can replace them.
_exit, _exec, _getattr, _callable, _type = os._exit, exec, getattr, callable, type
_next, _isinstance, _issubclass, _zip, _any = next, isinstance, issubclass, zip, any
_set_depth, _get_depth = sys.setrecursionlimit, sys.getrecursionlimit
_loads, _process_time = marshal.loads, time.process_time
_BaseException, _Exception, _int, _slice = BaseException, Exception, int, slice
_named_for_program = dict(NAMED_FOR_PROGRAM)

_SIMPLE = frozenset((bool, str, type(None)))

_SOLUTION = "Solution"
"""The class in which many answers define the requested function unasked, because whole sites ask for this class."""


def answer_alone(source: bytes, filename: str, argv: list[str], fd: int, bell: int) -> NoReturn:
    """Compile and load an answer in this process, then serve the peer on `fd` until it closes.

    Args:
        source: The answer, UTF-8.
        filename: The answer's file name in tracebacks.
        argv: The answer's arguments, without its own name.
        fd: The descriptor to serve.
        bell: The descriptor of the bell that wakes the peer, see `wire/bell_channel.py`.
    """
    try:
        code = compile_program(source, filename)
    except COMPILE_ERRORS as error:
        uncompiled = describe_error(error.with_traceback(None))  # The frames are all ours.
        Channel(fd).send_json(Kind.MESSAGE, {"n": 0, "error": uncompiled, "uncompiled": True})
        _exit(1)
    answer(code, argv, RingingChannel(fd, bell))


def answer(
    code: CodeType,
    argv: list[str],
    channel: Channel,
    budget: Budget | None = None,
    workspace: Workspace | None = None,
) -> NoReturn:
    """Run the answer's top level as a module, then serve the peer on `channel` until it closes.

    Args:
        code: The compiled answer.
        argv: The answer's arguments, without its own name.
        channel: The channel to the peer.
        budget: What the calls of an `each` request may use; None if there will be no `each` request.
        workspace: Gives each call of an `each` request a directory.
    """
    sys.argv = [code.co_filename, *argv]
    names = _fresh_names(code)
    began_s = _process_time()  # A fresh interpreter has used CPU time before.
    try:
        _exec(code, names)
    except BaseException as error:
        _flush()
        channel.send_json(Kind.MESSAGE, {"n": 0, "error": describe_error(error)})
        _exit(1)
    channel.send(Kind.MESSAGE, b'{"n":0,"error":null}')
    served = _Answer(names, channel, code, budget, workspace, _process_time() - began_s)
    try:
        while (frame := channel.receive()) is not None:
            served.serve(_loads(frame[1]))
    except ChannelError:  # The peer needs no more replies.
        pass
    _exit(0)


def _fresh_names(code: CodeType) -> dict[str, Any]:
    """Return the names of a new module for an answer, which is also registered as `__main__`, as for a program."""
    module = sys.modules["__main__"] = new_module(MODULE_NAME, code.co_filename)
    return module.__dict__


def _flush() -> None:
    # The streams can be closed, or objects of the program's own.
    try:  # noqa: SIM105 (a context manager touches more objects, and a fork copies each page that it touches)
        sys.stdout.flush()
    except _BaseException:
        pass
    try:  # noqa: SIM105
        sys.stderr.flush()
    except _BaseException:
        pass


class _Answer:
    """A loaded answer: does what the peer requests, and knows the objects that each side has handles of."""

    def __init__(
        self,
        names: dict[str, Any],
        channel: Channel,
        code: CodeType,
        budget: Budget | None,
        workspace: Workspace | None,
        loading_s: float,
    ) -> None:
        self._names, self._budget, self._channel, self._code = names, budget, channel, code
        self._workspace, self._loading_s = workspace, loading_s
        self._objects: list[object] = []
        self._skipped = False
        self._together: Together | None = None
        self._numbers: dict[int, int] = {}
        self._named: dict[int, str] = {}
        self._decoder = Decoder(self._dereference)
        self._members = Members()
        self._subclass = self._members.alike
        self._turns = Turns()
        self._steps = Steps(self._encode, self._raised)
        self._loops = Loops(self._target, self._steps, self._turns, self._guard)
        self._borrowed = Borrowed(self._ask, self._turns, self._decoder, self._encode, self._loops)

    def serve(self, request: Any) -> None:
        op = request["op"]
        if op == "each":
            self._subclass = any_subclass
            self._each(request)
        elif op == "together":
            self._call_together(request["n"], request)
        elif op == "calls":
            calls = request["n"], request["target"], request["inputs"]
            self._borrowed.handing.during(None, lambda: self._call_each(*calls))
        elif op == "beside":
            self._run_beside(request)
        elif op == "begin":
            found = self._describe(request["names"])
            self._reply(1, found)
            if request.get("calls_follow"):  # What the functions keep shows against the state before the suite.
                self._together = self._calls_together(request["target"])
            if "inputs" in request and found["callable"].get(request["target"]):
                if request.get("together"):
                    self._call_together(2, request)
                    return
                self._call_each(2, request["target"], request["inputs"])
                if request["last"] and not self._objects and not self._skipped:
                    _exit(0)
        else:
            served = self._borrowed.handing.during(request["n"], lambda: self._loops.serve(request, self._do))
            self._reply(request["n"], served)

    def _do(self, request: Any) -> dict[str, Any]:
        op = request["op"]
        if op == "call":
            asked = bool(request.get("same"))
            return self._call(self._target(request["target"]), request["args"], request["kwargs"], same=asked)
        if op == "get":
            return self._guard(lambda: _getattr(self._target(request["target"])(), request["name"]), Containers())
        if "forget" in request:
            self._steps.forget(request["target"])
        if op == "next":
            iterator = self._target(request["target"])()
            return self._steps.take(request["target"], lambda: self._turns.without(lambda: _next(iterator)))
        if op == "resume":
            return self._resume(request["target"], request["do"], request["args"])
        if op == "make":
            return self._make(request)
        operation = OPERATIONS[request["name"]]
        return self._call(lambda: operation, request["args"], {})

    def _call_each(self, first: int, name: str, inputs: list[Any]) -> None:
        target = self._target(name)
        self._skipped = False
        for number, (args, kwargs) in enumerate(inputs, start=first):
            reply: dict[str, Any] = {"skipped": True}
            if not self._skipped:
                given, named = self._decode(args, kwargs)
                objects = len(self._objects)
                reply = self._guard(lambda: target()(*given, **named), Containers())  # noqa: B023 (called at once)
                # Another exception probably ends the tests. And if a call returns an object, the tests use it before
                # the next call, for example they take an iterator's values.
                raised = "raised" in reply and reply["raised"]["builtin"] != "AssertionError"
                self._skipped = raised or len(self._objects) > objects
            self._reply(number, reply)

    def _reply(self, number: int, reply: dict[str, Any]) -> None:
        _flush()
        self._channel.send(Kind.MESSAGE, packed({"n": number, **reply}))

    def _run_beside(self, request: Any) -> None:
        # Imported by the name of the harness in every sandbox, and only here, because few tasks need it.
        from code_env_harness.shared_suite import run_beside  # type: ignore[import-not-found]

        number = request["n"]
        entry_point = self._target(request["entry_point"])
        run_beside(request, self._names, entry_point, lambda record: self._reply(number, record))

    def _describe(self, names: list[str]) -> dict[str, Any]:
        """Return which of `names` exist: whether each is callable, and the names of the bases of exception classes.

        For classes that can do more than be called, also their special methods.
        """
        found: dict[str, bool] = {}
        exceptions: dict[str, tuple[list[str], list[str], list[str]]] = {}
        classes: dict[str, int] = {}
        for name in names:
            try:
                value = self._described(name)
                found[name] = _callable(value)
                if found[name] and self._names.get(name) is value:
                    self._named[id(value)] = name
                if _isinstance(value, _type):
                    methods = class_methods(value)
                    if methods is not None:
                        classes[name] = methods
                    if _issubclass(value, _Exception):
                        exceptions[name] = names_of_bases(value)
            except _BaseException:  # The name does not exist, or its value raises when it is examined.
                continue
        reply = {"callable": found, "exceptions": exceptions}
        return {**reply, "classes": classes} if classes else reply

    def _described(self, name: str) -> Any:
        owner, dot, method = name.partition(".")
        # For a method, take the class's attribute: the tests decide whether to create an instance.
        if dot and owner in self._names:
            return _getattr(self._names[owner], method)
        plain = method or name
        return self._names[plain] if plain in self._names else _getattr(self._names[_SOLUTION], plain)

    def _target(self, target: Any) -> Callable[[], Any]:
        if not _isinstance(target, str):
            return lambda: self._objects[target]
        owner, dot, method = target.partition(".")
        plain = method or target
        if plain in self._names and not (dot and owner in self._names):
            return lambda: self._names[plain]
        # Each call gets a fresh instance, as on the sites that ask for a `class Solution`.
        kind = owner if dot and owner in self._names else _SOLUTION
        return lambda: _getattr(self._names[kind](), plain)

    def _decode(self, args: Any, kwargs: Any, known: Containers | None = None) -> tuple[list[Any], dict[str, Any]]:
        decode = (self._decoder if known is None else self._decoder.within(known)).decode
        return [decode(form) for form in args], {name: decode(form) for name, form in kwargs.items()}

    def _call(self, target: Callable[[], Any], args: Any, kwargs: Any, *, same: bool = False) -> dict[str, Any]:
        """Call a target with decoded arguments; the reply also tells how the call changed them.

        With `same`, it also tells which parts of the arguments the result has.
        """
        known = Containers()
        given, named = self._decode(args, kwargs, known)
        count = len(known.values)
        identities = Identities([*given, *named.values()]) if same else None

        def call() -> Any:
            return target()(*given, **named)

        reply = self._guard(call if identities is None else identities.of(call), known)
        self._steps.remember(reply, known.values[:count])
        mutable = [(form, value) for form, value in _zip(args, given) if may_hold_changes(form)]
        mutable += [(form, named[name]) for name, form in kwargs.items() if may_hold_changes(form)]
        changed: list[Any] = []
        if mutable and self._has_changed(mutable):
            containers = enumerate(known.values[:count])
            changed = [[number, self._encode(value, known, content=True)] for number, value in containers]
        if identities is not None:
            reply["same"] = identities.found()
        return {**reply, "changed": changed}

    def _has_changed(self, arguments: list[tuple[Any, Any]]) -> bool:
        """Return whether any value differs from its form; `arguments` holds pairs of a form and the decoded value."""
        depth = _get_depth()
        _set_depth(max(depth, ENCODING_DEPTH))
        try:
            encode = Encoder(self._form_of_other, self._subclass, Containers()).encode
            return _any(encode(value) != form for form, value in arguments)
        except NotPlain:
            return True
        finally:
            _set_depth(depth)

    def _make(self, request: Any) -> dict[str, Any]:
        """Create an exception without raising it, and return the report of it."""
        given, named = self._decode(request["args"], request["kwargs"])
        try:
            make = self._target(request["target"])
            return {"made": self._raised(self._turns.without(lambda: make()(*given, **named)))}
        except _BaseException as error:
            return {"raised": self._raised(error)}

    def _resume(self, number: int, do: str, args: Any) -> dict[str, Any]:
        generator, (given, _) = self._objects[number], self._decode(args, {})
        if do == "close":
            return self._steps.end(number, {**self._guard(_getattr(generator, do), Containers()), "more": False})
        return self._steps.take(number, lambda: self._turns.without(lambda: _getattr(generator, do)(*given)))

    def _ask(self, form: dict[str, Any]) -> Any:
        """Ask the tests for something that a stand-in needs, and return their reply."""
        self._channel.send(Kind.MESSAGE, packed(form))
        while True:
            frame = self._channel.receive()
            if frame is None:
                _exit(0)
            message = _loads(frame[1])
            if "op" not in message:
                self._loops.interrupt()
                return message
            self.serve(message)  # The function of the tests has called the answer in turn.

    def _guard(self, action: Callable[[], Any], known: Containers | None) -> dict[str, Any]:
        """Run an action and return its outcome as a reply: its encoded value, or what it raised."""
        try:
            value = self._turns.without(action)
            kind = _type(value)
            # The form of these values is the value itself.
            if kind in _SIMPLE or (kind is _int and -SMALL < value < SMALL):
                return {"value": value}
            return {"value": self._encode(value, known)}
        except _BaseException as error:
            return {"raised": self._raised(error)}

    def _raised(self, error: BaseException) -> dict[str, Any]:
        return report_of(error, self._borrowed, self._handle)

    def _encode(self, value: object, known: Containers | None = None, *, content: bool = False) -> Any:
        depth, count = _get_depth(), 0 if known is None else len(known.values)
        _set_depth(max(depth, ENCODING_DEPTH))
        try:
            encoder = Encoder(self._form_of_other, self._subclass, known)
            encoder.attaches = self._subclass is not any_subclass
            return encoder.encode(value, content=content)
        except NotPlain as error:
            if known is not None:
                known.cut(count)
            return self._form_of_other(value, f"{type_name(value)} ({error})")
        finally:
            _set_depth(depth)

    def _form_of_other(self, value: Any, why: str) -> dict[str, Any]:
        """Return the form that goes to the peer in place of a value that is not plain data."""
        given = self._borrowed.number_of(value)
        if given is not None:
            changed = self._borrowed.changed(value)
            return {"m": [given, changed] if changed else given}
        if self._subclass is not any_subclass:
            name = name_for_tests(value)
            if name is not None:
                return {"bn": name}
            if _type(value) is _slice:
                try:
                    return {"sl": [encode(part) for part in (value.start, value.stop, value.step)]}
                except NotPlain:
                    pass
        return self._handle(value, why)

    def _handle(self, value: object, why: str) -> dict[str, Any]:
        """Return the form that goes to the peer in place of an object that stays here."""
        number = self._numbers.get(id(value))
        if number is None:
            if len(self._objects) >= MAX_OBJECTS:
                raise NotPlain(f"more than {MAX_OBJECTS} objects")
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)  # Kept alive, so that no other object gets its id.
        if is_iterator(value):
            return {"ge" if _type(value) is GeneratorType else "it": number}
        if is_coroutine(value):
            return {"co": number}
        # The tests know by its name what they have named. The name might belong to another object by now.
        name = self._named.get(id(value))
        known = name is not None and self._names.get(name) is value
        return {"h": [name if known else number, why, special_methods(value)]}

    def _dereference(self, tag: str, body: Any) -> object:
        if tag == "bn":
            return _named_for_program[body]
        if tag == "en":
            return self._members.member(body)
        if tag != "r":
            return self._borrowed.stand_in(tag, body)
        return self._target(body)() if _isinstance(body, str) else self._objects[body]

    def _callee(self, name: str) -> Callee:
        """Return what calls a function of the answer for `call` tests."""
        target = self._target(name)

        def called(*args: Any, **kwargs: Any) -> Any:
            function = target()
            value = function(*args, **kwargs)
            return run_alone(value) if is_coroutine(value) and is_async(function) else value

        def call(args: Any, kwargs: Any) -> dict[str, Any]:
            given, named = self._decode(args, kwargs)
            return self._guard(lambda: called(*given, **named), None)

        return Callee(call, packed, _flush)

    def _each(self, request: Any) -> None:
        if self._workspace is None or self._budget is None:
            raise ValueError("this process was to answer one suite")

        def load_again() -> None:
            self._names = _fresh_names(self._code)
            _exec(self._code, self._names)

        callee = self._callee(request["target"])
        alone = Alone(callee, load_again, self._channel, self._budget, self._workspace, self._loading_s)
        alone.run(request["n"], request["inputs"])

    def _call_together(self, first: int, request: Any) -> None:
        self._subclass = any_subclass
        if self._together is None:
            self._together = self._calls_together(request["target"])
        self._together.run(self._callee(request["target"]), first, request["inputs"])

    def _calls_together(self, target: str) -> Together:
        return Together(self._code, self._names, target, self._channel, self._loading_s)
