"""Rewards as ordinary Gymnasium wrappers, each of which adds one term to the ledger.

A wrapper returns the inner reward plus its weight times its term, and writes both into the step's
info: `info["reward_terms"][name]` is the contribution, `info["reward_raw"][name]` the term itself.
The contributions always add up to the reward. Where there is no verdict, both are 0.0.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from code_env.errors import DuplicateRewardTerm, RewardError
from code_env.judging.verdict import Verdict
from code_env.rewards import terms
from code_env.rewards.terms import Measure, Term
from code_env.tasks.kinds import OutputTest, StdinTest
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import Task


class _RewardWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds one term to the reward. Subclasses record their own arguments, then call this."""

    reward_name: str
    """Name of the term in the ledger."""

    def __init__(self, env: gym.Env[Any, Any], term: Term, weight: float, name: str) -> None:
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not math.isfinite(weight):
            raise RewardError(f"the weight of reward {name!r} must be a number; got {weight!r}")
        if not isinstance(name, str) or not name:
            raise RewardError(f"the name of a reward must be text; got {name!r}")
        if not isinstance(getattr(env.unwrapped, "suite", None), TaskSuite):
            raise RewardError(f"{type(self).__name__} wraps a CodeExecEnv; got {env.unwrapped}")
        inner: Any = env
        while isinstance(inner, gym.Wrapper):
            if isinstance(inner, _RewardWrapper) and inner.reward_name == name:
                raise DuplicateRewardTerm(
                    f"a reward named {name!r} is there already. Either take it out of rewards={{...}} (rewards={{}} "
                    f'gives the bare env), or give this one another name: {type(self).__name__}(env, name="{name}_2")'
                )
            inner = inner.env
        gym.Wrapper.__init__(self, env)
        self.reward_name = name
        self._term, self._weight = term, float(weight)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, and add the term to the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        verdicts = info.get("verdicts")
        if verdicts is None:
            raise RewardError(f"{type(self).__name__} needs the info of CodeExecEnv; a wrapper below hides it")
        task = self.get_wrapper_attr("suite").task(info["task_id"])
        values = [self._value(task, verdict) for verdict in verdicts if verdict.valid]
        raw = math.fsum(values) / len(values) if values else 0.0
        contribution = self._weight * raw
        info["reward_raw"][self.reward_name] = raw
        info["reward_terms"][self.reward_name] = contribution
        return observation, float(reward) + contribution, terminated, truncated, info

    def _value(self, task: Task, verdict: Verdict) -> float:
        value = self._term(task, verdict)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise RewardError(f"reward {self.reward_name!r}: its term gave {value!r}, which is no number") from None


class ExecutionReward(_RewardWrapper):
    """Adds `terms.execution`: whether the program ran without a fault.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.

    Raises:
        DuplicateRewardTerm: If the env has a reward of that name.

    Example:
        >>> env = ExecutionReward(gym.make("code_env:CodeExec-v0", rewards={}), weight=0.1)
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> env.step("def xor_seal(*args): pass")[1]
        0.1
        >>> env.close()
    """

    def __init__(self, env: gym.Env[Any, Any], weight: float = 1.0, name: str = "execution") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        super().__init__(env, terms.execution, weight, name)


class PassFractionReward(_RewardWrapper):
    """Adds `terms.pass_fraction`: the share of the test cases that passed.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.

    Raises:
        DuplicateRewardTerm: If the env has a reward of that name.
    """

    def __init__(self, env: gym.Env[Any, Any], weight: float = 1.0, name: str = "tests") -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name)
        super().__init__(env, terms.pass_fraction, weight, name)


class OutputSimilarityReward(_RewardWrapper):
    """Adds `terms.output_similarity`: how alike actual and expected outputs are.

    Args:
        env: The env to wrap.
        weight: What the term is multiplied by.
        name: Its name in the ledger.
        measure: `tokens`, `lines`, `characters` or `exact`.

    Raises:
        RewardError: If no task of the suite expects an output, or there is no such measure.
        DuplicateRewardTerm: If the env has a reward of that name.
    """

    def __init__(
        self, env: gym.Env[Any, Any], weight: float = 1.0, name: str = "similarity", measure: Measure = "tokens"
    ) -> None:
        RecordConstructorArgs.__init__(self, weight=weight, name=name, measure=measure)
        terms.similarity("", "", measure)  # Refuses an unknown measure now, not in the first step.
        super().__init__(env, lambda task, verdict: terms.output_similarity(task, verdict, measure), weight, name)
        suite = self.get_wrapper_attr("suite")
        if not any(isinstance(test, StdinTest | OutputTest) for task in suite for test in task.tests):
            raise RewardError(f"no test of suite {suite.name!r} expects an output, so nothing can be similar to it")


class TermReward(_RewardWrapper):
    """Adds a term of your own: one function of a task and a verdict.

    Args:
        env: The env to wrap.
        term: The function, or `"package.module:function"`, which lets `env.spec` survive JSON.
        weight: What the term is multiplied by.
        name: Its name in the ledger; the function's own by default.

    Raises:
        RewardError: If there is no such function.
        DuplicateRewardTerm: If the env has a reward of that name.
    """

    def __init__(self, env: gym.Env[Any, Any], term: Term | str, weight: float = 1.0, name: str | None = None) -> None:
        RecordConstructorArgs.__init__(self, term=term, weight=weight, name=name)
        function = _import(term) if isinstance(term, str) else term
        if not callable(function):
            raise RewardError(f"term must be a function of a task and a verdict; got {type(term).__name__}")
        super().__init__(env, function, weight, name or str(getattr(function, "__name__", "term")))


def _import(path: str) -> Any:
    module, _, function = path.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise RewardError(f"no function at {path!r} (package.module:function): {error}") from None


REWARDS: dict[str, type[_RewardWrapper]] = {
    "execution": ExecutionReward,
    "similarity": OutputSimilarityReward,
    "tests": PassFractionReward,
}
"""The wrappers that `rewards={...}` knows, by their default names."""


def apply_rewards(env: gym.Env[Any, Any], rewards: Mapping[str, Any]) -> gym.Env[Any, Any]:
    """Wrap an env in the rewards that a mapping names.

    Args:
        env: The env to wrap.
        rewards: For each reward its weight, or a mapping of the wrapper's arguments.

    Raises:
        RewardError: If a reward or an argument is unknown.
    """
    if not isinstance(rewards, Mapping):
        raise RewardError(f"rewards must be a mapping from name to weight; got {type(rewards).__name__}")
    for name, value in rewards.items():
        if name not in REWARDS:
            raise RewardError(
                f"no reward is named {name!r}; known are {', '.join(REWARDS)}; for one of your own use TermReward"
            )
        arguments = dict(value) if isinstance(value, Mapping) else {"weight": value}
        try:
            env = REWARDS[name](env, **arguments)
        except TypeError as error:
            raise RewardError(f"reward {name!r}: {error}") from None
    return env
