"""What the exceptions of E2B's SDK mean.

The SDK raises many kinds of exceptions: its own, some of which are not subclasses of `SandboxException`; those of its
HTTP client and of its RPC library; `ValueError` and `KeyError` if an answer is not what it expects; plain `Exception`.
So an exception counts as the program's fault only if that is certain; any other exception is a fault of the sandbox.
"""

from __future__ import annotations

import enum

_CONFIGURATION = frozenset((400, 401, 403, 404))
"""HTTP statuses of a refused request for a sandbox that another request would get again."""

_BUSY = frozenset((429, 500, 502, 503, 504))

_NO_ROOM = "maximum number of concurrent"
"""Part of E2B's message if the account has as many sandboxes as it is allowed."""

_LONGEST_RETRY_AFTER_S = 300.0


class CreateFault(enum.Enum):
    """Why a sandbox could not be created."""

    CONFIGURATION = enum.auto()
    """E2B refuses it, and would refuse it again."""
    NO_ROOM = enum.auto()
    """The account has as many sandboxes as it is allowed."""
    BUSY = enum.auto()
    """Another try may succeed."""
    OTHER = enum.auto()
    """The reason is unknown."""


def fault_of_create(error: BaseException | None) -> CreateFault:
    """Why a sandbox could not be created, from the exception."""
    import e2b
    import httpx

    status = getattr(error, "status_code", None)
    if isinstance(error, e2b.RateLimitException) and _NO_ROOM in str(error):
        return CreateFault.NO_ROOM
    refusals = (e2b.AuthenticationException, e2b.TemplateException, e2b.InvalidArgumentException)
    if isinstance(error, refusals) or status in _CONFIGURATION:
        return CreateFault.CONFIGURATION
    busy = (e2b.RateLimitException, e2b.exceptions.ServiceBusyException, e2b.TimeoutException)
    # An answer that cannot be parsed means that the server has a problem, too.
    if isinstance(error, (*busy, httpx.TransportError, ValueError, KeyError)) or (status or 0) in _BUSY:
        return CreateFault.BUSY
    return CreateFault.OTHER


def may_have_created(error: BaseException) -> bool:
    """Whether E2B may have created a sandbox in spite of the exception: true unless E2B has answered with a refusal."""
    import e2b

    answers = (e2b.RateLimitException, e2b.AuthenticationException, e2b.exceptions.ServiceBusyException)
    return not isinstance(error, answers) and getattr(error, "status_code", None) is None


def retry_after_s(error: BaseException | None) -> float:
    """How long E2B says to wait, in seconds; 0 if it does not say.

    The exception itself does not hold this. It is in the HTTP response, a local variable of the frame that raised it.
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
