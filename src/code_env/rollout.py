"""Collects trajectories: a policy plays episodes in many environments, and each is written down as it ends.

Which task an episode has, and from what seed its tests are drawn, follows from the collection's seed and the episode's
number alone. So a collection that was killed goes on where it was: what is in the file is not played again, whatever
else was under way is played anew. A line is on the disk before the next step begins.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from gymnasium.vector import VectorEnv

from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.errors import RolloutError
from code_env.tasks.suite import Order, TaskOrder, TaskSuite

Policy = Callable[[list[str], list[dict[str, Any]]], Sequence[Any]]
"""Answers prompts: takes the observations of the environments that wait for an action, and an info of each, which has
`episode`, `seed`, `task_id`, `turn`, `turns_left` and `messages`; gives an action for each, in order."""

_ALARM_WINDOW, _ALARM_LEAST = 100, 20
"""Over how many of the last episodes the rate of sandbox errors is taken, and how many it takes to say anything."""


class SandboxAlarm(RuntimeWarning):
    """More episodes than there may be have no verdict, because the sandbox fails."""


@dataclass
class RolloutSummary:
    """What a collection comes to; it is counted on while episodes end."""

    episodes: int
    """Episodes that it is to have."""
    resumed: int = 0
    """Those that were in the file when it began."""
    collected: int = 0
    """Those that were played."""
    steps: int = 0
    """Actions that were judged for them."""
    seconds: float = 0.0
    """How long that took."""
    passed: int = 0
    """Episodes in which the task was solved, those in the file included, as in what follows."""
    returns: float = 0.0
    """Sum of their rewards."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """How often each outcome was that of a program."""
    statuses: Counter[str] = field(default_factory=Counter)
    """How often each status was."""
    alarms: int = 0
    """How often the rate of sandbox errors has passed its bound."""

    @property
    def done(self) -> int:
        """Episodes that are in the file, or were played."""
        return self.resumed + self.collected

    @property
    def mean_return(self) -> float:
        """Mean of the episodes' sums of rewards."""
        return self.returns / self.done if self.done else 0.0

    @property
    def pass_rate(self) -> float:
        """Share of the episodes in which the task was solved."""
        return self.passed / self.done if self.done else 0.0

    @property
    def episodes_per_second(self) -> float:
        """Episodes played in a second."""
        return self.collected / self.seconds if self.seconds else 0.0

    def add(self, row: dict[str, Any]) -> None:
        """Count an episode."""
        self.passed += row["passed"]
        self.returns += row["return"]
        for turn in row["turns"]:
            for program in turn["programs"]:
                self.outcomes[program["outcome"]] += 1
                self.statuses[program["status"]] += 1


def collect(
    vec_env: VectorEnv[Any, Any, Any],
    policy: Policy,
    episodes: int,
    path: str | Path | None = None,
    *,
    seed: int = 0,
    order: Order = "shuffle",
    group_size: int = 1,
    resume: bool = False,
    alarm_rate: float = 0.05,
    on_episode: Callable[[dict[str, Any]], None] | None = None,
    on_progress: Callable[[RolloutSummary], None] | None = None,
    on_alarm: Callable[[str], None] | None = None,
) -> RolloutSummary:
    """Have a policy play episodes, and write each as a JSON line when it has ended.

    A line holds `episode`, `task_id`, `seed`, `return`, `passed`, `valid` and `turns`; a turn has `observation`,
    `action`, `reward`, `reward_terms`, and under `programs` for each program `outcome`, `status`, `fraction`,
    `tests_passed` and `tests_total`.

    Args:
        vec_env: What `gym.make_vec("CodeExec-v0", ...)` gives, with wrappers around it or not.
        policy: Answers prompts.
        episodes: How many there are to be.
        path: The file; None to write none.
        seed: Decides which task each episode has.
        order: How tasks are drawn: `shuffle`, `sequential` or `random`.
        group_size: How many episodes in a row have the same task, in consecutive environments; divides their number.
        resume: Whether to go on with a file that there is. Without, that is an error.
        alarm_rate: Share of the last 100 episodes without a verdict above which there is an alarm.
        on_episode: Is given each line as a mapping.
        on_progress: Is told how far it is, after each step.
        on_alarm: Is told when the sandbox fails too often; a `SandboxAlarm` is warned of by default.

    Returns:
        What it came to.

    Raises:
        RolloutError: If the file is there and not to be gone on with, belongs to another collection, is in use, or
            cannot be written; or if an argument or what the policy gives does not fit.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make_vec("code_env:CodeExec-v0", num_envs=4)
        >>> suite = env.unwrapped.suite
        >>> def references(prompts, infos):
        ...     return [suite.task(info["task_id"]).reference for info in infos]
        >>> summary = collect(env, references, episodes=6)
        >>> env.close()
        >>> summary.collected, summary.pass_rate, summary.statuses
        (6, 1.0, Counter({'ok': 6}))
    """
    base = vec_env.unwrapped
    if not isinstance(base, CodeExecVectorEnv):
        raise RolloutError(f"collect needs a CodeExecVectorEnv, as gym.make_vec gives it; got {vec_env}")
    if type(episodes) is not int or episodes < 1:
        raise RolloutError(f"episodes must be a whole number of at least 1; got {episodes!r}")
    if type(group_size) is not int or group_size < 1 or base.num_envs % group_size or episodes % group_size:
        raise RolloutError(
            f"group_size must divide num_envs={base.num_envs} and episodes={episodes}; got {group_size!r}"
        )
    plan = _Plan(base.suite, episodes, seed, order, group_size)
    summary = RolloutSummary(episodes)
    with contextlib.ExitStack() as stack:
        file = None if path is None else stack.enter_context(_TrajectoryFile.opened(Path(path), resume, plan))
        found = [] if file is None else file.rows
        for row in found:
            summary.add(row)
        summary.resumed = len(found)
        missing = [group for group in plan.groups() if group[0] not in {row["episode"] for row in found}]
        collection = _Collection(vec_env, base, policy, plan, missing)
        alarm = _Alarm(alarm_rate)
        began = time.monotonic()
        for rows in collection.play():
            if file is not None:
                file.write(rows)
            for row in rows:
                summary.add(row)
                summary.collected += 1
                message = alarm.message(row)
                if message is not None:
                    summary.alarms += 1
                    (on_alarm or _warn)(message)
                if on_episode is not None:
                    on_episode(row)
            summary.steps, summary.seconds = collection.steps, time.monotonic() - began
            if on_progress is not None:
                on_progress(summary)
    return summary


