"""The executors that functions run on which are called again and again, and have no object to keep one in.

One of each name is made for a process, when it is first needed, and closed when the process ends. A fork makes its own:
threads and servers stay with the parent.
"""

from __future__ import annotations

import atexit
import os
import threading

from code_env.errors import ExecutorNotFound
from code_env.executors.base import Executor
from code_env.executors.pool import renew_lock_after_fork
from code_env.executors.registry import DEFAULT_EXECUTOR, ENTRY_POINT_GROUP, executor_names, make_executor


class _Shared:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[int, str, tuple[tuple[str, str], ...]], Executor] = {}
        renew_lock_after_fork(self)

    def get(self, name: str, arguments: dict[str, str]) -> Executor:
        key = (os.getpid(), name, tuple(sorted(arguments.items())))
        with self._lock:
            if key not in self._made:
                self._made[key] = make_executor(name, **arguments)
            return self._made[key]

    def close(self) -> None:
        with self._lock:
            own = [key for key in self._made if key[0] == os.getpid()]
            made = [self._made.pop(key) for key in own]
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
