"""What handles do in the body of a class of the tests, where Python looks for methods and other descriptors.

A decorator of the program gives a function of the program, `@cached def square(self, x)`. As a method it has to get the
object that it is called on. The program gets a stand-in for that object: it can hand the stand-in on to a function of
the tests, and little more (`handing.py`).
"""

from __future__ import annotations

import types
from typing import Any

_FUNCTIONS = ("function", "_lru_cache_wrapper")
"""The types of functions, which bind the object that they are called on. Of others, the program's code decides."""


class Receiver:
    """An object of the tests that a method is called on, where a handle is the method."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def bind(handle: Any, instance: Any, owner: Any = None) -> Any:
    """Return the method that a handle is for an object; `__get__` of handles."""
    if instance is None:
        return handle
    receiver = instance if issubclass(type(instance), type) else Receiver(instance)  # A class crosses as such.
    if handle._code_env_type in _FUNCTIONS:
        return types.MethodType(handle, receiver)
    return handle._code_env_remote.operate("bind", (handle, receiver))


def set_name(handle: Any, owner: Any, name: str) -> None:
    """Tell an object of the program the name that it has in a class; `__set_name__` of handles."""
    handle._code_env_remote.operate("set_name", (handle, owner, name))
