"""Gives modules that a server has imported the paths that they would keep if the program had imported them.

Many modules look at HOME, TMPDIR and the current directory when they are imported, and keep what they make of them. At
level `full` these directories have the same names in the server and in its programs. At level `contained` each worker's
programs have a directory of their own. So there the server imports modules in a directory that stands for it, whose
name occurs nowhere else. `OwnPaths` notes where this name is kept, and each worker puts its directory in its place.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePath
from typing import Any

_DEPTH = 4
"""How many tuples within each other are looked at."""

_WHOLE = {tuple, types.FrameType, type(PurePath()), type(Path())}


class OwnPaths:
    """The places where loaded modules keep paths that lie in a directory.

    Results that functions have cached are forgotten instead, so that the functions compute them again.

    Args:
        directory: The directory, as a real path that occurs nowhere else.
    """

    def __init__(self, directory: str) -> None:
        self._directory, self._bytes = directory, directory.encode()
        self._kept: list[tuple[Callable[[Any], Any], Any]] = []
        mine = {id(self.__dict__), id(self._kept)}
        for one in gc.get_objects():
            # A path or a tuple is replaced where it is kept, as a whole. Frames are those of this import.
            if type(one) in _WHOLE or id(one) in mine:
                continue
            referents = list(vars(one).values()) if isinstance(one, type) else gc.get_referents(one)
            names = False
            for part in referents:
                kind = type(part)
                if kind is str:
                    names = names or directory in part
                elif kind is dict:
                    # The collector does not list dictionaries that hold only texts and numbers.
                    if not gc.is_tracked(part):
                        self._note(part if type(one) is not functools._lru_cache_wrapper else one, part.values())
                elif kind is bytes or kind in _WHOLE:
                    names = names or self._names(part)
            if names:
                self._note(one, referents)

    def _note(self, one: Any, values: Iterable[Any]) -> None:
        """Note where an object keeps such paths. `values` are all its values."""
        if not any(map(self._names, values)):
            return
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()
        else:
            self._kept += [(store, value) for store, value in _places(one) if self._names(value)]

    def move(self, directory: str) -> None:
        """Put another directory in the place of the directory, once."""
        for store, value in self._kept:
            with contextlib.suppress(Exception):  # The part of a module may be read-only.
                store(self._moved(value, directory))

    def _names(self, value: Any, depth: int = _DEPTH) -> bool:
        if type(value) is str:
            return self._directory in value
        if type(value) is bytes:
            return self._bytes in value
        if isinstance(value, PurePath):
            return self._directory in str(value)
        return isinstance(value, tuple) and depth > 0 and any(self._names(one, depth - 1) for one in value)

    def _moved(self, value: Any, directory: str) -> Any:
        if type(value) is str:
            return value.replace(self._directory, directory)
        if type(value) is bytes:
            return value.replace(self._bytes, directory.encode())
        if isinstance(value, PurePath):
            return type(value)(str(value).replace(self._directory, directory))
        if isinstance(value, tuple):
            return tuple.__new__(type(value), [self._moved(one, directory) for one in value])
        return value


def _places(one: Any) -> Iterator[tuple[Callable[[Any], Any], Any]]:
    """Yield for each value that an object keeps a function that stores another in its place, and the value."""
    if isinstance(one, type):
        yield from ((partial(type.__setattr__, one, name), value) for name, value in list(vars(one).items()))
    elif isinstance(one, dict):
        yield from ((partial(dict.__setitem__, one, name), value) for name, value in list(one.items()))
    elif isinstance(one, list):
        yield from ((partial(list.__setitem__, one, at), value) for at, value in enumerate(one))
    elif isinstance(one, set):
        yield from ((partial(_replace, one, value), value) for value in list(one))
    elif isinstance(one, types.CellType):
        with contextlib.suppress(ValueError):  # An empty cell.
            yield partial(setattr, one, "cell_contents"), one.cell_contents
    elif isinstance(one, types.FunctionType):
        yield partial(setattr, one, "__defaults__"), one.__defaults__
    else:
        attributes = getattr(one, "__dict__", None)
        if type(attributes) is dict:
            yield from _places(attributes)
        for kind in type(one).__mro__:
            for member in list(vars(kind).values()):
                if isinstance(member, types.MemberDescriptorType):
                    with contextlib.suppress(AttributeError):  # A slot with nothing in it.
                        yield partial(member.__set__, one), member.__get__(one)


def _replace(values: set[Any], old: Any, new: Any) -> None:
    values.discard(old)
    values.add(new)


def forget() -> None:
    """Have `tempfile` and matplotlib find their directories again when a program needs them.

    A test can have a TMPDIR of its own, and matplotlib makes its directories when it finds them.
    """
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]
    for name in ("get_configdir", "get_cachedir"):
        function = getattr(sys.modules.get("matplotlib"), name, None)
        code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
        for variable, cell in zip(code.co_freevars, cells, strict=True) if code and cells else ():
            if variable == "called":
                cell.cell_contents = False
