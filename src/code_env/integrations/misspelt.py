"""For functions that take any further keyword: one that is nearly the name of an argument is a mistake."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

_ALIKE = 0.8
"""From which similarity on, by difflib, a name is taken for another one misspelt."""


@functools.lru_cache(maxsize=256)
def arguments_of(function: Callable[..., Any]) -> frozenset[str]:
    """The names under which a function takes arguments.

    Example:
        >>> sorted(arguments_of(lambda a, /, b, *, c=1, **kwargs: None))
        ['b', 'c']
    """
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(name for name, one in inspect.signature(function).parameters.items() if one.kind in kinds)


def reject_misspelt(names: Iterable[str], function: Callable[..., Any]) -> None:
    """Refuse keywords that look like arguments of a function, and are not.

    Args:
        names: Keywords that it was called with, beside its arguments.
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
        near = difflib.get_close_matches(name, arguments, n=1, cutoff=_ALIKE)
        if near and name not in arguments:
            raise TypeError(
                f"{getattr(function, '__name__', function)}() has no argument {name!r}; did you mean {near[0]!r}? "
                "Other names may be passed and are ignored; rename this one if it is something else"
            )
