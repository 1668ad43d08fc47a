"""`rewards={...}`: wraps an environment in the reward wrappers that a mapping names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorEnv, VectorWrapper

from code_env.checks import arguments_of, meant, require_known
from code_env.errors import RewardError

from . import groups, shaping
from . import rewards as of_terms
from .ledger import Recorded

_AT_K = re.compile(r"pass@([0-9]+)")


def _by_key(kind: type) -> dict[str, type[Recorded]]:
    declared = [value for module in (of_terms, groups, shaping) for value in vars(module).values()]
    found = [one for one in declared if isinstance(one, type) and issubclass(one, Recorded) and issubclass(one, kind)]
    return {one.key: one for one in found if one.key is not None}


REWARDS = _by_key(gym.Wrapper)
"""The wrappers that `rewards={...}` knows, by name. In `pass@k` and `group_pass@k`, a number can replace k."""

VECTOR_REWARDS = _by_key(VectorWrapper)
"""The same for vector environments."""


def apply_rewards(env: gym.Env[Any, Any], rewards: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """Wrap an env in the rewards that a mapping names; the first reward is the innermost wrapper.

    Args:
        env: The env to wrap.
        rewards: For each reward's name, its weight or a mapping of its wrapper's arguments.

    Raises:
        RewardError: If a reward or an argument is unknown.
    """
    return _applied(env, rewards, REWARDS)  # type: ignore[no-any-return]


def apply_vector_rewards(env: VectorEnv[Any, Any, Any], rewards: Mapping[str, Any]) -> VectorEnv[Any, Any, Any]:
    """As `apply_rewards`, for vector environments."""
    return _applied(env, rewards, VECTOR_REWARDS)  # type: ignore[no-any-return]


def _applied(env: Any, rewards: Mapping[str, Any], known: Mapping[str, type[Recorded]]) -> Any:
    if not isinstance(rewards, Mapping):
        raise RewardError(
            f"rewards must be a mapping from name to weight, such as {{'tests': 1.0}}; got {type(rewards).__name__}"
        )
    for name, value in rewards.items():
        wrapper, arguments = _wrapper_for(name, known)
        given = dict(value) if isinstance(value, Mapping) else {"weight": value}
        if given.keys() & arguments.keys():
            raise RewardError(f"reward {name!r}: its name says what k is, and so does {given!r}; leave one out")
        known_arguments = [one for one in arguments_of(wrapper) if one != "env"]
        require_known(f"reward {name!r} has no argument", given, known_arguments, RewardError)
        if "k" in known_arguments and name == wrapper.key and "k" not in given:
            numbered = name.replace("k", "4")
            raise RewardError(
                f"reward {name!r} must say what k is: {numbered!r}, or {name!r}: {{'k': 4}}; got {value!r}"
            )
        arguments |= given
        try:
            env = wrapper(env, **arguments)
        except TypeError as error:
            raise RewardError(f"reward {name!r}: {error}") from None
    return env


def _wrapper_for(name: Any, known: Mapping[str, type[Recorded]]) -> tuple[Any, dict[str, Any]]:
    """Return the wrapper for a name, and the arguments that the name contains."""
    at_k = _AT_K.search(name) if isinstance(name, str) else None
    key, arguments = (name, {}) if at_k is None else (_AT_K.sub("pass@k", name), {"k": int(at_k[1])})
    if key in known:
        return known[key], arguments
    if key in VECTOR_REWARDS:
        raise RewardError(f"reward {name!r} is for groups of environments: gym.make_vec(...), not gym.make(...)")
    raise RewardError(
        f"no reward is named {name!r}; known are {', '.join(known)}; for one of your own use TermReward"
        f"{meant(name, known)}"
    )
