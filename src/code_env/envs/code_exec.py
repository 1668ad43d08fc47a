"""`CodeExecEnv`: the observation is a prompt, the action is a program, and the outcome is a verdict.

The env draws a task, gives the answer to the judge and reports the verdict. The env's own reward is always 0.0; reward
wrappers compute rewards from `info["verdicts"]` (see `code_env.wrappers`). The answer runs once per step, for any
number of wrappers.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Unpack

import gymnasium as gym

from code_env.executors.base import Executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.tasks.loading import SuiteSource, load_suite

from .episodes import Episodes
from .options import chosen_task
from .rules import EpisodeOptions, EpisodeRules, OwnJudging, check_render_mode, rules_of


class CodeExecEnv(gym.Env[str, Any]):
    """A Gymnasium environment whose action is a program.

    `gym.make("CodeExec-v0", rewards={...}, ...)` takes the same arguments and builds this env with reward wrappers
    around it; this class is the env without wrappers. `docs/environment.md` lists what `info` holds.

    `terminated` is True when the task is solved or all turns are used. `truncated` is True only when there is no
    verdict, which is never the program's fault (`info["valid"]` is then False).

    Args:
        suite: Name of a suite, path of a file of tasks, a `TaskSuite`, or a list or a `datasets.Dataset` of tasks or
            rows. With any of these but a name or a path, `env.spec` cannot be written as JSON.
        executor: Name of an executor, or an `Executor`, which the caller must close. With an `Executor`, `env.spec`
            cannot be written as JSON.
        executor_kwargs: Arguments for the executor that is built by name; plain data.
        format: Format of the file of tasks; None to detect it.
        render_mode: With `ansi`, `render` returns text; with `human`, `render` and also each reset and step print the
            text. None for no rendering.
        **options: Options of the episodes, such as `max_turns` and `limits`; docs/environment.md lists them.

    Raises:
        SuiteNotFound, ExecutorNotFound: If there is no such suite or executor.
        TaskError: If a task is malformed or an argument out of range.
        TypeError: If an option is unknown.

    Example:
        >>> env = CodeExecEnv("starter", order="sequential")
        >>> prompt, info = env.reset(seed=0)
        >>> task = env.suite.task(info["task_id"])
        >>> _, reward, terminated, truncated, info = env.step(task.reference)
        >>> reward, terminated, truncated, info["passed"]
        (0.0, True, False, True)
        >>> env.close()
    """

    metadata = {"render_modes": ["human", "ansi"], "render_fps": 1}

    _rules_kind: type[EpisodeRules] = EpisodeRules

    def __init__(
        self,
        suite: SuiteSource = "starter",
        executor: str | Executor = DEFAULT_EXECUTOR,
        *,
        executor_kwargs: Mapping[str, Any] | None = None,
        format: str | None = None,
        render_mode: str | None = None,
        **options: Unpack[EpisodeOptions],
    ) -> None:
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.rules = rules_of(type(self), load_suite(suite, format), options, self._rules_kind)
        self.suite = self.rules.suite
        self._judging = OwnJudging(executor, executor_kwargs, self.rules)
        self.executor = self._judging.executor
        self._episodes = self._new_episodes()
        self.render_mode = render_mode
        self.observation_space = self.rules.observation_space
        self.action_space = self.rules.action_space

    def __str__(self) -> str:
        spec = "" if self.spec is None else f"{self.spec.id}, "
        return f"<{type(self).__name__}<{spec}suite={self.suite.name!r}, executor={type(self.executor).__name__}>>"

    __repr__ = __str__  # As Gymnasium's wrappers have it.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode with the next task.

        Args:
            seed: Restarts the order of tasks; the same seed gives the same tasks.
            options: `{"task_id": ...}` chooses this task instead of the next one.

        Raises:
            ExecutorClosed: If the env was closed, and its executor with it.
            TaskNotFound: If the suite has no such task.
            TaskError: If an option is unknown.
        """
        self._judging.require_open()
        start = self._start(options or {})
        super().reset(seed=seed)
        if seed is not None:
            self._episodes.restart_order()
        begun = self._episodes.begin(self.np_random, start)
        self._print()
        return begun

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Judge an answer, or a tuple of `samples_per_step` answers.

        Raises:
            ResetNeeded: If the episode is over.
            TypeError: If the action is not text, or not a tuple of `samples_per_step` texts.
        """
        episodes = self._episodes
        episodes.start(self._judging.submit(episodes.answers(action, self.np_random)))
        try:
            episodes.wait()
            outcome = episodes.conclude()
        finally:
            episodes.abandon()
        self._print()
        return outcome.observation, 0.0, outcome.terminated, outcome.truncated, outcome.info

    def render(self) -> str | None:
        """The last step as text: prompt, program, result and reward ledger; before the first step, only the prompt.

        In the mode `human` the text is printed, and None is returned. The text that a step prints has no ledger yet,
        because reward wrappers write the ledger after this env's step has ended.
        """
        if self.render_mode is None:
            gym.logger.warn('render() needs a render mode: gym.make(..., render_mode="human")')
            return None
        if self.render_mode == "human":
            self._print()
            return None
        return self._episodes.render()

    def _new_episodes(self) -> Episodes:
        return Episodes(self.rules, self._judging.isolation)

    def _start(self, options: Mapping[str, Any]) -> Any:
        """The checked choice of where an episode begins, as `Episodes.begin` takes it."""
        return chosen_task(self.suite, options)

    def _print(self) -> None:
        """Print the last step, if the render mode is `human`."""
        if self.render_mode == "human":
            sys.stdout.write(f"{self._episodes.render()}\n")

    def close(self) -> None:
        """Close the executor, if this env made it. May be called several times."""
        self._judging.close()
