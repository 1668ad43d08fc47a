"""Wrappers that watch a run: `RecordPassAtK` keeps pass@k over the last episodes, `RecordMetrics` logs metrics."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorWrapper

from code_env.checks import require_whole
from code_env.envs.code_exec import CodeExecEnv
from code_env.envs.metrics import MetricsMean
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
            verdicts = info.get("verdicts", ())  # Missing if the episode was cut off in the middle of an answer.
            judged = [verdict for verdict in verdicts if verdict.valid]
            passed = sum(verdict.passed for verdict in judged)
            if verdicts:
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


class MetricsWindow:
    """The metrics of the steps since they were logged last.

    Args:
        log: See `RecordMetrics`.
        every: See `RecordMetrics`.

    Raises:
        RewardError: If an argument is of the wrong kind.
    """

    def __init__(self, log: Callable[[dict[str, float], int], object], every: int) -> None:
        if not callable(log):
            raise RewardError(f"log must be a function of metrics and a number of steps; got {type(log).__name__}")
        self._log, self._every = log, require_whole("every", every, RewardError, least=1)
        self._steps, self._mean = 0, MetricsMean()

    def add(self, info: dict[str, Any]) -> None:
        """Add a step, and log if it is time."""
        self._steps += 1
        self._mean.add(info)
        if self._steps % self._every == 0:
            self.flush()

    def flush(self) -> None:
        """Log what was not logged yet, if there is an answer among it."""
        if self._mean.answers:
            mean, self._mean = self._mean, MetricsMean()
            self._log(mean.values(), self._steps)


class RecordMetrics(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Logs the metrics of each step, or their means over several steps, to a tracker of experiments.

    It logs what `code_env.metrics` returns. A mean is over all answers since the last time. If no verdict came in these
    steps, nothing is logged until one comes. `close()` logs the steps that are left, so close the env before the
    tracker. Put the wrapper around the reward wrappers.

    Args:
        env: The env to wrap.
        log: A function of the metrics and of the number of steps so far, such as those of
            `code_env.integrations.trackers`.
        every: After how many steps the metrics are logged.

    Raises:
        RewardError: If an argument is of the wrong kind, or out of range.

    Example:
        >>> env = gym.make("code_env:CodeExec-v0", suite="starter")
        >>> env = RecordMetrics(env, lambda metrics, step: print(step, metrics["passed"]), every=2)
        >>> for answer in ("no", env.unwrapped.suite.task("starter/xor-seal").reference):
        ...     _, info = env.reset(options={"task_id": "starter/xor-seal"})
        ...     _ = env.step(answer)
        2 0.5
        >>> env.close()
    """

    def __init__(self, env: gym.Env[Any, Any], log: Callable[[dict[str, float], int], object], every: int = 1) -> None:
        # A client of a tracker cannot be copied.
        RecordConstructorArgs.__init__(self, log=log, every=every, _disable_deepcopy=True)
        if not isinstance(env.unwrapped, CodeExecEnv):
            raise RewardError(f"RecordMetrics wraps a CodeExecEnv, or its twin in wrappers.vector many; got {env}")
        gym.Wrapper.__init__(self, env)
        self._window = MetricsWindow(log, every)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and log the metrics if it is time."""
        step = self.env.step(action)
        self._window.add(step[4])
        return step

    def close(self) -> None:
        """Close the env, and log the steps that are left."""
        super().close()
        self._window.flush()


@vector_twin
class VectorRecordMetrics(StepVectorWrapper):
    """As `RecordMetrics`, for vector environments: one step is a step of all environments."""

    def __init__(self, env: Any, log: Callable[[dict[str, float], int], object], every: int = 1) -> None:
        VectorWrapper.__init__(self, env)
        self._window = MetricsWindow(log, every)

    def after(self, step: Any) -> Any:
        """Return the step, after its metrics are logged if it is time."""
        self._window.add(step[4])
        return step

    def close(self, **kwargs: Any) -> None:
        """Close the environments, and log the steps that are left."""
        super().close(**kwargs)
        self._window.flush()
