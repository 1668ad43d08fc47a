"""Completes the message of a case with what only the trainer knows: the task's limits, and where the program begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from code_env.executors.limits import Limits
from code_env.executors.result import Status
from code_env.harness.process.limits import WHOLE_RUN
from code_env.harness.wire.endings import SHARED, TIME_IS_UP
from code_env.tasks.task import Task

_MOST = 0.85
"""A test that timed out has reached the limit on CPU time, not that on wall time, if it used this share of it. It need
not be all of it, because the kernel ends a program a little early."""

_AFTER_TIMEOUT = "after a test that timed out, the tests share CPU time"

_BASH_WAITS = "; bash waits if it may not start a process for $(...), a pipe or a command: see limits.processes"

_PYTHON_FRAME = re.compile(r'^  File "main\.py", line (\d{1,7}),', re.MULTILINE)
"""A frame of the program in a traceback of Python; the innermost comes last."""

_JAVASCRIPT_FRAME = re.compile(r"^    at .*\bmain\.js:(\d{1,7}):", re.MULTILINE)
"""A frame of the program in a stack of Node; the innermost comes first."""


def completed_message(record: Mapping[str, Any], task: Task, code: str) -> str:
    """Return the message of a case, with the limit of time that it reached or the line of the program that raised.

    Args:
        record: The case, as the report has it.
        task: The task.
        code: The answer, without what the task puts before it.
    """
    message: str = record["message"]
    if record.get("error"):
        return _with_line(message, record["error"], task, code)
    limits = task.limits
    if record["status"] != Status.TIMEOUT:
        return message
    if SHARED in message:
        return message if limits.total_cpu_s is not None else message.replace(SHARED, _AFTER_TIMEOUT, 1)
    cpu_s = record.get("cpu_s")
    if cpu_s is None:
        return message
    most_s = min(limits.cpu_s, limits.total_cpu_s or limits.cpu_s)
    reached = _limit_reached(cpu_s, most_s, limits.wall_s)
    if task.language == "bash" and limits.processes == 0 and cpu_s < _MOST * most_s:
        reached += _BASH_WAITS
    return message.replace(TIME_IS_UP, f"{TIME_IS_UP} ({reached})", 1)


def time_of_whole_run(limits: Limits, cpu_s: float) -> str:
    """Return, in words, which time limit of all tests together was reached, by a run that used this much CPU time."""
    reached = _limit_reached(cpu_s, WHOLE_RUN * limits.cpu_s, WHOLE_RUN * limits.wall_s)
    return f"{TIME_IS_UP} for all tests together ({reached})"


def _limit_reached(cpu_s: float, most_cpu_s: float, most_wall_s: float) -> str:
    """Return, in words, which of two limits a run that used this much CPU time has reached."""
    return f"{most_cpu_s:g} s of CPU time" if cpu_s >= _MOST * most_cpu_s else f"{most_wall_s:g} s of wall time"


def _with_line(message: str, error: Mapping[str, str], task: Task, code: str) -> str:
    """Return the message, with the line after the words of the exception. The program may have invented the line."""
    line = _line_of(error["traceback"], task, code)
    if line is None:
        return message
    where = f" (line {line} of the program)"
    text = f"{error['name']}: {error['message']}".strip()
    if not error["message"]:
        return message.removesuffix(":") + where if message.removesuffix(":").endswith(error["name"]) else message
    shown = text if text in message else " ".join(text.split())
    return message.replace(shown, shown + where, 1)


def _line_of(traceback: str, task: Task, code: str) -> int | None:
    """Return the line of the answer in the innermost frame of the program; None if it is not known."""
    python, javascript = _PYTHON_FRAME.findall(traceback), _JAVASCRIPT_FRAME.findall(traceback)
    whole = task.program(code)
    if not (python or javascript) or not whole.endswith(code):
        return None
    line = int(python[-1] if python else javascript[0]) - whole[: len(whole) - len(code)].count("\n")
    return line if line > 0 else None
