"""The ledger of a step's reward, and the two wrappers that write it: for one environment, and for vector environments.

An `Entry` computes the amount that a wrapper adds to the reward of one environment. It knows nothing of Gymnasium.
`EntryWrapper` has one entry for its environment; `EntryVectorWrapper` has one entry for each environment in the vector
environment. So the code of each reward is written once. Both wrappers write to the step's info:
`info["reward_terms"][name]` is the added amount, and `info["reward_raw"][name]` is the value behind it. The amounts
always add up to the reward: changes by other wrappers in between have an entry of their own, `OTHERS`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorRewardWrapper, VectorWrapper
from gymnasium.wrappers import NormalizeReward
from gymnasium.wrappers.vector import NormalizeReward as VectorNormalizeReward

from code_env.checks import names_keywords
from code_env.envs.code_exec import CodeExecEnv
from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.envs.rules import EpisodeRules
from code_env.errors import DuplicateRewardTerm, RewardError
from code_env.judging.verdict import Verdict
from code_env.tasks.task import Task

OTHERS = "other_wrappers"
"""Name of the entry for changes by wrappers that keep no ledger, between wrappers that keep a ledger."""


@dataclass(frozen=True)
class Step:
    """The step of one environment, after the wrappers inside this wrapper have changed it."""

    task: Task
    """The task."""
    verdicts: tuple[Verdict, ...]
    """The verdicts; answers without a verdict are left out."""
    reward: float
    """The reward so far."""
    terms: Mapping[str, float]
    """The amounts that the wrappers inside this wrapper have added, by name."""
    raw: Mapping[str, float]
    """The values behind these amounts, by name."""
    ended: bool
    """Whether the episode has ended with this step."""


class Entry(abc.ABC):
    """The part that one wrapper adds to the reward of one environment.

    Args:
        name: The name of the entry in the ledger.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, rules: EpisodeRules, names: frozenset[str]) -> None:  # noqa: B027  # Most entries check nothing.
        """Check that the entry fits its environment.

        Args:
            rules: The rules of the environment.
            names: The names that are already in the ledger.

        Raises:
            RewardError: If the entry does not fit.
        """

    def begin(self) -> None:  # noqa: B027  # Most entries keep no state.
        """Begin an episode."""

    @abc.abstractmethod
    def of(self, step: Step) -> tuple[float, float]:
        """Return the value of a step, and the amount that it adds to the reward."""


_AnyEnv = TypeVar("_AnyEnv", CodeExecEnv, CodeExecVectorEnv)
_Wrapper = TypeVar("_Wrapper", bound=VectorWrapper[Any, Any, Any, Any, Any])


