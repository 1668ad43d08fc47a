"""The executors for functions that are called again and again and have no object that could keep an executor.

A process makes one executor for each name and its arguments, when it is first needed, and closes it when the process
ends. A fork makes its own executors, because threads and servers stay with the parent process. `lent_executor` keeps
only a few idle executors, because its arguments can differ from call to call.
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

from code_env.executors.base import Executor
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.registry import DEFAULT_EXECUTOR, make_executor

_MOST_LENT = 4
"""The number of idle lent executors that are kept for later calls. Each holds processes and their memory."""


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
        except Exception:  # Not plain data: `make_executor` reports this better. If it does not raise, use it once.
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
    """Return the executor to run on.

    If the caller passes an executor, the caller must close it. An executor that is made here is shared, and callers
    must not close it.

    Args:
        executor: An executor, the name of an executor, or None for the default executor.
        arguments: Arguments for making the executor, if it must be made.

    Raises:
        ExecutorNotFound: If no executor has that name.
        TypeError: If `executor` is something else.

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
    """Lend an executor that is made with these arguments, until the block ends. Later calls can get the same executor.

    Args:
        name: Name of the executor.
        arguments: Arguments for making the executor: plain data.
        version: Any other data that must be equal before the executor is used again, for example the text of a file
            that the executor has read.

    Example:
        >>> with lent_executor("subprocess", {"workers": 1}) as one:
        ...     pass
        >>> with lent_executor("subprocess", {"workers": 1}) as other:
        ...     one is other
        True
    """
    with _shared.lend(name, arguments, version) as executor:
        yield executor
