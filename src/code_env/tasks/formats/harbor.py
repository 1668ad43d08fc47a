"""Harbor's folders: a directory with `task.toml` and `instruction.md`, or a directory of such directories.

The format is Harbor's (https://harborframework.com), schema version 1.4, as `harbor` 0.25.0 reads it. As a `Task`, a
folder asks for one shell script, which does what the instruction says on the files of the folder's image; a
`HarborTest` says what that is worth. `code_env.harbor.Trial` plays a folder command by command.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from code_env.errors import TaskError
from code_env.executors.limits import Limits

from ..kinds import HarborTest
from ..task import Task

_AGENT_S, _VERIFIER_S = 600.0, 600.0
_MEMORY_BYTES = 4 << 30

_ASKS = "Answer with one shell script that does this. It runs once, as root, without a network."

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMG])I?B?")
_MIB_OF = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}

_REFUSED = ("gpus", "gpu_types", "tpu", "healthcheck", "mcp_servers", "allowed_hosts")
"""Keys of an environment that ask for something that is not there."""


@dataclass(frozen=True)
class Collecting:
    """A command that runs where the agent has worked, so that the verifier finds what it writes to an artifact."""

    command: str
    """What the image's shell runs."""
    limit_s: float = 60.0
    """How long it may run, in seconds."""


@dataclass(frozen=True)
class VerifierEnvironment:
    """An environment of the verifier's own. Of the agent's work it has nothing but the artifacts."""

    image: str
    """Its image, as for `HarborTask`. It holds the tests in `/tests`; if it does not, they are put there."""
    directory: str | None = None
    """Where the tests start, if this is not the image's own directory."""
    memory_bytes: int = _MEMORY_BYTES
    """How much memory all processes may hold together, in bytes."""
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Its environment variables, without those for `test.sh` alone."""


@dataclass(frozen=True)
class Stage:
    """A part of a task that is scored by itself; most tasks have one."""

    name: str
    """Its name; empty if the task has no other."""
    instruction: str
    """What the agent is to do."""
    tests: Path
    """The directory with `test.sh`, which nothing of the agent ever sees."""
    solution: Path | None
    """The directory with `solve.sh`, if there is one."""
    agent_s: float = _AGENT_S
    """How long the agent may take, in seconds."""
    verifier_s: float = _VERIFIER_S
    """How long `test.sh` may take, in seconds."""
    min_reward: float | None = None
    """With less than this, no later stage begins."""
    verifier: VerifierEnvironment | None = None
    """Where its tests run, if not in the task's own image."""
    collecting: tuple[Collecting, ...] = ()
    """What runs when the agent has finished."""
    artifacts: tuple[str, ...] = ()
    """Paths that its tests find as the agent left them, beside those of the task."""


@dataclass(frozen=True)
class HarborTask:
    """A task in a folder."""

    path: Path
    """The folder."""
    name: str
    """Its name."""
    image: str
    """The image: the path of a build file or of an archive, or a name; see `Task.image`."""
    stages: tuple[Stage, ...]
    """Its stages."""
    directory: str | None = None
    """Where commands start, if this is not the image's own directory."""
    memory_bytes: int = _MEMORY_BYTES
    """How much memory all processes may hold together, in bytes; files that they write count separately."""
    artifacts: tuple[str, ...] = ()
    """Paths beside the working directory that the verifier finds as the agent left them."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Environment variables for the agent."""
    verifier_environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Environment variables for `test.sh`."""
    solution_environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Environment variables for `solve.sh`."""
    takes_last: bool = False
    """Whether the reward is that of the last stage; otherwise it is the mean of all."""

    @property
    def images(self) -> tuple[str, ...]:
        """Its images: the agent's, and those of verifiers."""
        return (self.image, *(stage.verifier.image for stage in self.stages if stage.verifier is not None))


def is_directory(path: Path) -> bool:
    """Whether a directory is the folder of a task, or contains such folders."""
    return bool(_folders(path))


def tasks_from_directory(path: Path) -> Iterator[Task]:
    """The tasks of the folders in a directory; see `task_of`.

    Raises:
        TaskError: As `read_folder`.
    """
    for folder in read_folders(path):
        try:
            yield task_of(folder)
        except (TaskError, UnicodeDecodeError) as error:
            raise TaskError(f"{folder.path}: {error}") from None


def task_of(folder: HarborTask) -> Task:
    """The task to write a shell script that does all that a folder asks for.

    The script runs once, also if there are several stages; then all of them are scored. The reference is the solution,
    if that is nothing but `solve.sh`, or one for each stage.
    """
    told = [f"# {stage.name}\n\n{stage.instruction}" if stage.name else stage.instruction for stage in folder.stages]
    return Task(
        id=folder.name,
        prompt="\n".join([*told, _ASKS]),
        tests=(HarborTest(str(folder.path)),),
        language="bash",
        reference=_reference(folder),
        limits=Limits(
            cpu_s=folder.stages[0].agent_s, wall_s=folder.stages[0].agent_s, memory_bytes=folder.memory_bytes
        ),
        image=folder.image,
    )


