"""The executors that functions run on which are called again and again, and have no object to keep one in.

One of each name is made for a process, when it is first needed, and closed when the process ends. A fork makes its own:
threads and servers stay with the parent. Of those that are lent by their arguments a few are kept, since the arguments
may differ from call to call.
"""

from __future__ import annotations

import atexit
import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from code_env.errors import ExecutorNotFound
from code_env.executors.base import Executor
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.registry import DEFAULT_EXECUTOR, ENTRY_POINT_GROUP, executor_names, make_executor

_MOST_LENT = 4
"""How many executors are kept for later that nobody uses; each holds processes and their memory."""


@dataclass
class _Lent:
    executor: Executor
    users: int = 0


class _Shared:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[int, str, tuple[tuple[str, str], ...]], Executor] = {}
        self._lent: OrderedDict[tuple[int, bytes], _Lent] = OrderedDict()
        renew_lock_after_fork(self)

    def get(self, name: str, arguments: dict[str, str]) -> Executor:
        key = (os.getpid(), name, tuple(sorted(arguments.items())))
        with self._lock:
            if key not in self._made:
                self._made[key] = make_executor(name, **arguments)
            return self._made[key]

    @contextmanager
    def lend(self, name: str, arguments: dict[str, Any], version: object) -> Iterator[Executor]:
        try:
            text = pickle.dumps((name, sorted(arguments.items()), version))
        except Exception:  # No plain data, which whoever makes the executor says better; at worst it is used once.
            with make_executor(name, **arguments) as executor:
                yield executor
            return
        key = (os.getpid(), text)
        with self._lock:
            if key not in self._lent:
                self._lent[key] = _Lent(make_executor(name, **arguments))
            lent = self._lent[key]
            lent.users += 1
            self._lent.move_to_end(key)
        try:
            yield lent.executor
        finally:
            with self._lock:
                lent.users -= 1
                idle = [key for key, one in self._lent.items() if not one.users]
                surplus = [self._lent.pop(key).executor for key in idle[: max(0, len(idle) - _MOST_LENT)]]
            for executor in surplus:
                executor.close()

    def close(self) -> None:
        with self._lock:
            made = [self._made.pop(key) for key in list(self._made) if key[0] == os.getpid()]
            made += [self._lent.pop(key).executor for key in list(self._lent) if key[0] == os.getpid()]
        for executor in made:
            executor.close()


_shared = _Shared()
atexit.register(_shared.close)


def executor_for(executor: Executor | str | None, **arguments: str) -> Executor:
    """The executor to run on. Whoever gave one keeps it; one that is made here is shared and is not to be closed.

    Args:
        executor: An executor, the name of one, or None for the default.
        arguments: What it is made with, if it is to be made.

    Raises:
        ExecutorNotFound: If no executor has that name.
        TypeError: If it is none of these.

    Example:
        >>> executor_for(None) is executor_for("local")
        True
    """
    if isinstance(executor, Executor):
        return executor
    if not isinstance(executor, str | None):
        raise TypeError(f"executor must be an Executor, the name of one, or None; got {type(executor).__name__}")
    return _shared.get(executor or DEFAULT_EXECUTOR, arguments)


@contextmanager
def lent_executor(name: str, arguments: dict[str, Any], version: object = None) -> Iterator[Executor]:
    """An executor made with these arguments, for as long as the block lasts; the same may serve later calls.

    Args:
        name: Its name.
        arguments: What it is made with: plain data.
        version: What else must be the same for it to be used again, such as the text of a file that it has read.

    Example:
        >>> with lent_executor("subprocess", {"workers": 1}) as one:
        ...     pass
        >>> with lent_executor("subprocess", {"workers": 1}) as other:
        ...     one is other
        True
    """
    with _shared.lend(name, arguments, version) as executor:
        yield executor


def require_executor(name: str, asked: str, instead: str) -> None:
    """See to it that there is an executor without which something cannot be done.

    Args:
        name: Its name.
        asked: What asks for it.
        instead: What to do without it.

    Raises:
        ExecutorNotFound: If there is none of that name.
    """
    known = executor_names()
    if name not in known:
        raise ExecutorNotFound(
            f"{asked} needs the executor {name!r}, and there is none; known are {', '.join(known)}. {instead}, or "
            f"install a package that adds it through the entry-point group {ENTRY_POINT_GROUP!r}"
        )
