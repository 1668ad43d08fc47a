"""`HarborEnv`: a Gymnasium environment over tasks in Harbor's folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import gymnasium as gym
from gymnasium.error import ResetNeeded

from code_env.checks import require_number, require_whole
from code_env.envs.code_text import CodeText
from code_env.errors import ExecutorError, TaskError, TaskNotFound
from code_env.harness.wire.shown import ends
from code_env.images import prepare_images
from code_env.tasks.formats.harbor import read_folders

from .scoring import TrialOutcome
from .trial import WRITABLE_BYTES, Trial

SUBMIT = "submit"
"""The action that submits the work on a stage."""

_MAX_CHARS = 1_000_000
_SHOWN_CHARS = 8_000
"""How much of a command's output the policy sees: this many characters of its beginning, and of its end."""


class HarborEnv(gym.Env[str, str]):
    """A Gymnasium environment whose action is a shell command in the box of a task, or `submit`.

    `gym.make("CodeHarbor-v0", folder=...)` builds it. The first observation is the instruction. After a command it is
    the exit code and the output. `submit` scores the stage; then the observation is the instruction of the next one, if
    there is one. The reward is 0 until the last stage is scored, and then that of the task. When the last turn is used
    up, all stages that are left are submitted as they are.

    `info` has the `task_id`, the `stage`, the `turn`, and after a stage was scored its `outcome`. An episode without a
    verdict, or whose box has failed, is truncated with the reward 0, and `info["valid"]` is False; leave it out of
    training.

    Args:
        folder: The folder of a task, or of such folders. Their images are prepared if they are not there.
        max_turns: How many actions an episode may have.
        command_s: How long one command may run, in seconds; by default as long as the task gives the agent.
        order: `random` draws a task for each episode; `sequential` takes one after the other.
        variables: The values of variables that the tasks name as `${NAME}`.
        writable_bytes: See `Trial`.
        tripwire: See `Trial`.

    Raises:
        TaskError: If a folder cannot be read.
        ImageError: If an image cannot be made.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        folder: str | Path,
        *,
        max_turns: int = 30,
        command_s: float | None = None,
        order: Literal["random", "sequential"] = "random",
        variables: Mapping[str, str] = MappingProxyType({}),
        writable_bytes: int = WRITABLE_BYTES,
        tripwire: bool = True,
    ) -> None:
        require_whole("max_turns", max_turns, TaskError, least=1)
        if command_s is not None:
            require_number("command_s", command_s, TaskError, above=0)
        if order not in ("random", "sequential"):
            raise TaskError(f"order must be 'random' or 'sequential'; got {order!r}")
        self.tasks = read_folders(folder, variables)
        """The tasks, in order of their folders."""
        prepare_images(image for task in self.tasks for image in task.images)
        self.observation_space, self.action_space = CodeText(_MAX_CHARS), CodeText(_MAX_CHARS)
        self._max_turns, self._command_s, self._order = max_turns, command_s, order
        self._writable_bytes, self._tripwire = writable_bytes, tripwire
        self._trial: Trial | None = None
        self._next = self._turn = 0

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode, and return the instruction.

        Args:
            seed: Seeds the draw of tasks.
            options: `task_id` names a task.

        Raises:
            TaskNotFound: If there is no such task.
            ExecutorError: If the kernel does not grant what a box needs.
        """
        super().reset(seed=seed)
        self._end()
        wanted = (options or {}).get("task_id")
        if wanted is not None:
            found = [task for task in self.tasks if task.name == wanted]
            if not found:
                raise TaskNotFound(f"no task {wanted!r}; there are {', '.join(task.name for task in self.tasks)}")
            task = found[0]
        elif self._order == "random":
            task = self.tasks[int(self.np_random.integers(len(self.tasks)))]
        else:
            task = self.tasks[self._next % len(self.tasks)]
            self._next += 1
        self._trial, self._turn = Trial(task, writable_bytes=self._writable_bytes, tripwire=self._tripwire), 0
        return self._trial.stage.instruction, self._info(self._trial)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run a command, or submit the work.

        Raises:
            TypeError: If the action is not text.
            ResetNeeded: If no episode has begun, or the last one is over.
        """
        if not isinstance(action, str):
            raise TypeError(f"an action is text; got {type(action).__name__}")
        trial = self._trial
        if trial is None or trial.is_over:
            raise ResetNeeded("no episode is open; call reset() first")
        self._turn += 1
        outcome: TrialOutcome | None = None
        try:
            if action.strip() == SUBMIT:
                score = trial.submit()
                outcome, told = score.outcome, ends(score.message or f"reward {score.reward}", _SHOWN_CHARS)
                observation = told if trial.is_over else trial.stage.instruction
            else:
                ran = trial.run(action, self._command_s)
                code = f"exit code {ran.code}" if ran.limit is None else f"ended by its limit of {ran.limit_word}"
                observation = f"{code}\n{ends(ran.output, _SHOWN_CHARS)}"
            while self._turn >= self._max_turns and not trial.is_over:
                outcome = trial.submit().outcome
        except ExecutorError as error:
            # Not the agent's fault, or nothing that can be told from one of this machine.
            info = self._info(trial) | {"valid": False, "outcome": TrialOutcome.NO_VERDICT.value}
            self._end()
            return str(error), 0.0, False, True, info
        valid = not trial.is_over or trial.reward is not None
        info = self._info(trial) | {"valid": valid} | ({} if outcome is None else {"outcome": outcome.value})
        reward = (trial.reward or 0.0) if trial.is_over else 0.0
        return observation, reward, trial.is_over and valid, not valid, info

    def close(self) -> None:
        """End the box."""
        self._end()

    def _end(self) -> None:
        if self._trial is not None:
            self._trial.close()
            self._trial = None

    def _info(self, trial: Trial) -> dict[str, Any]:
        stage = "" if trial.is_over else trial.stage.name
        return {"task_id": trial.task.name, "stage": stage, "turn": self._turn}
