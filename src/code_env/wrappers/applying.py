"""`rewards={...}`: the reward wrappers that a mapping names, put around an environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorEnv

from code_env.errors import RewardError

from . import rewards as of_one
from . import vector as of_many
from .ledger import EntryWrapper

REWARDS: dict[str, type[EntryWrapper]] = {
    "execution": of_one.ExecutionReward,
    "similarity": of_one.OutputSimilarityReward,
    "tests": of_one.PassFractionReward,
    "format": of_one.FormatReward,
    "length": of_one.LengthReward,
    "cpu": of_one.CpuTimeReward,
    "memory": of_one.MemoryReward,
    "files": of_one.FileReward,
    "insights": of_one.InsightReward,
    "pass@k": of_one.PassAtKReward,
    "gate": of_one.GateReward,
    "potential": of_one.PotentialReward,
    "schedule": of_one.ScheduledReward,
    "clip": of_one.ClipReward,
}
"""The wrappers that `rewards={...}` knows, by their default names. In `pass@k`, a number may stand for k; over many
environments there is `group_pass@k` too."""

_AT_K = re.compile(r"(group_)?pass@([0-9]+|k)")


def apply_rewards(env: gym.Env[Any, Any], rewards: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """Wrap an env in the rewards that a mapping names, the first innermost.

    Args:
        env: The env to wrap.
        rewards: For each reward its weight, or a mapping of the wrapper's arguments.

    Raises:
        RewardError: If a reward or an argument is unknown.
    """
    return _applied(env, rewards, of_one)  # type: ignore[no-any-return]


def apply_vector_rewards(env: VectorEnv[Any, Any, Any], rewards: Mapping[str, Any]) -> VectorEnv[Any, Any, Any]:
    """As `apply_rewards`, for many environments."""
    return _applied(env, rewards, of_many)  # type: ignore[no-any-return]


def _applied(env: Any, rewards: Mapping[str, Any], wrappers: Any) -> Any:
    if not isinstance(rewards, Mapping):
        raise RewardError(f"rewards must be a mapping from name to weight; got {type(rewards).__name__}")
    for name, value in rewards.items():
        wrapper, arguments = _wrapper_for(name, wrappers)
        given = dict(value) if isinstance(value, Mapping) else {"weight": value}
        if given.keys() & arguments.keys():
            raise RewardError(f"reward {name!r}: its name says what k is, and so does {given!r}; leave one out")
        arguments |= given
        try:
            env = wrapper(env, **arguments)
        except TypeError as error:
            raise RewardError(f"reward {name!r}: {error}") from None
    return env


def _wrapper_for(name: Any, wrappers: Any) -> tuple[Any, dict[str, Any]]:
    """The wrapper of a name, and the arguments that are in the name."""
    at_k = _AT_K.fullmatch(name) if isinstance(name, str) else None
    if at_k is not None:
        wrapper = getattr(wrappers, "GroupPassAtKReward" if at_k[1] else "PassAtKReward", None)
        if wrapper is None:
            raise RewardError(f"reward {name!r} is for groups of environments: gym.make_vec(...), not gym.make(...)")
        return wrapper, {} if at_k[2] == "k" else {"k": int(at_k[2])}
    if name not in REWARDS:
        known = ", ".join(REWARDS)
        raise RewardError(f"no reward is named {name!r}; known are {known}; for one of your own use TermReward")
    return getattr(wrappers, REWARDS[name].__name__), {}
