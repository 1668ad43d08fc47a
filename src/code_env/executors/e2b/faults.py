"""What an exception of E2B's SDK means.

It raises many kinds: its own, of which some do not descend from `SandboxException`; those of its HTTP client and of its
RPC library; `ValueError` and `KeyError` where an answer is not what it expects; bare `Exception`. So nothing is taken
for the program's but what is known to be: all else is a fault of the sandbox.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

_CONFIGURATION = frozenset((400, 401, 403, 404))
"""Answers to the wish for a sandbox that the next wish would get too."""

_BUSY = frozenset((429, 500, 502, 503, 504))

_NO_ROOM = "maximum number of concurrent"
"""What E2B's text says where the account has as many sandboxes as it may have."""

_LONGEST_RETRY_AFTER_S = 300.0


class SandboxFault(Exception):
    """Something went wrong with a sandbox, and the program in it had no part in that."""


class NoSandbox(SandboxFault):
    """There was none to be had, in all the tries that it was worth."""


class MissingInterpreter(SandboxFault):
    """The template has no interpreter for the program's language."""


class SupervisorDied(Exception):
    """What runs the program ended without a result, while its sandbox still answers."""


class CreateFault(enum.Enum):
    """Why there is no sandbox."""

    CONFIGURATION = enum.auto()
    """It was refused for good."""
    NO_ROOM = enum.auto()
    """The account has as many as it may have."""
    BUSY = enum.auto()
    """Another try may have more luck."""
    OTHER = enum.auto()
    """Nothing is known."""


def fault_of_create(error: BaseException | None) -> CreateFault:
    """What it means that creating a sandbox raised this."""
    import e2b
    import httpx

    status = getattr(error, "status_code", None)
    if isinstance(error, e2b.RateLimitException) and _NO_ROOM in str(error):
        return CreateFault.NO_ROOM
    refusals = (e2b.AuthenticationException, e2b.TemplateException, e2b.InvalidArgumentException)
    if isinstance(error, refusals) or status in _CONFIGURATION:
        return CreateFault.CONFIGURATION
    busy = (e2b.RateLimitException, e2b.exceptions.ServiceBusyException, e2b.TimeoutException)
    # An answer that cannot be read is one of a server in trouble, too.
    if isinstance(error, (*busy, httpx.TransportError, ValueError, KeyError)) or (status or 0) in _BUSY:
        return CreateFault.BUSY
    return CreateFault.OTHER


def may_have_created(error: BaseException) -> bool:
    """Whether there may be a sandbox all the same: anything but an answer that says no."""
    import e2b

    answers = (e2b.RateLimitException, e2b.AuthenticationException, e2b.exceptions.ServiceBusyException)
    return not isinstance(error, answers) and getattr(error, "status_code", None) is None


def retry_after_s(error: BaseException | None) -> float:
    """How long E2B says to wait, in seconds; 0 where it says nothing.

    The exception does not tell; the answer that it was made of does, in the frame that raised it.
    """
    trace = None if error is None else error.__traceback__
    while trace is not None:
        headers = getattr(trace.tb_frame.f_locals.get("res"), "headers", None)
        if headers is not None:
            try:
                return max(0.0, min(float(headers.get("retry-after", 0)), _LONGEST_RETRY_AFTER_S))
            except (TypeError, ValueError):
                return 0.0
        trace = trace.tb_next
    return 0.0


def described(error: BaseException, hide: Callable[[str], str] = str) -> str:
    """An exception in one line.

    Args:
        error: The exception.
        hide: Takes out of its whole text what must not be shown, before that is cut.
    """
    return hide(f"{type(error).__name__}: {error}".strip(": ")).replace("\n", " ")[:500]
