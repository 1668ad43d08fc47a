"""For functions that take any further keyword: one that is nearly the name of an argument is a mistake."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

_ALIKE = 0.8
"""From which similarity on, by difflib, a name is taken for another one misspelt."""


def reject_misspelt(names: Iterable[str], arguments: Collection[str], function: str) -> None:
    """Refuse keywords that look like arguments of a function, and are not.

    Raises:
        TypeError: If there is one.

    Example:
        >>> reject_misspelt(["task_id"], ["expected_output", "timeout"], "reward")
        >>> reject_misspelt(["expectd_output"], ["expected_output", "timeout"], "reward")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: reward() has no argument 'expectd_output'; did you mean 'expected_output'? Other names may ...
    """
    for name in names:
        near = difflib.get_close_matches(name, arguments, n=1, cutoff=_ALIKE)
        if near and near[0] != name:
            raise TypeError(
                f"{function}() has no argument {name!r}; did you mean {near[0]!r}? Other names may be passed and are "
                "ignored; rename this one if it is something else"
            )
