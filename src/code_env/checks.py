"""Checks of arguments. Each raises the error that it is given, which says what was expected and what came."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from code_env.errors import CodeEnvError
from code_env.harness.wire.shown import brief

_C = TypeVar("_C", bound=type)

Error = type[CodeEnvError] | type[ValueError] | type[TypeError]
"""The kind of error that a check raises."""


def require_whole(name: str, value: Any, error: Error, *, least: int, most: int | None = None) -> int:
    """A whole number, within bounds.

    Raises:
        Exception: `error`, if it is something else.

    Example:
        >>> from code_env.errors import TaskError
        >>> require_whole("max_turns", 0, TaskError, least=1)
        Traceback (most recent call last):
        code_env.errors.TaskError: max_turns must be a whole number of at least 1; got 0
    """
    if type(value) is int and least <= value and (most is None or value <= most):
        return value
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise error(f"{name} must be a whole number {bounds}; got {brief(value)}")


def require_number(
    name: str,
    value: Any,
    error: Error,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    unit: str = "",
) -> float:
    """A finite number, within bounds.

    Args:
        name: Name of the argument.
        value: What came.
        error: What is raised.
        least: The least that it may be.
        above: What it must be above.
        most: The most that it may be.
        unit: What it counts, as `seconds`.

    Raises:
        Exception: `error`, if it is something else.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Compared as they are: a whole number may be too large for a float.
    if (
        is_number
        and abs(value) <= sys.float_info.max
        and (least is None or value >= least)
        and (above is None or value > above)
        and (most is None or value <= most)
    ):
        return float(value)
    bounds = [f"above {above:g}"] if above is not None else []
    if least is not None:
        bounds.append(f"of at least {least:g}" if most is None else f"from {least:g} to {most:g}")
    kind = "a finite number" if isinstance(value, float) and not math.isfinite(value) else "a number"
    what = " ".join([kind, *([f"of {unit}"] if unit else []), *bounds])
    raise error(f"{name} must be {what}; got {brief(value)}")


def require_flag(name: str, value: Any, error: Error) -> bool:
    """True or False.

    Raises:
        Exception: `error`, if it is something else.
    """
    if type(value) is bool:
        return value
    raise error(f"{name} must be True or False; got {brief(value)}")


def require_choice(name: str, value: Any, choices: Iterable[str], error: Error) -> None:
    """Refuse what is none of the choices.

    Raises:
        Exception: `error`, if it is none.

    Example:
        >>> from code_env.errors import TaskError
        >>> require_choice("order", "shufle", ["shuffle", "random"], TaskError)
        Traceback (most recent call last):
        code_env.errors.TaskError: order must be one of shuffle, random; got 'shufle'; did you mean 'shuffle'?
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise error(f"{name} must be one of {', '.join(known)}; got {brief(value)}{meant(value, known)}")


def require_known(
    what: str, names: Iterable[Any], known: Iterable[str], error: Error, hints: Mapping[str, str] | None = None
) -> None:
    """Refuse a name that is not known.

    Args:
        what: What is said before the name, as `reset has no option`.
        names: The names that came.
        known: Those that there are.
        error: What is raised.
        hints: What to do instead, for names that are often tried; for other names the nearest known name is told.

    Raises:
        Exception: `error`, for the first that is not known.

    Example:
        >>> require_known("no argument", ["seeds"], ["seed", "suite"], TypeError)
        Traceback (most recent call last):
        TypeError: no argument 'seeds'; known are seed, suite; did you mean 'seed'?
    """
    known = list(known)
    for name in names:
        if name not in known:
            hint = f"; {hints[name]}" if hints and name in hints else meant(name, known)
            raise error(f"{what} {brief(name)}; known are {', '.join(known)}{hint}")


@functools.lru_cache(maxsize=256)
def arguments_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names under which a function takes arguments, in order.

    Example:
        >>> arguments_of(lambda a, /, b, *, c=1, **kwargs: None)
        ('b', 'c')
    """
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return tuple(name for name, one in inspect.signature(function).parameters.items() if one.kind in kinds)


def require_arguments(
    takers: Sequence[Callable[..., Any]],
    names: Iterable[str],
    options: Iterable[str],
    hints: Mapping[str, str] | None = None,
) -> None:
    """Refuse keywords that are no arguments.

    Args:
        takers: The function that was called, and those that it hands its `**options` to.
        names: The keywords that it was called with.
        options: What the last takes among its `**options`.
        hints: See `require_known`.

    Raises:
        TypeError: For the first that none of them takes.
    """
    known = dict.fromkeys([*(name for taker in takers for name in arguments_of(taker)), *options])
    require_known(f"{takers[-1].__name__}() has no argument", names, known, TypeError, hints)


def names_keywords(cls: _C) -> _C:
    """Make a class refuse unknown keywords with a message that lists the known ones; a decorator.

    Python's own message names only what came. A call without a mistake is not checked, so it costs next to nothing.

    Example:
        >>> import dataclasses
        >>> @names_keywords
        ... @dataclasses.dataclass
        ... class Point:
        ...     x: int
        ...     height: int
        >>> Point(1, heigth=2)
        Traceback (most recent call last):
        TypeError: Point() has no argument 'heigth'; known are x, height; did you mean 'height'?
    """
    init = cls.__init__  # type: ignore[misc]  # Of this very class: it is replaced below.

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
            return
        except TypeError as error:
            refused = error
        require_known(f"{type(self).__name__}() has no argument", kwargs, arguments_of(cls), TypeError)
        raise refused

    cls.__init__ = checked  # type: ignore[misc]
    return cls


def meant(name: Any, known: Iterable[str], *, least_similarity: float = 0.6) -> str:
    """The end of a message that names the known name which is nearest to one that is not; empty if none is near.

    Args:
        name: What came.
        known: The names that there are.
        least_similarity: From which similarity on a name is near, by difflib, from 0 to 1.

    Example:
        >>> meant("cpu", ["cpu_s", "wall_s"])
        "; did you mean 'cpu_s'?"
        >>> meant("gpu_kind", ["cpu_s", "wall_s"])
        ''
    """
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=least_similarity)
    return f"; did you mean {near[0]!r}?" if near else ""
