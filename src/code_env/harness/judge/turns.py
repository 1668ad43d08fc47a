"""Lets the threads of a test take turns: all of them share one conversation with the program."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type[Any])


def in_turn(*names: str) -> Callable[[_Class], _Class]:
    """Make a class let only one thread at a time run the methods with these names on an object.

    That thread may call such a method within another one: the program can call a function of the tests, which then uses
    the program again.

    Example:
        >>> @in_turn("ask")
        ... class Conversation:
        ...     def ask(self, number):
        ...         return number and self.ask(number - 1)
        >>> Conversation().ask(3)
        0
    """

    def decorate(kind: _Class) -> _Class:
        for name in names:
            setattr(kind, name, _in_turn(getattr(kind, name)))
        return kind

    return decorate


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def taking_turns(self: Any, *args: Any, **kwargs: Any) -> Any:
        with vars(self).setdefault("_turn", threading.RLock()):
            return method(self, *args, **kwargs)

    return taking_turns
