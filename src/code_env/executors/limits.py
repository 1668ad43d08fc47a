"""The limits of a program: their defaults, and what values they may have."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from code_env.checks import names_keywords, require_known
from code_env.errors import TaskError
from code_env.harness.wire.shown import brief

MAX_LIMIT = 1 << 50
"""Largest limit on a size or count: far below what the kernel's counters can hold."""

MAX_SECONDS = 1_000_000
"""Longest time limit, in seconds: as milliseconds it still fits into the timeout of poll(2)."""


@names_keywords
@dataclass(frozen=True)
class Limits:
    """The limits of one run of a program.

    In a judged run they hold for each `stdin` or `call` test, and for each `assert` suite as a
    whole; the judged run itself may take ten times as much. If a test exceeds its CPU time, all later tests together
    may use `cpu_s` once more; if one of these tests times out too, no further test is run. `total_cpu_s` limits all
    tests of an answer together, from the first test on.

    Raises:
        TaskError: If a limit is not a positive number (`processes`: not negative).

    Example:
        >>> Limits(cpu_s=1.0).wall_s
        15.0
    """

    cpu_s: float = 5.0
    """CPU time of all its processes together, in seconds. Normally this is the limit that ends a slow program."""
    wall_s: float = 15.0
    """Wall time, in seconds: a precaution against programs that wait."""
    memory_bytes: int = 512 * 1024 * 1024
    """Resident anonymous, shared and tmpfs memory of all its processes together, in bytes."""
    output_bytes: int = 64 * 1024
    """How many bytes of each stream are kept at its head, and the same number at its tail; the middle is dropped."""
    file_bytes: int = 16 * 1024 * 1024
    """Size of all files that it writes, added up, in bytes."""
    processes: int = 0
    """How many processes it may have besides its main process. The main process's threads do not count."""
    total_cpu_s: float | None = None
    """CPU time that all tests of an answer may use together, in seconds; None if only each test has a limit."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value is None and item.name == "total_cpu_s":
                continue
            whole = not item.name.endswith("_s")
            least = 0 if item.name == "processes" else 1 if whole else 1e-3
            number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            most = MAX_LIMIT if whole else MAX_SECONDS
            if not number or not least <= value <= most:
                kind = "a whole number" if whole else "a number of seconds"
                raise TaskError(f"limits.{item.name} must be {kind} from {least} to {most}; got {brief(value)}")
            # NumPy's numbers pass this check too, but cannot be sent to another process as plain data.
            object.__setattr__(self, item.name, int(value) if whole else float(value))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Limits:
        """Make limits from plain data, with defaults for the fields that are not named.

        Raises:
            TaskError: If a name is unknown or a value is out of range.
        """
        return cls().with_values(values)

    def with_values(self, values: Mapping[str, Any] | None) -> Limits:
        """Copy these limits, with new values for the fields that are named; None changes nothing.

        Raises:
            TaskError: If `values` is not a mapping, a name is unknown, or a value is out of range.

        Example:
            >>> Limits(memory_bytes=1 << 30).with_values({"cpu_s": 1}).cpu_s
            1.0
        """
        if not isinstance(values, Mapping | None):
            raise TaskError(f"limits must be a mapping, such as {{'cpu_s': 1}}; got {type(values).__name__}")
        known = [item.name for item in dataclasses.fields(self)]
        require_known("unknown limit", values or (), known, TaskError)
        return dataclasses.replace(self, **dict(values)) if values else self
