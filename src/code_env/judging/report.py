"""Makes the verdict from the results of a judged run.

The peer's report is trusted, the program's result is not. If the report has no hello line, the sandbox
or the tests failed before the judge read anything from the program. After the hello line, every case
that the report does not have counts as failed, because from there on the judge works on the program's data.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from code_env.executors.child_report import VIOLATION, read_records
from code_env.executors.result import SANDBOX_KILLED, CellResult, ErrorInfo, ExecutionResult, Status
from code_env.harness.process.streams import STDERR_TAIL_BYTES
from code_env.harness.wire.endings import ENDED, LOST, Ended
from code_env.tasks.kinds import AssertTest
from code_env.tasks.task import Task

from .job import in_one_process
from .verdict import CaseResult, Outcome, Stage, Verdict
from .wording import completed_message, time_of_whole_run

_HELLO = '{"hello": true}\n'
"""The first line of a report."""

_TOGETHER = '{"together": true}\n'
"""A line of a report: the calls shared one process, and each gave the same result as in a process of its own."""

_MALFORMED = '{"malformed": '
"""The beginning of a report's line that says why tests in another language than Python do not compile."""

_PASSED: dict[str, Any] = {"status": Status.OK, "message": ""}
"""The fields that a report leaves out for a case that passed."""

_SOURCE_CHARS = 2000
"""How many characters of a case's source a verdict shows."""


def failed_before_tests(task: Task, response: str, code: str, error: ErrorInfo) -> Verdict:
    """The verdict on an answer that cannot be a program."""
    execution = ExecutionResult(Status.ERROR, error=error)
    cases = _cases(task, code, {}, Status.ERROR, f"{error.name}: {error.message}", tested=False)
    return _verdict(task, response, code, cases, execution, Stage.NOTHING)


def no_verdict(task: Task, response: str, code: str, execution: ExecutionResult) -> Verdict:
    """The verdict for the case that the sandbox or the tests failed."""
    return Verdict(Outcome.NO_VERDICT, (), None, task.judge, response, code, execution)


def were_together(result: ExecutionResult) -> bool:
    """Whether a run in which calls shared one process gave the same results as a run with separate processes."""
    return result.peer is not None and _TOGETHER in result.peer.stdout


def sandbox_fault(result: ExecutionResult) -> ExecutionResult | None:
    """Why no verdict can be made from a run, as a result with status `sandbox_error`; None if a verdict can be made."""
    peer = result.peer
    for half in (result, peer):
        if half is not None and half.status is Status.SANDBOX_ERROR:
            return dataclasses.replace(result, status=Status.SANDBOX_ERROR, error=half.error)
    if peer is None:
        error = ErrorInfo("SandboxError", "the executor ran no peer")
    elif peer.stdout.startswith(_HELLO) and _MALFORMED not in peer.stdout:
        return None
    elif peer.stdout.startswith(_HELLO):
        told = next((record["malformed"] for record in _records(peer) if "malformed" in record), None)
        if told is None:  # A program has printed this text.
            return None
        error = ErrorInfo("TaskError", told["message"], told["traceback"])
    elif peer.error is not None and peer.error.name == SANDBOX_KILLED:
        return None  # The program killed its sandbox, twice: that is the program's fault.
    else:
        error = peer.error or ErrorInfo("SandboxError", f"the judge ended ({peer.status}) before the program was heard")
    return dataclasses.replace(result, status=Status.SANDBOX_ERROR, error=error)


def verdict_of(task: Task, response: str, code: str, result: ExecutionResult) -> Verdict:
    """The verdict on a run for which `sandbox_fault` returned None."""
    records = _records(result.peer) if result.peer is not None else []
    reported: dict[tuple[int, int], dict[str, Any]] = {}
    is_one_run = in_one_process(task) or were_together(result)
    reason = _end_of_run(task, result, is_one_run=is_one_run)
    status, message = _why_unreported(result, reason)
    error, stage = result.error, Stage.PARSED
    results: tuple[Mapping[str, Any], ...] = ()
    cells_shown: tuple[CellResult, ...] = ()
    for record in records:
        if "case" in record:
            reported[record["test"], record["case"]] = record
        elif "test" in record:
            reported |= dict.fromkeys([(record["test"], case) for case in record["passed"]], _PASSED | record)
        elif "session" in record:
            results, more = read_records(record["session"])
            cells_shown += more
        elif "uncompiled" in record:
            error, stage = _error_info(record["uncompiled"]), Stage.CODE
            status = Status.REFUSED if error.name == VIOLATION else Status.ERROR
            message = f"{error.name}: {error.message}"
        elif "lost" in record and result.status is Status.OK:
            status, message = Status(record["status"]), record["lost"]
    _complete(reported.values(), result, reason)
    if is_one_run:
        used = {"cpu_s": result.cpu_s, "wall_s": result.wall_s}
        reported = {place: used | record for place, record in reported.items()}
    began = any("began" in record for record in records)
    stage = Stage.TESTED if began else stage
    cases = _cases(task, code, reported, status, message, tested=began)
    first = next((case for case in cases if case.status is not Status.OK), None)
    # The peer's result is not needed any more, and is removed: it holds expected values and measured times.
    fields: dict[str, Any] = {"status": Status.OK, "exit_code": None, "signal": None, "error": None, "peer": None}
    fields |= {"results": results, "cells": cells_shown}
    if first is not None:
        record = reported.get((first.test, first.case), {})
        told = record.get("error")
        fields |= {
            "status": first.status,
            "exit_code": record.get("exit_code"),
            "signal": record.get("signal"),
            "error": _error_info(told) if told else error,
        }
    told_of = first or next((case for case in cases if case.actual or case.stderr), None)
    if told_of is not None and not result.stdout and not result.stderr:
        fields |= {"stdout": _output_of(task, told_of), "stderr": told_of.stderr}
    return _verdict(task, response, code, cases, dataclasses.replace(result, **fields), stage)


