"""Judges the tests of one notebook session: `cell`, `file` and `insight` tests, in the peer.

The answer runs once. Then the code of each `cell` test runs in the answer's namespace, in order. The results of the
cells, the files that are left and the output of the answer come back as data and are compared here. So the code of a
cell enters the program's process, and its expected result does not.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Iterator
from typing import Any

from ..process.limits import MAX_STREAM_BYTES
from ..wire.channel import Channel, ChannelError, Kind, pack_request, parse_json
from ..wire.endings import ENDED, LOST, Ended
from ..wire.records import Record, clean_record, text_of_cell
from ..wire.shown import MAX_TEXT_CHARS, brief, ends
from .comparing import compare_text
from .handles import ProgramDied
from .mentions import mentions

KINDS = ("cell", "file", "insight")
"""The kinds of test that one session runs."""

_MOST_SHOWN_CHARS = 3 << 20
"""The most that a report holds of the records of a session, in characters of JSON."""

_SPARE_LINES = 10
"""How many lines of records are read in addition to two for each test."""

_NUMPY_SCALAR = re.compile(r"np\.[a-z]+\d*\(([^()]*)\)")

Fields = dict[str, Any]
"""The fields of a case in the report."""


class Session:
    """Runs a session and judges what came back.

    Args:
        tests: The tests of the session, as they are in the judge's job.
    """

    def __init__(self, tests: list[dict[str, Any]]) -> None:
        self._tests = tests
        self._paths = list(dict.fromkeys(test["path"] for test in tests if test["kind"] == "file"))
        self._stdout = bytearray()
        self._records: list[Record] = []
        self._files: list[bytes | None] = []
        self._ended: Ended | None = None

    def run(self, channel: Channel, deadline: float) -> None:
        """Have the program's process run the session, and collect what it sends.

        Args:
            channel: The channel to that process.
            deadline: The time at which to stop waiting, by the monotonic clock.

        Raises:
            ChannelError, ProgramDied: If the session does not run to its end.
        """
        cells = [test["code"] for test in self._tests if test["kind"] == "cell"]
        channel.send(Kind.SESSION, pack_request({"cells": cells, "collect": self._paths}))
        while self._ended is None:
            received = channel.receive(max(0.0, deadline - time.monotonic()))
            if received is None:
                raise ProgramDied(ENDED)
            self._take(*received)

    def _take(self, kind: int, payload: bytes) -> None:
        if kind == Kind.ENDED:
            self._ended = Ended(parse_json(payload))
        elif kind == Kind.OUTPUT and len(self._stdout) + len(payload) <= MAX_STREAM_BYTES:
            self._stdout += payload
        elif kind == Kind.RECORDS and not self._records:
            # One for each cell, one for the program and one for its error; the program might have added any number.
            lines = payload.split(b"\n", 2 * len(self._tests) + _SPARE_LINES)
            self._records = [record for line in lines if (record := _record(line)) is not None]
        elif kind == Kind.FILE and len(self._files) < len(self._paths):
            self._files.append(payload[1:] if payload else None)
        else:
            raise ChannelError("the program's process sent an unexpected frame")

    def shown(self) -> list[Record]:
        """Return the records of the output, without those at the end that exceed the limit."""
        left, kept = _MOST_SHOWN_CHARS, list[Record]()
        for record in self._records:
            left -= len(json.dumps(record))
            if left < 0:
                break
            kept.append(record)
        return kept

    def judged(self) -> Iterator[Fields]:
        """Yield the fields of each test's case, in the order of the tests."""
        number = 0
        for test in self._tests:
            if test["kind"] == "cell":
                number += 1
                yield self._cell(test, number)
            elif self._is_broken:
                yield self._broken()
            elif test["kind"] == "file":
                yield self._file(test)
            else:
                yield self._insight(test)

    @property
    def _is_broken(self) -> bool:
        return self._ended is None or self._ended.status != "ok"

    def _broken(self) -> Fields:
        if self._ended is None:
            return {"status": LOST, "message": ENDED}
        return {"status": self._ended.fault, "message": self._ended.reason, **self._ended.details}

    def _cell(self, test: dict[str, Any], number: int) -> Fields:
        record = next((one for one in self._records if one["cell"] == number), None)
        if record is None:
            broken = self._broken()
            return broken | {"message": f"not reached: {broken['message']}"}
        error, stdout = record["error"], record["stdout"]
        if error is not None:
            return {"status": "error", "message": f"{error['name']}: {error['message']}".strip(), "error": error}
        actual = text_of_cell(record["results"], stdout, record["variable"])
        return self._compared(test, actual, [] if actual == stdout else [_meant(actual)])

    def _file(self, test: dict[str, Any]) -> Fields:
        place = self._paths.index(test["path"])
        content = self._files[place] if place < len(self._files) else None
        if content is None:
            return {"status": "ok", "message": f"there is no file {test['path']!r}, or it is too large to be looked at"}
        if test["expected"] is None:
            return {"status": "ok", "message": "", "passed": True}
        return self._compared(test, content.decode("utf-8", "surrogateescape"), [])

    def _insight(self, test: dict[str, Any]) -> Fields:
        program = next((record for record in self._records if record["cell"] == 0), None)
        shown = [] if program is None else [one["text/plain"] for one in program["results"] if "text/plain" in one]
        texts = [self._stdout.decode("utf-8", "replace"), *map(_meant, shown)]
        passed = mentions("\n".join(texts), test["expected"], test["find"], test["max_chars"])
        message = "" if passed else f"the output does not mention {brief(test['expected'])}"
        return {"status": "ok", "message": message, "passed": passed, "expected": test["expected"]}

    @staticmethod
    def _compared(test: dict[str, Any], actual: str, also: list[str]) -> Fields:
        """Compare an actual text; it also passes if a text in `also`, which has the same meaning, passes."""
        compare, expected = test["compare"], test["expected"]
        rule = (compare["rule"], compare["rel"], compare["abs"])
        difference = compare_text(expected, actual, *rule)
        passed = difference is None or any(compare_text(expected, other, *rule) is None for other in also)
        shown = {"expected": ends(expected, MAX_TEXT_CHARS), "actual": ends(actual, MAX_TEXT_CHARS)}
        fields = shown | {"actual_chars": len(actual)}
        return {"status": "ok", "message": "" if passed else difference, "passed": passed, **fields}


def _record(line: bytes) -> Record | None:
    try:
        return clean_record(parse_json(line)) if line else None
    except ChannelError:
        return None


def _meant(text: str) -> str:
    """Return the meaning of a value's text: a string without quotes, 3 for NumPy's `np.int64(3)`; else the text."""
    number = _NUMPY_SCALAR.fullmatch(text)
    if number is not None:
        return number[1]
    try:
        value = ast.literal_eval(text) if text[:1] in "'\"" else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str) else text
