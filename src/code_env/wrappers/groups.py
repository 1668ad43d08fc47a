"""`GroupPassAtKReward`: pass@k of a group of samples, one from each of several consecutive environments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorWrapper

from code_env.checks import require_choice, require_whole
from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.errors import RewardError
from code_env.rewards.at_k_training import pass_at_k_rewards
from code_env.rewards.pass_at_k import pass_at_k

from .entries import checked_weight
from .ledger import Recorded, StepOfOne, StepVectorWrapper, reward_is_changed, steps_of_each, write_ledger, write_others

Credit = Literal["group", "sample"]
"""The reward of each sample of a group: pass@k of the group, or the sample's own reward in training for pass@k."""


class GroupPassAtKReward(StepVectorWrapper, Recorded):
    """Adds pass@k of groups of samples for one task, one sample from each of `group_size` consecutive environments.

    The environments of a group must have the same task: reset them with the same seed, or with
    `options={"task_ids": [...]}`. Samples without a verdict are left out and get 0.0. If only n samples have a
    verdict and n is below k, the reward is pass@n.

    Args:
        env: The vector env to wrap, with one turn, one sample a step, and no deadline.
        k: The number k in pass@k: at least one of k samples should pass.
        group_size: The number of environments in a group. It must divide the number of all environments.
        weight: The factor that the value is multiplied by.
        name: The name of this reward in the ledger; by default `group_pass@` and the number `k`.
        credit: `group`: each sample gets pass@k of its group. `sample`: each gets its own reward in training for
            pass@k (see `pass_at_k_rewards`), multiplied by the number of samples with a verdict, because trainers take
            the mean over samples.

    Raises:
        RewardError: If the numbers do not fit together, or the env is of the wrong kind.
        DuplicateRewardTerm: If the env already has a reward of that name.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make_vec("code_env:CodeExec-v0", num_envs=2, rewards={})
        >>> env = GroupPassAtKReward(env, k=1, group_size=2)
        >>> _, info = env.reset(seed=[7, 7])
        >>> reference = env.unwrapped.suite.task(info["task_id"][0]).reference
        >>> env.step((reference, "no"))[1]
        array([0.5, 0.5])
        >>> env.close()
    """

    key = "group_pass@k"

    def __init__(
        self,
        env: Any,
        k: int = 1,
        group_size: int = 2,
        weight: float = 1.0,
        name: str | None = None,
        credit: Credit = "group",
    ) -> None:
        RecordConstructorArgs.__init__(self, k=k, group_size=group_size, weight=weight, name=name, credit=credit)
        require_whole("k", k, RewardError, least=1)
        name = f"group_pass@{k}" if name is None else name
        rules, _ = self._checked(env, CodeExecVectorEnv, name)
        if rules.samples_per_step > 1:
            raise RewardError("a group takes one sample from each environment; with samples_per_step use PassAtKReward")
        if rules.max_turns > 1:
            raise RewardError("a group is compared after one turn, and episodes with more end at different times")
        if type(group_size) is not int or group_size < k or env.num_envs % group_size:
            raise RewardError(
                f"group_size must be a whole number of at least k={k} that divides num_envs={env.num_envs}; "
                f"got {group_size!r}"
            )
        if env.unwrapped.deadline_s is not None:
            raise RewardError("a group is judged as a whole, so a step must wait for all: leave deadline_s out")
        require_choice("credit", credit, get_args(Credit), RewardError)
        VectorWrapper.__init__(self, env)
        self._is_changed = reward_is_changed(env)
        self._k, self._group_size, self._credit = k, group_size, credit
        self._weight = checked_weight(name, weight)

    def step(self, actions: Any) -> Any:
        """Step, and add the reward of its group to the reward of each environment.

        Raises:
            RewardError: If the environments of a group have different tasks. In this case nothing is run.
        """
        self._check_tasks(actions)
        return super().step(actions)

    def step_async(self, actions: Any) -> None:
        """Begin a step.

        Raises:
            RewardError: If the environments of a group have different tasks. In this case nothing is run.
        """
        self._check_tasks(actions)
        super().step_async(actions)

    def step_wait(self, deadline_s: float | None = None) -> Any:
        """End a step.

        Raises:
            RewardError: If there is a deadline. The step has then not ended; call `step_wait` again to end it.
        """
        if deadline_s is not None:
            raise RewardError(
                f"a group is judged as a whole, so a step must wait for all; got deadline_s={deadline_s!r}"
            )
        return super().step_wait()

    def after(self, step: Any) -> Any:
        """Return the step, with the reward of its group added to the reward of each environment."""
        observations, rewards, terminated, truncated, info = step
        steps = steps_of_each(info, terminated | truncated)
        write_others(self.unwrapped, steps, rewards, self._is_changed)
        values = np.zeros(self.num_envs)
        for first in range(0, self.num_envs, self._group_size):
            group = steps[first : first + self._group_size]
            values[first : first + self._group_size] = list(self._values(group))
        write_ledger(self.unwrapped, steps, self.reward_name, values, self._weight * values)
        return observations, rewards + self._weight * values, terminated, truncated, info

    def _check_tasks(self, actions: Any) -> None:
        task_ids = self.unwrapped.task_ids  # type: ignore[attr-defined]
        for first in range(0, self.num_envs, self._group_size):
            group = slice(first, first + self._group_size)
            is_left_alone = isinstance(actions, tuple | list) and all(action is None for action in actions[group])
            tasks = sorted({repr(task_id) for task_id in task_ids[group]})
            if len(tasks) > 1 and not is_left_alone:
                raise RewardError(
                    f"environments {first} to {group.stop - 1} are a group and have different tasks "
                    f"({', '.join(tasks)}): reset them with the same seed, or choose with task_ids"
                )

    def _values(self, group: list[StepOfOne]) -> Iterator[float]:
        passed = [None if one.pending or not one.verdicts else one.verdicts[0].passed for one in group]
        judged = [one for one in passed if one is not None]
        if self._credit == "sample" and judged:
            rewards = pass_at_k_rewards(passed, self._k)
            yield from (0.0 if reward is None else len(judged) * reward for reward in rewards)
        else:
            value = pass_at_k(len(judged), sum(judged), min(self._k, len(judged))) if judged else 0.0
            yield from (0.0 if one is None else value for one in passed)
