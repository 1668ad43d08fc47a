"""The peer's half of a suite in the answer's own language: it has the suite run beside the answer.

The process at the other end of the channel is trusted (`interpreted/serving.py`). It has checked that each record comes
from the tests, as far as this can be checked for tests that run in the answer's process.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from ..wire.channel import SUITE, Channel, ChannelError, Kind, pack_request, parse_json
from ..wire.endings import ENDED, Ended, Problem, described
from .handles import ProgramDied
from .time_limit import patience_s


class SuiteEnd(NamedTuple):
    """The result of a suite."""

    records: dict[int, dict[str, Any]]
    """The records of the cases, by their numbers."""
    ended: Ended
    """How the process that ran them ended."""
    problem: Problem | None
    """Why the tests could not be run; None if they were run."""
    malformed: dict[str, Any] | None = None
    """Why the tests do not compile, as a described error; None if they do."""


def run_suite(channel: Channel, wall_s: float, asked: dict[str, Any]) -> SuiteEnd:
    """Have a suite run, and return its result.

    Args:
        channel: The channel to the serving process.
        wall_s: The limit on wall time, in seconds; the serving process enforces it.
        asked: The `name` of the entry point or None, `setup`, and the fields of `tasks.javascript.Cases`.

    Raises:
        ChannelError: If the other side sends nothing in time, or an unexpected or malformed frame.
        ProgramDied: If the other side is gone.
    """
    channel.send(Kind.LOAD, SUITE)
    channel.send(Kind.MESSAGE, pack_request(asked))
    deadline = time.monotonic() + patience_s(wall_s)
    messages: list[Any] = []
    while True:
        frame = channel.receive(max(0.0, deadline - time.monotonic()))
        if frame is None:
            raise ProgramDied(ENDED)
        kind, payload = frame
        if kind == Kind.ENDED:
            return _end(asked["name"], messages, Ended(parse_json(payload)))
        if kind != Kind.MESSAGE:
            raise ChannelError("an unexpected frame")
        messages.append(parse_json(payload))


def _end(name: str | None, messages: list[Any], ended: Ended) -> SuiteEnd:
    loaded = messages[0] if messages else None
    if loaded is None:
        return SuiteEnd({}, ended, Problem(ended.fault, f"before the first test: {ended.reason}"))
    if "malformed" in loaded:
        error = described(loaded["malformed"])
        message = f"the task's tests do not compile: {error['name']}: {error['message']}"
        return SuiteEnd({}, ended, Problem("error", message, error), {**error, "message": message})
    if loaded["error"] is not None:
        error = described(loaded["error"])
        message = f"the program failed before its first test: {error['name']}: {error['message']}".strip()
        return SuiteEnd({}, ended, Problem("error", message, error))
    if not loaded["loaded"]:
        return SuiteEnd({}, ended, Problem("error", f"the program defines no function or class {name!r}"))
    return SuiteEnd({record["case"]: record for record in messages[1:]}, ended, None)
