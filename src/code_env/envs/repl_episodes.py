"""The episodes of one environment with a session: a turn is a cell, or the answer that ends the episode.

The answer goes the way of every answer (`Episodes`): it is judged in a fresh jail, which knows nothing of the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded

from code_env.errors import TaskError
from code_env.executors.result import CellResult, ExecutionResult, Status
from code_env.extract import answer_fence, extract_code
from code_env.judging.pending import PendingVerdict
from code_env.judging.report import no_verdict
from code_env.judging.timing import StepTiming
from code_env.judging.verdict import Verdict
from code_env.languages import PYTHON
from code_env.tasks.task import Task
from code_env.text import clip

from .cell_texts import cell_feedback, with_instructions
from .episodes import Episodes, Outcome, check_action
from .rules import EpisodeRules
from .states import Branch, EpisodeState, Start
from .workspace import PendingCell, Workspace


@dataclass(frozen=True)
class ReplRules(EpisodeRules):
    """The rules of episodes with a session; see `EpisodeRules`.

    Raises:
        TaskError: If an option is out of range, or a task is not in Python.
    """

    needs_sessions: ClassVar[bool] = True

    max_turns: int = 8
    """The largest number of turns in an episode; the last one is an answer."""

    def __post_init__(self, limits: Any, examples: int) -> None:
        super().__post_init__(limits, examples)
        if self.samples_per_step != 1:
            raise TaskError(f"an environment with a session takes samples_per_step=1; got {self.samples_per_step}")
        other = next((task for task in self.suite if task.language != PYTHON.name), None)
        if other is not None:
            raise TaskError(f"sessions run Python, and task {other.id!r} is in {other.language}; use CodeExec-v0")


class ReplEpisodes(Episodes):
    """The episodes of one environment, one after the other.

    Args:
        rules: The environment's rules.
        isolation: What its executor isolates.
        workspace: Where its cells run.
    """

    def __init__(self, rules: EpisodeRules, isolation: str, workspace: Workspace) -> None:
        super().__init__(rules, isolation)
        self._workspace = workspace
        self._branch = Branch()
        self._code: str | None = None
        self._cell: PendingCell | None = None

    def begin(self, rng: np.random.Generator, start: Task | Start | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            rng: The random generator that draws the task and the seed of the session.
            start: The task, or the state to begin from; None to draw a task.

        Raises:
            SessionDied: If the state was released; then nothing has changed.
        """
        if isinstance(start, Start):
            return self.resume(start.state, int(rng.integers(2**32)) if start.reseed else None)
        self._branch = Branch()
        begun = super().begin(rng, start)
        self._workspace.begin(self._of_episode(), int(rng.integers(2**32)))
        return begun

    def resume(self, state: EpisodeState, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode from a state.

        Args:
            state: The state.
            seed: A new seed for the session; None to go on with the random numbers of the state.

        Raises:
            SessionDied: If the state was released; then nothing has changed.
        """
        self.abandon()
        self._workspace.resume(state.task, state.session, seed)
        self._task, self._turns, self._turn = state.task, list(state.turns), len(state.turns)
        self._over, self._shown, self._branch = False, {}, state.branch.child()
        self._show()
        return self.observation, self.common_info()

    def clone(self) -> EpisodeState:
        """Return the state that the episode has now.

        Raises:
            ResetNeeded: If the episode is over.
            RuntimeError: If a step has begun and not ended.
        """
        if self._over:
            raise ResetNeeded("this episode is over, or none has begun, so that nothing could go on from its state")
        if self.is_pending:
            raise RuntimeError("a step has begun; a state is there again when it has ended")
        return EpisodeState(self._of_episode(), tuple(self._turns), self._branch, self._workspace.keep())

    def answers(self, action: Any, rng: np.random.Generator) -> list[tuple[Task, str]]:
        """The answer in an action, with its task; none if the action is a cell.

        Raises:
            ResetNeeded: If the episode is over.
            TypeError: If the action is not text.
        """
        self._code = None
        responses = check_action(action, 1)
        answer = answer_fence(responses[0])
        if answer is None and self._turn + 1 < self._rules.max_turns and not self._over:
            self._responses = responses
            self._code = extract_code(responses[0], PYTHON.name, self._rules.extract)
            return []
        answers = super().answers(responses[0] if answer is None else answer, rng)
        self._responses = responses
        return answers

    def start(self, pending: Sequence[PendingVerdict]) -> None:
        """Start the step: the verdict that its answer will get, or its cell."""
        super().start(pending)
        if self._code is not None:
            self._cell = self._workspace.start(self._code)

    @property
    def is_pending(self) -> bool:
        """Whether a step has begun and not ended."""
        return self._cell is not None or super().is_pending

    def wait(self, until: float | None = None) -> bool:
        """Wait for the result of this step; returns whether it has arrived."""
        return super().wait(until) if self._cell is None else self._cell.wait(until) is not None

    def abandon(self) -> None:
        """Abandon a step that has begun, because its result is not needed."""
        super().abandon()
        if self._cell is not None:
            self._cell.cancel()
            self._cell = None

    def conclude(self) -> Outcome:
        """End the step after its result has arrived."""
        if self._cell is None:
            outcome = super().conclude()
            outcome.info["cells"] = ()
            return outcome
        result = self._cell.wait()
        self._cell = None
        if result is None:
            raise RuntimeError("a step has no result yet")
        self._turn += 1
        self._note(cell_feedback(result), "cell")
        verdicts: tuple[Verdict, ...] = ()
        if result.status is Status.SANDBOX_ERROR:
            execution = ExecutionResult(result.status, error=result.error)
            verdicts = (no_verdict(self._of_episode(), self._responses[0], self._code or "", execution),)
        self._over = bool(verdicts)
        self._shown = self.common_info() | _cell_info(result, verdicts)
        return Outcome(self.observation, False, self._over, self._shown)

    def common_info(self) -> dict[str, Any]:
        """What the info of every reset and step holds."""
        return super().common_info() | {"branch": self._branch.info()}

    def close(self) -> None:
        """End the session, and the step that has begun."""
        self.abandon()
        self._workspace.close()

    @property
    def _prompt(self) -> str:
        prompt = with_instructions(self._of_episode(), self._rules.max_turns)
        return clip(prompt, self._rules.observation_space.max_length)

    def _ends_with(self, passed: bool) -> bool:
        return True


def _cell_info(result: CellResult, verdicts: tuple[Verdict, ...]) -> dict[str, Any]:
    """As the info of an answer; there is a verdict only where the sandbox failed, to say that there is none."""
    return {
        "verdicts": verdicts,
        "cells": (result,),
        "valid": not verdicts,
        "samples_valid": 0,
        "passed": False,
        "score": 0.0,
        "outcome": str(verdicts[0].outcome) if verdicts else "cell",
        "status": str(result.status),
        "tests_passed": 0,
        "tests_total": 0,
        "timing": StepTiming(run_s=result.wall_s),
        "reward_terms": {},
        "reward_raw": {},
    }
