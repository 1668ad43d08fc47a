"""The peer's half of a judged run: holds the tests, drives the program, decides each case.

Standard input brings the job, a JSON object::

    {"entry_point": "add", "setup": "", "objects": false, "limits": {"cpu_s": ...},
     "tests": [{"kind": "call", "args": [...], "kwargs": {...}, "expected": ..., "compare": {...}},
               {"kind": "stdin", "stdin": "...", "expected": "...", "compare": {...}},
               {"kind": "assert", "code": "..."}]}

Standard output takes the report, JSON lines: `{"hello": true}` when the program's process has
spoken, before it has looked at the answer; then one object for each case; `{"done": true}` last.
What test code prints goes to standard error instead.

From the hello on, whatever goes wrong here is the program's doing: the tests are trusted, and all
they do then they do on values that the program chose. So a report that stops after the hello is no
excuse, and one that has no hello is a fault of the sandbox or of the tests.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from .asserting import RECORDER, Cases, brief_error, compile_suite
from .channel import Channel, ChannelError, ChannelTimeout, Kind, open_channel, parse_json
from .comparing import brief, compare_text, compare_values
from .handles import (
    CallableHandle,
    Handle,
    HandleMisuse,
    ObjectHandle,
    ProgramDied,
    rebuild_exception,
    update_in_place,
)
from .limits import MAX_STREAM_BYTES
from .main_module import MAX_TEXT
from .plain import Decoder, Encoder, NotPlain
from .serving import PER_MESSAGE

GRACE_S = 2.0
"""How much longer than a limit the peer waits: the serving process enforces the limit itself."""

ACTUAL_CHARS = 4096
"""How much of an output a report shows at each end; the comparison saw all of it."""


def main() -> None:
    """Judge the job on standard input; the report goes to standard output."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass", buffering=1)
    os.dup2(2, 1)
    sys.setrecursionlimit(5000)  # Deep data, not deep code: see `plain.MAX_DEPTH`.
    job = json.load(sys.stdin)
    channel = open_channel()
    judge = _Judge(job, channel, lambda record: report.write(json.dumps(record) + "\n"))
    judge.prepare()
    try:
        judge.run()
    except (ChannelError, ProgramDied) as error:
        status = "timeout" if isinstance(error, ChannelTimeout) else "error"
        judge.report({"lost": str(error), "status": status})
    judge.report({"done": True})
    report.flush()


