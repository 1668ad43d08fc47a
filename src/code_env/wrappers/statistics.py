"""`RecordPassAtK`: records pass@k over the last episodes, as `RecordEpisodeStatistics` records returns."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorWrapper

from code_env.checks import require_whole
from code_env.envs.code_exec import CodeExecEnv
from code_env.errors import RewardError
from code_env.rewards.pass_at_k import PassAtK, mean_pass_at_k

from .ledger import StepVectorWrapper, steps_of_each, vector_twin

STATS_KEY = "pass_at_k"
"""The key of pass@k in an info."""


class PassAtKWindow:
    """pass@k over the last episodes.

    Args:
        k: One number or several numbers.
        buffer_length: How many episodes are kept.

    Raises:
        RewardError: If an argument is out of range.
    """

    def __init__(self, k: int | Sequence[int], buffer_length: int) -> None:
        if not isinstance(k, int | Sequence) or isinstance(k, str):
            raise RewardError(f"k is a whole number of at least 1, or a list of such; got {k!r}")
        ks = [k] if isinstance(k, int) else list(k)
        self.ks = [require_whole("k", one, RewardError, least=1) for one in ks]
        if not self.ks or type(buffer_length) is not int or buffer_length < 1:
            raise RewardError(f"k and buffer_length must be at least 1; got {k!r} and {buffer_length!r}")
        self._episodes: deque[tuple[str, int, int, int]] = deque(maxlen=buffer_length)

    def add(self, task_id: str, judged: int, passed: int, missing: int) -> None:
        """Add an episode: how many samples have a verdict, how many passed, and how many have no verdict."""
        self._episodes.append((task_id, judged, passed, missing))

    def estimate(self, k: int) -> PassAtK | None:
        """Return pass@k over the tasks, with the samples of a task taken together; None if no task has k samples."""
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for task_id, *numbers in self._episodes:
            counts[task_id] = [total + number for total, number in zip(counts[task_id], numbers, strict=True)]
        return mean_pass_at_k([(n, c, missing) for n, c, missing in counts.values()], k)

    def values(self) -> dict[str, float]:
        """Return each pass@k by its name; NaN if no task has k samples."""
        estimates = {k: self.estimate(k) for k in self.ks}
        return {f"pass@{k}": float("nan") if one is None else one.value for k, one in estimates.items()}


class RecordPassAtK(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Records pass@k over the last episodes; at the end of an episode, `info["pass_at_k"]` contains it.

    Samples of the same task are taken together, whether they came in one step or in several episodes. Samples without
    a verdict are left out and counted.

    Args:
        env: The env to wrap.
        k: One number or several numbers.
        buffer_length: How many episodes are kept.

    Raises:
        RewardError: If a number is out of range.

    Example:
        >>> env = RecordPassAtK(gym.make("code_env:CodeExec-v0", samples_per_step=2), k=[1, 2])
        >>> _, info = env.reset(seed=0, options={"task_id": "starter/xor-seal"})
        >>> _, _, _, _, info = env.step((env.unwrapped.suite.task("starter/xor-seal").reference, "no"))
        >>> info["pass_at_k"]
        {'pass@1': 0.5, 'pass@2': 1.0}
        >>> env.window.estimate(1).tasks
        1
        >>> env.close()
    """

    window: PassAtKWindow
    """The episodes, and estimates from them with their standard errors."""

    def __init__(self, env: gym.Env[Any, Any], k: int | Sequence[int] = 1, buffer_length: int = 100) -> None:
        RecordConstructorArgs.__init__(self, k=k, buffer_length=buffer_length)
        if not isinstance(env.unwrapped, CodeExecEnv):
            raise RewardError(f"RecordPassAtK wraps a CodeExecEnv, or its twin in wrappers.vector many; got {env}")
        gym.Wrapper.__init__(self, env)
        self.window = PassAtKWindow(k, buffer_length)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and add pass@k to the info at the end of an episode."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            verdicts = info["verdicts"]
            judged = [verdict for verdict in verdicts if verdict.valid]
            passed = sum(verdict.passed for verdict in judged)
            self.window.add(info["task_id"], len(judged), passed, len(verdicts) - len(judged))
            info[STATS_KEY] = self.window.values()
        return observation, reward, terminated, truncated, info


@vector_twin
class VectorRecordPassAtK(StepVectorWrapper):
    """As `RecordPassAtK`, over the last episodes of all environments together.

    As in Gymnasium's vector wrappers, `info["pass_at_k"]` contains an array for each name. The mask
    `info["_pass_at_k"]` is True for the environments whose episode has ended.
    """

    window: PassAtKWindow
    """The episodes, and estimates from them with their standard errors."""

    def __init__(self, env: Any, k: int | Sequence[int] = 1, buffer_length: int = 100) -> None:
        VectorWrapper.__init__(self, env)
        self.window = PassAtKWindow(k, buffer_length)

    def after(self, step: Any) -> Any:
        """Return the step, with pass@k in its info if episodes have ended."""
        observations, rewards, terminated, truncated, info = step
        ended = terminated | truncated
        for one in steps_of_each(info, ended):
            if one.ended:
                samples, judged = len(one.info["verdicts"][one.index]), one.verdicts
                passed = sum(verdict.passed for verdict in judged)
                self.window.add(one.info["task_id"][one.index], len(judged), passed, samples - len(judged))
        if ended.any():
            info[STATS_KEY] = {name: np.where(ended, value, 0.0) for name, value in self.window.values().items()}
            info[f"_{STATS_KEY}"] = ended
        return observations, rewards, terminated, truncated, info
