"""Makes the environment that a command was told to use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym

from code_env.checks import meant
from code_env.environments.definitions import environment_names, is_environment, read_definition
from code_env.errors import CodeEnvError
from code_env.registration import ENTRY_POINTS, environment_id

from .console import modules_from_here


def make_environment(
    env: str,
    executor: str | None,
    workers: int | None,
    limits: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Make an environment from a name, an id, or the path of a file or folder; with `num_envs`, a vector environment.

    Raises:
        CodeEnvError: If the text does not name an environment of this package.
    """
    with modules_from_here():
        return _made(gym.make_vec if "num_envs" in kwargs else gym.make, env, executor, workers, limits, kwargs)


def _made(
    make: Callable[..., Any],
    env: str,
    executor: str | None,
    workers: int | None,
    limits: Mapping[str, Any] | None,
    kwargs: dict[str, Any],
) -> Any:
    kwargs["order"] = "sequential"
    if executor is not None:
        kwargs["executor"] = executor
    if limits is not None:
        kwargs["limits"] = limits
    if workers is not None:
        kwargs["executor_kwargs"] = {"workers": workers}
    if env not in environment_names() and is_environment(Path(env)):
        definition = read_definition(Path(env))
        kwargs = {"rewards": definition.rewards, "max_turns": definition.max_turns} | kwargs
        if definition.executor is not None:
            kwargs = {"executor": definition.executor} | kwargs
        return make(definition.base, suite=env, **kwargs)
    if Path(env).is_file():
        return make("CodeExec-v0", suite=env, **kwargs)
    env_id = environment_id(env) if env in environment_names() else env
    spec = gym.registry.get(env_id)
    if spec is None or all(spec.entry_point != one for one, _ in ENTRY_POINTS.values()):
        known = ", ".join([*environment_names(), *ENTRY_POINTS, "CodeRepair-v0"])
        raise CodeEnvError(
            f"{env!r} is neither an environment of this package ({known}) nor a file of tasks nor a folder with "
            f"env.toml{meant(env, environment_names())}"
        )
    return make(env_id, **kwargs)