class _Judge:
    def __init__(self, job: dict[str, Any], channel: Channel, report: Callable[[dict[str, Any]], Any]) -> None:
        self._entry_point: str | None = job["entry_point"]
        self._setup: str = job["setup"]
        self._objects: bool = job["objects"]
        self._wall_s: float = job["limits"]["wall_s"]
        self._tests: list[dict[str, Any]] = job["tests"]
        self._channel = channel
        self.report = report
        self._suites: dict[int, _Suite] = {}

    def prepare(self) -> None:
        """Compile and set up all test code: its faults must show before the program is heard."""
        for index, test in enumerate(self._tests):
            if test["kind"] == "assert":
                self._suites[index] = _Suite(self._setup, test["code"], self._entry_point)

    def run(self) -> None:
        """Take the tests in turn; those that need the answer as a module share what they can."""
        self._expect(Kind.HELLO)
        self.report({"hello": True})
        error = parse_json(self._expect(Kind.COMPILED))["error"]
        if error is not None:
            self.report({"uncompiled": error})
            return
        calls = [i for i, test in enumerate(self._tests) if test["kind"] == "call"]
        for index, test in enumerate(self._tests):
            if test["kind"] == "stdin":
                self._judge_stdin(index, test)
            elif test["kind"] == "assert":
                self._judge_suite(index)
            elif index == calls[0]:
                self._judge_calls(calls)

    def _expect(self, kind: int) -> bytes:
        frame = self._channel.receive(self._wall_s + GRACE_S)
        if frame is None:
            raise ProgramDied("the program's process ended")
        if frame[0] != kind:
            raise ChannelError("an unexpected frame")
        return frame[1]

    def _judge_stdin(self, index: int, test: dict[str, Any]) -> None:
        self._channel.send(Kind.RUN, test["stdin"].encode("utf-8", "surrogatepass"))
        output = bytearray()
        deadline = time.monotonic() + self._wall_s + GRACE_S
        while True:
            try:
                frame = self._channel.receive(max(0.0, deadline - time.monotonic()))
            except ChannelTimeout:
                self._case(index, "timeout", "no end within the time limit", actual=_ends(output))
                raise
            if frame is None:
                raise ProgramDied("the program's process ended")
            if frame[0] == Kind.ENDED:
                break
            if frame[0] != Kind.OUTPUT or len(output) + len(frame[1]) > MAX_STREAM_BYTES:
                raise ChannelError("an unexpected frame")
            output += frame[1]
        ended = _Ended(parse_json(frame[1]))
        actual = output.decode("utf-8", "surrogateescape")
        compare = test["compare"]
        difference = compare_text(test["expected"], actual, compare["rule"], compare["rel"], compare["abs"])
        message = difference or ""
        if ended.status != "ok":
            message = f"{ended.reason}; {difference}" if difference else ended.reason
        self._case(
            index,
            ended.status,
            message,
            passed=difference is None and ended.status == "ok",
            actual=_ends(output),
            expected=brief(test["expected"]),
            **ended.details,
        )

    def _judge_calls(self, indexes: list[int]) -> None:
        module = _Module(self._channel, self._wall_s, self._objects, per_message=True)
        problem = module.begin(self._entry_point)
        waiting = list(indexes)
        if problem is None:
            inputs = [[self._tests[i]["args"], self._tests[i]["kwargs"]] for i in indexes]
            try:
                for ended, reply in module.each(self._entry_point, inputs):
                    self._judge_call(waiting[0], module, _Ended(ended), reply)
                    del waiting[0]
            except ProgramDied:
                pass
        ended = module.end()
        for index in waiting:
            if problem is not None:
                self._untested(index, problem)
            else:
                self._case(index, ended.status, f"not reached: {ended.reason}", **ended.details)
        module.check_alive()

    def _judge_call(self, index: int, module: _Module, ended: _Ended, reply: Any) -> None:
        test = self._tests[index]
        expected, compare = Decoder().decode(test["expected"]), test["compare"]
        if ended.status != "ok" or reply is None:
            self._case(index, ended.status, ended.reason, expected=brief(expected), **ended.details)
            return
        try:
            actual = module.unpack(reply)
        except NotPlain as error:
            self._case(index, "ok", f"what came back is not plain data: {error}", expected=brief(expected))
            return
        # The call raised; whatever class that is, it is the program's outcome.
        except Exception as error:
            raised = _described(reply["raised"])
            message = f"{raised['name']}: {raised['message']}".strip()
            status = "memory" if isinstance(error, MemoryError) else "error"
            details = {**ended.details, "error": raised}
            self._case(index, status, message, expected=brief(expected), **details)
            return
        passed, message = False, f"expected {brief(expected)}, got {brief(actual)}"
        try:
            passed = compare_values(expected, actual, compare["rule"], compare["rel"], compare["abs"])
        except HandleMisuse as error:
            message = str(error)
        self._case(
            index,
            "ok",
            "" if passed else message,
            passed=passed,
            expected=brief(expected),
            actual=brief(actual),
            **ended.details,
        )

    def _judge_suite(self, index: int) -> None:
        suite = self._suites[index]
        module = _Module(self._channel, self._wall_s, self._objects, per_message=False)
        died = False
        problem = module.begin(self._entry_point)
        if problem is None:
            try:
                suite.run(module)
            except ProgramDied:
                died = True
        ended = module.end()
        if problem is not None:
            self._untested(index, problem, cases=len(suite.records))
        else:
            fault, details = "ok", {}
            if died:
                suite.finish(ended.reason)
                fault, details = ended.status, ended.details
            elif suite.uncaught is not None:
                fault = "memory" if suite.uncaught["name"] == "MemoryError" else "error"
                details = {"error": suite.uncaught}
            for case, record in enumerate(suite.records):
                ended_it = bool(record.message) and (record.unfinished or not record.ran)
                self._case(
                    index,
                    fault if ended_it else "ok",
                    record.message,
                    case=case,
                    passed=record.ran and not record.message,
                    expected=f"assert {record.source}"[:ACTUAL_CHARS],
                    **(details if ended_it else {}),
                )
        module.check_alive()

    def _untested(self, index: int, problem: _Problem, cases: int = 1) -> None:
        for case in range(cases):
            self._case(
                index, problem.status, problem.message, case=case, tested=False, error=problem.error
            )

    def _case(self, index: int, status: str, message: str, **fields: Any) -> None:
        self.report({"test": index, "case": 0, "passed": False, "status": status, "message": message, **fields})


