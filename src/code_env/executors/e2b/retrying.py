"""When and how often something is tried again that E2B failed to do. The SDK's own retries are switched off."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from code_env.checks import require_known
from code_env.errors import ExecutorError

from .faults import CreateFault, fault_of_create, retry_after_s

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """What is tried again, how often, and after how long.

    Raises:
        ExecutorError: If a number is negative, or none.

    Example:
        >>> RetryPolicy(create_tries=3).reruns
        2
    """

    create_tries: int = 5
    """How often a sandbox is asked for, where E2B is busy or the connection fails."""
    first_wait_s: float = 0.5
    """The most that is waited before the second try, in seconds; twice that before the third, and so on. How long it
    is within that is drawn, so that many do not come at once."""
    longest_wait_s: float = 30.0
    """The most that is waited before any try, unless E2B says how long to wait, in seconds."""
    create_budget_s: float = 180.0
    """After how long no further try begins, in seconds."""
    capacity_wait_s: float = 900.0
    """How long one waits for a place where the account's sandboxes are all in use, in seconds."""
    reruns: int = 2
    """How often a program is run again in a fresh sandbox after a fault that is not its own."""
    kill_tries: int = 3
    """How often a sandbox is ended at once; after that, again every so often until its lifetime is over."""
    silence_s: float = 20.0
    """After how long without a sign of life a run is given up, in seconds."""
    regrow_s: float = 30.0
    """How long after the account's limit was met one more sandbox at a time is tried, in seconds."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value, whole = getattr(self, item.name), item.type == "int"
            least = 1 if item.name in ("create_tries", "kill_tries") else 0
            if not isinstance(value, int if whole else int | float) or isinstance(value, bool) or not value >= least:
                kind = "a whole number" if whole else "a number"
                raise ExecutorError(f"retry: {item.name} must be {kind} of at least {least}; got {value!r}")

    @classmethod
    def of(cls, given: RetryPolicy | Mapping[str, Any] | None) -> RetryPolicy:
        """A policy from plain data, with defaults for what is not named.

        Raises:
            ExecutorError: If a name is unknown, or it is something else.
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
    """What `create` gives, tried again while E2B is busy.

    Args:
        policy: How often.
        create: Makes a sandbox.
        no_room: Is told each time that the account's sandboxes are all in use.

    Raises:
        Exception: What the last try raised.
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
