"""The plan of a collection: the task and the seed of each episode."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from code_env.checks import require_whole
from code_env.envs.code_exec_vector import CodeExecVectorEnv
from code_env.errors import RolloutError
from code_env.judging.rows import judged_by
from code_env.models import ChatModel
from code_env.tasks.digests import task_digest
from code_env.tasks.suite import Order, TaskOrder
from code_env.wrappers.ledger import ledger_names


def _weights_of(vec_env: VectorEnv[Any, Any, Any]) -> Any:
    """The rewards as `gym.make_vec` got them, as plain data; None if it has not made the environments."""
    return _as_data(vec_env.spec.kwargs.get("rewards")) if vec_env.spec is not None else None


def _as_data(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _as_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_as_data, value))
    return getattr(value, "__qualname__", type(value).__name__) if callable(value) else repr(value)


class Plan:
    """The task and the seed of each episode, and the fingerprint that identifies the collection's lines.

    Args:
        vec_env: The environments.
        base: The same environments without wrappers.
        episodes: The number of episodes.
        seed: The seed of the collection.
        order: How tasks are drawn.
        group_size: How many episodes in a row have the same task.
        model: The model that answers; None for another policy.
    """

    def __init__(
        self,
        vec_env: VectorEnv[Any, Any, Any],
        base: CodeExecVectorEnv,
        episodes: int,
        seed: int,
        order: Order,
        group_size: int,
        model: ChatModel | None = None,
    ) -> None:
        self.seed = require_whole("seed", seed, RolloutError, least=0)
        self.episodes, self.group_size = episodes, group_size
        tasks, rng = TaskOrder(base.suite, order), np.random.default_rng(seed)
        self._task_ids = [tasks.draw(rng).id for _ in range(episodes // group_size)]
        rules = dataclasses.replace(base.rules, suite=base.suite[:1], cache_size=0)
        tasks_told = [(task.id, task_digest(task)) for task in base.suite]
        self.model = None if model is None else model.name
        """The model's name; None for another policy."""
        settings = None if model is None else sorted(model.settings.items())
        rewards = [list(ledger_names(vec_env)), _weights_of(vec_env)]
        judge = sorted(judged_by(base.executor).items())
        parts = (tasks_told, repr(rules), seed, order, group_size, rewards, self.model, settings, judge)
        self.fingerprint = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        """Identifies the lines of this collection: a hash of all that makes another collection."""

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
        """All episodes in the group of an episode."""
        first = episode - episode % self.group_size
        return range(first, first + self.group_size)