class _Problem:
    """Why an answer could not be tested: its own doing."""

    def __init__(self, status: str, message: str, error: dict[str, str] | None = None) -> None:
        self.status, self.message, self.error = status, message, error


class _Ended:
    """How a child of the serving process ended, as it says."""

    _STATUSES = ("ok", "error", "signal", "timeout", "memory", "output_limit")

    def __init__(self, ended: Any) -> None:
        if not isinstance(ended, dict) or ended.get("status") not in self._STATUSES:
            raise ChannelError("a malformed end")
        self.status: str = ended["status"]
        self.error = ended.get("error")
        self._ended = ended

    @property
    def reason(self) -> str:
        """The end in words, for a message."""
        if self.error:
            return f"{self.error['name']}: {self.error['message']}".strip()
        return {
            "ok": "the program's process ended early",
            "error": f"exit code {self._ended.get('exit_code')}",
            "signal": f"killed by signal {self._ended.get('signal')}",
            "timeout": "the time limit was reached",
            "memory": "the memory limit was reached",
            "output_limit": "too much output",
        }[self.status]

    @property
    def details(self) -> dict[str, Any]:
        """What a report says of it beside the status."""
        keys = ("exit_code", "signal", "cpu_s", "wall_s", "error", "stderr")
        return {key: self._ended[key] for key in keys if self._ended.get(key) is not None}


