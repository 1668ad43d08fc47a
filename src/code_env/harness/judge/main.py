"""The peer's half of a judged run: it holds the tests, drives the program and decides each case.

The job comes on standard input, as a JSON object::

    {"entry_point": "add", "prefix": "", "setup": "", "judge": "blind", "one_process": false, "wall_s": 15,
     "until_failure": false, "is_class": {"add": false},
     "tests": [{"kind": "call", "args": [...], "kwargs": {...}, "expected": ..., "compare": {...}},
               {"kind": "stdin", "stdin": "...", "expected": "...", "compare": {...}},
               {"kind": "checker", "stdin": "...", "checker": "...", "answer": "..."},
               {"kind": "cell", "code": "...", "expected": "...", "compare": {...}},
               {"kind": "file", "path": "...", "expected": "..." or null, "compare": {...}},
               {"kind": "insight", "expected": "...", "find": "mention", "max_chars": 4000},
               {"kind": "assert", "code": "..."}]}       each with "hidden": true or false

The report goes to standard output, as JSON lines:

* `{"hello": true}` when the program's process has said hello, before it reads the answer. With `one_process`, this line
  comes when the tests are ready, because the executor itself knows whether the process runs.
* `{"began": true}` when the first test begins.
* One object for each case, or `{"test": 0, "passed": [0, 1]}` for the cases of a suite that have passed.
* `{"session": [...]}`: what the program showed in a session.
* `{"done": true}` at the end.

Output of test code goes to standard error instead.

Where the executor keeps peers, this process judges one answer after another, and can get a new job for each. Each
answer gets its own namespace. The process ends if a run did not report all tests, or if the tests might have changed
more than their namespace.

After the hello line, the program is responsible for every failure here: the tests are trusted, and from then on they
work on values that the program chose. So cases that are missing from a report with a hello line count as failed. A
report without a hello line is a fault of the sandbox or of the tests.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ..process.limits import MAX_STREAM_BYTES, cpu_limit_s, peak_bytes
from ..wire.bell_channel import QuietChannel
from ..wire.channel import SPARE_VARIABLE, Channel, ChannelError, ChannelTimeout, Kind, conversations, frame, parse_json
from ..wire.endings import ENDED, LOST, Ended, Problem
from ..wire.shown import MAX_ENDS_CHARS, MAX_TEXT_CHARS, ends
from .asserting import NO_CASES
from .calls import Calls
from .cases import MAX_MESSAGE
from .checker import Checker
from .comparing import compare_text
from .handles import ProgramDied, TimeIsUp
from .interpreted_suite import run_suite
from .remote import RemoteModule
from .reporting import Reporter
from .session import KINDS as SESSION_KINDS
from .session import Session
from .suite import CompiledSuite, SuiteRun
from .time_limit import PATIENCE, patience_s, time_limit

_REPORT_CHARS = 1 << 20
"""The most that a report shows of all outputs together, in characters; comparisons use the whole outputs."""

_PIECE_CHARS = 100
"""A report shows at least this much of each end of an output, in characters."""


_RUNS = ("stdin", "checker")
"""The kinds of test that run the answer as a program."""

_AHEAD_BYTES = 32768
"""The most that is sent to the program's process at once, in bytes. A socket holds as much, so neither side waits."""

_SMALL_CHARS = 1 << 16
"""Two texts with fewer characters than this together need no time limit for the comparison."""

_MOST_ANSWERS = 500
"""The most answers that one process judges."""

_MOST_BYTES = 400 << 20
"""The most memory that a process can have held at once and still judge another answer, in bytes."""


