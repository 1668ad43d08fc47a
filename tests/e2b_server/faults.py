"""What may go wrong between the SDK and a sandbox, and when: at chosen calls, or at random from a seed.

A fault belongs to an operation: `create`, `kill`, `connect`, `set_timeout`, `get_info`, `list` of the control
plane; `health`, `files`, `filesystem`, `commands` (their start), `process` (what is done to a started one) of
envd; `run_code` and `contexts` of the interpreter.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

OPERATIONS = frozenset(
    {"create", "kill", "connect", "set_timeout", "get_info", "list"}
    | {"health", "files", "filesystem", "commands", "process"}
    | {"run_code", "contexts"}
)


class Fault(StrEnum):
    """One way for a call to go wrong."""

    UNAUTHORIZED = "401"
    BAD_REQUEST = "400"
    FORBIDDEN = "403"
    NOT_FOUND = "404"
    INTERNAL = "500"
    DISK_FULL = "507"
    RATE_LIMITED = "429 with Retry-After"
    CONCURRENCY = "429 too many sandboxes"
    RATE_LIMITED_NOT_JSON = "429 with an HTML page"
    NOT_JSON = "success with an HTML page"
    EMPTY_JSON = "success with {}"
    GONE = "502 the sandbox was not found"
    PORT_CLOSED = "502 port is not open"
    BAD_GATEWAY = "502 with an HTML page"
    UNAVAILABLE = "503"
    PLACEMENT_TIMEOUT = "504"
    RESET = "reset before headers, nothing done"
    FIN = "closed before headers, nothing done"
    STALL = "nothing done, nothing answered"
    UNANSWERED = "done, and never answered"
    RESET_AFTER = "done, then reset before headers"
    RESET_MIDSTREAM = "reset in mid-stream"
    TRUNCATED = "closed in mid-stream"
    KILLED_MIDSTREAM = "sandbox killed in mid-stream"
    NO_END = "clean end in mid-stream, without an end event"
    STALL_MIDSTREAM = "silent from mid-stream on"


MIDSTREAM = frozenset(
    {Fault.RESET_MIDSTREAM, Fault.TRUNCATED, Fault.KILLED_MIDSTREAM, Fault.NO_END, Fault.STALL_MIDSTREAM}
)
"""Faults of a reply that has begun; on a reply that is no stream they come after its first bytes."""

AFTERWARDS = frozenset({Fault.UNANSWERED, Fault.RESET_AFTER})
"""Faults of the reply to a call that was carried out."""

_STALLS = frozenset({Fault.STALL, Fault.UNANSWERED, Fault.STALL_MIDSTREAM})

_CONTROL = (
    Fault.INTERNAL,
    Fault.RATE_LIMITED,
    Fault.RATE_LIMITED_NOT_JSON,
    Fault.BAD_GATEWAY,
    Fault.UNAVAILABLE,
    Fault.PLACEMENT_TIMEOUT,
    Fault.RESET,
    Fault.FIN,
    Fault.RESET_AFTER,
)
_IN_SANDBOX = (
    Fault.INTERNAL,
    Fault.RATE_LIMITED,
    Fault.GONE,
    Fault.PORT_CLOSED,
    Fault.UNAVAILABLE,
    Fault.RESET,
    Fault.FIN,
    Fault.RESET_AFTER,
)
_STREAMS = (*_IN_SANDBOX, Fault.RESET_MIDSTREAM, Fault.TRUNCATED, Fault.KILLED_MIDSTREAM, Fault.NO_END)
LIKELY: Mapping[str, tuple[Fault, ...]] = {
    "create": (*_CONTROL, Fault.CONCURRENCY, Fault.NOT_JSON, Fault.EMPTY_JSON),
    **dict.fromkeys(("kill", "connect", "set_timeout", "get_info", "list"), _CONTROL),
    **dict.fromkeys(("health", "filesystem", "process", "contexts"), _IN_SANDBOX),
    "files": (*_IN_SANDBOX, Fault.DISK_FULL, Fault.KILLED_MIDSTREAM),
    "commands": _STREAMS,
    "run_code": (*_STREAMS, Fault.NOT_JSON),
}
"""What a probability without kinds chooses from: faults of the service that end by themselves."""


class Faults:
    """The faults that a server injects, and how many it has.

    `injected` counts pairs of operation and fault.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planned: dict[str, list[tuple[int, Fault, int]]] = {}
        self._calls: Counter[str] = Counter()
        self._random: dict[str, dict[Fault, float]] = {}
        self._seed = 0
        self.injected: Counter[tuple[str, Fault]] = Counter()
        self.retry_after_s = 1
        """What RATE_LIMITED asks for."""

    def add(self, operation: str, fault: Fault, *, times: int = 1, after: int = 0) -> None:
        """Inject a fault into the next calls of an operation.

        Args:
            operation: Which calls; see the module's text.
            fault: What happens to them.
            times: To how many.
            after: How many are spared before.
        """
        _check(operation)
        with self._lock:
            planned = self._planned.setdefault(operation, [])
            # Planned one after the other: the second plan starts to count when the first is through.
            planned.append((after, Fault(fault), times))

    def random(
        self, probabilities: Mapping[str, float | Mapping[Fault, float]], *, seed: int = 0, stalls: bool = False
    ) -> None:
        """Inject faults at random from now on; which call fails follows from the seed, the operation and its number.

        Calls are numbered from here, so that those before, of other tests, change nothing.

        Args:
            probabilities: For each operation the chance that a call fails in any likely way, or that of each fault.
            seed: Of the choice.
            stalls: Whether likely ways include never answering, which a client notices at its own deadline only.
        """
        chosen: dict[str, dict[Fault, float]] = {}
        for operation, wanted in probabilities.items():
            _check(operation)
            if isinstance(wanted, Mapping):
                chosen[operation] = {Fault(fault): share for fault, share in wanted.items()}
                continue
            kinds: Iterable[Fault] = LIKELY[operation]
            if stalls:
                kinds = (*kinds, *sorted(_STALLS if operation in ("commands", "run_code") else _STALLS - MIDSTREAM))
            kinds = tuple(kinds)
            chosen[operation] = dict.fromkeys(kinds, wanted / len(kinds))
        with self._lock:
            self._random, self._seed = chosen, seed
            self._calls.clear()

    def clear(self) -> None:
        """Inject nothing any more; what was counted stays."""
        with self._lock:
            self._planned.clear()
            self._random.clear()

    def take(self, operation: str) -> Fault | None:
        """What the next call of an operation suffers."""
        with self._lock:
            self._calls[operation] += 1
            fault = self._next_planned(operation) or self._next_random(operation)
            if fault is not None:
                self.injected[operation, fault] += 1
            return fault

    def _next_planned(self, operation: str) -> Fault | None:
        planned = self._planned.get(operation)
        if not planned:
            return None
        after, fault, times = planned[0]
        if after > 0:
            planned[0] = (after - 1, fault, times)
            return None
        if times > 1:
            planned[0] = (0, fault, times - 1)
        else:
            del planned[0]
        return fault

    def _next_random(self, operation: str) -> Fault | None:
        if operation not in self._random:
            return None
        number = random.Random(f"{self._seed} {operation} {self._calls[operation]}").random()
        for fault, share in self._random[operation].items():
            number -= share
            if number < 0:
                return fault
        return None


def _check(operation: str) -> None:
    if operation not in OPERATIONS:
        raise ValueError(f"no operation {operation!r}; there are {', '.join(sorted(OPERATIONS))}")
