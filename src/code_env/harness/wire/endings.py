"""How a process that ran the program ended, and why an answer could not be tested, in the form that reports use."""

from __future__ import annotations

from typing import Any

from ..process.budget import CUT, UNRUN
from ..process.limits import BROKEN_EXIT_CODE, MAX_TEXT
from .channel import ChannelError

_MOST_SECONDS = 1e9
"""A time that no run reaches, in seconds. A measurement of this time or more is ignored, as are NaN and infinity."""

LOST = "lost"
"""Status of a case that the end of the program's process interrupted, if only the executor knows how it ended."""

ENDED = "the program's process ended"
"""A text for messages that says only that the process ended. In the message of a case with status `LOST`, the trainer
replaces it by how the process ended."""


TIME_IS_UP = "the time limit was reached"
"""A text for messages that does not say which limit. In the message of a case the trainer adds it."""

SHARED = "after a test that timed out, or with total_cpu_s, the tests share CPU time"
"""Why a test had less CPU time than others. The trainer leaves out what is not so for the task."""

_TIMEOUTS = {CUT: f"{TIME_IS_UP}: {SHARED}", UNRUN: f"not run: {SHARED}, and it is used up"}


class Problem:
    """Why an answer could not be tested, by the answer's own fault."""

    def __init__(self, status: str, message: str, error: dict[str, str] | None = None) -> None:
        self.status, self.message, self.error = status, message, error


class Ended:
    """How a process that ran the program ended, as the process that waited for it reports."""

    _STATUSES = ("ok", "error", "signal", "timeout", "memory", "output_limit", LOST)

    def __init__(self, ended: Any) -> None:
        if not isinstance(ended, dict) or ended.get("status") not in self._STATUSES:
            raise ChannelError("a malformed end")
        self.status: str = ended["status"]
        error = ended.get("error")
        self.error = described(error) if isinstance(error, dict) else None
        self._exit_code = _whole_number(ended.get("exit_code"))
        self._signal = _whole_number(ended.get("signal"))
        self._rest = ended.get("rest")
        stderr = ended.get("stderr")
        self._stderr = stderr if isinstance(stderr, str) else ""
        times = {name: _seconds(ended.get(name)) for name in ("cpu_s", "wall_s")}
        self.used = {name: value for name, value in times.items() if value is not None}

    @property
    def fault(self) -> str:
        """The status of a test that this end interrupted: an early end is a fault, whatever the exit code."""
        return "error" if self.status == "ok" else self.status

    @property
    def was_run(self) -> bool:
        """Whether the test was run at all. It was not if the tests before it left no CPU time."""
        return self._rest != UNRUN

    @property
    def reason(self) -> str:
        """The end in words, for a message."""
        if self.error:
            return f"{self.error['name']}: {self.error['message']}".strip()
        return {
            "ok": "the program's process ended early",
            "error": self._exit_reason(),
            "signal": f"killed by signal {self._signal}",
            "timeout": _TIMEOUTS.get(str(self._rest), TIME_IS_UP),
            "memory": "the memory limit was reached",
            "output_limit": "too much output",
            LOST: ENDED,
        }[self.status]

    def _exit_reason(self) -> str:
        if self._exit_code is None:
            return "the program's process sent a frame that it may not send"
        if self._exit_code == BROKEN_EXIT_CODE:
            return "the program broke the process that it ran in"
        return f"exit code {self._exit_code}"

    @property
    def details(self) -> dict[str, Any]:
        """What a report says about the end, in addition to the status."""
        details = {"exit_code": self._exit_code, "signal": self._signal, "error": self.error}
        return (
            {key: value for key, value in details.items() if value is not None} | self.used | {"stderr": self._stderr}
        )


def _whole_number(value: Any) -> int | None:
    return value if type(value) is int else None


def _seconds(value: Any) -> float | None:
    return value if type(value) is float and 0 <= value < _MOST_SECONDS else None


def described(error: dict[str, Any]) -> dict[str, str]:
    """Return an exception, which the program's process described, in the form that reports use."""
    return {key: str(error.get(key))[:MAX_TEXT] for key in ("name", "message", "traceback")}
