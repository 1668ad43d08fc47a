"""A tool with which a model hands in solutions: a number of them, of which the last one counts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from code_env.envs.feedback import feedback
from code_env.executors.base import Executor
from code_env.tasks.task import Task

from .scoring import Score, score


class Submissions:
    """What a model hands in for one task.

    Args:
        task: The task.
        most: How many solutions with a verdict may be handed in.
        rewards: See `score`.
        executor: See `score`.
        limits: See `score`.
    """

    def __init__(
        self,
        task: Task,
        most: int,
        rewards: Mapping[str, Any] | None,
        executor: Executor | str | None,
        limits: Mapping[str, Any] | None,
    ) -> None:
        self._task, self._left = task, most
        self._settings = (rewards, executor, limits)
        self._lock = threading.Lock()  # A trainer may send several solutions of one model at once.
        self.last: Score | None = None

    def hand_in(self, code: object) -> tuple[str, Score | None]:
        """Judge a solution; return the reply to the model, and the score if it was judged.

        Raises:
            CodeEnvError: If the executor does not fit the task.
        """
        with self._lock:
            return self._judged(code)

    def _judged(self, code: object) -> tuple[str, Score | None]:
        if self.last is not None and self.last.verdict.passed:
            return "The task is solved already.", None
        if not self._left:
            return "Nothing more can be handed in.", None
        if not isinstance(code, str):
            return "A solution must be text.", None
        (self.last,) = score([self._task], [code], *self._settings)
        self._left -= self.last.valid
        told = feedback(self._task, self.last.verdict)
        if not self.last.verdict.passed:
            told += f"\nSolutions that may still be handed in: {self._left}."
        return told, self.last