def images_of(task: Task) -> tuple[str, ...]:
    """The images that a task of any kind needs: its own, and those of a folder's verifiers.

    Raises:
        TaskError: If the folder cannot be read.
    """
    own = (task.image,) if task.image else ()
    folders = [read_folder(test.folder) for test in task.tests if isinstance(test, HarborTest)]
    return (*own, *(image for folder in folders for image in folder.images[1:]))


def _reference(folder: HarborTask) -> str | None:
    solutions = [stage.solution for stage in folder.stages]
    if folder.solution_environment or not all(one and os.listdir(one) == ["solve.sh"] for one in solutions):
        return None
    texts = [(one / "solve.sh").read_text(encoding="utf-8") for one in solutions if one]
    # Each in a shell of its own, for it may end by `exit`.
    return texts[0] if len(texts) == 1 else "\n".join(f"(\n{text}\n)" for text in texts)


def _folders(path: Path) -> list[Path]:
    if (path / "task.toml").is_file():
        return [path]
    return sorted(one.parent for one in path.glob("*/task.toml"))


def read_folders(path: Path | str, variables: Mapping[str, str] = MappingProxyType({})) -> list[HarborTask]:
    """Read a folder of a task, or a folder of such folders, in order.

    Args:
        path: The folder.
        variables: The values of variables that the tasks name as `${NAME}`.

    Raises:
        TaskError: If there is no task, or one cannot be read.
    """
    found = _folders(Path(path))
    if not found:
        raise TaskError(f"{path} has no task.toml, and none of its folders has one; expected the folder of a task")
    return [read_folder(one, variables) for one in found]


def read_folder(path: Path | str, variables: Mapping[str, str] = MappingProxyType({})) -> HarborTask:
    """Read the folder of a task.

    Args:
        path: The folder.
        variables: The values of variables that the task names as `${NAME}`.

    Raises:
        TaskError: If it cannot be read, or asks for something that is not supported, which the message names.
    """
    folder = Path(path).absolute()
    try:
        config = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
        return _Reader(folder, config, variables).read()
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{folder} is not the folder of a task: {error}") from error
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise TaskError(f"{folder / 'task.toml'}: {error}") from error


def named_image(place: Path, name: Any) -> str:
    """The image that a task names: a path from the place where it would be built, or another name."""
    return str(place / name) if (place / name).exists() else str(name)


