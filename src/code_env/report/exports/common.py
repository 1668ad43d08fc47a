"""What the exports share: where the items come from, JSON that strict readers take, and a verdict in words."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from code_env.errors import ReportError
from code_env.judging.verdict import Outcome
from code_env.report.items import Item

_ESCAPE = re.compile(r"\\(?:u(d[89ab]..)(\\ud[c-f]..)?|u(d[c-f]..)|.)")
"""An escape in a JSON text; the groups tell surrogates apart: a high one, the low one after it, a low one alone."""


@dataclass(frozen=True)
class Origin:
    """Where the items of an export come from."""

    name: str
    """Name of the run, without a folder or suffix."""
    written: datetime
    """When the file was written last, with a time zone. Lines hold no times, so this stands for all of them."""
    finished: bool = True
    """Whether the file is known to be finished: false for a `.partial` file."""

    @property
    def key(self) -> str:
        """An identifier of 22 characters, the same whenever the same file is exported."""
        told = f"{self.name}\0{self.written.isoformat()}"
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:22]


def json_text(data: Any) -> str:
    r"""Return data as JSON in ASCII, each lone surrogate spelt out: strict readers refuse its escape.

    Raises:
        ReportError: If a number is infinite or none at all.

    Example:
        >>> print(json_text("\ud800 \\ud800 \x00 😀"))
        "\\ud800 \\ud800 \u0000 \ud83d\ude00"
    """
    try:
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise ReportError(f"finite numbers were expected in the results; {error}") from None
    return _ESCAPE.sub(lambda found: f"\\{found[0]}" if (found[1] and not found[2]) or found[3] else found[0], text)


def finite(values: dict[str, float | None]) -> dict[str, float]:
    """Return the numbers without those that JSON cannot hold, which a reward of one's own may give."""
    return {name: value for name, value in values.items() if value is not None and math.isfinite(value)}


def result_line(program: dict[str, Any]) -> str:
    """Return a program's verdict in one line."""
    return f"{program['outcome']}: {program['tests_passed']} of {program['tests_total']} tests passed"


def explanation(program: dict[str, Any]) -> str:
    """Return why a program did not pass: its message, then each failed case with the expected and the actual value."""
    cases = [_case_text(case, program["message"]) for case in program["failed_cases"]]
    return "\n\n".join(part for part in (program["message"], *cases) if part)


def why_no_verdict(item: Item) -> str:
    """Return why an item has no verdict: the messages of its programs without one."""
    programs = [program for turn in item["turns"] for program in turn["programs"]]
    messages = [program["message"] for program in programs if program["outcome"] == Outcome.NO_VERDICT]
    return "\n".join(filter(None, messages)) or "the sandbox gave no verdict"


def _case_text(case: dict[str, Any], told: str) -> str:
    message = "" if case["message"] == told else case["message"]
    lines = [f"test {case['test']}, case {case['case']}: {message}".rstrip(": ")]
    lines += [f"{name}: {case[name]}" for name in ("example", "expected", "actual") if case[name]]
    return "\n".join(lines)