class Recorded(RecordConstructorArgs):
    """Base class of the wrappers that write an entry; it records their arguments, so that Gymnasium can make a spec.

    Subclasses define the arguments of `__init__`, record them, and call `_wrap`.
    """

    key: ClassVar[str | None] = None
    """The name of the reward in `rewards={...}`."""
    reward_name: str
    """The name of the entry in the ledger."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            names_keywords(cls)

    def _wrap(self, env: Any, make_entry: Callable[[], Entry]) -> None:
        """Wrap an environment.

        Args:
            env: The environment.
            make_entry: Makes the entry of one environment.

        Raises:
            RewardError: If the wrapper does not fit the environment.
        """
        raise NotImplementedError

    def _checked(self, env: Any, kind: type[_AnyEnv], name: Any) -> tuple[EpisodeRules, frozenset[str]]:
        """Check that this wrapper fits an environment; return the environment's rules and the names in its ledger.

        Args:
            env: The environment.
            kind: The class that the environment must have without its wrappers.
            name: The name of this wrapper's entry.
        """
        # Gymnasium uses a name with `_` in front for the mask of the environments that have a value.
        if not isinstance(name, str) or not name or name.startswith("_"):
            raise RewardError(f"the name of a reward must be text that does not begin with _; got {name!r}")
        if name == OTHERS:
            raise RewardError(f"{name!r} is the name of what other wrappers change; give the reward another name")
        unwrapped = getattr(env, "unwrapped", None)
        if not isinstance(unwrapped, kind):
            maker = "make" if kind is CodeExecEnv else "make_vec"
            hint = f"gym.{maker}('CodeExec-v0', rewards={{}}) makes one, and only its steps have verdicts"
            if isinstance(unwrapped, CodeExecEnv | CodeExecVectorEnv):
                twin = "wrappers" if isinstance(unwrapped, CodeExecEnv) else "wrappers.vector"
                hint = f"which code_env.{twin}.{type(self).__name__} wraps"
            own = f"{type(self).__module__}.{type(self).__name__}"
            raise RewardError(f"{own} wraps a {kind.__name__}; got {env}; {hint}")
        names = frozenset(ledger_names(env))
        if name in names:
            raise DuplicateRewardTerm(
                f"a reward named {name!r} is there already. Either take it out of rewards={{...}} (rewards={{}} "
                f'gives the bare env), or give this one another name: {type(self).__name__}(env, name="{name}_2")'
            )
        self.reward_name = name
        return unwrapped.rules, names


def ledger_names(env: Any) -> Iterator[str]:
    """Yield the names in the ledger of an environment, outermost first."""
    while isinstance(env, gym.Wrapper | VectorWrapper):
        name = getattr(env, "reward_name", None)
        if name is not None:
            yield name
        env = env.env


def reward_is_changed(env: Any) -> bool:
    """Whether a reward wrapper without a ledger is around the outermost wrapper with a ledger."""
    while isinstance(env, gym.Wrapper | VectorWrapper) and getattr(env, "reward_name", None) is None:
        if isinstance(env, gym.RewardWrapper | VectorRewardWrapper | NormalizeReward | VectorNormalizeReward):
            return True
        env = env.env
    return False


def _differ(difference: float, reward: float) -> bool:
    """Whether a reward differs from the sum of its ledger by more than rounding errors."""
    return abs(difference) > _ROUNDING * max(1.0, abs(reward))


_ROUNDING = 1e-9


class EntryWrapper(gym.Wrapper[Any, Any, Any, Any], Recorded):
    """Adds an entry to the ledger of one environment."""

    def _wrap(self, env: Any, make_entry: Callable[[], Entry]) -> None:
        entry = make_entry()
        entry.check(*self._checked(env, CodeExecEnv, entry.name))
        gym.Wrapper.__init__(self, env)
        self._entry, self._is_changed = entry, reward_is_changed(env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        begun = self.env.reset(seed=seed, options=options)
        self._entry.begin()
        return begun

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, and add the entry to the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if "verdicts" not in info:
            raise RewardError(f"{type(self).__name__} needs the info of CodeExecEnv; a wrapper below hides it")
        terms, raw = info["reward_terms"], info["reward_raw"]
        difference = float(reward) - math.fsum(terms.values())
        if self._is_changed or _differ(difference, float(reward)):
            raw[OTHERS] = terms[OTHERS] = terms.get(OTHERS, 0.0) + difference
        value, added = self._entry.of(
            Step(
                task=self.get_wrapper_attr("suite").task(info["task_id"]),
                verdicts=tuple(verdict for verdict in info["verdicts"] if verdict.valid),
                reward=float(reward),
                terms=terms,
                raw=raw,
                ended=terminated or truncated,
            )
        )
        raw[self.reward_name], terms[self.reward_name] = value, added
        return observation, float(reward) + added, terminated, truncated, info


def vector_twin(cls: type[_Wrapper]) -> type[_Wrapper]:
    """Give a class for vector environments the name and the module by which users import it."""
    cls.__name__ = cls.__qualname__ = cls.__name__.removeprefix("Vector")
    cls.__module__ = "code_env.wrappers.vector"
    return cls


@dataclass(frozen=True)
class StepOfOne:
    """The step of one environment in the info of a vector environment."""

    index: int
    """The index of the environment."""
    info: dict[str, Any]
    """The info that contains the step: `final_info` if it exists and the episode has ended, else the whole info."""
    ended: bool
    """Whether its episode has ended."""
    begun_anew: bool
    """Whether its next episode has begun in the same step."""
    pending: bool
    """Whether its verdict has not arrived yet."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts; answers without a verdict are left out."""
        return tuple(verdict for verdict in self.info["verdicts"][self.index] if verdict.valid)


def steps_of_each(info: dict[str, Any], ended: npt.NDArray[np.bool_]) -> list[StepOfOne]:
    """Return the step of each environment, from the info of a vector environment.

    Raises:
        RewardError: If the info is not from a `CodeExecVectorEnv`.
    """
    if "pending" not in info:
        raise RewardError("the info of a CodeExecVectorEnv is needed; a wrapper below hides it")
    final = info.get("final_info")  # Missing if only a reset begins the next episode.
    return [
        StepOfOne(
            index,
            info if final is None or not has_ended else final,
            ended=bool(has_ended),
            begun_anew=final is not None and bool(has_ended),
            pending=bool(info["pending"][index]),
        )
        for index, has_ended in enumerate(ended)
    ]


