"""Lets a policy play the episodes of a plan, in many environments at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.envs.episodes import check_action
from code_env.errors import RolloutError
from code_env.judging.rows import judged_by, verdict_row
from code_env.judging.timing import StepTiming
from code_env.models import ModelPolicy
from code_env.tasks.task import Task

from .plan import Plan

Policy = Callable[[list[str], list[dict[str, Any]]], Sequence[Any]]
"""Answers prompts. It takes the observations of the environments that wait for an action, and an info for each, which
has `episode`, `seed`, `task_id`, `turn`, `turns_left` and `messages`. It returns an action for each, in order."""


@dataclass
class _Episode:
    """An episode that is being played."""

    number: int
    """The number of the episode."""
    observation: str = ""
    """The next observation for the policy."""
    info: dict[str, Any] = field(default_factory=dict)
    """The info for the policy."""
    action: Any = None
    """The policy's action; None while the policy has not answered."""
    finish_reason: str | None = None
    """Why the model stopped in its action; None if a model did not write it."""
    turns: list[dict[str, Any]] = field(default_factory=list)
    """Its turns so far."""
    row: dict[str, Any] | None = None
    """Its line for the file, after it has ended."""

    def conversation(self) -> list[dict[str, str]]:
        """The messages that the policy saw last, and its answer; without the answer if a step takes several."""
        answer = [{"role": "assistant", "content": self.action}] if isinstance(self.action, str) else []
        return [*self.info["messages"], *answer]


class Player:
    """Plays episodes; each group of episodes runs in a block of consecutive environments.

    Args:
        vec_env: The environments.
        base: The same environments without wrappers.
        policy: Answers prompts.
        plan: The plan of the collection.
        missing: The groups to play.
    """

    def __init__(
        self,
        vec_env: VectorEnv[Any, Any, Any],
        base: CodeExecVectorEnv,
        policy: Policy,
        plan: Plan,
        missing: Iterable[range],
    ) -> None:
        self._env, self._policy, self._plan = vec_env, policy, plan
        self._samples, self._suite = base.rules.samples_per_step, base.suite
        self._judged_by = judged_by(base.executor)
        self._waiting = deque(missing)
        self._playing: list[_Episode | None] = [None] * base.num_envs
        self.steps = 0
        """The number of actions that were judged."""
        self.timing = StepTiming()
        """How the time of their steps divides into phases."""

    def play(self) -> Iterator[list[dict[str, Any]]]:
        """Play all groups; after each step, yield the lines of the groups that have ended."""
        self._env.reset(seed=self._plan.seed)
        self._begin()
        while any(self._playing):
            self._ask()
            self._take(self._env.step(self._actions()))
            yield self._ended()
            self._begin()

    def _blocks(self) -> Iterator[slice]:
        """The blocks of environments, one for each group that is played at the same time."""
        size = self._plan.group_size
        return (slice(first, first + size) for first in range(0, len(self._playing), size))

    def _begin(self) -> None:
        """Begin the next groups in the blocks that are free."""
        begun = np.zeros(len(self._playing), dtype=np.bool_)
        for block in self._blocks():
            if not any(self._playing[block]) and self._waiting:
                self._playing[block] = [_Episode(number) for number in self._waiting.popleft()]
                begun[block] = True
        if not begun.any():
            return
        numbers = [
            one.number if one is not None and new else None for one, new in zip(self._playing, begun, strict=True)
        ]
        observations, info = self._env.reset(
            seed=[None if number is None else self._plan.seed_of(number) for number in numbers],  # type: ignore[arg-type]
            options={
                "task_ids": [None if number is None else self._plan.task_id(number) for number in numbers],
                "reset_mask": begun,
            },
        )
        for index in np.flatnonzero(begun).tolist():
            self._show(index, observations, info)

    def _show(self, index: int, observations: Sequence[str], info: dict[str, Any]) -> None:
        """Store the next observation and info of one environment for the policy."""
        episode = self._playing[index]
        if episode is not None:
            known = {key: _plain(info[key][index]) for key in ("task_id", "turn", "turns_left", "messages")}
            seed = self._plan.seed_of(episode.number)
            episode.observation = observations[index]
            episode.info = known | {"episode": episode.number, "seed": seed}
            episode.action = None

    def _ask(self) -> None:
        """Ask the policy for the actions of all episodes that wait for one."""
        asked = [one for one in self._playing if one is not None and one.row is None and one.action is None]
        if not asked:
            return
        actions = self._policy([one.observation for one in asked], [one.info for one in asked])
        if isinstance(actions, str) or not hasattr(actions, "__len__") or len(actions) != len(asked):
            sized = hasattr(actions, "__len__") and not isinstance(actions, str)
            got = f"{len(actions)} actions" if sized else type(actions).__name__
            raise RolloutError(f"the policy was given {len(asked)} prompts and gave {got}; one for each is expected")
        reasons = self._policy.finish_reasons if isinstance(self._policy, ModelPolicy) else [None] * len(asked)
        for one, action, reason in zip(asked, actions, reasons, strict=True):
            try:
                check_action(action, self._samples)
            except TypeError as error:
                raise RolloutError(f"the policy's answer in episode {one.number}: {error}") from None
            one.action, one.finish_reason = action, reason

    def _actions(self) -> Any:
        """The actions for the environments; None for an environment without an unfinished episode."""
        nothing = None if self._samples == 1 else (None,) * self._samples
        actions = [nothing if one is None or one.row is not None else one.action for one in self._playing]
        return tuple(actions) if self._samples == 1 else tuple(zip(*actions, strict=True))

    def _take(self, step: Any) -> None:
        """Record the result of a step."""
        observations, rewards, terminated, truncated, info = step
        for index, episode in enumerate(self._playing):
            if episode is None or episode.row is not None or info["pending"][index]:
                continue
            self.steps += 1
            ended = bool(terminated[index] or truncated[index])
            part = info.get("final_info", info) if ended else info
            self.timing += part["timing"][index]
            task = self._suite.task(self._plan.task_id(episode.number))
            episode.turns.append(_turn(task, episode, rewards[index], part, index))
            if ended:
                episode.row = {
                    "collection": self._plan.fingerprint,
                    "episode": episode.number,
                    "task_id": self._plan.task_id(episode.number),
                    "seed": self._plan.seed_of(episode.number),
                    "return": sum(turn["reward"] for turn in episode.turns),
                    "passed": bool(part["passed"][index]),
                    "valid": bool(part["valid"][index]),
                    "messages": episode.conversation(),
                    "turns": episode.turns,
                    "model": self._plan.model,
                    **self._judged_by,
                }
            else:
                self._show(index, observations, info)

    def _ended(self) -> list[dict[str, Any]]:
        """Return the lines of the groups that have ended, and free their blocks."""
        rows: list[dict[str, Any]] = []
        for block in self._blocks():
            lines = [None if one is None else one.row for one in self._playing[block]]
            if None not in lines:
                rows += [line for line in lines if line is not None]
                self._playing[block] = [None] * len(lines)
        return rows


def _turn(task: Task, episode: _Episode, reward: Any, info: dict[str, Any], index: int) -> dict[str, Any]:
    terms, action = info["reward_terms"], episode.action
    return {
        "observation": episode.observation,
        "action": action if isinstance(action, str) else list(action),
        "finish_reason": episode.finish_reason,
        "reward": float(reward),
        "reward_terms": {name: float(terms[name][index]) for name in terms if f"_{name}" in terms},
        "programs": [verdict_row(task, verdict) for verdict in info["verdicts"][index]],
    }


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number, and any other value unchanged."""
    return value.item() if isinstance(value, np.generic) else value
