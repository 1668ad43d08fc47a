"""Stable-Baselines3: the native vector environment as a `VecEnv`, and a callback that logs verdicts.

Single environments do not need this module: in an encoding (`code_env.wrappers.TokenActions` and others) they work in
`DummyVecEnv` and `SubprocVecEnv` without changes. This module needs the extra `sb3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from code_env.envs.infos import info_of_one, infos_of_all
from code_env.envs.metrics import MetricsMean
from code_env.errors import EncodingError

try:
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn
except ImportError as error:
    raise ImportError(
        f"code_env.integrations.sb3 needs Stable-Baselines3: pip install code-exec-env[sb3] ({error})"
    ) from error

__all__ = ["CodeVecEnv", "VerdictCallback"]


class CodeVecEnv(VecEnv):
    """A Gymnasium vector environment of this package as a `VecEnv` of Stable-Baselines3.

    All programs of a step run at the same time on one executor. This costs less than one executor for each environment,
    as with `SubprocVecEnv`. An episode without a verdict ends as truncated (`TimeLimit.truncated`). So
    Stable-Baselines3 estimates its value, and the policy does not learn from a failure of the sandbox.

    Args:
        env: A `CodeExecVectorEnv`, wrapped in rewards and encodings: `code_env.wrappers.vector.TokenActions(...)` or
            others.

    Raises:
        EncodingError: If an action or an observation is text, if a new episode does not begin in the same step, or if a
            step has a deadline, because then an environment that waits for a verdict ignores actions.

    Example:
        >>> import code_env
        >>> from code_env.wrappers import vector
        >>> env = gym.make_vec("CodeExec-v0", num_envs=4, suite="functions", cache_size=1000)
        >>> env = CodeVecEnv(vector.TokenActions(env, "functions", observe_prompt=False))
        >>> env.reset().shape
        (4, 32)
        >>> env.close()
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        if env.metadata.get("autoreset_mode") is not AutoresetMode.SAME_STEP:
            raise EncodingError(f"an environment that begins anew in the same step is expected (SAME_STEP); got {env}")
        if getattr(env.unwrapped, "deadline_s", None) is not None:
            raise EncodingError(
                "with a deadline, what is sent to an environment that waits for a verdict is ignored, and a policy "
                "would learn from it; leave deadline_s out"
            )
        for what, space in (("actions", env.single_action_space), ("observations", env.single_observation_space)):
            inner = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
            if any(isinstance(one, spaces.Text | spaces.Tuple) for one in inner):
                raise EncodingError(
                    f"the {what} are text ({space}), and Stable-Baselines3 takes numbers; wrap the environment in an "
                    "encoding of code_env.wrappers.vector first: EncodedObservation, then TokenActions or another"
                )
        self.env = env
        """The environment."""
        self._actions: Any = None
        self.render_mode = env.render_mode
        self.metadata = env.metadata
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> VecEnvObs:
        """Begin an episode in each environment, with the seeds and options that were set."""
        seeds = list(self._seeds) if any(seed is not None for seed in self._seeds) else None
        # A list holds one seed for each environment.
        observations, infos = self.env.reset(seed=seeds, options=self._common_options())  # type: ignore[arg-type]
        self.reset_infos = infos_of_all(infos, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return observations  # type: ignore[no-any-return]

    def step_async(self, actions: Any) -> None:
        """Store the actions for the next `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step with the stored actions."""
        observations, rewards, terminated, truncated, info = self.env.step(self._actions)
        dones = terminated | truncated
        others = {key: value for key, value in info.items() if not key.lstrip("_").startswith("final_")}
        infos = infos_of_all(others, self.num_envs)
        for index, one in enumerate(infos):
            one["TimeLimit.truncated"] = False
            if dones[index]:
                self.reset_infos[index] = info_of_one(others, index)
                # Outer wrappers write what they add about an ended episode outside of `final_info`.
                one |= info_of_one(info["final_info"], index)
                one["terminal_observation"] = info["final_obs"][index]
                one["TimeLimit.truncated"] = bool(truncated[index] and not terminated[index])
        return observations, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def get_images(self) -> Sequence[Any]:
        """Return None for each environment, because a program has no image."""
        return [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the vector environment, repeated for each environment.

        Raises:
            AttributeError: If there is no attribute of this name.
        """
        value = _attribute(self.env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse to set an attribute, because all environments are one object.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"{attr_name!r} cannot be set for some of the environments: they are one, {self.env}")

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment that returns a value for each environment, as `action_masks` does.

        Raises:
            AttributeError: If there is no method of this name.
        """
        values = _attribute(self.env, method_name)(*method_args, **method_kwargs)
        return [values[index] for index in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return False for each environment, because wrappers of single environments are not used."""
        return [False for _ in self._get_indices(indices)]

    def _common_options(self) -> dict[str, Any] | None:
        """Combine the options of all environments to the options of the vector environment."""
        each = [options or {} for options in self._options]
        if not any(each):
            return None
        if any(set(options) != {"task_id"} for options in each):
            raise EncodingError(f"options are {{'task_id': ...}} for every environment, or for none; got {each}")
        return {"task_ids": [options["task_id"] for options in each]}


def _attribute(env: Any, name: str) -> Any:
    while not hasattr(env, name) and hasattr(env, "env"):
        env = env.env
    return getattr(env, name)


_COUNT = "code/programs"


class VerdictCallback(BaseCallback):
    """Logs statistics of the programs since the last log, to TensorBoard and to all other outputs of the logger.

    `code/programs` is the number of programs since training began. The rest is what `code_env.metrics` returns, with
    `code/` in front of each key: `code/passed`, `code/reward/<name>`, `code/status/<status>` and so on. A value is NaN
    if nothing is known. `code/best` and `code/last` are programs as text, only on TensorBoard.

    Args:
        verbose: As for every callback of Stable-Baselines3.

    Example:
        >>> from sb3_contrib import MaskablePPO
        >>> import code_env
        >>> from code_env.wrappers import vector
        >>> env = gym.make_vec("CodeExec-v0", num_envs=4, suite="functions", cache_size=1000)
        >>> env = CodeVecEnv(vector.TokenActions(env, "functions", observe_prompt=False))
        >>> model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, device="cpu")
        >>> callback = VerdictCallback()
        >>> _ = model.learn(64, callback=callback)
        >>> callback.programs > 0
        True
        >>> env.close()
    """

    def __init__(self, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.programs = 0
        """The number of programs since training began, with or without a verdict."""
        self._recent: list[tuple[float, dict[str, Any]]] = []
        self._recorded = 0

    def _on_step(self) -> bool:
        for reward, info in zip(self.locals["rewards"], self.locals["infos"], strict=True):
            if not info.get("pending") and info.get("verdicts"):
                self._recent.append((float(reward), info))
                self.programs += len(info["verdicts"])
        return True

    def _on_rollout_end(self) -> None:
        # Recorded values stay in the logger until it writes them, which can be many rollouts later.
        if _COUNT not in self.logger.name_to_value:
            del self._recent[: self._recorded]
        recent, self._recorded = self._recent, len(self._recent)
        if not recent:
            return
        self.logger.record(_COUNT, self.programs)
        mean = MetricsMean()
        for _, info in recent:
            mean.add(info)
        for key, value in mean.values().items():
            self.logger.record(f"code/{key}", value)
        best = max(recent, key=lambda one: one[0])[1]["verdicts"][0]
        last = recent[-1][1]["verdicts"][-1]
        for name, verdict in (("best", best), ("last", last)):
            # TensorBoard renders text as Markdown. Lines that begin with four spaces are shown unchanged.
            text = "".join(f"    {line}\n" for line in verdict.code.splitlines())
            self.logger.record(f"code/{name}", text, exclude=("stdout", "log", "json", "csv"))