class _Module:
    """The answer loaded as a module in the program's sandbox: the conversation with it.

    Args:
        channel: To the serving process.
        wall_s: How long the module may live, or with `per_message` take for a reply, in seconds.
        objects: Whether operators on the program's objects are forwarded.
        per_message: See `wall_s`.
    """

    def __init__(self, channel: Channel, wall_s: float, objects: bool, *, per_message: bool) -> None:
        self._channel, self._wall_s, self._objects, self._per_message = channel, wall_s, objects, per_message
        self._deadline = time.monotonic() + wall_s + GRACE_S
        self._decoder = Decoder(self._reference)
        self._handles: dict[int, Handle] = {}
        self._number = 0
        self._ended: _Ended | None = None
        self._lost: str | None = None
        self._in_case = False
        self._held_back: list[tuple[Any, Any]] = []
        self.last_raised: tuple[BaseException, dict[str, str]] | None = None
        channel.send(Kind.LOAD, PER_MESSAGE if per_message else b"")

    def begin(self, entry_point: str | None) -> _Problem | None:
        """Wait until the answer's top level has run; what kept it from it, if anything did."""
        try:
            error = self._receive(0).get("error")
            if error is not None:
                error = _described(error)
                self._wait_for_end()
                status = "memory" if error["name"] == "MemoryError" else "error"
                message = f"{error['name']}: {error['message']}".strip()
                return _Problem(status, f"the program failed before its first test: {message}", error)
        except ProgramDied:
            ended = self._wait_for_end()
            status = "error" if ended.status == "ok" else ended.status
            return _Problem(status, f"before the first test: {ended.reason}")
        if entry_point is not None and not self.names([entry_point]).get(entry_point):
            return _Problem("error", f"the program defines no function or class {entry_point!r}")
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
                self._deadline = time.monotonic() + self._wall_s + GRACE_S
            reply = self._receive(self._number)
            yield reply.get("ended"), reply.get("reply")

    def call(self, target: str | int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a name or an object of the program with plain data; see `Remote`."""
        encoder = Encoder(self._encode_other)
        reply = self._ask(
            "call",
            target=target,
            args=[encoder.encode(arg) for arg in args],
            kwargs={name: encoder.encode(arg) for name, arg in kwargs.items()},
        )
        return self._outcome(reply, args, kwargs)

    def get(self, number: int, name: str) -> Any:
        """Read an attribute of an object of the program; see `Remote`."""
        return self._outcome(self._ask("get", object=number, name=name), (), {})

    def operate(self, name: str, args: tuple[Any, ...]) -> Any:
        """Apply an operator in the program's process; see `Remote`."""
        encoder = Encoder(self._encode_other)
        return self._outcome(self._ask("operate", name=name, args=[encoder.encode(a) for a in args]), args, {})

    def around_case(self, begins: bool) -> None:
        """Hold changes to arguments back while a case is evaluated.

        `assert f(x) == sorted(x)` must not compare with what `f` made of `x`; after the statement
        the change is there for the tests to see.
        """
        self._in_case = begins
        if not begins:
            for old, new in self._held_back:
                update_in_place(old, new)
            self._held_back.clear()

    def unpack(self, reply: Any) -> Any:
        """The value in a reply; raises what the program raised, as a builtin exception.

        Raises:
            NotPlain: If the reply is malformed.
        """
        if not isinstance(reply, dict):
            raise NotPlain("a malformed reply")
        raised = reply.get("raised")
        if raised is not None:
            if not isinstance(raised, dict):
                raise NotPlain("a malformed reply")
            args = raised.get("args")
            raise rebuild_exception(raised, None if args is None else self._decoder.decode(args))
        if "value" not in reply:
            raise NotPlain("a malformed reply")
        return self._decoder.decode(reply["value"])

    def end(self) -> _Ended:
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

    def _outcome(self, reply: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
            if self._in_case and value is not None:
                self._held_back.append((old, new))
            else:
                update_in_place(old, new)
        if failure is not None:
            self.last_raised = (failure, _described(reply["raised"]))
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
        if number not in self._handles:
            kind = ObjectHandle if self._objects else CallableHandle if can_be_called is True else Handle
            self._handles[number] = kind(self, number, str(type_name)[:200])
        return self._handles[number]

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
            self._ended = _Ended(parse_json(payload))
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

    def _wait_for_end(self) -> _Ended:
        """How the module's process ended, once it has; what is lost ended by its own fault."""
        self._deadline = max(self._deadline, time.monotonic() + GRACE_S)
        while self._ended is None and self._lost is None:
            try:
                kind, payload = self._frame()
                if kind == Kind.ENDED:
                    self._ended = _Ended(parse_json(payload))
            except ProgramDied:
                break
        return self._ended or _Ended({"status": self._lost})

class _Suite:
    """One `assert` test: its code, ready to run, and the records of its cases."""

    def __init__(self, setup: str, code: str, entry_point: str | None) -> None:
        self._suite = compile_suite(code, "<tests>")
        self._module: _Module | None = None
        self._cases = Cases(self._suite.sources, self._around)
        self._entry_point = entry_point
        self._uses_random = "random" in setup or "random" in code
        self._names: dict[str, Any] = {"__name__": "tests", RECORDER: self._cases}
        exec(compile(setup, "<setup>", "exec", dont_inherit=True), self._names)
        self.records = self._cases.records
        self.finish = self._cases.finish
        self.uncaught: dict[str, str] | None = None

    def _around(self, begins: bool) -> None:
        if self._module is not None:
            self._module.around_case(begins)

    def run(self, module: _Module) -> None:
        """Run the test code against the program.

        Raises:
            ProgramDied: If the program's process ended or stopped answering.
        """
        self._module = module
        if self._uses_random:
            import random

            random.seed(0)  # Tests that draw their inputs draw the same ones each time.
        names = self._names
        for name in self._program_names(module):
            names[name] = CallableHandle(module, name, f"function {name!r}")
        if self._entry_point is not None:
            names.setdefault("candidate", names[self._entry_point])
        try:
            exec(self._suite.code, names)
            if self._suite.leaves_check_uncalled and self._entry_point is not None:
                names["check"](names[self._entry_point])
        except ProgramDied:
            raise
        # The tests' own exception, provoked by what the program gave: it ends them.
        except BaseException as error:
            if module.last_raised is not None and module.last_raised[0] is error:
                self.uncaught = module.last_raised[1]
            self.finish(brief_error(error))
        else:
            self.finish(None)

    def _program_names(self, module: _Module) -> list[str]:
        """The entry point, and what else the tests take from the program: names nobody else has."""
        wanted = self._suite.free_names - set(self._names) - set(dir(builtins)) - {"candidate"}
        found = module.names(sorted(wanted)) if wanted else {}
        names = [name for name, can_be_called in found.items() if can_be_called and name in wanted]
        return names if self._entry_point is None else [self._entry_point, *names]


def _described(error: dict[str, Any]) -> dict[str, str]:
    """An exception as the program's process describes it, in the one shape that reports have."""
    return {key: str(error.get(key))[:MAX_TEXT] for key in ("name", "message", "traceback")}


def _ends(output: bytes | bytearray) -> str:
    text = output.decode("utf-8", "replace")
    if len(text) <= 2 * ACTUAL_CHARS:
        return text
    return f"{text[:ACTUAL_CHARS]}\n... {len(text) - 2 * ACTUAL_CHARS} characters left out ...\n{text[-ACTUAL_CHARS:]}"
