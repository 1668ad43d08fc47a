"""States of an episode with a session, and the choice of one at a reset."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from code_env.checks import require_flag
from code_env.errors import TaskError
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import Task

from .feedback import Turn
from .options import chosen_task, chosen_tasks
from .workspace import KeptSession


@dataclass(frozen=True)
class Branch:
    """Where an episode stands among those that began from states of each other."""

    id: int = 0
    """Its number; 0 for an episode that began from no state."""
    parent: int = -1
    """The number of the episode whose state it began from; -1 for none."""
    depth: int = 0
    """How many states lie between it and the episode that began from none."""
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1), compare=False, repr=False)

    def child(self) -> Branch:
        """The branch of an episode that begins from a state of this one."""
        return Branch(next(self._ids), self.id, self.depth + 1, self._ids)

    def info(self) -> dict[str, int]:
        """What an info says of it."""
        return {"id": self.id, "parent": self.parent, "depth": self.depth}


@dataclass(frozen=True, eq=False)
class EpisodeState:
    """A state of an episode of `CodeReplEnv`; any number of episodes can begin from it.

    It holds memory of the executor until it is released, until nothing refers to it, or until its environment is
    closed. It cannot be pickled.
    """

    task: Task
    """The task."""
    turns: tuple[Turn, ...]
    """The turns so far."""
    branch: Branch
    """The branch whose state it is."""
    session: KeptSession = field(repr=False)
    """The state of the session."""

    def release(self) -> None:
        """Give the state up; episodes that began from it go on. Idempotent."""
        self.session.release()


@dataclass(frozen=True)
class Start:
    """The choice of a state to begin from."""

    state: EpisodeState
    """The state."""
    reseed: bool = False
    """Whether the session draws other random numbers than the state would."""


_FROM_STATE, _RESEED = "from_state", "reseed"


def chosen_start(suite: TaskSuite, options: Mapping[str, Any], max_turns: int) -> Task | Start | None:
    """What the options of a reset choose to begin from; None if they choose nothing.

    Raises:
        TaskNotFound: If the suite has no such task.
        TaskError: If an option is unknown, or does not fit.
    """
    task = chosen_task(suite, options, (_FROM_STATE, _RESEED))
    reseed = _checked_reseed(options)
    if _FROM_STATE not in options:
        return task
    return Start(state_for(suite, options[_FROM_STATE], max_turns), reseed)


def chosen_starts(
    suite: TaskSuite, options: Mapping[str, Any], max_turns: int, num_envs: int
) -> Sequence[Task | Start | None]:
    """For each of many environments, what the options of a reset choose to begin from; None if they choose nothing.

    Raises:
        TaskNotFound: If the suite has no such task.
        TaskError: If an option is unknown, or does not fit.
    """
    tasks = chosen_tasks(suite, options, num_envs, (_FROM_STATE, _RESEED))
    reseed = _checked_reseed(options)
    if _FROM_STATE not in options:
        return tasks
    states = options[_FROM_STATE]
    if isinstance(states, EpisodeState):
        states = [states] * num_envs
    if not isinstance(states, list | tuple) or len(states) != num_envs:
        got = f"{len(states)} of them" if isinstance(states, list | tuple) else type(states).__name__
        raise TaskError(
            f"{_FROM_STATE} takes a state, or a list of num_envs={num_envs} states, None for an episode that begins "
            f"from no state; got {got}"
        )
    return [None if one is None else Start(state_for(suite, one, max_turns), reseed) for one in states]


def state_for(suite: TaskSuite, state: Any, max_turns: int) -> EpisodeState:
    """A state, which must fit an environment.

    Raises:
        TaskNotFound: If the suite does not have its task.
        TaskError: If it is no state, or its task is another one in the suite, or too many turns are behind it.
    """
    if not isinstance(state, EpisodeState):
        raise TaskError(f"a state is what clone_state() returned; got {type(state).__name__}")
    own = suite.task(state.task.id)
    if own is not state.task and own != state.task:
        raise TaskError(f"task {own.id!r} of the state is not the same in this environment's suite")
    if len(state.turns) >= max_turns:
        raise TaskError(f"the state has {len(state.turns)} turns behind it; here an episode has max_turns={max_turns}")
    return state


def _checked_reseed(options: Mapping[str, Any]) -> bool:
    """Whether branches draw other random numbers.

    Raises:
        TaskError: If an option does not fit.
    """
    if _RESEED in options and _FROM_STATE not in options:
        raise TaskError(f"{_RESEED} is for branches; give {_FROM_STATE} too, or leave it out")
    for name in ("task_id", "task_ids"):
        if _FROM_STATE in options and name in options:
            raise TaskError(f"{name} chooses a task, and {_FROM_STATE} a state of one; give one of them")
    return require_flag(_RESEED, options.get(_RESEED, False), TaskError)
