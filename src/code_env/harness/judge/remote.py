"""The peer's conversation with a loaded answer: the peer requests calls and takes what comes back as data.

The other end is a process that has run the answer. It is not trusted and can send anything. The peer accepts a reply
only if it answers the request, in time and in the right form. Otherwise the conversation is over and the tests end, as
they do when a program dies.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ..wire.bell_channel import QuietChannel
from ..wire.by_name import NAMED_FOR_TESTS
from ..wire.channel import PER_MESSAGE, Channel, ChannelError, ChannelTimeout, Kind, pack_request, parse_json
from ..wire.containers import Containers
from ..wire.endings import ENDED, LOST, TIME_IS_UP, Ended, Problem, described
from ..wire.plain import Decoder, NotPlain
from ..wire.subclasses import Members
from .handing import Handed
from .handles import Handle, HandleMisuse, ProgramDied, shown
from .held_changes import HeldChanges, Moment
from .identities import claimed, confirmed
from .known_objects import KnownObjects, refuse_object
from .lasting import LastingContainers, containers_in
from .loops import Loops
from .methods_of_data import is_method_of_data
from .origin import Origin
from .own_exceptions import OwnExceptions
from .time_limit import GRACE_S, patience_s
from .turns import in_turn

_SIMPLE = frozenset((str, bool, int, float, type(None)))
"""The form of a value of one of these types is the value itself."""


@in_turn("call", "call_ahead", "get", "operate", "next_values", "resume", "step")
class RemoteModule:
    """The conversation with an answer that is loaded as a module in the program's sandbox.

    Args:
        channel: To the serving process; or a `QuietChannel` to the module's own process, which loads the answer itself.
        wall_s: The time limit for the module's life or, with `per_message`, for each reply, in seconds.
        objects: Whether operators on the program's objects are forwarded.
        per_message: Whether `wall_s` limits each reply.
    """

    def __init__(self, channel: Channel, wall_s: float, objects: bool, *, per_message: bool = False) -> None:
        self._channel, self.wall_s, self._per_message, self.forwards = channel, wall_s, per_message, objects
        self._alone = isinstance(channel, QuietChannel)
        self._deadline = time.monotonic() + patience_s(wall_s)
        self._decoder, self._members = Decoder(self._reference), Members()
        self._known_objects, self._lasting = KnownObjects(self, forwards=objects), LastingContainers()
        self._loops = Loops(self.step, self._lasting, self._decoder)
        self._handed = Handed(self._decoder, self._members, self._lasting, self._loops.begin)
        self._origin = Origin.RESULT
        self._number = self._size = 0
        self._waiting: list[int] = []
        self._ended: Ended | None = None
        self._lost: str | None = None
        self._is_over = False
        self._held = HeldChanges(self._change)
        self.last_raised: tuple[BaseException, dict[str, str]] | None = None
        self._ahead: dict[int, int] = {}
        self._early: dict[int, dict[str, Any]] = {}
        self.exceptions = OwnExceptions(self._handed, self._ask, self._outcome, self._kept_exception)
        self.uncompiled: dict[str, str] | None = None
        self.checks_identity = False
        """Whether the tests check whether values are one object."""
        self.callables: set[str] = set()
        """Those of the requested names that the answer defines as callables."""
        self.classes: dict[str, int] = {}
        """Of those that are classes which can do more than be called, the special methods; see `class_methods`."""
        if not self._alone:
            channel.send(Kind.LOAD, PER_MESSAGE if per_message else b"")

    def begin(
        self, entry_point: str | None, names: Iterable[str] = (), inputs: list[Any] | None = None, **how: bool
    ) -> Problem | None:
        """Wait until the answer's top level has run; return why the answer cannot be tested, or None.

        Args:
            entry_point: The function or class that the answer must define, if there is one.
            names: Other names that the tests take from the answer, if it defines them; see `callables`.
            inputs: Encoded arguments of the first calls of the entry point, if they can be foreseen.
            how: `last` if the tests request nothing after these calls. `together` if these are `call` tests, see
                `replies`; `calls_follow` if such tests come later, in the same process. With either, `ProgramDied` is
                raised if the program's process ends.
        """
        wanted = list(names) if entry_point is None else [entry_point, *names]
        may_know_tests = False
        try:
            if self._per_message:  # Call tests name only the entry point, which the prompt names too.
                # The process might have ended already; what it sent before can still be read.
                with contextlib.suppress(ProgramDied):
                    self._ask_first(wanted, inputs, how)
            first = self._receive(0)
            error = first.get("error")
            if isinstance(error, dict):
                error = described(error)
                if self._alone and first.get("uncompiled") is True:
                    self.uncompiled = error
                self._wait_for_end()
                status = "memory" if error["name"] == "MemoryError" else "error"
                message = f"{error['name']}: {error['message']}".strip()
                return Problem(status, f"the program failed before its first test: {message}", error)
            may_know_tests = True
            if not self._per_message:
                # Not earlier: the top level could read the request and show it to the policy in an error.
                self._ask_first(wanted, inputs, how)
            self._take_names(wanted, self._receive(1))
            if entry_point is not None and entry_point not in self.callables:
                return Problem("error", f"the program defines no function or class {entry_point!r}")
        except ProgramDied:
            if how.get("together") or how.get("calls_follow"):
                raise
            ended = self.end() if self._alone else self._wait_for_end()
            # An exit code could tell the policy what the program has read.
            reason = "the program ended" if may_know_tests else ended.reason
            return Problem(ended.fault, f"before the first test: {reason}")
        return None

    def _ask_first(self, names: list[str], inputs: list[Any] | None, how: dict[str, bool]) -> None:
        """Send all first requests in one frame."""
        request: dict[str, Any] = {"n": 1, "op": "begin", "names": names, "target": "".join(names[:1]), **how}
        if inputs:
            request["inputs"] = inputs
            self._ahead.update({index: 2 + index for index in range(len(inputs))})
        self._number = 1 + len(inputs or ())
        self._send(request)

    def _take_names(self, names: list[str], reply: dict[str, Any]) -> None:
        found, exceptions, classes = reply.get("callable"), reply.get("exceptions"), reply.get("classes", {})
        if not isinstance(found, dict) or not isinstance(exceptions, dict) or not isinstance(classes, dict):
            raise ChannelError("a malformed reply")
        self.exceptions.make_classes(names, exceptions)
        self.classes = {name: classes[name] for name in names if type(classes.get(name)) is int}
        self.callables.update(name for name in names if found.get(name) is True)

    @property
    def was_asked(self) -> bool:
        """Whether the tests have asked the program for anything."""
        return self._number > 1

    def replies(self, op: str, target: str | None, inputs: list[Any]) -> Iterator[dict[str, Any]]:
        """Have the program call `target` with each of the inputs, for `call` tests; yield the replies in order.

        If `begin` has already sent these inputs, they are not sent again.
        """
        if not self._ahead:
            self._ahead.update(enumerate(range(self._number + 1, self._number + 1 + len(inputs))))
            self._send({"n": self._number + 1, "op": op, "target": target, "inputs": inputs})
            self._number += len(inputs)
        for index in range(len(inputs)):
            if self._per_message:
                self._deadline = time.monotonic() + patience_s(self.wall_s)
            yield self._receive(self._ahead.pop(index))

    def call(self, handle: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an object of the program with arguments of the tests; see `Remote`."""
        known = self._held.containers()
        form = self._handed.arguments(known)
        forms = {"args": list(map(form, args)), "kwargs": {name: form(arg) for name, arg in kwargs.items()}}
        if not self.checks_identity:
            reply = self._ask("call", target=handle._code_env_target, **forms)
            return self._outcome(reply, handle._code_env_origin.of_call, known)
        reply = self._ask("call", target=handle._code_env_target, **forms, same=True)
        claims = claimed(reply.get("same"), [*args, *kwargs.values()])
        value = self._outcome(reply, handle._code_env_origin.of_call, known)
        self._held.represent(confirmed(claims, value))
        return value

    def call_ahead(self, handle: Handle, index: int, inputs: list[Any]) -> Any:
        """Call a function of the program with the first of `inputs`; the others are for the calls that follow.

        All inputs are sent at once, and each later call takes its own reply.

        Args:
            handle: The function.
            index: The number of this call among all calls that can be foreseen.
            inputs: Encoded positional and keyword arguments of this call and of the calls right after it.
        """
        number, known = self._ahead.pop(index, None), Containers()
        if number is None:
            number = self._number + 1
            self._number += len(inputs)
            self._send({"n": number, "op": "calls", "target": handle._code_env_target, "inputs": inputs})
            self._ahead.update({index + i: number + i for i in range(1, len(inputs))})
        reply = self._receive(number)
        if reply.get("skipped") is True:
            reply = self._ask("call", target=handle._code_env_target, args=inputs[0][0], kwargs=inputs[0][1])
            known = containers_in(inputs[0])  # An iterator can yield an argument.
        return self._outcome(reply, handle._code_env_origin.of_call, known)

    def beside(self, **request: Any) -> Iterator[dict[str, Any]]:
        """Have the program's process run a suite; yield the records of its cases, each with the seal."""
        seal = os.urandom(16).hex()
        self._number += 1
        self._send({"n": self._number, "op": "beside", "seal": seal, **request})
        while True:
            reply = self._receive(self._number)
            if reply.get("seal") != seal:
                raise ProgramDied("the program's process sent a record without its seal")
            if reply.get("done") is True:
                return
            yield reply

    def settle(self) -> None:
        """Wait until the program has made the calls that were sent ahead, so that its effects are always the same."""
        while self._ahead:
            _, number = self._ahead.popitem()
            self._receive(number)

    def next_values(self, number: str | int) -> tuple[list[Any], bool, BaseException | None]:
        """Have an iterator of the program continue; see `Remote`."""
        return self._values(number, self._ask("next", target=number, **self._lasting.request(number)))

    def resume(self, number: int, do: str, args: tuple[Any, ...]) -> tuple[list[Any], bool, BaseException | None]:
        """Have a generator of the program continue or close; see `Remote`."""
        fields = {"do": do, "args": [self._handed.argument(arg) for arg in args], **self._lasting.request(number)}
        return self._values(number, self._ask("resume", target=number, **fields))

    def _values(self, number: str | int, reply: dict[str, Any]) -> tuple[list[Any], bool, BaseException | None]:
        values, raised = reply.get("values"), reply.get("raised")
        if not isinstance(values, list) or len(values) > 1:
            raise HandleMisuse("an iterator of the program gave no list of values")
        self._origin = Origin.RESULT
        failure: BaseException | None = None
        try:
            scope = self._held.scope() if reply.get("given") else None
            held = None if scope is None else self._held.stands_for
            values = self._lasting.step(number, reply, self._size, self._decoder, held, scope)
            if isinstance(raised, dict):
                failure = self.exceptions.rebuilt(raised, self._decoder, ends_loops=False)
            elif reply.get("end") is not None:
                failure = StopIteration(self._decoder.decode(reply["end"]))
            return values, reply.get("more") is True, failure
        except NotPlain as error:
            raise HandleMisuse(f"an iterator of the program gave what is not plain data: {error}") from error

    async def result_of(self, target: str | int) -> Any:
        """Await an object of the program; see `Remote`."""
        outcome = await self._loops.outcome_of(target, reports=self._held.scope() is None)
        cancelled = outcome.get("cancelled") is True
        reply = {**outcome, "value": None} if cancelled else outcome
        result = self._outcome(reply, Origin.RESULT, self._lasting.take_arguments(target))
        if cancelled:
            raise sys.modules["asyncio"].CancelledError
        return result

    def step(self, op: str, **fields: Any) -> dict[str, Any]:
        """Send a request about what the tests await, and return the reply."""
        reply = self._ask(op, **fields)
        self._origin = Origin.RESULT
        return reply

    def get(self, handle: Handle, name: str) -> Any:
        """Read an attribute of an object of the program; see `Remote`."""
        reply = self._ask("get", target=handle._code_env_target, name=name)
        form, origin = reply.get("value"), handle._code_env_origin.of_attribute
        # `f("a").startswith("a")` would call the attribute; if that is `bool`, the call returns True.
        by_name = isinstance(form, dict) and not {"bn", "m"}.isdisjoint(form)
        if by_name and origin is Origin.RESULT_METHOD and is_method_of_data(name):
            raise HandleMisuse(f"the attribute {name!r} of {shown(handle)} can be called, but is not its method")
        return self._outcome(reply, origin)

    def operate(self, name: str, args: tuple[Any, ...], origin: Origin = Origin.RESULT) -> Any:
        """Apply an operator in the program's process; see `Remote`."""
        known = self._held.containers()
        reply = self._ask("operate", name=name, args=list(map(self._handed.arguments(known), args)))
        raised = reply.get("raised")
        if name == "next" and isinstance(raised, dict) and raised.get("builtin") == "StopIteration":
            raise StopIteration
        return self._outcome(reply, origin, known)

    def around_statement(self, moment: Moment) -> None:
        """Hold back changes to arguments while a statement of the tests runs, and let them go."""
        for scope, holder in self._held.at(moment):
            self._lasting.let_go(self._decoder, scope, holder)

    def _change(self, reply: dict[str, Any], known: Containers, origin: Origin) -> None:
        """Make the changes of a reply that were held back."""
        before, self._origin = self._origin, origin
        self._unpacked(reply, known)
        self._origin = before

    def original(self, value: Any) -> Any:
        """Return the object that a value stands for where the tests check whether two values are one object.

        For a copy of an argument that was made while changes are held back, it is the argument; for a handle, the first
        handle of the same object of the program.
        """
        copy, original = self._held.stands_for.get(id(value), (None, None))
        return original if copy is value and copy is not None else self._known_objects.first(value)

    def unpack(self, reply: Any, *, plain_only: bool = False) -> Any:
        """Return the value in a reply, or raise the exception that the reply reports; see `OwnExceptions.rebuilt`.

        Args:
            reply: The reply.
            plain_only: Whether to refuse an object of the program, which otherwise becomes a handle.

        Raises:
            NotPlain: If the reply is malformed, or holds an object in spite of `plain_only`.
        """
        decoder = Decoder(refuse_object) if plain_only else self._decoder
        if not isinstance(reply, dict):
            raise NotPlain("a malformed reply")
        value, failure = self._parts(reply, decoder)
        if failure is not None:
            raise failure
        return value

    def _parts(self, reply: dict[str, Any], decoder: Decoder) -> tuple[Any, BaseException | None]:
        """Return the value in a reply and None, or None and the exception that the reply reports."""
        raised = reply.get("raised")
        if isinstance(raised, dict):
            return None, self.exceptions.rebuilt(raised, decoder)
        if raised is not None or "value" not in reply:
            raise NotPlain("a malformed reply")
        return decoder.decode(reply["value"]), None

    def _kept_exception(self, form: Any) -> Any:
        """Return the handle of an exception that stays in the program.

        The tests have caught it as an exception, or made it. So they may call its methods, as an instance's.
        """
        before, self._origin = self._origin, Origin.INSTANCE
        try:
            kept = None if form is None else self._decoder.decode(form)
        finally:
            self._origin = before
        return kept if isinstance(kept, Handle) else None

    def end(self) -> Ended:
        """End the module if it has not ended by itself, and return how it ended."""
        if self._alone:
            return Ended({"status": "timeout" if self._lost == "timeout" else LOST})
        if self._ended is None and self._lost is None:
            try:
                self._channel.send(Kind.UNLOAD)
            except ChannelError:
                self._lost = LOST
        return self._wait_for_end()

    @property
    def is_dead(self) -> bool:
        """Whether the program's process has ended or is lost, or has sent what nobody asked for."""
        return self._is_over or self._ended is not None or self._lost is not None or self._loops.are_lost

    def close(self) -> None:
        """Prevent further messages, also from objects that still hold this module: another program gets the channel."""
        self._lost = self._lost or "error"
        self._handed.close()

    def check_alive(self) -> None:
        """Check that the conversation with the serving process is not lost.

        Raises:
            ProgramDied: If it is lost.
        """
        if self._lost is not None:
            raise ProgramDied("the program's process is lost")

    def _outcome(self, reply: dict[str, Any], origin: Origin, known: Containers | None = None) -> Any:
        if reply.get("raised") is None and not reply.get("changed") and type(reply.get("value", ())) in _SIMPLE:
            return reply["value"]
        self._origin, known = origin, known or Containers()
        given, count = known, len(known.values)
        if reply.get("changed"):
            known = self._held.place(reply, known, origin)
        value, failure = self._unpacked(reply, known)
        if failure is not None:
            self.last_raised = (failure, described(reply["raised"]))
            raise failure
        self._lasting.remember(reply["value"], given, count)
        return value

    def _unpacked(self, reply: dict[str, Any], known: Containers) -> tuple[Any, BaseException | None]:
        """Apply the reply's changes to the arguments; return the reply's value, or the exception that it reports."""
        decoder, count = self._decoder.within(known), len(known.values)
        try:
            value, failure = self._parts(reply, decoder)
        except NotPlain as error:
            raise HandleMisuse(f"what came back is not plain data: {error}") from error
        try:
            changed = [(number, decoder.content(form)) for number, form in reply.get("changed") or ()]
            if any(type(number) is not int or not 0 <= number < count for number, _ in changed):
                raise NotPlain("no argument has that number")
            known.change(changed)
        except Exception as error:  # A content that does not fit its container.
            raise HandleMisuse(f"what became of an argument is not plain data: {error}") from error
        return value, failure

    def _reference(self, tag: str, body: Any) -> object:
        if tag == "bn" and isinstance(body, str) and body in NAMED_FOR_TESTS:
            return NAMED_FOR_TESTS[body]
        if tag == "en":
            return self._members.member(body)
        if tag == "m":
            return self._handed.come_back(body)
        if tag == "sl" and isinstance(body, list) and len(body) == 3:
            return slice(*Decoder().items(body, 0))
        return self._known_objects.found(tag, body, self.callables, self._origin)

    def _ask(self, op: str, **fields: Any) -> dict[str, Any]:
        running = self._loops.running()
        self._number += 1
        self._send({"n": self._number, "op": op, **self._loops.fields(running, is_inner=bool(self._waiting)), **fields})
        reply = self._receive(self._number)
        return reply if running is None else running.noted(reply)

    def _send(self, request: dict[str, Any]) -> None:
        if self.is_dead:
            raise ProgramDied("the program's process has ended")
        try:
            self._channel.send(Kind.MESSAGE, pack_request(request))
        except ChannelError as error:
            self._lost = LOST
            raise ProgramDied(str(error)) from error

    def _receive(self, number: int) -> dict[str, Any]:
        """Return the reply to request `number`; a message that nobody requested ends the conversation."""
        self._waiting.append(number)
        try:
            self._wait_until(number)
        except ProgramDied:
            self._is_over = True  # The tests can keep the exception as a value, and go on.
            raise
        finally:
            self._waiting.pop()
        reply = self._early.pop(number)
        before, self._origin = self._origin, Origin.RESULT
        self._lasting.end_of_request(number, reply, self._decoder)
        self._origin = before
        return reply

    def _wait_until(self, number: int) -> None:
        """Wait for the reply to request `number`, and do what the program requests meanwhile."""
        while number not in self._early:
            kind, payload = self._frame()
            if kind == Kind.ENDED and not self._alone:
                self._ended = Ended(parse_json(payload))
                raise ProgramDied(self._ended.reason)
            try:
                reply = parse_json(payload) if kind == Kind.MESSAGE else None
            except ChannelError as error:
                raise ProgramDied(str(error)) from error
            if isinstance(reply, dict) and "callback" in reply:
                self._call_back(reply, len(payload))
            elif isinstance(reply, dict) and self._is_awaited(reply.get("n"), number):
                self._early[reply["n"]], self._size = reply, len(payload)
            else:
                raise ProgramDied("the program's process sent what nobody asked for")

    def _is_awaited(self, number: Any, now: int) -> bool:
        return type(number) is int and (number == now or number in self._ahead.values()) and number not in self._early

    def _call_back(self, request: dict[str, Any], size: int) -> None:
        """Do what a stand-in in the program's process requests in a message of `size` bytes, and send the result."""
        if request.get("of") is not None and request["of"] not in self._waiting:
            raise ProgramDied("the program's process serves no such request")
        origin, self._origin = self._origin, Origin.RESULT
        try:
            reply = self._handed.answer(request, size)
        finally:
            self._origin = origin
        self._send(reply)

    def _frame(self) -> tuple[int, bytes]:
        try:
            frame = self._channel.receive(max(0.0, self._deadline - time.monotonic()))
        except ChannelTimeout as error:
            self._lost = "timeout"
            raise ProgramDied(TIME_IS_UP) from error
        except ChannelError as error:
            self._lost = "error"
            raise ProgramDied(str(error)) from error
        if frame is None:
            self._lost = LOST
            raise ProgramDied(ENDED)
        return frame

    def _wait_for_end(self) -> Ended:
        """Wait for the end of the module's process; return how it ended. A lost process is the program's fault."""
        self._deadline = max(self._deadline, time.monotonic() + GRACE_S)
        while self._ended is None and self._lost is None:
            try:
                kind, payload = self._frame()
                if kind == Kind.ENDED:
                    self._ended = Ended(parse_json(payload))
            except ProgramDied:
                break
        return self._ended or Ended({"status": self._lost})
