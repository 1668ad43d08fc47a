"""The peer's half of a judged run: holds the tests, drives the program, decides each case.

Standard input brings the job, a JSON object::

    {"entry_point": "add", "prefix": "", "setup": "", "objects": false, "limits": {"cpu_s": ...},
     "tests": [{"kind": "call", "args": [...], "kwargs": {...}, "expected": ..., "compare": {...}},
               {"kind": "stdin", "stdin": "...", "expected": "...", "compare": {...}},
               {"kind": "assert", "code": "..."}]}       each with "hidden": true or false

Standard output takes the report, JSON lines: `{"hello": true}` when the program's process has
spoken, before it has looked at the answer; `{"began": true}` when the first test begins; one object
for each case; `{"done": true}` last.
What test code prints goes to standard error instead.

From the hello on, whatever goes wrong here is the program's doing: the tests are trusted, and all
they do then they do on values that the program chose. So a report that stops after the hello is no
excuse, and one that has no hello is a fault of the sandbox or of the tests.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from .channel import Channel, ChannelError, ChannelTimeout, Kind, open_channel, parse_json
from .comparing import MAX_ENDS_CHARS, brief, compare_text, compare_values, ends
from .handles import HandleMisuse, ProgramDied, TimeIsUp
from .limits import MAX_STREAM_BYTES
from .plain import Decoder, NotPlain
from .remote import GRACE_S, Ended, Problem, RemoteModule, described
from .suite import RunnableSuite
from .time_limit import time_limit

_REPORT_CHARS = 1 << 20
"""How much of all outputs together a report shows, in characters; comparisons see all of them."""

_PIECE_CHARS = 100
"""How much of an output a report shows at each end, at the least."""

_SOURCE_CHARS = 2000
"""How much of an `assert` statement's text a report shows."""


