"""Checks for keywords that are not arguments of a function.

A reward that ignores a keyword still returns a number, and this number is wrong. So the functions of the integrations
refuse unknown keywords, and the message lists the known arguments. If a caller passes all columns of a dataset, unknown
keywords are ignored, except a keyword that is nearly the name of an argument: that is a mistake.
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
"""The least similarity, by difflib, at which a name counts as a misspelling of another name."""


def reject_misspelt(names: Iterable[str], function: Callable[..., Any]) -> None:
    """Refuse keywords that look like misspelt arguments of a function. Accept all other keywords.

    Args:
        names: The keywords of a call, for example all columns of a dataset.
        function: The function.

    Raises:
        TypeError: If a keyword looks like a misspelt argument.

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
    """Make a function refuse unknown keywords, with a message that lists its arguments.

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
        # The wrapper must be a coroutine function too, because trainers check for that.
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
