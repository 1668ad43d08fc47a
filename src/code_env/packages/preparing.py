"""Prepares suites: installs the packages that their tasks name, each set of requirements once."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from code_env.caches import MAX_BYTES, FileLock, size_of
from code_env.errors import PackageError
from code_env.requirements import package_of
from code_env.tasks.task import Task

from .cache import Environment, PackageCache
from .imports import imports_of, is_there
from .installing import Installer, find_installer, install, installed_versions, modules_of
from .python import python_tag

_SHOWN_CHARS = 200
"""How much of the requirements a message shows, in characters."""

_MOST_MODULES = 300
"""The most modules that a server imports for the programs of an environment."""


@dataclass(frozen=True)
class Prepared:
    """What was prepared for a suite."""

    environments: tuple[Environment, ...]
    """The environments of its tasks, one for each set of requirements."""
    installed: int
    """How many of them were not there before."""
    tasks: int
    """How many of its tasks name packages."""


def prepare(
    suite: Iterable[Task],
    *,
    python: str | None = None,
    wheels: str | Path | None = None,
    cache: PackageCache | None = None,
    max_bytes: int = MAX_BYTES,
    installer: Installer | None = None,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> Prepared:
    """Install the packages of a suite's tasks into the cache. What is there already is not installed again.

    Requirements without a version get the newest one, at the time when they are installed. Afterwards environments
    that were not used for long are removed if the cache has become too large, but none of this suite.

    Args:
        suite: The tasks.
        python: Path of the interpreter that will run the programs; the current one by default.
        wheels: A folder of wheels to install from; by default an index, as uv or pip is configured.
        cache: Where to install; the user's cache by default.
        max_bytes: How large the cache may become.
        installer: `uv` or `pip`; by default `uv` if it is installed.
        progress: Called before each environment with how many are done, how many there are, and what comes next.

    Raises:
        PackageError: If packages cannot be installed.
        ExecutorError: If the interpreter does not answer.
    """
    cache = cache or PackageCache()
    if wheels is not None and not Path(wheels).is_dir():
        raise PackageError(f"{wheels} is no folder; give one that holds wheels (*.whl)")
    python = python or sys.executable
    python_tag(python)  # Raises if it does not answer; without packages, nothing else would ask it.
    sets: dict[tuple[str, ...], list[Task]] = {}
    for task in suite:
        if task.packages:
            sets.setdefault(task.packages, []).append(task)
    environments, held, installed = [], [], 0
    try:
        for number, (requirements, tasks) in enumerate(sets.items()):
            progress(number, len(sets), ", ".join(requirements))
            environment, lock, is_new = _prepare(requirements, python, wheels, cache, installer)
            held.append(lock)
            installed += is_new
            environments.append(_with_imports(cache, environment, tasks))
        progress(len(sets), len(sets), "")
        if installed:
            cache.prune(max_bytes)
    finally:
        for lock in held:
            lock.close()
    return Prepared(tuple(environments), installed, sum(map(len, sets.values())))


def _prepare(
    requirements: tuple[str, ...],
    python: str,
    wheels: str | Path | None,
    cache: PackageCache,
    installer: Installer | None,
) -> tuple[Environment, FileLock, bool]:
    """Return an environment, a lock that keeps it, and whether it was installed now."""
    key, is_new = cache.key(requirements, python), False
    if cache.whole(key) is None:
        with cache.making(key) as folder:
            if folder is not None:
                is_new = True
                _install(cache, folder, key, requirements, python, wheels, installer or find_installer())
    environment = cache.find(requirements, python)
    return environment, cache.hold(environment), is_new


def _install(
    cache: PackageCache,
    folder: Path,
    key: str,
    requirements: tuple[str, ...],
    python: str,
    wheels: str | Path | None,
    installer: Installer,
) -> None:
    environment = Environment(key, folder, requirements, {}, (), "", 0)
    try:
        packages = install(requirements, python, environment.prefix, Path(wheels) if wheels else None, installer)
    except PackageError as error:
        raise PackageError(f"{', '.join(requirements)[:_SHOWN_CHARS]} cannot be installed: {error}") from error
    names, versions = list(map(package_of, requirements)), installed_versions(packages)
    missing = [name for name in names if name not in versions]
    if missing:
        raise PackageError(
            f"{installer} has not put {', '.join(missing)} into {environment.prefix}; a setting such as `target` or "
            f"`prefix` in its configuration can be the reason"
        )
    cache.write(
        replace(
            environment,
            versions=versions,
            modules=tuple(dict.fromkeys(module for name in names for module in modules_of(packages, name))),
            site_packages=str(packages.relative_to(environment.prefix)),
            size_bytes=size_of(folder),
            contents=tuple(sorted(os.listdir(packages))),
        )
    )


def _with_imports(cache: PackageCache, environment: Environment, tasks: Iterable[Task]) -> Environment:
    """Add the modules that the tasks import to those that servers import for an environment; return the environment."""
    named = {name for task in tasks for name in imports_of(task) if is_there(environment.packages, name)}
    new = sorted(named.difference(environment.modules))
    room = max(0, _MOST_MODULES - len(environment.modules))
    if not new[:room]:
        return environment
    environment = replace(environment, modules=(*environment.modules, *new[:room]))
    with contextlib.suppress(OSError):  # In a cache that cannot be written, programs import these themselves.
        cache.write(environment)
    return environment
