"""Environments as folders: `envs/<name>/env.toml` and what it points to.

In a wheel the folders lie in `code_env/_environments/`; in a checkout they are `envs/` beside `src/`.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from code_env.checks import require_choice, require_known
from code_env.errors import SuiteNotFound, TaskError
from code_env.executors.limits import Limits
from code_env.requirements import normal_requirements
from code_env.tasks.sources import Source
from code_env.tasks.task import Task

_FILE = "env.toml"

BASES: Mapping[str, int] = {"CodeExec-v0": 1, "CodeRepl-v0": 8}
"""The ids of the environments that a folder can be made of, and the turns of their episodes unless told otherwise."""

_KEYS: dict[str, type] = {
    "base": str,
    "suite": str,
    "source": dict,
    "format": str,
    "rewards": dict,
    "limits": dict,
    "packages": list,
    "executor": str,
    "max_turns": int,
}


@dataclass(frozen=True)
class EnvironmentDefinition:
    """What an `env.toml` says."""

    name: str
    """Name of the folder, and of the suite."""
    suite_path: Path | None = None
    """The file with the tasks; None if they are not shipped."""
    source: Source | None = None
    """Where they come from, if they are not shipped."""
    format: str | None = None
    """Format of that file; found out from its first row if None."""
    rewards: Mapping[str, Any] | None = None
    """Reward terms and their weights; the package's default if None."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Limits for tasks that state none of their own."""
    packages: tuple[str, ...] = ()
    """Requirements for tasks that name no packages of their own."""
    executor: str | None = None
    """Name of the executor; the package's default if None."""
    max_turns: int = 1
    """Turns of an episode."""
    base: str = "CodeExec-v0"
    """Id of the environment that it is made of."""

    @property
    def path(self) -> Path | None:
        """The file that its tasks are read from; None if they are on the hub."""
        return self.suite_path if self.source is None else self.source.path

    def complete(self, task: Task) -> Task:
        """The task, with this definition's limits and packages if it has none of its own."""
        if self.limits and task.limits == Limits():
            task = dataclasses.replace(task, limits=Limits.from_dict(self.limits))
        if self.packages and not task.packages:
            task = dataclasses.replace(task, packages=self.packages)
        return task


def environments_directory() -> Path:
    """The directory that holds the environments' folders.

    Raises:
        SuiteNotFound: If this installation has none.
    """
    package = Path(__file__).parents[1]
    for candidate in (package / "_environments", package.parents[1] / "envs"):
        if candidate.is_dir():
            return candidate
    raise SuiteNotFound(f"this installation has no environments: neither {package}/_environments nor envs/")


@functools.cache
def environment_names() -> tuple[str, ...]:
    """Names of the environments of this installation, sorted; none if it was installed without."""
    try:
        directory = environments_directory()
    except SuiteNotFound:
        return ()
    return tuple(sorted(path.parent.name for path in directory.glob(f"*/{_FILE}")))


@functools.cache
def load_definition(name: str) -> EnvironmentDefinition:
    """The definition of an environment.

    Raises:
        SuiteNotFound: If there is none of that name.
        TaskError: If its `env.toml` is malformed.
    """
    require_known("no environment is named", [name], environment_names(), SuiteNotFound)
    return read_definition(environments_directory() / name)


def read_definition(folder: Path) -> EnvironmentDefinition:
    """The definition in the folder of an environment.

    Raises:
        TaskError: If its `env.toml` is malformed, or not there.
    """
    path = folder / _FILE
    try:
        return _definition(folder.resolve().name, path)
    except (TaskError, OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{path}: {error}") from None


def is_environment(folder: Path) -> bool:
    """Whether a folder is that of an environment."""
    return (folder / _FILE).is_file()


def _definition(name: str, path: Path) -> EnvironmentDefinition:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    require_known("unknown key", values, sorted(_KEYS), TaskError)
    for key, kind in _KEYS.items():
        if key in values and type(values[key]) is not kind:
            raise TaskError(f"{key}: {kind.__name__} was expected; got {values[key]!r}")
    if ("suite" in values) == ("source" in values):
        raise TaskError("suite: the key is missing" if "suite" not in values else "either suite or source is expected")
    require_choice("base", values.setdefault("base", "CodeExec-v0"), BASES, TaskError)
    if values.setdefault("max_turns", BASES[values["base"]]) < 1:
        raise TaskError(f"max_turns: at least 1 was expected; got {values['max_turns']}")
    if ":" in values.get("executor", ""):
        raise TaskError(f"executor: a name was expected; got {values['executor']!r}, and a folder must not import code")
    try:
        Limits.from_dict(values.get("limits", {}))
    except TaskError as error:
        raise TaskError(f"limits: {error}") from None
    if "packages" in values:
        values["packages"] = normal_requirements(values["packages"])
    if "source" in values:
        return EnvironmentDefinition(name=name, **values | {"source": _source(values["source"])})
    suite = values.pop("suite")
    return EnvironmentDefinition(name=name, suite_path=path.parent / suite, **values)


def _source(values: dict[str, Any]) -> Source:
    names = [one.name for one in dataclasses.fields(Source)]
    try:
        if not all(isinstance(value, str) for value in values.values()):
            raise TypeError
        return Source(**values)
    except TypeError:
        raise TaskError(f"source: texts were expected for {', '.join(names)}; got {values!r}") from None
