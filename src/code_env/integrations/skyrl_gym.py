"""SkyRL-Gym: `CodeEnv`, an environment for SkyRL's trainer.

SkyRL makes an environment for each trajectory, from a row of its data set, and calls it from a pool of threads. The
protocol is that of https://github.com/NovaSky-AI/SkyRL, `skyrl-gym/skyrl_gym/envs/base_text_env.py`. SkyRL has no word
for a sample without a verdict, so that ends the trajectory by an exception. This module needs the extra `skyrl`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from code_env.checks import require_known, require_whole
from code_env.envs.feedback import feedback
from code_env.errors import TaskError
from code_env.tasks.formats import skyrl
from code_env.tasks.task import Task

from ._common.runs import with_verdict
from ._common.scoring import refuse_groups, score

try:
    from omegaconf import OmegaConf
    from skyrl_gym.envs.base_text_env import (  # type: ignore[import-untyped]
        BaseTextEnv,
        BaseTextEnvStepOutput,
    )
except ImportError as error:
    raise ImportError(
        f"code_env.integrations.skyrl_gym needs SkyRL-Gym: pip install code-exec-env[skyrl] ({error})"
    ) from error

__all__ = ["CodeEnv"]

_SETTINGS = ("rewards", "executor", "limits")


class CodeEnv(BaseTextEnv):  # type: ignore[misc]
    """The task of one row. The policy answers until an answer passes all tests, or until its turns are used up.

    Args:
        env_config: What the trainer's configuration has for this environment: `rewards`, as for `gym.make_vec`;
            `executor`, the name of an executor; and `limits`, which replace the task's own, for example `{"cpu_s": 1}`.
        extras: The row without its prompt: `reward_spec` with the task, and `max_turns`, 1 by default.

    Raises:
        TypeError: If `env_config` has a setting of another name.
        TaskError: If `max_turns` is not a whole number of at least 1.
        RewardError: If a reward compares samples.

    Example:
        >>> from code_env import load_suite
        >>> row = load_suite("starter").to_rows("skyrl")[0]
        >>> env = CodeEnv(extras={"reward_spec": row["reward_spec"], "max_turns": 2})
        >>> prompt, about = env.init(row["prompt"])
        >>> step = env.step("def nothing(): ...")
        >>> step["reward"], step["done"], step["observations"][0]["role"]
        (0.0, False, 'user')
    """

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._extras = dict(extras or {})
        self.max_turns = require_whole("max_turns", self._extras.get("max_turns", 1), TaskError, least=1)
        settings: Any = OmegaConf.to_container(OmegaConf.create(dict(env_config or {})), resolve=True)
        require_known("env_config has no setting", settings, _SETTINGS, TypeError)
        refuse_groups(settings.get("rewards"), "SkyRL scores each sample alone")
        self._settings = settings
        self._task: Task | None = None
        self._metrics: dict[str, float] = {}

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Begin.

        Args:
            prompt: The row's prompt.

        Returns:
            The prompt, and a mapping with `task_id`.

        Raises:
            TaskError: If the row has no task.
        """
        text = json.dumps({"prompt": prompt, "reward_spec": self._extras.get("reward_spec")}, sort_keys=True)
        self._task, self._metrics, self.turns = _task(text), {}, 0
        return prompt, {"task_id": self._task.id}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Judge an answer.

        Args:
            action: What the policy wrote.

        Returns:
            `observations` with the feedback for the next turn, empty at the end; `reward`; `done`; and `metadata` with
            `passed` and the rewards by their names.

        Raises:
            NoVerdict: If the sandbox failed. The failure says nothing about the answer.
            TaskError: If `init` was not called.
            CodeEnvError: If the rewards, the limits or the executor do not exist or do not fit.
        """
        if self._task is None:
            raise TaskError("call init before step")
        (judged,) = score([self._task], [action], **self._settings)
        verdict = with_verdict(judged.verdict)
        self._metrics = judged.metrics
        self.turns += 1
        done = verdict.passed or self.turns >= self.max_turns
        told = [] if done else [{"role": "user", "content": feedback(self._task, verdict)}]
        metadata = {"passed": verdict.passed, "reward_terms": dict(judged.terms)}
        return BaseTextEnvStepOutput(observations=told, reward=judged.reward, done=done, metadata=metadata)

    def get_metrics(self) -> dict[str, float]:
        """Return `passed`, `tests_passed` (the share) and `no_code` of the last answer; nothing before the first."""
        return self._metrics


@functools.lru_cache(maxsize=1024)  # Returns the same task each time, so that one judge can serve its answers.
def _task(text: str) -> Task:
    return skyrl.task_from_row(json.loads(text))
