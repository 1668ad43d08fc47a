"""RewardKit's decorator for reward functions, bare or called."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, overload

from .misspelt import arguments_of, reject_misspelt
from .reward_outputs import RewardOutput

Reward = float | RewardOutput
"""What a reward function gives back."""


@overload
def reward_function(function: Callable[..., Reward], /) -> Callable[..., Any]: ...


@overload
def reward_function(
    *, id: str | None = None, requirements: str | None = None
) -> Callable[[Callable[..., Reward]], Callable[..., Any]]: ...


def reward_function(
    function: Callable[..., Reward] | None = None, /, *, id: str | None = None, requirements: str | None = None
) -> Any:
    """Let a reward function be called with more keywords than it has arguments, and check what it gives back.

    Keywords that it does not take are left out, as a dataset has more columns than a reward needs; one that is nearly
    the name of an argument is refused. A number comes back as a float.

    Args:
        function: Gives a number or a `RewardOutput`.
        id: A name for it, kept as `reward_id`; RewardKit publishes functions under it, which is not done here.
        requirements: Packages that it needs, kept as `reward_requirements`; nothing is installed.

    Raises:
        TypeError: By the decorated function, for a misspelt keyword, or if the result is neither.
        ValueError: By the decorated function, if the number is not finite.

    Example:
        >>> @reward_function
        ... def short(response: str) -> float:
        ...     return len(response) < 100
        >>> short(response="print(1)", task_id="a column more")
        1.0
    """
    if function is None:
        return functools.partial(_decorated, id=id, requirements=requirements)
    return _decorated(function, id=id, requirements=requirements)


def _decorated(function: Callable[..., Reward], *, id: str | None, requirements: str | None) -> Callable[..., Any]:
    known = arguments_of(function)
    parameters = inspect.signature(function).parameters.values()
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    name = getattr(function, "__name__", repr(function))

    @functools.wraps(function)
    def reward(*args: Any, **kwargs: Any) -> Reward:
        reject_misspelt(kwargs, function)
        taken = kwargs if takes_all else {key: value for key, value in kwargs.items() if key in known}
        return _checked(function(*args, **taken), name)

    reward.reward_id, reward.reward_requirements = id, requirements  # type: ignore[attr-defined]
    return reward


def _checked(result: Any, name: str) -> Reward:
    if isinstance(result, RewardOutput):
        return result
    try:
        value = float(result)
    except (TypeError, ValueError):
        raise TypeError(f"{name}() must give a number or a RewardOutput; it gave {type(result).__name__}") from None
    if not math.isfinite(value):
        raise ValueError(f"{name}() must give a finite number; it gave {value}")
    return value