class _Plan:
    """Which task and which seed each episode has.

    Args:
        suite: Where tasks are drawn from.
        episodes: How many there are.
        seed: Of the collection.
        order: How tasks are drawn.
        group_size: How many episodes in a row have the same task.
    """

    def __init__(self, suite: TaskSuite, episodes: int, seed: int, order: Order, group_size: int) -> None:
        if type(seed) is not int or seed < 0:
            raise RolloutError(f"seed must be a whole number of at least 0; got {seed!r}")
        self.episodes, self.seed, self.group_size = episodes, seed, group_size
        tasks, rng = TaskOrder(suite, order), np.random.default_rng(seed)
        self._task_ids = [tasks.draw(rng).id for _ in range(episodes // group_size)]

    def task_id(self, episode: int) -> str:
        """The task of an episode."""
        return self._task_ids[episode // self.group_size]

    def seed_of(self, episode: int) -> int:
        """The seed of an episode."""
        return int(np.random.SeedSequence([self.seed, episode]).generate_state(1)[0])

    def groups(self) -> Iterator[range]:
        """The episodes of each group."""
        for first in range(0, self.episodes, self.group_size):
            yield range(first, first + self.group_size)


@dataclass
class _Episode:
    """An episode that is being played."""

    number: int
    """Which one."""
    turns: list[dict[str, Any]] = field(default_factory=list)
    """Its turns so far."""
    row: dict[str, Any] | None = None
    """Its line, once it has ended."""


class _Collection:
    """Plays episodes, a group of them in each block of environments.

    Args:
        vec_env: The environments.
        base: The same without wrappers.
        policy: Answers prompts.
        plan: Of the collection.
        missing: The groups to play.
    """

    def __init__(
        self,
        vec_env: VectorEnv[Any, Any, Any],
        base: CodeExecVectorEnv,
        policy: Policy,
        plan: _Plan,
        missing: Iterable[range],
    ) -> None:
        self._env, self._policy, self._plan = vec_env, policy, plan
        self._count, self._samples = base.num_envs, base.rules.samples_per_step
        self._waiting = deque(missing)
        self._playing: list[_Episode | None] = [None] * self._count
        self._actions: list[Any] = [self._nothing] * self._count
        self.steps = 0
        """Actions that were judged."""

    @property
    def _nothing(self) -> Any:
        """What an environment is sent that plays no episode: no program, and so nothing is run."""
        return "" if self._samples == 1 else ("",) * self._samples

    def play(self) -> Iterator[list[dict[str, Any]]]:
        """Play all; the lines of the groups that have ended, step by step."""
        observations, info = self._begin(everything=True)
        while any(episode is not None for episode in self._playing):
            self._ask(observations, info)
            actions = self._actions if self._samples == 1 else list(zip(*self._actions, strict=True))
            step = self._env.step(tuple(actions))
            yield self._take(observations, *step[1:])
            begun = self._begin(everything=False)
            observations, info = (step[0], step[4]) if begun[1] is None else begun
            if begun[1] is not None:
                info = _merged(step[4], begun[1])

    def _begin(self, *, everything: bool) -> tuple[Any, Any]:
        """Begin the next groups where there is room; what the reset gives, None if there was nothing to begin."""
        size = self._plan.group_size
        chosen: list[_Episode | None] = [None] * self._count
        for first in range(0, self._count, size):
            block = self._playing[first : first + size]
            if self._waiting and all(episode is None or episode.row is not None for episode in block):
                chosen[first : first + size] = [_Episode(number) for number in self._waiting.popleft()]
            elif all(episode is None or episode.row is not None for episode in block):
                self._playing[first : first + size] = [None] * size
        mask = np.array([episode is not None for episode in chosen])
        if not mask.any() and not everything:
            return None, None
        self._playing = [new or old for new, old in zip(chosen, self._playing, strict=True)]
        options: dict[str, Any] = {
            "task_ids": [None if one is None else self._plan.task_id(one.number) for one in chosen]
        }
        if not everything:
            options["reset_mask"] = mask
        seeds = [None if one is None else self._plan.seed_of(one.number) for one in chosen]
        return self._env.reset(seed=seeds, options=options)  # type: ignore[arg-type]  # Of each its own.

    def _ask(self, observations: Sequence[str], info: dict[str, Any]) -> None:
        """Ask the policy for the actions of all episodes that wait for one."""
        asked = [
            index
            for index, episode in enumerate(self._playing)
            if episode is not None and episode.row is None and not info["pending"][index]
        ]
        keys = ("task_id", "turn", "turns_left", "messages")
        infos = [{key: _plain(info[key][index]) for key in keys} | self._numbers(index) for index in asked]
        actions = self._policy([observations[index] for index in asked], infos) if asked else []
        if isinstance(actions, str) or len(actions) != len(asked):
            got = "a text" if isinstance(actions, str) else f"{len(actions)} actions"
            raise RolloutError(f"the policy was given {len(asked)} prompts and gave {got}; one for each is expected")
        for index, episode in enumerate(self._playing):
            if episode is None or episode.row is not None:
                self._actions[index] = self._nothing
        for index, action in zip(asked, actions, strict=True):
            self._actions[index] = action

    def _numbers(self, index: int) -> dict[str, int]:
        episode = self._playing[index]
        number = -1 if episode is None else episode.number
        return {"episode": number, "seed": self._plan.seed_of(number)}

    def _take(
        self, observations: Sequence[str], rewards: Any, terminated: Any, truncated: Any, info: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Take down a step; the lines of the groups that have ended with it."""
        for index, episode in enumerate(self._playing):
            if episode is None or episode.row is not None or info["pending"][index]:
                continue
            self.steps += 1
            ended = bool(terminated[index] or truncated[index])
            part = info["final_info"] if ended else info
            episode.turns.append(_turn(observations[index], self._actions[index], rewards[index], part, index))
            if ended:
                episode.row = {
                    "episode": episode.number,
                    "task_id": self._plan.task_id(episode.number),
                    "seed": self._plan.seed_of(episode.number),
                    "return": sum(turn["reward"] for turn in episode.turns),
                    "passed": bool(part["passed"][index]),
                    "valid": bool(part["valid"][index]),
                    "turns": episode.turns,
                }
        rows: list[dict[str, Any]] = []
        size = self._plan.group_size
        for first in range(0, self._count, size):
            block = [episode for episode in self._playing[first : first + size] if episode is not None]
            if block and all(episode.row is not None for episode in block):
                rows += [episode.row for episode in block if episode.row is not None]
        return rows


def _turn(observation: str, action: Any, reward: Any, info: dict[str, Any], index: int) -> dict[str, Any]:
    terms = info["reward_terms"]
    return {
        "observation": observation,
        "action": action if isinstance(action, str) else list(action),
        "reward": float(reward),
        "reward_terms": {name: float(terms[name][index]) for name in terms if f"_{name}" in terms},
        "programs": [
            {
                "outcome": str(verdict.outcome),
                "status": str(verdict.execution.status),
                "fraction": verdict.fraction,
                "tests_passed": verdict.tests_passed,
                "tests_total": verdict.tests_total,
            }
            for verdict in info["verdicts"][index]
        ],
    }


def _plain(value: Any) -> Any:
    """A number as Python's own, not numpy's; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _merged(info: dict[str, Any], begun: dict[str, Any]) -> dict[str, Any]:
    """The infos of a step, with those of environments that have begun anew since in their places."""
    merged = dict(info)
    for key in ("task_id", "turn", "turns_left", "messages", "pending"):
        merged[key] = info[key].copy()
        for index in np.flatnonzero(begun[f"_{key}"]).tolist():
            merged[key][index] = begun[key][index]
    return merged


class _Alarm:
    """Rings when too many of the last episodes have no verdict, once until they are fewer again.

    Args:
        rate: How many may have none.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._last: deque[bool] = deque(maxlen=_ALARM_WINDOW)
        self._ringing = False

    def message(self, row: dict[str, Any]) -> str | None:
        """Take an episode; what there is to say if the alarm begins to ring with it."""
        self._last.append(not row["valid"])
        too_many = len(self._last) >= _ALARM_LEAST and sum(self._last) > self._rate * len(self._last)
        begins = too_many and not self._ringing
        self._ringing = too_many
        if not begins:
            return None
        return (
            f"{sum(self._last)} of the last {len(self._last)} episodes have no verdict: the sandbox fails (up to "
            f"{self._rate:.0%} was allowed). `code-env doctor` says what this machine grants"
        )


def _warn(message: str) -> None:
    warnings.warn(message, SandboxAlarm, stacklevel=3)


class _TrajectoryFile:
    """A file of trajectories, one JSON line for each, written to disk before anything goes on.

    Args:
        file: The file, open for reading and writing, and locked.
        rows: What is in it.
    """

    def __init__(self, file: BinaryIO, rows: list[dict[str, Any]]) -> None:
        self._file, self.rows = file, rows

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, resume: bool, plan: _Plan) -> Iterator[_TrajectoryFile]:
        """Open a file for a collection.

        Raises:
            RolloutError: If it is not to be had.
        """
        try:
            file = path.open("r+b" if path.exists() else "x+b")
        except OSError as error:
            raise RolloutError(f"the trajectories cannot be written: {error}") from None
        with file:
            _lock(file, path)
            _sync_directory(path)
            rows, length = _read(file, path, plan)
            if rows and not resume:
                raise RolloutError(
                    f"{path}: {len(rows)} episodes are there; resume to go on with them, or name another"
                )
            # What a killed writer has begun and not ended: a line, or a group of them.
            file.truncate(length)
            file.seek(length)
            yield cls(file, rows)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Write lines, and see that they are on the disk.

        Raises:
            RolloutError: If they cannot be written.
        """
        if not rows:
            return
        try:
            self._file.write("".join(json.dumps(row) + "\n" for row in rows).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RolloutError(f"the trajectories cannot be written: {error}; resume when they can") from None


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Where there are no such locks, one has to see to it oneself.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RolloutError(f"{path}: another collection is writing to it") from None


def _sync_directory(path: Path) -> None:
    """See that the file's name is on the disk too."""
    with contextlib.suppress(OSError):  # Not every file system has directories that can be.
        fd = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _read(file: BinaryIO, path: Path, plan: _Plan) -> tuple[list[dict[str, Any]], int]:
    """The episodes in a file, and how long it is with just those: whole lines, of whole groups.

    Raises:
        RolloutError: If it belongs to another collection.
    """
    lines: list[tuple[dict[str, Any], int]] = []
    length = 0
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            break
        length += len(line)
        try:
            row = json.loads(line)
            episode, task_id, seed = row["episode"], row["task_id"], row["seed"]
            known = 0 <= episode < plan.episodes and (task_id, seed) == (plan.task_id(episode), plan.seed_of(episode))
        except (ValueError, KeyError, TypeError, IndexError):
            raise RolloutError(f"{path}:{number}: this is no line of a collection") from None
        if not known:
            raise RolloutError(
                f"{path}:{number}: episode {episode} with task {task_id!r} is none of this collection, of which suite, "
                "seed, order, group size or number of episodes are other"
            )
        lines.append((row, length))
    found = Counter(row["episode"] for row, _ in lines)
    doubled = [episode for episode, count in found.items() if count > 1]
    if doubled:
        raise RolloutError(f"{path}: episode {doubled[0]} is there twice")
    # The lines of a group are written together, so only the last ones can be of one that is not whole.
    while lines and any(number not in found for number in _group_of(lines[-1][0]["episode"], plan)):
        found.pop(lines.pop()[0]["episode"])
    return [row for row, _ in lines], lines[-1][1] if lines else 0


def _group_of(episode: int, plan: _Plan) -> range:
    first = episode - episode % plan.group_size
    return range(first, first + plan.group_size)
