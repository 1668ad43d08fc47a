"""What becomes of keywords that a function has no argument for.

A reward that ignores what it was asked for still gives a number, and a wrong one. So the functions here refuse such
keywords and name what they take. Where a caller passes all columns of a dataset, they are left out, but for one that is
nearly the name of an argument: that is a mistake.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar, cast

_P = ParamSpec("_P")
_R = TypeVar("_R")

_ALIKE = 0.8
"""From which similarity on, by difflib, a name is taken for another one misspelt."""


@functools.lru_cache(maxsize=256)
def arguments_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names under which a function takes arguments, in order.

    Example:
        >>> arguments_of(lambda a, /, b, *, c=1, **kwargs: None)
        ('b', 'c')
    """
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(name for name, one in inspect.signature(function).parameters.items() if one.kind in kinds)


def reject_misspelt(names: Iterable[str], function: Callable[..., Any], *, others_pass: bool = True) -> None:
    """Refuse keywords that look like arguments of a function, and are not.

    Args:
        names: Keywords that it was called with.
        function: The function.
        others_pass: Whether its caller may pass other keywords, as one that passes all columns of a dataset.

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
        if name in arguments:
            continue
        near = difflib.get_close_matches(name, arguments, n=1, cutoff=_ALIKE)
        unknown = f"{getattr(function, '__name__', function)}() has no argument {name!r}"
        if not others_pass:
            meant = f"did you mean {near[0]!r}? It" if near else "it"
            raise TypeError(f"{unknown}; {meant} takes {', '.join(arguments)}")
        if near:
            raise TypeError(
                f"{unknown}; did you mean {near[0]!r}? "
                "Other names may be passed and are ignored; rename this one if it is something else"
            )


def refuse_further(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Have a function name the arguments that it takes when it is called with another keyword.

    Example:
        >>> @refuse_further
        ... def reward(response, expected_output): ...
        >>> reward("print(1)", answer="1")
        Traceback (most recent call last):
        TypeError: reward() has no argument 'answer'; it takes response, expected_output
    """

    def check(names: Iterable[str]) -> None:
        reject_misspelt(names, function, others_pass=False)

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