def main() -> None:
    """Judge the job on standard input; the report goes to standard output."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass", buffering=1)
    os.dup2(2, 1)
    sys.setrecursionlimit(5000)  # Deep data, not deep code: see `plain.MAX_DEPTH`.
    job = json.load(sys.stdin)
    channel = open_channel()
    judge = _Judge(job, channel, lambda record: report.write(json.dumps(record, ensure_ascii=False) + "\n"))
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
        self._prefix: str = job["prefix"]
        self._setup: str = job["setup"]
        self._objects: bool = job["objects"]
        self._wall_s: float = job["limits"]["wall_s"]
        self._tests: list[dict[str, Any]] = job["tests"]
        self._channel = channel
        self.report = report
        self._ends_chars = max(_PIECE_CHARS, min(MAX_ENDS_CHARS, _REPORT_CHARS // (2 * len(self._tests))))
        self._suites: dict[int, RunnableSuite] = {}
        self._began = False

    def prepare(self) -> None:
        """Compile and set up all test code: its faults must show before the program is heard."""
        for index, test in enumerate(self._tests):
            if test["kind"] == "assert":
                self._suites[index] = RunnableSuite(self._prefix, self._setup, test["code"], self._entry_point)

    def run(self) -> None:
        """Take the tests in turn; those that need the answer as a module share what they can."""
        self._expect(Kind.HELLO)
        self.report({"hello": True})
        error = parse_json(self._expect(Kind.COMPILED))["error"]
        if error is not None:
            self.report({"uncompiled": error})
            return
        # Public tests first: what the policy is shown of them cannot hold what hidden ones feed.
        for hidden in (False, True):
            chosen = [i for i, test in enumerate(self._tests) if test["hidden"] is hidden]
            calls = [i for i in chosen if self._tests[i]["kind"] == "call"]
            for index in chosen:
                test = self._tests[index]
                if test["kind"] == "stdin":
                    self._judge_stdin(index, test)
                elif test["kind"] == "assert":
                    self._judge_suite(index)
                elif index == calls[0]:
                    self._judge_calls(calls)

    def _begin(self) -> None:
        """Report, once, that the program is being tested: what is not reported from now on has failed."""
        if not self._began:
            self._began = True
            self.report({"began": True})

    def _expect(self, kind: int) -> bytes:
        frame = self._channel.receive(self._wall_s + GRACE_S)
        if frame is None:
            raise ProgramDied("the program's process ended")
        if frame[0] != kind:
            raise ChannelError("an unexpected frame")
        return frame[1]

    def _judge_stdin(self, index: int, test: dict[str, Any]) -> None:
        self._begin()
        self._channel.send(Kind.RUN, test["stdin"].encode("utf-8", "surrogatepass"))
        output = bytearray()
        try:
            ended = self._take_output(output)
        except (ChannelError, ProgramDied) as error:
            status = "timeout" if isinstance(error, ChannelTimeout) else "error"
            self._case(index, status, str(error), **self._shown(output.decode("utf-8", "replace")))
            raise
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
            expected=brief(test["expected"]),
            **self._shown(actual, whole=bool(message)),
            **ended.details,
        )

    def _take_output(self, output: bytearray) -> Ended:
        """Add a run's output to `output` as it comes; how the run ended."""
        deadline = time.monotonic() + self._wall_s + GRACE_S
        while True:
            frame = self._channel.receive(max(0.0, deadline - time.monotonic()))
            if frame is None:
                raise ProgramDied("the program's process ended")
            if frame[0] == Kind.ENDED:
                return Ended(parse_json(frame[1]))
            if frame[0] != Kind.OUTPUT or len(output) + len(frame[1]) > MAX_STREAM_BYTES:
                raise ChannelError("the program's process sent an unexpected frame")
            output += frame[1]

    def _shown(self, output: str, *, whole: bool = True) -> dict[str, Any]:
        """What a report shows of an output; of a right one, which is the expected one, just a piece."""
        return {"actual": ends(output, self._ends_chars if whole else _PIECE_CHARS), "actual_chars": len(output)}

    def _judge_calls(self, indexes: list[int]) -> None:
        module = RemoteModule(self._channel, self._wall_s, self._objects, per_message=True)
        problem = module.begin(self._entry_point)
        waiting = list(indexes)
        if problem is None:
            self._begin()
            inputs = [[self._tests[i]["args"], self._tests[i]["kwargs"]] for i in indexes]
            try:
                for ended, reply in module.each(self._entry_point, inputs):
                    try:
                        with time_limit(self._wall_s + GRACE_S):
                            self._judge_call(waiting[0], module, Ended(ended), reply)
                    except TimeIsUp:
                        self._case(waiting[0], "timeout", "looking at what came back took too long")
                    del waiting[0]
            except (ProgramDied, ChannelError):
                pass
        ended = module.end()
        for index in waiting:
            if problem is not None:
                self._untested(index, problem)
            else:
                self._case(index, ended.fault, f"not reached: {ended.reason}", **ended.details)
        module.check_alive()

    def _judge_call(self, index: int, module: RemoteModule, ended: Ended, reply: Any) -> None:
        test = self._tests[index]
        expected, compare = Decoder().decode(test["expected"]), test["compare"]
        if ended.status != "ok" or reply is None:
            self._case(index, ended.fault, ended.reason, expected=brief(expected), **ended.details)
            return
        try:
            actual = module.unpack(reply, plain_only=True)
        except NotPlain as error:
            self._case(index, "ok", f"what came back is not plain data: {error}", expected=brief(expected))
            return
        # The call raised; whatever class that is, it is the program's outcome.
        except Exception as error:
            raised = described(reply["raised"])
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
        module = RemoteModule(self._channel, self._wall_s, self._objects, per_message=False)
        died: ProgramDied | None = None
        problem = module.begin(self._entry_point)
        if problem is None:
            self._begin()
            try:
                suite.run(module)
            except ProgramDied as error:
                died = error
        ended = module.end()
        if problem is not None:
            self._untested(index, problem, cases=len(suite.records))
        else:
            fault, details = "ok", {}
            if isinstance(died, TimeIsUp):
                suite.finish(str(died))
                fault = "timeout"
            elif died is not None:
                suite.finish(ended.reason)
                fault, details = ended.fault, ended.details
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
                    expected=f"assert {record.source}"[:_SOURCE_CHARS],
                    **(details if ended_it else {}),
                )
        module.check_alive()

    def _untested(self, index: int, problem: Problem, cases: int = 1) -> None:
        for case in range(cases):
            self._case(index, problem.status, problem.message, case=case, tested=False, error=problem.error)

    def _case(self, index: int, status: str, message: str, **fields: Any) -> None:
        self.report({"test": index, "case": 0, "passed": False, "status": status, "message": message, **fields})
