"""`CodeExecVectorEnv`: many `CodeExecEnv`s as one; one executor runs all programs of a step at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Unpack

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from code_env.checks import require_whole
from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.executors.registry import DEFAULT_EXECUTOR
from code_env.tasks.loading import SuiteSource, load_suite
from code_env.tasks.task import Task

from .code_exec import CodeExecEnv
from .episodes import Episodes, Outcome, check_action
from .infos import batch_infos
from .options import chosen_tasks, reset_mask
from .rules import EpisodeOptions, EpisodeRules, OwnJudging, check_render_mode, rules_of

MAX_ENVS = 1024
"""The largest number of environments in a vector environment."""

_Flags = npt.NDArray[np.bool_]
_Step = tuple[tuple[str, ...], npt.NDArray[np.float64], _Flags, _Flags, dict[str, Any]]


class CodeExecVectorEnv(VectorEnv[tuple[str, ...], Any, npt.NDArray[Any]]):
    """Many environments that behave like `CodeExecEnv` and are stepped together.

    `gym.make_vec("CodeExec-v0", num_envs=64, rewards={...}, ...)` builds it with reward wrappers around it. An
    environment whose episode has ended begins the next episode in the same step (`AutoresetMode.SAME_STEP`); the last
    observation and info of the ended episode are in `info["final_obs"]` and `info["final_info"]`. With
    `AutoresetMode.DISABLED` the episode stays ended until a reset whose `reset_mask` includes the environment. With the
    same seeds and actions, the results are those of `gymnasium.vector.SyncVectorEnv` over single environments in the
    same mode.

    With a deadline, a step returns at the latest when the deadline has passed. An environment whose answer is not
    judged by then returns its last observation, reward 0.0, both flags False and `info["pending"]` True. Its actions
    are ignored until the step that returns its verdict. Later steps do not wait for this environment, unless there is
    no other environment to wait for.

    Args:
        num_envs: The number of environments, at most 1,024.
        suite: See `CodeExecEnv`.
        executor: See `CodeExecEnv`; all environments share it.
        executor_kwargs: See `CodeExecEnv`.
        format: See `CodeExecEnv`.
        render_mode: None or `ansi`; see `CodeExecEnv`.
        deadline_s: The longest time that a step may take, in seconds; None to wait for all verdicts.
        autoreset_mode: When an environment begins its next episode: `AutoresetMode.SAME_STEP` or
            `AutoresetMode.DISABLED`, or the texts `"SameStep"` or `"Disabled"`.
        **options: Options of the episodes; see `CodeExecEnv`. Each environment has its own order of tasks, and all
            share one cache. With `samples_per_step=n`, actions are n tuples with one text per environment, as Gymnasium
            batches tuples.

    Raises:
        SuiteNotFound, ExecutorNotFound: If there is no such suite or executor.
        TaskError: If a task is malformed or an argument out of range.
        TypeError: If an option is unknown.

    Example:
        >>> env = CodeExecVectorEnv(2, "starter", order="sequential")
        >>> prompts, info = env.reset(seed=0)
        >>> solution = env.suite.task(info["task_id"][0]).reference
        >>> _, _, terminated, _, info = env.step((solution, "print('no')"))
        >>> terminated, info["final_info"]["passed"]
        (array([ True,  True]), array([ True, False]))
        >>> env.close()
    """

    _rules_kind: type[EpisodeRules] = EpisodeRules

    def __init__(
        self,
        num_envs: int = 1,
        suite: SuiteSource = "starter",
        executor: str | Executor = DEFAULT_EXECUTOR,
        *,
        executor_kwargs: Mapping[str, Any] | None = None,
        format: str | None = None,
        render_mode: str | None = None,
        deadline_s: float | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        **options: Unpack[EpisodeOptions],
    ) -> None:
        require_whole("num_envs", num_envs, TaskError, least=1, most=MAX_ENVS)
        check_render_mode(render_mode, ["ansi"])
        self._autoreset = _checked_autoreset(autoreset_mode)
        self.rules = rules_of(type(self), load_suite(suite, format), options, self._rules_kind)
        self.suite = self.rules.suite
        self.deadline_s = _checked_deadline(deadline_s)
        self._judging = OwnJudging(executor, executor_kwargs, self.rules)
        self.executor = self._judging.executor
        self._episodes = self._new_episodes(num_envs)
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._seeds: list[int] = [-1] * num_envs
        self._began_at: float | None = None
        self._fresh: list[int] = []
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {**CodeExecEnv.metadata, "render_modes": ["ansi"], "autoreset_mode": self._autoreset}
        self.single_observation_space = self.rules.observation_space
        self.single_action_space = self.rules.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @property  # type: ignore[misc]  # Read-only, with one value per environment, as in `SyncVectorEnv`.
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generator of each environment."""
        return tuple(self._generator(index) for index in range(self.num_envs))

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of each environment's generator; -1 for an environment that has no generator yet."""
        return tuple(self._seeds)

    @property
    def task_ids(self) -> tuple[str | None, ...]:
        """The task that each environment has now; None before the first reset."""
        return tuple(one.task_id for one in self._episodes)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin an episode in each environment.

        Args:
            seed: A list with a seed for each environment, or a number: the first environment's seed is then this
                number, the second environment's seed is one larger, and so on. Environments with the same seed get the
                same tasks.
            options: `{"task_ids": [...]}` chooses a task for each environment, `{"task_id": ...}` one task for all.
                `{"reset_mask": array}` resets only the environments for which the array is True.

        Raises:
            ExecutorClosed: If the env was closed, and its executor with it.
            TaskNotFound: If the suite has no such task.
            TaskError: If an option is unknown, or does not fit the number of environments.
            TypeError: If a seed is not a number.
            ValueError: If the numbers of seeds and environments differ, or a seed is below 0. Then nothing is reset.
        """
        self._judging.require_open()
        seeds = self._seeds_of(seed)
        options = options or {}
        starts = self._starts(options)
        mask = reset_mask(options, self.num_envs)
        if "reset_mask" not in options:
            self._began_at = None
        infos: list[dict[str, Any] | None] = [None] * self.num_envs
        for index in np.flatnonzero(mask).tolist():
            one = seeds[index]
            if one is not None:
                self._generators[index], self._seeds[index] = seeding.np_random(one)
                self._episodes[index].restart_order()
            _, infos[index] = self._episodes[index].begin(self._generator(index), starts[index])
        return self._observations(), batch_infos(infos)

    def step(self, actions: Any) -> _Step:
        """Judge the answers in `actions`; see `step_async` and `step_wait`."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Any) -> None:
        """Begin a step: submit the answers of all environments that are not still waiting for a verdict.

        Args:
            actions: A text for each environment; with `samples_per_step=n`, n tuples with one text per environment.
                None submits nothing for an environment, and its info says that it is pending.

        Raises:
            ResetNeeded: Before the first reset. Also for an answer to an episode that is over, if episodes begin only
                with a reset. Then nothing is submitted.
            TypeError: If `actions` has a wrong number of texts. Then nothing is submitted.
            RuntimeError: If a step has begun and `step_wait` was not called for it.
        """
        if self._began_at is not None:
            raise RuntimeError("a step has begun already; call step_wait() before the next step_async()")
        each = self._each(actions)
        self._fresh = [
            index for index, one in enumerate(self._episodes) if not one.is_pending and not _is_left_alone(each[index])
        ]
        over = [index for index in self._fresh if self._episodes[index].is_over]
        if over:
            raise ResetNeeded(
                f"the episodes of environments {over} are over, and autoreset_mode is DISABLED; call "
                'reset(options={"reset_mask": mask}) with a mask that is True for them, or send them None'
            )
        began_at = time.monotonic()
        counts: list[int] = []

        def answers() -> Iterator[tuple[Task, str]]:
            """A generator, so that the first programs run while the last responses are still searched for code."""
            for index in self._fresh:
                own = self._episodes[index].answers(each[index], self._generator(index))
                counts.append(len(own))
                yield from own

        submitted = iter(self._judging.submit(answers()))
        for index, count in zip(self._fresh, counts, strict=True):
            self._episodes[index].start(list(islice(submitted, count)))
        self._began_at = began_at

    def step_wait(self, deadline_s: float | None = None) -> _Step:
        """End a step that was begun.

        Args:
            deadline_s: The longest time from the beginning of the step, in seconds; it replaces the environment's own
                deadline.

        Raises:
            RuntimeError: If no step has begun.
        """
        if self._began_at is None:
            raise RuntimeError("no step has begun; call step_async(actions) first")
        allowed_s = self.deadline_s if deadline_s is None else _checked_deadline(deadline_s)
        until = None if allowed_s is None else self._began_at + allowed_s
        judged = [self._episodes[index].wait(until) for index in self._fresh]
        # An env that missed a deadline is only polled from then on, unless no other env was stepped.
        until = time.monotonic() if judged and until is not None else until
        ready = [one.is_pending and one.wait(until) for one in self._episodes]
        outcomes = [one.conclude() if is_ready else None for one, is_ready in zip(self._episodes, ready, strict=True)]
        self._began_at = None
        return self._returned(outcomes)

    def render(self) -> tuple[str, ...] | None:
        """The last step of each environment as text; only the prompt, if its episode has just begun."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a render mode: gym.make_vec(..., render_mode="ansi")')
            return None
        return tuple(one.render() for one in self._episodes)

    def note_reward(self, index: int, name: str, value: float, added: float) -> None:
        """Make `render` show what a reward term has added to the last step of an environment."""
        self._episodes[index].note_reward(name, value, added)

    def close_extras(self, **kwargs: Any) -> None:
        """Abandon steps that have begun, and close the executor if this env made it."""
        for one in self._episodes:
            one.abandon()
        self._judging.close()

    def _new_episodes(self, count: int) -> Sequence[Episodes]:
        return [Episodes(self.rules, self._judging.isolation) for _ in range(count)]

    def _starts(self, options: Mapping[str, Any]) -> Sequence[Any]:
        """For each environment the checked choice of where its episode begins, as `Episodes.begin` takes it."""
        return chosen_tasks(self.suite, options, self.num_envs)

    def _returned(self, outcomes: list[Outcome | None]) -> _Step:
        """The values that a step returns; begins the next episodes where the autoreset mode asks for it."""
        infos: list[dict[str, Any]] = []
        final: list[dict[str, Any] | None] = [None] * self.num_envs
        for index, outcome in enumerate(outcomes):
            episodes = self._episodes[index]
            if outcome is None:
                infos.append(episodes.pending_info())
            elif (outcome.terminated or outcome.truncated) and self._autoreset is AutoresetMode.SAME_STEP:
                final[index] = {"final_obs": outcome.observation, "final_info": outcome.info}
                infos.append(episodes.begin(self._generator(index))[1])
            else:
                infos.append(outcome.info)
        terminated = np.array([outcome is not None and outcome.terminated for outcome in outcomes])
        truncated = np.array([outcome is not None and outcome.truncated for outcome in outcomes])
        info = batch_infos(final) | batch_infos(infos)
        return self._observations(), np.zeros(self.num_envs), terminated, truncated, info

    def _observations(self) -> tuple[str, ...]:
        return tuple(one.observation for one in self._episodes)

    def _generator(self, index: int) -> np.random.Generator:
        generator = self._generators[index]
        if generator is None:
            generator, self._seeds[index] = seeding.np_random()
            self._generators[index] = generator
        return generator

    def _seeds_of(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, int | Sequence) or isinstance(seed, str):
            raise TypeError(f"seed is a number (int), or a list of one for each env; got {type(seed).__name__}")
        seeds: list[int | None] = list(range(seed, seed + self.num_envs)) if isinstance(seed, int) else list(seed)
        if not all(one is None or isinstance(one, int) for one in seeds):
            raise TypeError(f"seeds are numbers (int) or None; got {[type(one).__name__ for one in seeds]}")
        if len(seeds) != self.num_envs:
            raise ValueError(f"there are {len(seeds)} seeds for num_envs={self.num_envs}; give as many, or a number")
        if any(one is not None and one < 0 for one in seeds):
            raise ValueError(f"seeds are at least 0; got {seed!r}")
        return seeds

    def _each(self, actions: Any) -> list[Any]:
        """The checked action of each environment."""
        samples, count = self.rules.samples_per_step, self.num_envs
        if None in self.task_ids:
            raise ResetNeeded("no episode has begun; call reset() before step()")
        whole = _texts_for("actions", actions, count) if samples == 1 else None
        if whole is None:
            rows = _items(actions)
            if rows is None or len(rows) != samples:
                raise TypeError(
                    f"actions are samples_per_step={samples} tuples of num_envs={count} texts each, as Gymnasium "
                    f"batches tuples (from a tuple for each env: tuple(zip(*actions))); got {_what(actions)}"
                )
            columns = [_texts_for(f"actions[{number}]", row, count) for number, row in enumerate(rows)]
            whole = [tuple(texts) for texts in zip(*columns, strict=True)]
        for one in whole:
            if not _is_left_alone(one):
                check_action(one, samples)
        return whole


def _items(actions: Any) -> list[Any] | None:
    """The items of a tuple, list or array; None for anything else. A text is not split into characters."""
    return list(actions) if isinstance(actions, tuple | list | np.ndarray) else None


def _texts_for(name: str, actions: Any, count: int) -> list[Any]:
    texts = _items(actions)
    if texts is None or len(texts) != count or not all(isinstance(text, str | None) for text in texts):
        raise TypeError(f"{name} must be num_envs={count} texts (str) in a tuple, list or array; got {_what(actions)}")
    return texts


def _is_left_alone(action: Any) -> bool:
    """Whether an action means that nothing is submitted for its environment."""
    return action is None or (isinstance(action, tuple) and all(text is None for text in action))


def _what(actions: Any) -> str:
    items = _items(actions)
    if items is None:
        return type(actions).__name__
    kinds = ", ".join(sorted({type(item).__name__ for item in items}))
    return f"{len(items)} items ({kinds})" if items else "none"


def _checked_deadline(deadline_s: float | None) -> float | None:
    if deadline_s is None:
        return None
    number = isinstance(deadline_s, int | float) and not isinstance(deadline_s, bool)
    if not number or not deadline_s > 0:
        raise TaskError(f"deadline_s must be None or a number of seconds above 0; got {deadline_s!r}")
    return float(deadline_s)


def _checked_autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    known = AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
    for one in known:
        if mode in (one, one.value):
            return one
    names = " or ".join(f"{one} ({one.value!r})" for one in known)
    hint = (
        "; the next step would not look at its action, so that an answer would be lost"
        if mode in (AutoresetMode.NEXT_STEP, AutoresetMode.NEXT_STEP.value)
        else ""
    )
    raise TaskError(f"autoreset_mode must be {names}; got {mode!r}{hint}")
