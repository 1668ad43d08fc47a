"""Lets the threads of a test take turns: there is one conversation with the program, and each request has its reply."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type[Any])


def in_turn(*names: str) -> Callable[[_Class], _Class]:
    """Let one thread at a time be in methods of these names of an object.

    A method may call another one: a function of the tests that the program calls meanwhile may use the program again.

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