class StepVectorWrapper(VectorWrapper[Any, Any, Any, Any, npt.NDArray[Any]]):
    """Changes the return value of a vector environment's step, for `step` and for `step_async` with `step_wait`."""

    def after(self, step: Any) -> Any:
        """Return the result of a step, made from the result of the wrapped environment."""
        raise NotImplementedError

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes; see `CodeExecVectorEnv.reset`."""
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> Any:
        """Take a step; see `CodeExecVectorEnv.step`."""
        return self.after(self.env.step(actions))

    def step_async(self, actions: Any) -> None:
        """Begin a step; see `CodeExecVectorEnv.step_async`."""
        self.env.step_async(actions)  # type: ignore[attr-defined]

    def step_wait(self, deadline_s: float | None = None) -> Any:
        """End a step; see `CodeExecVectorEnv.step_wait`."""
        return self.after(self.env.step_wait(deadline_s))  # type: ignore[attr-defined]


class EntryVectorWrapper(StepVectorWrapper, Recorded):
    """Adds an entry to the ledger of each environment in a vector environment."""

    def _wrap(self, env: Any, make_entry: Callable[[], Entry]) -> None:
        rules, names = self._checked(env, CodeExecVectorEnv, make_entry().name)
        VectorWrapper.__init__(self, env)
        self._is_changed = reward_is_changed(env)
        self._entries = [make_entry() for _ in range(env.num_envs)]
        for entry in self._entries:
            entry.check(rules, names)
        self._suite = rules.suite

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin episodes; see `CodeExecVectorEnv.reset`."""
        mask = (options or {}).get("reset_mask")  # Read it now, because some wrappers remove it from the options.
        begun = super().reset(seed=seed, options=options)
        for index, entry in enumerate(self._entries):
            if mask is None or mask[index]:
                entry.begin()
        return begun

    def after(self, step: Any) -> Any:
        """Return the step, with an entry added to each reward."""
        observations, rewards, terminated, truncated, info = step
        steps = steps_of_each(info, terminated | truncated)
        write_others(self.unwrapped, steps, rewards, self._is_changed)
        values, added = np.zeros(self.num_envs), np.zeros(self.num_envs)
        for one in steps:
            index = one.index
            if one.pending:
                continue
            values[index], added[index] = self._entries[index].of(
                Step(
                    task=self._suite.task(one.info["task_id"][index]),
                    verdicts=one.verdicts,
                    reward=float(rewards[index]),
                    terms=_Ledger(one.info["reward_terms"], index),
                    raw=_Ledger(one.info["reward_raw"], index),
                    ended=one.ended,
                )
            )
            if one.ended:
                self._entries[index].begin()
        write_ledger(self.unwrapped, steps, self.reward_name, values, added)
        return observations, rewards + added, terminated, truncated, info


def write_ledger(
    env: Any,
    steps: list[StepOfOne],
    name: str,
    values: npt.NDArray[np.float64],
    added: npt.NDArray[np.float64],
) -> None:
    """Write an entry for each environment, in the form in which Gymnasium merges the infos of environments."""
    for one in steps:
        if not one.begun_anew and not one.pending:
            env.note_reward(one.index, name, float(values[one.index]), float(added[one.index]))
    begun_anew = np.array([one.begun_anew for one in steps])
    for mask in (begun_anew, ~begun_anew):
        if not mask.any():
            continue
        info = steps[int(np.argmax(mask))].info
        for key, column in (("reward_raw", values), ("reward_terms", added)):
            info[key][name], info[key][f"_{name}"] = np.where(mask, column, 0.0), mask.copy()


def write_others(env: Any, steps: list[StepOfOne], rewards: npt.NDArray[Any], is_changed: bool) -> None:
    """Write the entry for changes by wrappers that keep no ledger.

    Args:
        env: The vector environment without its wrappers.
        steps: The step of each environment.
        rewards: The rewards so far.
        is_changed: Whether to write the entry even if nothing was changed.
    """
    ledgers = [_Ledger(one.info["reward_terms"], one.index) for one in steps]
    rest = np.array([float(rewards[one.index]) for one in steps]) - [math.fsum(ledger.values()) for ledger in ledgers]
    if is_changed or any(_differ(rest[one.index], float(rewards[one.index])) for one in steps):
        changed = rest + [ledger.get(OTHERS, 0.0) for ledger in ledgers]
        write_ledger(env, steps, OTHERS, changed, changed)


class _Ledger(Mapping[str, float]):
    """The part of a vector environment's ledger that belongs to one environment."""

    def __init__(self, columns: dict[str, Any], index: int) -> None:
        self._columns, self._index = columns, index

    def __getitem__(self, name: str) -> float:
        return float(self._columns[name][self._index])

    def __iter__(self) -> Iterator[str]:
        # A mask has the name of its column with `_` in front.
        return (name for name in self._columns if not (name.startswith("_") and name[1:] in self._columns))

    def __len__(self) -> int:
        return sum(1 for _ in self)
