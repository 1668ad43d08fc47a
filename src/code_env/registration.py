"""Registers the environments with Gymnasium: `CodeExec-v0`, `CodeRepair-v0`, `CodeRepl-v0` and `envs/`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import gymnasium as gym
from gymnasium.envs.registration import parse_env_id
from gymnasium.vector import VectorEnv

from code_env.checks import require_arguments
from code_env.environments.definitions import environment_names, environments_directory, is_environment, read_definition
from code_env.envs.code_exec import CodeExecEnv
from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.envs.code_repl import CodeReplEnv
from code_env.envs.code_repl_vector import CodeReplVectorEnv
from code_env.envs.rules import HINTS, EpisodeOptions, refuse_secrets
from code_env.errors import SuiteNotFound, TaskError
from code_env.executors.base import Executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.tasks.loading import SuiteSource
from code_env.wrappers.reward_names import apply_rewards, apply_vector_rewards

_P = ParamSpec("_P")
_R = TypeVar("_R")

ENTRY_POINTS: Mapping[str, tuple[str, str]] = {
    "CodeExec-v0": ("code_env.registration:make_code_exec", "code_env.registration:make_code_exec_vec"),
    "CodeRepl-v0": ("code_env.registration:make_code_repl", "code_env.registration:make_code_repl_vec"),
}
"""What `gym.make` and `gym.make_vec` call for each id that others are made of; texts, so that a spec survives JSON."""

HARBOR = "CodeHarbor-v0"
"""The id of the environment over Harbor's folders, which has rewards of its own."""

DEFAULT_REWARDS: Mapping[str, Any] = {"tests": 1.0}
"""What an environment rewards unless told otherwise."""

REPAIR: Mapping[str, Any] = {"max_turns": 4, "rewards": {"pass@1": 1.0}}
"""What makes `CodeRepair-v0` of it: an answer is followed by feedback until one passes, and only that is rewarded."""