def main() -> None:
    """Judge answers as the job on standard input asks; the reports go to standard output."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass")
    os.dup2(2, 1)

    def tell(record: dict[str, Any]) -> None:
        report.write(json.dumps(record, ensure_ascii=False) + "\n")
        # Flushed lines count even if this process is killed. With `one_process`, all cases are flushed together.
        if not job.one_process or "test" not in record:
            report.flush()

    job = _Job(json.load(sys.stdin))
    for channel, bell, stdin in itertools.islice(conversations(takes_input=True), _MOST_ANSWERS):
        if stdin is not None:
            with open(stdin, encoding="utf-8") as another:
                job = _Job(json.load(another))
        sys.setrecursionlimit(5000)  # For deeply nested data, not for deep calls: see `plain.MAX_DEPTH`.
        judge = _Judge(job, Channel(channel) if bell is None else QuietChannel(channel, bell), tell)
        in_order = judge.run()
        judge.report({"done": True})
        if not (in_order and job.leaves_nothing and _is_fresh()):
            break


def _is_fresh() -> bool:
    """Whether this process can judge one more answer, even if that answer uses as much as it may."""
    # The kernel's limit is for this process's whole life. It is over one and a half times the limit for one answer.
    return time.process_time() < cpu_limit_s() / 4 and peak_bytes() < _MOST_BYTES


class _Job:
    """The judge's job, which is the same for all answers."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.entry_point: str | None = job["entry_point"]
        self.mode: str = job["judge"]
        self.one_process: bool = job["one_process"]
        # Every wait for the program multiplies `wall_s` by `PATIENCE`, so the spare time is divided by it.
        self.wall_s: float = job["wall_s"] + float(os.environ.get(SPARE_VARIABLE, 0)) / PATIENCE
        self.until_failure: bool = job["until_failure"]
        self.tests: list[dict[str, Any]] = job["tests"]
        self.ends_chars = max(_PIECE_CHARS, min(MAX_ENDS_CHARS, _REPORT_CHARS // (2 * len(self.tests))))
        self.prefix: str = job["prefix"]
        self.setup: str = job["setup"]
        self.is_class: dict[str, bool] = job["is_class"]
        blind = self.mode == "blind"
        self.suites = {
            index: CompiledSuite(self.prefix, self.setup, test["code"], self.entry_point, self.is_class, foresees=blind)
            for index, test in enumerate(self.tests)
            if test["kind"] == "assert" and "sources" not in test
        }
        self.checkers = {text: Checker(text) for text in {test["checker"] for test in self.tests if "checker" in test}}
        self.is_shared = self.mode == "shared"
        run_here = [suite.leaves_nothing for suite in self.suites.values() if not self.is_shared]
        self.leaves_nothing = all(run_here + [checker.leaves_nothing for checker in self.checkers.values()])


class _Judge:
    """Judges one answer.

    Args:
        job: The job.
        channel: The channel to the program's process.
        report: Called with each line of the report, as a dictionary.
    """

    def __init__(self, job: _Job, channel: Channel, report: Callable[[dict[str, Any]], Any]) -> None:
        self._job, self._channel, self.report = job, channel, report
        self._tests, self._wall_s = job.tests, job.wall_s
        self._objects = job.mode == "objects"
        # Made here, so that faults of the tests show before the program says anything.
        suites = {} if job.is_shared else job.suites
        self._suites = {index: SuiteRun(suite, until_failure=job.until_failure) for index, suite in suites.items()}
        self._reporter = Reporter(report, job.until_failure, self._cases_of)
        self._calls = Calls(job.tests, job.entry_point, job.wall_s, self._reporter)
        self._running: set[int] = set()
        self._modules: list[RemoteModule] = []

    def run(self) -> bool:
        """Judge all tests; return whether this went in order, up to the last test."""
        try:
            if self._job.one_process:
                self.report({"hello": True})
                if len(self._tests) == 1 and self._tests[0]["kind"] == "assert":
                    return self._judge_asserts(0)
                if self._judge_together():
                    self.report({"together": True})
                return True
            return self._run_all()
        except (ChannelError, ProgramDied) as error:
            status = "timeout" if isinstance(error, ChannelTimeout) else "error"
            self.report({"lost": str(error), "status": status})
            return False
        finally:
            for module in self._modules:
                module.close()

    def _load(self, *, per_message: bool = False) -> RemoteModule:
        module = RemoteModule(self._channel, self._wall_s, self._objects, per_message=per_message)
        self._modules.append(module)
        return module

    def _run_all(self) -> bool:
        """Have the serving process run each test; calls run together, and so do the tests of a session."""
        self._expect(Kind.HELLO)
        self.report({"hello": True})
        error = parse_json(self._expect(Kind.COMPILED))["error"]
        if error is not None:
            self._reporter.uncompiled(error)
            return True
        # Public tests run first, so what the policy sees of them cannot contain inputs of hidden tests.
        for hidden in (False, True):
            chosen = [i for i, test in enumerate(self._tests) if test["hidden"] is hidden]
            calls = [i for i in chosen if self._tests[i]["kind"] == "call"]
            session = [i for i in chosen if self._tests[i]["kind"] in SESSION_KINDS]
            for place, index in enumerate(chosen):
                test = self._tests[index]
                if self._reporter.enough:
                    if not self._reporter.has_reported(index):  # All calls are reported together.
                        self._reporter.skip(index)
                elif test["kind"] in _RUNS:
                    if index not in self._running:
                        self._run_ahead(chosen[place:])
                    self._judge_stdin(index, test)
                elif test["kind"] == "assert":
                    self._judge_asserts(index)
                elif test["kind"] in SESSION_KINDS:
                    if index == session[0]:
                        self._judge_session(session)
                elif index == calls[0]:
                    self._calls.judge(calls, self._load(per_message=True), until_failure=self._job.until_failure)
        return True

    def _cases_of(self, index: int) -> int:
        """Return the number of cases of a test."""
        suite = self._job.suites.get(index)
        sources = self._tests[index].get("sources", [NO_CASES]) if suite is None else suite.suite.sources
        return len(sources) or 1

    def _expect(self, kind: int) -> bytes:
        received = self._channel.receive(patience_s(self._wall_s))
        if received is None:
            raise ProgramDied(ENDED)
        if received[0] != kind:
            raise ChannelError("an unexpected frame")
        return received[1]

    def _run_ahead(self, indexes: list[int]) -> None:
        """Have the first of the tests run, and those of `_RUNS` right after it whose inputs can be sent with it."""
        self._reporter.begin()
        frames = b""
        for index in indexes:
            test = self._tests[index]
            one = frame(Kind.RUN, test["stdin"].encode("utf-8", "surrogatepass")) if test["kind"] in _RUNS else b""
            if not one or (frames and (self._job.until_failure or len(frames) + len(one) > _AHEAD_BYTES)):
                break
            frames += one
            self._running.add(index)
        self._channel.send_frames(frames)

    def _judge_stdin(self, index: int, test: dict[str, Any]) -> None:
        output = bytearray()
        try:
            ended = self._take_output(output)
        except (ChannelError, ProgramDied) as error:
            status = LOST if isinstance(error, ProgramDied) else "error"
            if isinstance(error, ChannelTimeout):
                status = "timeout"
            self._reporter.case(index, status, str(error), **self._shown(output.decode("utf-8", "replace")))
            raise
        actual = output.decode("utf-8", "surrogateescape")
        difference, expected = self._difference(test, actual)
        message = difference or ""
        if ended.status != "ok":
            message = f"{ended.reason}; {difference}" if difference and ended.was_run else ended.reason
        self._reporter.case(
            index,
            ended.status,
            message,
            passed=difference is None and ended.status == "ok",
            expected=ends(expected, min(MAX_TEXT_CHARS, self._job.ends_chars) if message else _PIECE_CHARS),
            **self._shown(actual, whole=bool(message)),
            **ended.details,
        )

    def _difference(self, test: dict[str, Any], actual: str) -> tuple[str | None, str]:
        """Return why an output is wrong, or None if it is right, and the expected output."""
        expected = test["answer" if test["kind"] == "checker" else "expected"]
        if test["kind"] == "stdin" and len(actual) + len(expected) < _SMALL_CHARS:
            return self._compared(test, actual), expected
        try:
            with time_limit(self._wall_s):
                if test["kind"] == "stdin":
                    return self._compared(test, actual), expected
                return self._job.checkers[test["checker"]].difference(test["stdin"], actual, expected), expected
        except TimeIsUp as error:
            return str(error), expected

    @staticmethod
    def _compared(test: dict[str, Any], actual: str) -> str | None:
        compare = test["compare"]
        return compare_text(test["expected"], actual, compare["rule"], compare["rel"], compare["abs"])

    def _take_output(self, output: bytearray) -> Ended:
        """Add a run's output to `output` as it arrives; return how the run ended."""
        deadline = time.monotonic() + patience_s(self._wall_s)
        while True:
            received = self._channel.receive(max(0.0, deadline - time.monotonic()))
            if received is None:
                raise ProgramDied(ENDED)
            kind, payload = received
            if kind == Kind.ENDED:
                return Ended(parse_json(payload))
            if kind != Kind.OUTPUT or len(output) + len(payload) > MAX_STREAM_BYTES:
                raise ChannelError("the program's process sent an unexpected frame")
            output += payload

    def _shown(self, output: str, *, whole: bool = True) -> dict[str, Any]:
        """Return what a report shows of an output; only a short piece if not `whole`, for an output that is right."""
        return {"actual": ends(output, self._job.ends_chars if whole else _PIECE_CHARS), "actual_chars": len(output)}

    def _judge_session(self, indexes: list[int]) -> None:
        session = Session([self._tests[index] for index in indexes])
        self._reporter.begin()
        try:
            session.run(self._channel, time.monotonic() + patience_s(self._wall_s))
        finally:
            waiting = list(indexes)
            try:
                with time_limit(self._wall_s):
                    for fields in session.judged():
                        self._reporter.case(waiting.pop(0), **fields)
            except TimeIsUp as error:
                for index in waiting:
                    self._reporter.case(index, "timeout", str(error))
            shown = session.shown()
            if shown:
                self.report({"session": shown})

    def _judge_asserts(self, index: int) -> bool:
        """Judge one suite; return whether it ran to its end."""
        if "sources" in self._tests[index]:
            return self._judge_in_its_language(index)
        return self._judge_beside(index) if self._job.is_shared else self._judge_suite(index)

    def _judge_beside(self, index: int) -> bool:
        """Judge a suite that runs in the program's process, and trust its records; return whether it ran to its end."""
        job, suite = self._job, self._job.suites[index]
        sources = suite.suite.sources or [NO_CASES]
        module = self._load()
        problem = module.begin(job.entry_point)
        records: dict[int, dict[str, Any]] = {}
        if problem is None:
            self._reporter.begin()
            asked = {"prefix": job.prefix, "setup": job.setup, "entry_point": job.entry_point}
            try:
                for record in module.beside(code=self._tests[index]["code"], **asked):
                    if type(record.get("case")) is int:
                        records[record["case"]] = record  # The last record of a case counts.
            except ProgramDied:
                pass
        ended = module.end()
        if module.uncompiled is not None:
            self._reporter.uncompiled(module.uncompiled)
        elif problem is not None:
            self._reporter.untested(index, problem, cases=len(sources))
        else:
            self._report_records(index, len(sources), records, ended)
        return problem is None and len(records) >= len(sources)

    def _judge_in_its_language(self, index: int) -> bool:
        """Judge a suite that runs beside the answer in the answer's language, and trust its records."""
        job, test = self._job, self._tests[index]
        asked = {name: test[name] for name in ("code", "sources", "sites")}
        asked |= {"name": job.entry_point, "setup": job.setup}
        result = run_suite(self._channel, self._wall_s, asked)
        if result.malformed is not None:
            self.report({"malformed": result.malformed})
        if result.problem is not None:
            self._reporter.untested(index, result.problem, cases=len(test["sources"]))
        else:
            self._reporter.begin()
            self._report_records(index, len(test["sources"]), result.records, result.ended)
        return result.problem is None

    def _report_records(self, index: int, cases: int, records: dict[int, dict[str, Any]], ended: Ended) -> None:
        for case in range(cases):
            if case not in records:
                self._reporter.case(index, ended.fault, f"not reached: {ended.reason}", case=case, **ended.details)
                continue
            record = records[case]
            message = str(record.get("message", ""))[:MAX_MESSAGE]
            status = "error" if record.get("unfinished") is True else "ok"
            self._reporter.case(index, status, message, passed=record.get("ran") is True and not message, case=case)

    def _judge_suite(self, index: int) -> bool:
        """Judge a suite that runs here, where the program cannot reach it; return whether it ran to its end."""
        module = self._load()
        problem, died = self._run_suite(index, module)
        ended = module.end()
        if module.uncompiled is not None:
            self._reporter.uncompiled(module.uncompiled)
        else:
            self._report_suite(index, problem, died, ended)
        if not self._job.one_process:
            module.check_alive()
        return died is None and problem is None

    def _judge_together(self) -> bool:
        """Judge calls, and a suite that may come before them, in the one process that has loaded the answer.

        Returns:
            Whether each test gave the result that it gives in its own process, as far as can be told. If False, ignore
            the cases that were reported.

        Raises:
            ChannelError, ProgramDied: If the program's process is gone. Then also ignore the cases.
        """
        module = self._load()
        calls = [index for index, test in enumerate(self._tests) if test["kind"] == "call"]
        if len(calls) == len(self._tests):
            problem = self._calls.begin_together(calls, module)
        else:
            problem, died = self._run_suite(0, module, calls_follow=True)
            if died is not None:
                return False
            if module.uncompiled is None:
                self._report_suite(0, problem, None, Ended({"status": "ok"}))
            if problem is None:
                module.settle()
        if module.uncompiled is not None:
            self._reporter.uncompiled(module.uncompiled)
            return True
        return self._calls.judge_together(calls, module, problem)

    def _run_suite(
        self, index: int, module: RemoteModule, *, calls_follow: bool = False
    ) -> tuple[Problem | None, ProgramDied | None]:
        """Run a suite; return why the answer could not be tested, and how the program ended before the suite did."""
        suite = self._suites[index]
        problem = suite.begin(module, calls_follow=calls_follow)
        if problem is None:
            self._reporter.begin()
            try:
                suite.run(module)
            except ProgramDied as error:
                return None, error
        return problem, None

    def _report_suite(self, index: int, problem: Problem | None, died: ProgramDied | None, ended: Ended) -> None:
        suite = self._suites[index]
        if problem is not None:
            self._reporter.untested(index, problem, cases=len(suite.records))
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
            # The reader of the report knows what a case expects, so passed cases need only their numbers.
            passed = [case for case, record in enumerate(suite.records) if record.ran and not record.message]
            self.report({"test": index, "passed": passed, **ended.used})
            for case, record in enumerate(suite.records):
                if record.message or not record.ran:
                    ended_it = bool(record.message) and (record.unfinished or not record.ran)
                    more = ended.used | (details if ended_it else {})
                    self._reporter.case(index, fault if ended_it else "ok", record.message, case=case, **more)
