"""Completes the message of a case with what only the trainer knows: the task's limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.executors.limits import Limits
from code_env.executors.result import Status
from code_env.harness.wire.endings import SHARED, TIME_IS_UP

_MOST = 0.85
"""A test that has used this share of its CPU time has reached this limit, not that of wall time. The kernel ends a
program a little before the time that it reports."""

_AFTER_TIMEOUT = "after a test that timed out, the tests share CPU time"


def completed_message(record: Mapping[str, Any], limits: Limits) -> str:
    """Return the message of a case, and which limit of time the test reached.

    Args:
        record: The case, as the report has it.
        limits: The task's limits.
    """
    message: str = record["message"]
    if record["status"] != Status.TIMEOUT:
        return message
    if SHARED in message:
        return message if limits.total_cpu_s is not None else message.replace(SHARED, _AFTER_TIMEOUT, 1)
    cpu_s = record.get("cpu_s")
    if cpu_s is None:
        return message
    most_s = min(limits.cpu_s, limits.total_cpu_s or limits.cpu_s)
    reached = f"{most_s:g} s of CPU time" if cpu_s >= _MOST * most_s else f"{limits.wall_s:g} s of wall time"
    return message.replace(TIME_IS_UP, f"{TIME_IS_UP} ({reached})", 1)
