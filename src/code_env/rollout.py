"""Collects trajectories: a policy plays episodes in many environments, and each is written down as it ends.

Which task an episode has, and from what seed its tests are drawn, follows from the collection's seed and the episode's
number alone. So a collection that was killed goes on where it was: what is in the file is not played again, whatever
else was under way is played anew. A line is on the disk before the next step begins.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.envs.episodes import check_action
from code_env.errors import RolloutError
from code_env.tasks.suite import Order, TaskOrder
from code_env.wrappers.ledger import ledger_names

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

    A line holds `collection` (the same in all), `episode`, `task_id`, `seed`, `return`, `passed`, `valid` and `turns`.
    A turn has `observation`, `action`, `reward`, `reward_terms`, and under `programs` for each program `outcome`,
    `status`, `fraction`, `tests_passed` and `tests_total`.

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
        RolloutError: If the file is there and not to be gone on with, belongs to something else, is in use, or
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
    plan = _Plan(vec_env, base, episodes, seed, order, group_size)
    alarm = _Alarm(alarm_rate)
    summary = RolloutSummary(episodes)
    with contextlib.ExitStack() as stack:
        file = None if path is None else stack.enter_context(_TrajectoryFile.opened(Path(path), resume, plan))
        found = [] if file is None else file.found
        for row in found:
            summary.add(row)
        summary.resumed = len(found)
        there = {row["episode"] for row in found}
        missing = [group for group in plan.groups() if group[0] not in there]
        collection = _Collection(vec_env, base, policy, plan, missing)
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
    """Which task and which seed each episode has, and by what its lines are known.

    Args:
        vec_env: The environments.
        base: The same without wrappers.
        episodes: How many there are.
        seed: Of the collection.
        order: How tasks are drawn.
        group_size: How many episodes in a row have the same task.
    """

    def __init__(
        self,
        vec_env: VectorEnv[Any, Any, Any],
        base: CodeExecVectorEnv,
        episodes: int,
        seed: int,
        order: Order,
        group_size: int,
    ) -> None:
        if type(seed) is not int or seed < 0:
            raise RolloutError(f"seed must be a whole number of at least 0; got {seed!r}")
        self.episodes, self.seed, self.group_size = episodes, seed, group_size
        tasks, rng = TaskOrder(base.suite, order), np.random.default_rng(seed)
        self._task_ids = [tasks.draw(rng).id for _ in range(episodes // group_size)]
        rules = dataclasses.replace(base.rules, suite=base.suite[:1], cache_size=0)
        prompts = [(task.id, task.prompt) for task in base.suite]
        parts = (prompts, repr(rules), seed, order, group_size, list(ledger_names(vec_env)))
        self.fingerprint = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        """By what a line is known to be of this collection: of the same prompts, rules, seed, order and rewards."""

    def task_id(self, episode: int) -> str:
        """The task of an episode."""
        return self._task_ids[episode // self.group_size]

    def seed_of(self, episode: int) -> int:
        """The seed of an episode."""
        return int(np.random.SeedSequence([self.seed, episode]).generate_state(1)[0])

    def groups(self) -> Iterator[range]:
        """The episodes of each group."""
        return map(self.group_of, range(0, self.episodes, self.group_size))

    def group_of(self, episode: int) -> range:
        """The episodes of the group of one."""
        first = episode - episode % self.group_size
        return range(first, first + self.group_size)


@dataclass
class _Episode:
    """An episode that is being played."""

    number: int
    """Which one."""
    observation: str = ""
    """What the policy is shown next."""
    info: dict[str, Any] = field(default_factory=dict)
    """What it is told beside that."""
    action: Any = None
    """What it has answered; None while it has not."""
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
        self._samples = base.rules.samples_per_step
        self._waiting = deque(missing)
        self._playing: list[_Episode | None] = [None] * base.num_envs
        self.steps = 0
        """Actions that were judged."""

    def play(self) -> Iterator[list[dict[str, Any]]]:
        """Play all; the lines of the groups that have ended, step by step."""
        self._env.reset(seed=self._plan.seed)
        self._begin()
        while any(self._playing):
            self._ask()
            self._take(self._env.step(self._actions()))
            yield self._ended()
            self._begin()

    def _blocks(self) -> Iterator[slice]:
        """Where groups are played."""
        size = self._plan.group_size
        return (slice(first, first + size) for first in range(0, len(self._playing), size))

    def _begin(self) -> None:
        """Begin the next groups where there is room."""
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
        """Take note of what the policy is shown next of one environment."""
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
        for one, action in zip(asked, actions, strict=True):
            try:
                check_action(action, self._samples)
            except TypeError as error:
                raise RolloutError(f"the policy's answer in episode {one.number}: {error}") from None
            one.action = action

    def _actions(self) -> Any:
        """What is sent to the environments: nothing where no episode waits for it."""
        nothing = None if self._samples == 1 else (None,) * self._samples
        actions = [nothing if one is None or one.row is not None else one.action for one in self._playing]
        return tuple(actions) if self._samples == 1 else tuple(zip(*actions, strict=True))

    def _take(self, step: Any) -> None:
        """Take a step down."""
        observations, rewards, terminated, truncated, info = step
        for index, episode in enumerate(self._playing):
            if episode is None or episode.row is not None or info["pending"][index]:
                continue
            self.steps += 1
            ended = bool(terminated[index] or truncated[index])
            part = info["final_info"] if ended else info
            episode.turns.append(_turn(episode, rewards[index], part, index))
            if ended:
                episode.row = {
                    "collection": self._plan.fingerprint,
                    "episode": episode.number,
                    "task_id": self._plan.task_id(episode.number),
                    "seed": self._plan.seed_of(episode.number),
                    "return": sum(turn["reward"] for turn in episode.turns),
                    "passed": bool(part["passed"][index]),
                    "valid": bool(part["valid"][index]),
                    "turns": episode.turns,
                }
            else:
                self._show(index, observations, info)

    def _ended(self) -> list[dict[str, Any]]:
        """The lines of the groups that have ended, which make room."""
        rows: list[dict[str, Any]] = []
        for block in self._blocks():
            lines = [None if one is None else one.row for one in self._playing[block]]
            if None not in lines:
                rows += [line for line in lines if line is not None]
                self._playing[block] = [None] * len(lines)
        return rows


def _turn(episode: _Episode, reward: Any, info: dict[str, Any], index: int) -> dict[str, Any]:
    terms, action = info["reward_terms"], episode.action
    return {
        "observation": episode.observation,
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


class _Alarm:
    """Rings when too many of the last episodes have no verdict, once until they are fewer again.

    Args:
        rate: How many may have none.
    """

    def __init__(self, rate: float) -> None:
        number = isinstance(rate, int | float) and not isinstance(rate, bool)
        if not number or not 0 <= rate <= 1:
            raise RolloutError(f"alarm_rate must be a number from 0 to 1; got {rate!r}")
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
        file: The file, open for writing without a buffer, and locked.
        found: What is known of the episodes in it.
    """

    def __init__(self, file: FileIO, found: list[dict[str, Any]]) -> None:
        self._file, self.found = file, found

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path, resume: bool, plan: _Plan) -> Iterator[_TrajectoryFile]:
        """Open a file for a collection.

        Raises:
            RolloutError: If it is not to be had.
        """
        try:
            file = FileIO(path, "r+" if path.exists() else "x+")
        except OSError as error:
            raise RolloutError(f"the trajectories cannot be written: {error}") from None
        with file:
            _lock(file, path)
            if not resume and path.stat().st_size:
                raise RolloutError(f"{path} is there already; resume to go on with it, or name another file")
            found, length = _read(path, plan)
            try:
                # What a killed writer has begun and not ended: a line, or a group of them.
                file.truncate(length)
                file.seek(length)
                _sync_directory(path)
            except OSError as error:
                raise RolloutError(f"the trajectories cannot be written: {error}") from None
            yield cls(file, found)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Write lines, and see that they are on the disk.

        Raises:
            RolloutError: If they cannot be written.
        """
        if not rows:
            return
        rest = memoryview("".join(json.dumps(row) + "\n" for row in rows).encode())
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RolloutError(f"the trajectories cannot be written: {error}; resume when they can") from None


def _lock(file: FileIO, path: Path) -> None:
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


_LINE_BEGINS = b'{"collection": "'
"""How each line begins, and so what may be left of one that was not written to its end."""


def _read(path: Path, plan: _Plan) -> tuple[list[dict[str, Any]], int]:
    """What is known of the episodes in a file, and how long it is with just those: whole lines, of whole groups.

    Raises:
        RolloutError: If it belongs to something else.
    """
    found: dict[int, tuple[dict[str, Any], int]] = {}
    length = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n") and line.startswith(_LINE_BEGINS[: len(line)]):
                break
            length += len(line)
            try:
                row = json.loads(line)
                known = {
                    "episode": row["episode"],
                    "passed": bool(row["passed"]),
                    "return": float(row["return"]),
                    "turns": [
                        {
                            "programs": [
                                {"outcome": str(p["outcome"]), "status": str(p["status"])} for p in turn["programs"]
                            ]
                        }
                        for turn in row["turns"]
                    ],
                }
                is_ours = row["collection"] == plan.fingerprint and 0 <= row["episode"] < plan.episodes
            except (ValueError, KeyError, TypeError):
                raise RolloutError(f"{path}:{number}: this is no line of a collection; name another file") from None
            if not is_ours:
                raise RolloutError(
                    f"{path}:{number}: this episode is none of this collection, of which prompts, turns, samples, "
                    "rewards, seed, order, group size or number of episodes are other; name another file"
                )
            if known["episode"] in found:
                raise RolloutError(f"{path}:{number}: episode {known['episode']} is there for the second time")
            found[known["episode"]] = known, length
    # The lines of a group are written together, so only those at the end can be of one that is not whole.
    while found and not all(number in found for number in plan.group_of(next(reversed(found)))):
        found.popitem()
    torn = [number for number in found if not all(other in found for other in plan.group_of(number))]
    if torn:
        raise RolloutError(f"{path}: episode {torn[0]} is there without the others of its group; name another file")
    rows = [known for known, _ in found.values()]
    return rows, next(reversed(found.values()))[1] if found else 0
