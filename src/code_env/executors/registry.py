"""Executors by name, found through the entry-point group `code_env.executors`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from code_env.checks import arguments_of, meant, require_known
from code_env.errors import ExecutorError, ExecutorNotFound

from .base import Executor

ENTRY_POINT_GROUP = "code_env.executors"
"""A package adds an executor by an entry point in this group: the executor's name, and a callable that makes it."""

DEFAULT_EXECUTOR = "local"
"""The executor that environments and the command line use unless told otherwise."""

_BUILTIN = {
    "container": "code_env.executors.container:ContainerExecutor",
    "e2b": "code_env.executors.e2b:E2BExecutor",
    "local": "code_env.executors.local:LocalExecutor",
    "ray": "code_env.executors.ray:RayExecutor",
    "remote": "code_env.executors.remote:RemoteExecutor",
    "restricted": "code_env.executors.restricted:RestrictedExecutor",
    "subprocess": "code_env.executors.subprocess:UnisolatedSubprocessExecutor",
}


def executor_names() -> list[str]:
    """Names that `make_executor` knows, sorted."""
    return sorted({point.name for point in _entry_points()})


def make_executor(name: str, **kwargs: Any) -> Executor:
    """Build an executor by name.

    Args:
        name: `local`, `restricted`, `subprocess`, `container`, `e2b`, `remote` or `ray`, which docs/executors.md
            compares; the name of an executor that an installed package adds; or `package.module:name` of a class or
            function that makes one.
        kwargs: Arguments of the executor, as plain data.

    Raises:
        ExecutorNotFound: If no executor has that name.
        ExecutorError: If the entry point with that name does not make an executor, needs an argument that was not
            given, or cannot be loaded on this system.
        TypeError: If `name` is not text, or the executor has no such argument.

    Example:
        >>> from code_env import Program
        >>> with make_executor("local", workers=1) as executor:
        ...     executor.run(Program("print(6 * 7)")).stdout
        '42\\n'
    """
    if not isinstance(name, str):
        raise TypeError(f"executor must be a name, such as 'local', or an Executor; got {type(name).__name__}")
    points = [EntryPoint(name, name, ENTRY_POINT_GROUP)] if re.fullmatch(r"[\w.]+:[\w.]+", name) else _entry_points()
    matches = [point for point in points if point.name == name]
    if not matches:
        known = executor_names()
        raise ExecutorNotFound(
            f"no executor is named {name!r}; known are {', '.join(known)}, and a package adds one through the "
            f"entry-point group {ENTRY_POINT_GROUP!r}{meant(name, known)}"
        )
    try:
        make = matches[0].load()
    except (ImportError, AttributeError) as error:
        raise ExecutorError(f"the executor {name!r} cannot be loaded here: {error}") from error
    if not callable(make):
        raise ExecutorError(f"{matches[0].value} is a {type(make).__name__}; what makes an Executor was expected")
    _require_arguments(name, make, kwargs)
    executor = make(**kwargs)
    if not isinstance(executor, Executor):
        raise ExecutorError(f"{matches[0].value} gave a {type(executor).__name__}, which is no Executor")
    return executor


def name_of(executor: Executor) -> str:
    """Return the name by which `make_executor` builds such an executor; that of its class if there is none.

    Example:
        >>> with make_executor("local", workers=1) as executor:
        ...     name_of(executor)
        'local'
    """
    kind = type(executor)
    for point in _entry_points():
        if point.attr == kind.__name__ and f"{kind.__module__}.".startswith(f"{point.module}."):
            return point.name
    return kind.__name__


def _require_arguments(name: str, make: Callable[..., Any], kwargs: Iterable[str]) -> None:
    """Refuse keywords that an executor does not take or that are too few, unless it does not say what it takes."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return
    if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        require_known(f"the executor {name!r} has no argument", kwargs, arguments_of(make), TypeError)
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [one.name for one in parameters if one.default is one.empty and one.kind not in optional]
    if missing := [one for one in needed if one not in kwargs]:
        raise ExecutorError(f"the executor {name!r} needs arguments that were not given: {', '.join(missing)}")


def _entry_points() -> list[EntryPoint]:
    builtin = [EntryPoint(name, value, ENTRY_POINT_GROUP) for name, value in _BUILTIN.items()]
    return [*builtin, *entry_points(group=ENTRY_POINT_GROUP)]