def _end_of_run(task: Task, result: ExecutionResult, *, is_one_run: bool) -> str:
    """How the program's process ended, in words. If it serves several runs, a time limit is that of all together."""
    if result.status is Status.TIMEOUT and not is_one_run:
        return time_of_whole_run(task.limits, result.cpu_s)
    return _ended(result).reason


def _ended(result: ExecutionResult) -> Ended:
    return Ended({"status": str(result.status), "exit_code": result.exit_code, "signal": result.signal})


def _complete(records: Iterable[dict[str, Any]], result: ExecutionResult, reason: str) -> None:
    """Record how the program's process ended in the cases that its end interrupted."""
    for record in records:
        if record["status"] == LOST:
            record["status"], record["message"] = _ended(result).fault, record["message"].replace(ENDED, reason)
            record.update(exit_code=result.exit_code, signal=result.signal, stderr=result.stderr[-STDERR_TAIL_BYTES:])


def _error_info(error: dict[str, str]) -> ErrorInfo:
    return ErrorInfo(error["name"], error["message"], error["traceback"])


def _output_of(task: Task, case: CaseResult) -> str:
    return case.actual if task.tests[case.test].keeps_output else ""


def _why_unreported(result: ExecutionResult, reason: str) -> tuple[Status, str]:
    """The status and message of cases that the report does not mention; `reason` is how the run ended."""
    if result.status is not Status.OK:
        return result.status, f"not reached: {reason}"
    peer = result.peer
    if peer is not None and peer.status is not Status.OK:
        status = peer.status if peer.status in (Status.TIMEOUT, Status.MEMORY) else Status.ERROR
        return status, f"the judge ended while it worked on the program's results: {peer.status}"
    return Status.ERROR, "not reached"


def _records(peer: ExecutionResult) -> list[dict[str, Any]]:
    """The report's lines as records; if the peer was killed, its unfinished last line is left out."""
    records: list[dict[str, Any]] = []
    for line in peer.stdout.split("\n"):  # A program's text may hold other line separators.
        if not line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def _cases(
    task: Task,
    code: str,
    reported: dict[tuple[int, int], dict[str, Any]],
    status: Status,
    message: str,
    *,
    tested: bool,
) -> tuple[CaseResult, ...]:
    """One result for each case of the task, whether or not the report has it."""
    cases: list[CaseResult] = []
    for index, test in enumerate(task.tests):
        expected = [source[:_SOURCE_CHARS] for source in test.case_sources] if isinstance(test, AssertTest) else [""]
        count = len(expected)
        for case in range(count):
            unreported = {"status": status, "message": message, "tested": tested}
            record = reported.get((index, case), unreported)
            cases.append(
                CaseResult(
                    test=index,
                    case=case,
                    passed=record is not unreported and bool(record.get("passed")),
                    hidden=test.hidden,
                    weight=test.weight / count,
                    tested=record.get("tested", True),
                    status=Status(record["status"]),
                    message=completed_message(record, task, code),
                    expected=record.get("expected", expected[case]),
                    actual=record.get("actual", ""),
                    actual_chars=record.get("actual_chars", 0),
                    error_name=(record.get("error") or {}).get("name", ""),
                    stderr=record.get("stderr", ""),
                    share=record.get("share"),
                    cpu_s=record.get("cpu_s"),
                    wall_s=record.get("wall_s"),
                )
            )
    return tuple(cases)


def _verdict(
    task: Task, response: str, code: str, cases: tuple[CaseResult, ...], execution: ExecutionResult, stage: Stage
) -> Verdict:
    if all(case.passed for case in cases):
        outcome, fraction = Outcome.PASS, 1.0
    else:
        outcome = Outcome.FAIL if any(case.tested for case in cases) else Outcome.POLICY_ERROR
        fraction = sum(case.weight * case.earned for case in cases) / sum(case.weight for case in cases)
    return Verdict(outcome, cases, fraction, task.judge, response, code, execution, stage)