def _refusing_secrets(make: Callable[_P, _R]) -> Callable[_P, _R]:
    """Before all else, because Gymnasium writes the arguments into what it says about a `TypeError`."""

    @functools.wraps(make)
    def made(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        refuse_secrets(kwargs.get("executor_kwargs"))
        return make(*args, **kwargs)

    return made


@_refusing_secrets
def make_code_exec(
    suite: SuiteSource = "starter",
    executor: str | Executor = DEFAULT_EXECUTOR,
    rewards: Mapping[str, Any] | None = None,
    **options: Any,
) -> gym.Env[Any, Any]:
    """Build a `CodeExecEnv` in its reward wrappers; this is what `gym.make` calls.

    Args:
        suite: See `CodeExecEnv`.
        executor: See `CodeExecEnv`.
        rewards: For each reward its weight, or a mapping of the wrapper's arguments; `{}` gives the
            bare env, whose reward is 0.0, and None the default, the share of tests passed.
        **options: All other arguments of `CodeExecEnv`.

    Raises:
        CodeEnvError: If something named does not exist or does not fit.
        TypeError: If there is no such argument.
    """
    require_arguments([make_code_exec, CodeExecEnv], options, EpisodeOptions.__annotations__, HINTS)
    return _in_rewards(CodeExecEnv(suite, executor, **options), apply_rewards, rewards)


@_refusing_secrets
def make_code_exec_vec(
    num_envs: int = 1,
    suite: SuiteSource = "starter",
    executor: str | Executor = DEFAULT_EXECUTOR,
    rewards: Mapping[str, Any] | None = None,
    **options: Any,
) -> VectorEnv[Any, Any, Any]:
    """Build a `CodeExecVectorEnv` in its reward wrappers; this is what `gym.make_vec` calls.

    Args:
        num_envs: See `CodeExecVectorEnv`.
        suite: See `CodeExecVectorEnv`.
        executor: See `CodeExecVectorEnv`.
        rewards: As for `gym.make`; `group_pass@k` too, see `wrappers.vector.GroupPassAtKReward`.
        **options: All other arguments of `CodeExecVectorEnv`; `autoreset_mode` as a text, for a spec that survives
            JSON.

    Raises:
        CodeEnvError: If something named does not exist or does not fit.
        TypeError: If there is no such argument.
    """
    require_arguments([make_code_exec_vec, CodeExecVectorEnv], options, EpisodeOptions.__annotations__, HINTS)
    return _in_rewards(CodeExecVectorEnv(num_envs, suite, executor, **options), apply_vector_rewards, rewards)


@_refusing_secrets
def make_code_repl(
    suite: SuiteSource = "starter",
    executor: str | Executor = DEFAULT_EXECUTOR,
    rewards: Mapping[str, Any] | None = None,
    **options: Any,
) -> gym.Env[Any, Any]:
    """Build a `CodeReplEnv` in its reward wrappers; the arguments are those of `make_code_exec`."""
    require_arguments([make_code_repl, CodeReplEnv], options, EpisodeOptions.__annotations__, HINTS)
    return _in_rewards(CodeReplEnv(suite, executor, **options), apply_rewards, rewards)


@_refusing_secrets
def make_code_repl_vec(
    num_envs: int = 1,
    suite: SuiteSource = "starter",
    executor: str | Executor = DEFAULT_EXECUTOR,
    rewards: Mapping[str, Any] | None = None,
    **options: Any,
) -> VectorEnv[Any, Any, Any]:
    """Build a `CodeReplVectorEnv` in its reward wrappers; the arguments are those of `make_code_exec_vec`."""
    require_arguments([make_code_repl_vec, CodeReplVectorEnv], options, EpisodeOptions.__annotations__, HINTS)
    return _in_rewards(CodeReplVectorEnv(num_envs, suite, executor, **options), apply_vector_rewards, rewards)


def _in_rewards(
    env: CodeExecEnv | CodeExecVectorEnv,
    apply: Callable[[Any, Mapping[str, Any]], _R],
    rewards: Mapping[str, Any] | None,
) -> _R:
    """The env in its reward wrappers; it is closed if they do not fit."""
    try:
        return apply(env, DEFAULT_REWARDS if rewards is None else rewards)
    except BaseException:
        env.close()
        raise


# Gymnasium asks the entry point for its render modes before it calls it.
make_code_exec.metadata = make_code_repl.metadata = CodeExecEnv.metadata  # type: ignore[attr-defined]


def environment_id(name: str) -> str:
    """The Gymnasium id of the environment in folder `name`.

    >>> environment_id("data_analysis")
    'code_env/DataAnalysis-v0'
    """
    return f"code_env/{''.join(word.capitalize() for word in name.split('_'))}-v0"


def register_environments(directory: str | Path | None = None) -> list[str]:
    """Register the environments in a directory. To register the same folder again, as a reload does, changes nothing.

    On import, the package does this for its own. If an id belongs to another folder's environment, that is replaced
    with a warning. A folder whose `env.toml` is malformed, or whose name makes no id or that of a folder beside it, is
    left out with a warning.

    Args:
        directory: Holds a folder for each environment; None stands for the package's own, and `CodeExec-v0`,
            `CodeRepair-v0`, `CodeRepl-v0` and `CodeHarbor-v0`.

    Returns:
        The ids.

    Raises:
        SuiteNotFound: If a directory was given and holds no environment.

    Example:
        >>> import tempfile
        >>> from code_env.environments.scaffolding import new_environment
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     folder = new_environment("my_tasks", directory)
        ...     register_environments(directory)
        ...     env = gym.make("code_env/MyTasks-v0")
        ...     env.close()
        ['code_env/MyTasks-v0']
    """
    specs: dict[str, tuple[str, dict[str, Any]]] = {}
    if directory is None:
        gym.registry.pop(HARBOR, None)
        gym.register(HARBOR, entry_point="code_env.harbor.env:HarborEnv")
        specs |= {env_id: (env_id, {}) for env_id in ENTRY_POINTS} | {"CodeRepair-v0": ("CodeExec-v0", dict(REPAIR))}
        folders = {name: environments_directory() / name for name in environment_names()}
    else:
        own = [path for path in sorted(Path(directory).glob("*")) if is_environment(path)]
        folders = {str(path.resolve()): path for path in own}
        if not folders:
            if is_environment(Path(directory)):
                parent = str(Path(directory).resolve().parent)
                raise SuiteNotFound(
                    f"{str(directory)!r} is an environment itself; give the directory that holds it: {parent!r}"
                )
            raise SuiteNotFound(f"{str(directory)!r} holds no environment: a folder with a file env.toml is one")
    for suite, folder in folders.items():
        env_id = environment_id(folder.name)
        try:
            parse_env_id(env_id)
            definition = read_definition(folder)
            if env_id in specs:
                raise TaskError(f"{env_id} is the id of {specs[env_id][1]['suite']!r} too; give it another name")
        except (TaskError, gym.error.Error) as error:  # One broken folder must not take the others away.
            gym.logger.warn(f"environment {folder.name!r} is not registered: {error}")
            continue
        kwargs = {
            "suite": suite,
            "rewards": None if definition.rewards is None else dict(definition.rewards),
            "executor": definition.executor or DEFAULT_EXECUTOR,
            "max_turns": definition.max_turns,
        }
        specs[env_id] = definition.base, kwargs
    for env_id, (base, kwargs) in specs.items():
        replaced = gym.registry.pop(env_id, None)
        if replaced is not None and replaced.kwargs.get("suite") != kwargs.get("suite"):
            gym.logger.warn(
                f"{env_id} is now the environment in {kwargs.get('suite')!r} and no longer that of "
                f"{replaced.kwargs.get('suite')!r}; give the folder another name to have both"
            )
        one, many = ENTRY_POINTS[base]
        gym.register(env_id, entry_point=one, vector_entry_point=many, kwargs=kwargs)
    return [*specs, HARBOR] if directory is None else list(specs)
