"""Runs a shell script as the work of an agent, and reports what it is worth as a judge reports its tests."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Iterator

from code_env.executors.local.box import BoxEnded, Ran
from code_env.executors.local.jail.box import MAX_OUTPUT_BYTES
from code_env.executors.pool import Place
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, Status, sandbox_error, sandbox_killed
from code_env.tasks.formats.harbor import read_folder

from .scoring import Score, TrialOutcome
from .trial import Trial

_LOOK_S = 0.1


def run_trial(program: Program, place: Place) -> ExecutionResult:
    """Run the script of a program in the box of its task, and all the task's verifiers.

    A script that ends its box is run again in a new one; if that ends too, the script is to blame.

    Args:
        program: A program with a `trial`.
        place: Its place in the pool.

    Raises:
        TaskError: If the folder cannot be read any more.
        ExecutorError: If a box does not start.
    """
    folder = read_folder(program.trial)
    task = dataclasses.replace(folder, image=program.image, memory_bytes=program.limits.memory_bytes)
    ended = ""
    for _ in range(2):
        with Trial(task) as trial, _given_up_with(place, trial):
            try:
                return _played(trial, program, place)
            except BoxEnded as error:
                ended = str(error)
        if place.is_over():
            break
    return sandbox_killed(ended, with_peer=True, queue_s=place.queue_s)


def _played(trial: Trial, program: Program, place: Place) -> ExecutionResult:
    began = time.monotonic()
    ran = trial.run(program.code, program.limits.wall_s)
    while not trial.is_over:
        trial.submit()
    if trial.reward is None:
        return sandbox_error(f"{trial.task.name}: {_told(trial.scores)}", place.queue_s)
    output = ran.output[-2 * program.limits.output_bytes :]
    return ExecutionResult(
        _status(ran),
        exit_code=None if ran.signal is not None else ran.code,
        signal=ran.signal,
        stdout=output,
        stdout_truncated=len(output) < len(ran.output) or len(output.encode()) >= MAX_OUTPUT_BYTES,
        peer=ExecutionResult(Status.OK, stdout=_report(trial.scores, trial.reward)),
        wall_s=time.monotonic() - began,
        queue_s=place.queue_s,
    )


def _status(ran: Ran) -> Status:
    if ran.limit is not None:
        return Status.MEMORY if ran.limit == "memory" else Status.TIMEOUT
    if ran.signal is not None:
        return Status.SIGNAL
    return Status.ERROR if ran.code else Status.OK


def _report(scores: list[Score], reward: float) -> str:
    """The lines that a judge would write (`code_env.judging.report`): one test with one case, earned in part."""
    limited = any(score.outcome is TrialOutcome.LIMIT for score in scores)
    case = {
        "test": 0,
        "case": 0,
        "passed": reward >= 1.0,
        "share": min(1.0, max(0.0, reward)),
        "status": Status.TIMEOUT if limited else Status.OK,
        "message": "" if reward >= 1.0 else f"reward {reward:g}: {_told(scores)}",
    }
    return "".join(json.dumps(line) + "\n" for line in ({"hello": True}, {"began": True}, case))


def _told(scores: list[Score]) -> str:
    """What the verifiers say, with the end of what they printed."""
    return "; ".join(
        ": ".join(part for part in (score.outcome.value, score.message, score.output.strip()) if part)
        for score in scores
    )


@contextlib.contextmanager
def _given_up_with(place: Place, trial: Trial) -> Iterator[None]:
    """End the trial as soon as its result is not wanted any more."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_S):
            if place.is_over():
                trial.end()
                return

    thread = threading.Thread(target=look, name="code_env-trial", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
