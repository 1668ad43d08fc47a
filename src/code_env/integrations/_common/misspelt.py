"""What becomes of keywords that a function has no argument for.

A reward that ignores what it was asked for still gives a number, and a wrong one. So the functions here refuse such
keywords and name what they take. Where a caller passes all columns of a dataset, they are left out, but for one that is
nearly the name of an argument: that is a mistake.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar, cast

from code_env.checks import arguments_of, meant, require_known

_P = ParamSpec("_P")
_R = TypeVar("_R")

_ALIKE = 0.8
"""From which similarity on, by difflib, a name is taken for another one misspelt."""


def reject_misspelt(names: Iterable[str], function: Callable[..., Any]) -> None:
    """Refuse keywords that look like arguments of a function, and are not. Others pass.

    Args:
        names: Keywords that it was called with, such as all columns of a dataset.
        function: The function.

    Raises:
        TypeError: If there is one.

    Example:
        >>> def reward(response, expected_output, **kwargs): ...
        >>> reject_misspelt(["task_id"], reward)
        >>> reject_misspelt(["expectd_output"], reward)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: reward() has no argument 'expectd_output'; did you mean 'expected_output'? ...
    """
    arguments = arguments_of(function)
    for name in names:
        near = "" if name in arguments else meant(name, arguments, least_similarity=_ALIKE)
        if near:
            raise TypeError(
                f"{getattr(function, '__name__', function)}() has no argument {name!r}{near} "
                "Other names may be passed and are ignored; rename this one if it is something else"
            )


def refuse_further(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Have a function name the arguments that it takes when it is called with another keyword.

    Example:
        >>> @refuse_further
        ... def reward(response, expected_output): ...
        >>> reward("print(1)", answer="1")
        Traceback (most recent call last):
        TypeError: reward() has no argument 'answer'; known are response, expected_output
    """

    def check(names: Iterable[str]) -> None:
        require_known(f"{function.__name__}() has no argument", names, arguments_of(function), TypeError)

    if inspect.iscoroutinefunction(function):
        # As a coroutine function again, since trainers ask what they are given whether it is one.
        @functools.wraps(function)
        async def awaited(*args: _P.args, **kwargs: _P.kwargs) -> Any:
            check(kwargs)
            return await cast(Callable[..., Coroutine[Any, Any, Any]], function)(*args, **kwargs)

        return cast(Callable[_P, _R], awaited)

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        check(kwargs)
        return function(*args, **kwargs)

    return called
