"""When and how often requests that E2B failed to serve are tried again. The SDK's own retries are switched off."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from code_env.checks import require_known
from code_env.errors import ExecutorError

from .sdk_errors import CreateFault, fault_of_create, retry_after_s

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """What is tried again, how often, and after how long.

    Raises:
        ExecutorError: If a value is negative, or is not a number.

    Example:
        >>> RetryPolicy(create_tries=3).reruns
        2
    """

    create_tries: int = 5
    """How many times to ask for a sandbox if E2B is busy or the connection fails."""
    first_wait_s: float = 0.5
    """The longest wait before the second try, in seconds; twice as long before the third, and so on. The real wait is
    random, between 0 and this time, so that many requests do not come at the same time."""
    longest_wait_s: float = 30.0
    """The longest wait before any try, in seconds, unless E2B says how long to wait."""
    create_budget_s: float = 180.0
    """The time after which no further try begins, in seconds."""
    capacity_wait_s: float = 900.0
    """How long to wait for a sandbox if the account has as many as it is allowed, in seconds."""
    reruns: int = 2
    """How many times a program is run again in a new sandbox after a fault that the program did not cause."""
    kill_tries: int = 3
    """How many times to try at once to end a sandbox; after that, it is tried at longer intervals until the sandbox's
    lifetime is over."""
    silence_s: float = 20.0
    """A run is given up after this time without a sign of life, in seconds."""
    regrow_s: float = 30.0
    """After the account's limit was reached, one more sandbox is tried each time that this many seconds have passed."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value, whole = getattr(self, item.name), item.type == "int"
            least = 1 if item.name in ("create_tries", "kill_tries") else 0
            if not isinstance(value, int if whole else int | float) or isinstance(value, bool) or not value >= least:
                kind = "a whole number" if whole else "a number"
                raise ExecutorError(f"retry: {item.name} must be {kind} of at least {least}; got {value!r}")

    @classmethod
    def of(cls, given: RetryPolicy | Mapping[str, Any] | None) -> RetryPolicy:
        """Make a policy from plain data, with defaults for the fields that are not named.

        Raises:
            ExecutorError: If a name is unknown, or `given` is neither a policy nor a mapping nor None.
        """
        if given is None or isinstance(given, RetryPolicy):
            return given or cls()
        if not isinstance(given, Mapping):
            raise ExecutorError(f"retry must be a RetryPolicy or a mapping; got {type(given).__name__}")
        known = [item.name for item in dataclasses.fields(cls)]
        require_known("retry: unknown", given, known, ExecutorError)
        return cls(**given)


async def create_with_retries(
    policy: RetryPolicy, create: Callable[[], Awaitable[T]], no_room: Callable[[], object]
) -> T:
    """Call `create`, again while E2B is busy, and return what it returns.

    Args:
        policy: How often and how long to try.
        create: Creates a sandbox.
        no_room: Called each time that the account has no free sandbox.

    Raises:
        Exception: The exception of the last try.
    """
    import tenacity

    busy_tries = 0

    def is_worth_it(error: BaseException) -> bool:
        return fault_of_create(error) in (CreateFault.BUSY, CreateFault.NO_ROOM)

    def is_over(state: tenacity.RetryCallState) -> bool:
        nonlocal busy_tries
        since_s = state.seconds_since_start or 0.0
        if fault_of_create(_error_of(state)) is CreateFault.NO_ROOM:
            no_room()
            return since_s > policy.capacity_wait_s
        busy_tries += 1
        return busy_tries >= policy.create_tries or since_s > policy.create_budget_s

    drawn = tenacity.wait_random_exponential(multiplier=policy.first_wait_s, max=policy.longest_wait_s)

    def wait_s(state: tenacity.RetryCallState) -> float:
        return max(drawn(state), retry_after_s(_error_of(state)))

    tries = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(is_worth_it), stop=is_over, wait=wait_s, reraise=True
    )
    return await tries(create)


def _error_of(state: Any) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()