class _Reader:
    def __init__(self, folder: Path, config: dict[str, Any], variables: Mapping[str, str]) -> None:
        self._folder, self._config, self._variables = folder, config, variables

    def read(self) -> HarborTask:
        environment = self._table("environment")
        self._check("environment", environment)
        strategy = self._config.get("multi_step_reward_strategy", "mean")
        if strategy not in ("mean", "final"):
            raise self._error(f"multi_step_reward_strategy must be mean or final; got {strategy!r}")
        directory = environment.get("workdir")
        return HarborTask(
            path=self._folder,
            name=str(self._table("task").get("name", self._folder.name)),
            image=self._image(environment),
            stages=tuple(self._stages()),
            directory=None if directory is None else str(directory),
            memory_bytes=_memory_bytes(environment),
            artifacts=tuple(map(self._artifact, self._config.get("artifacts", ()))),
            environment=self._expanded(environment),
            verifier_environment=self._expanded(self._table("verifier")),
            solution_environment=self._expanded(self._table("solution")),
            takes_last=strategy == "final",
        )

    def _table(self, name: str) -> dict[str, Any]:
        table = self._config.get(name, {})
        if not isinstance(table, dict):
            raise self._error(f"{name} must be a table")
        return table

    def _check(self, name: str, environment: Mapping[str, Any]) -> None:
        """Refuse an environment that this machine does not have."""
        self._refuse(name, environment, _REFUSED)
        if environment.get("os", "linux") != "linux":
            raise self._error(f"[{name}] os = {environment['os']!r} is not supported")

    def _refuse(self, name: str, table: Mapping[str, Any], keys: Iterable[str]) -> None:
        for key in keys:
            if table.get(key):
                raise self._error(f"[{name}] {key} is not supported")

    def _error(self, what: str) -> TaskError:
        return TaskError(f"{self._folder / 'task.toml'}: {what}")

    def _image(self, environment: Mapping[str, Any]) -> str:
        place = self._folder / "environment"
        named = environment.get("docker_image")
        if named:
            return named_image(place, named)
        if (place / "Dockerfile").is_file():
            return str(place / "Dockerfile")
        if (place / "docker-compose.yaml").is_file():
            raise self._error("environment/docker-compose.yaml is not supported; expected environment/Dockerfile")
        raise self._error("it names no docker_image, and there is no environment/Dockerfile")

    def _stages(self) -> list[Stage]:
        steps = self._config.get("steps")
        if steps is None:
            return [self._stage("", self._folder, self._config)]
        if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
            raise self._error("[[steps]] must be a list of tables, at least one")
        for step in steps:
            if not isinstance(step.get("name"), str):
                raise self._error("each of [[steps]] needs a name")
            self._refuse("steps.verifier", step.get("verifier", {}), ("environment", "env"))
            self._refuse("steps", step, ("healthcheck",))
            if (self._folder / "steps" / step["name"] / "workdir").exists():
                raise self._error(f"steps/{step['name']}/workdir is not supported; put its files into the image")
        return [self._stage(step["name"], self._folder / "steps" / step["name"], step) for step in steps]

    def _stage(self, name: str, place: Path, config: Mapping[str, Any]) -> Stage:
        agent = {**self._table("agent"), **config.get("agent", {})}
        verifier = {**self._table("verifier"), **config.get("verifier", {})}
        tests = place / "tests" if (place / "tests").is_dir() else self._folder / "tests"
        own = self._own_environment(verifier, tests)
        if own is None and not (tests / "test.sh").is_file():
            raise self._error(f"{tests / 'test.sh'} does not exist")
        solution = place / "solution"
        least = config.get("min_reward") if name else None
        if isinstance(least, dict):
            raise self._error("min_reward must be a number")
        return Stage(
            name,
            (place / "instruction.md").read_text(encoding="utf-8"),
            tests,
            solution if (solution / "solve.sh").is_file() else None,
            self._seconds("agent", agent, _AGENT_S),
            self._seconds("verifier", verifier, _VERIFIER_S),
            None if least is None else float(least),
            own,
            tuple(map(self._collecting, verifier.get("collect", ()))),
            tuple(map(self._artifact, config.get("artifacts", ()))) if name else (),
        )

    def _own_environment(self, verifier: Mapping[str, Any], tests: Path) -> VerifierEnvironment | None:
        """The verifier's environment, if it is another than the agent's; it is built where the tests are."""
        table = verifier.get("environment", {})
        if not table and verifier.get("environment_mode", "shared") == "shared":
            return None
        self._check("verifier.environment", table)
        if table.get("docker_image"):
            image = named_image(tests, table["docker_image"])
        elif (tests / "docker-compose.yaml").is_file():
            raise self._error(f"{tests / 'docker-compose.yaml'} is not supported; expected a Dockerfile there")
        elif (tests / "Dockerfile").is_file():
            image = str(tests / "Dockerfile")
        else:
            return None
        settings = table or self._table("environment")
        directory = table.get("workdir")
        return VerifierEnvironment(
            image,
            None if directory is None else str(directory),
            _memory_bytes(settings),
            self._expanded(settings),
        )

    def _collecting(self, hook: Any) -> Collecting:
        if not isinstance(hook, dict) or not isinstance(hook.get("command"), str):
            raise self._error("each of [[verifier.collect]] needs a command")
        if hook.get("service", "main") != "main":
            raise self._error(f"[[verifier.collect]] service = {hook['service']!r} is not supported")
        return Collecting(hook["command"], self._seconds("verifier.collect", hook, Collecting.limit_s))

    def _seconds(self, name: str, table: Mapping[str, Any], otherwise: float) -> float:
        value = float(table.get("timeout_sec") or otherwise)
        if not 0 < value < math.inf:
            raise self._error(f"[{name}] timeout_sec must be a number above 0; got {value:g}")
        return value

    def _artifact(self, named: Any) -> str:
        if isinstance(named, dict) and named.get("service", "main") != "main":
            raise self._error(f"an artifact of service = {named['service']!r} is not supported")
        path = named.get("source") if isinstance(named, dict) else named
        if not isinstance(path, str) or not path.startswith("/") or path.rstrip("/") == "":
            raise self._error(f"an artifact must have an absolute path below /; got {named!r}")
        return path

    def _expanded(self, table: Mapping[str, Any]) -> Mapping[str, str]:
        return MappingProxyType({name: self._value(str(value)) for name, value in table.get("env", {}).items()})

    def _value(self, text: str) -> str:
        def known(match: re.Match[str]) -> str:
            value = self._variables.get(match[1], match[2])
            if value is None:
                raise self._error(f"no value was given for the variable {match[1]}, which the task names")
            return value

        return _VARIABLE.sub(known, text)


def _memory_bytes(environment: Mapping[str, Any]) -> int:
    mib = environment.get("memory_mb")
    if not mib and environment.get("memory"):  # As older tasks write it.
        found = _SIZE.fullmatch(str(environment["memory"]).strip().upper())
        if found is None:
            raise ValueError(f"memory must be a size such as '4G' or '512M'; got {environment['memory']!r}")
        mib = float(found[1]) * _MIB_OF[found[2]]
    if not mib:
        return _MEMORY_BYTES
    if not 1 <= float(mib) < math.inf:
        raise ValueError(f"memory_mb must be at least 1; got {mib}")
    return int(float(mib) * (1 << 20))
