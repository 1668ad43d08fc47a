"""RewardKit's decorator for reward functions, with or without arguments."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, overload

from code_env.checks import arguments_of

from .._common.misspelt import refuse_further, reject_misspelt
from .reward_outputs import RewardOutput

Reward = float | RewardOutput
"""The return value of a reward function."""


@overload
def reward_function(function: Callable[..., Reward], /) -> Callable[..., Any]: ...


@overload
def reward_function(
    *, id: str | None = None, requirements: str | None = None, mode: str = "pointwise", resources: None = None
) -> Callable[[Callable[..., Reward]], Callable[..., Any]]: ...


@refuse_further
def reward_function(
    function: Callable[..., Reward] | None = None,
    /,
    *,
    id: str | None = None,
    requirements: str | None = None,
    mode: str = "pointwise",
    resources: None = None,
) -> Any:
    """Let a reward function be called with more keywords than it has arguments, and check its return value.

    The decorated function removes keywords that the function does not take, because a dataset has more columns than a
    reward needs. It refuses a keyword that is nearly the name of an argument. It returns a number as a float.

    Args:
        function: Returns a number or a `RewardOutput`.
        id: A name for the function, kept as `reward_id`. RewardKit publishes functions under this name; this package
            does not.
        requirements: Packages that the function needs, kept as `reward_requirements`; nothing is installed.
        mode: `pointwise`, which is RewardKit's default: one call for each answer. There is no `batch` here.
        resources: Must be None. RewardKit deploys a model for `resources`; this package deploys nothing.

    Raises:
        TypeError: From the decorator, if the function is a coroutine function, or `mode` or `resources` has another
            value.
        TypeError: From the decorated function, for a misspelt keyword, or if the result is neither a number nor a
            `RewardOutput`.
        ValueError: From the decorated function, if the number is not finite.

    Example:
        >>> @reward_function
        ... def short(response: str) -> float:
        ...     return len(response) < 100
        >>> short(response="print(1)", task_id="a column more")
        1.0
    """
    if mode != "pointwise":
        raise TypeError(
            f"mode must be 'pointwise': a reward function gets one answer here; got {mode!r}. evaluate_dataset calls "
            "it for many rows at once"
        )
    if resources is not None:
        raise TypeError("resources must be None: no model is deployed here; call the one you need in the function")
    if function is None:
        return functools.partial(_decorated, id=id, requirements=requirements)
    return _decorated(function, id=id, requirements=requirements)


def _decorated(function: Callable[..., Reward], *, id: str | None, requirements: str | None) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):
        raise TypeError(
            f"a reward function is called, not awaited; got the coroutine function {function.__name__}(). Write it "
            "with def, and await what it needs by asyncio.run(...)"
        )
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
