"""Python's own objects that cross by their name or their kind: builtin functions, classes, iterators, coroutines."""

from __future__ import annotations

import builtins
import collections
import itertools
import math
import operator
import types
from collections.abc import Iterator
from typing import Any

_PURE_FUNCTIONS = (
    *("abs", "all", "any", "bin", "callable", "chr", "divmod", "format", "hash", "hex", "isinstance", "issubclass"),
    *("iter", "len", "max", "min", "next", "oct", "ord", "pow", "repr", "round", "sorted", "sum"),
)
_TYPES = (
    *("bool", "bytearray", "bytes", "complex", "dict", "enumerate", "filter", "float", "frozenset", "int", "list"),
    *("map", "object", "range", "reversed", "set", "slice", "str", "tuple", "zip"),
)


_CONSTANTS = {"Ellipsis": ..., "NotImplemented": NotImplemented}
"""Objects that exist only once in a process."""


def _pure_objects() -> dict[str, Any]:
    """Return functions, classes and constants that are the same on both sides and use only their arguments, by name."""
    exceptions = [name for name, value in vars(builtins).items() if isinstance(value, type(Exception))]
    classes = [name for name in exceptions if issubclass(getattr(builtins, name), Exception)]
    known = {name: getattr(builtins, name) for name in (*_PURE_FUNCTIONS, *_TYPES, *classes)} | _CONSTANTS
    for module in (operator, math):
        known |= {f"{module.__name__}.{name}": v for name, v in vars(module).items() if callable(v) and name[0] != "_"}
    return known


NAMED_FOR_PROGRAM = _pure_objects()
"""Functions, classes and constants that the tests may pass to the program by name."""

_NAMES_FOR_PROGRAM = {id(value): name for name, value in NAMED_FOR_PROGRAM.items()}


def name_for_program(value: object) -> str | None:
    """Return the name by which the tests may pass an object to the program; None if they may not do so."""
    return _NAMES_FOR_PROGRAM.get(id(value))


_NOT_FOR_TESTS = ("set", "frozenset")

NAMED_FOR_TESTS: dict[str, Any] = {
    name: value for name, value in NAMED_FOR_PROGRAM.items() if "." not in name and name not in _NOT_FOR_TESTS
}
NAMED_FOR_TESTS[type(None).__name__] = type(None)
"""Functions, classes and constants that the program may pass to the tests by name.

`set` and `frozenset` are not among them. Their `intersection(x)` and `union(x)` return what `x` holds, so a test that
calls this method on a result would accept the class in place of a set.
"""

_NAMES_FOR_TESTS = {id(value): name for name, value in NAMED_FOR_TESTS.items()}


def name_for_tests(value: object) -> str | None:
    """Return the name by which the program may pass an object to the tests; None if it may not do so."""
    return _NAMES_FOR_TESTS.get(id(value))


_BUILTIN_ITERATORS: tuple[Iterator[Any], ...] = (
    *map(iter, ([], (), {}, {}.values(), {}.items(), set(), "", "\u00e9", b"", range(0), range(1 << 70))),
    *(reversed([]), reversed({}), reversed(range(0)), iter(bytearray()), iter(collections.deque()), iter(int, 0)),
    *(reversed(()), reversed({}.values()), reversed({}.items()), reversed(collections.deque())),
    iter(collections.OrderedDict()),
    *(map(abs, ()), filter(None, ()), zip(), enumerate(()), (_ for _ in ())),
)
_ITERATORS = frozenset(
    [id(type(one)) for one in _BUILTIN_ITERATORS] + [id(v) for v in vars(itertools).values() if isinstance(v, type)]
)


def is_iterator(value: object) -> bool:
    """Return whether a value is a generator or another of Python's own iterators."""
    return id(type(value)) in _ITERATORS


def is_coroutine(value: object) -> bool:
    """Return whether a value is a coroutine, as an `async def` function returns it."""
    return type(value) is types.CoroutineType


def is_async(function: object) -> bool:
    """Return whether a function is a coroutine function; not every function that returns a coroutine is."""
    import inspect

    return inspect.iscoroutinefunction(function)
