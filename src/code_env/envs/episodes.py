"""The episodes of one environment, without the code that obtains verdicts for answers.

`CodeExecEnv` has one `Episodes` object and waits for each verdict; `CodeExecVectorEnv` has many and waits for all
verdicts at once. Both use the same code, so both behave as the same environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from code_env.extract import extract_code
from code_env.judging.pending import PendingVerdict
from code_env.judging.timing import StepTiming
from code_env.judging.verdict import Verdict
from code_env.tasks.drawing import DrawnTask, draw_tests
from code_env.tasks.suite import TaskOrder
from code_env.tasks.task import Task

from .feedback import Turn, TurnKind, feedback, messages, transcript
from .rules import EpisodeRules


@dataclass(frozen=True)
class Outcome:
    """The result of a step, as Gymnasium returns it, without the reward, which the wrappers compute."""

    observation: str
    """What the policy is shown next."""
    terminated: bool
    """Whether the task is solved or all turns are used."""
    truncated: bool
    """Whether there is no verdict."""
    info: dict[str, Any]
    """Everything else that is known about the step."""


class Episodes:
    """The episodes of one environment, one after the other.

    Args:
        rules: The environment's rules.
        isolation: What its executor isolates.
    """

    def __init__(self, rules: EpisodeRules, isolation: str) -> None:
        self._rules, self._isolation = rules, isolation
        self._order = TaskOrder(rules.suite, rules.order)
        self._task: Task | None = None
        self._turns: list[Turn] = []
        self._turn = 0
        self._over = True
        self._shown: dict[str, Any] = {}
        self._responses: list[str] = []
        self._drawn: DrawnTask | None = None
        self._pending: list[PendingVerdict] = []
        self.observation = ""
        """What the policy was shown last."""

    @property
    def task_id(self) -> str | None:
        """The id of this episode's task; None before the first episode."""
        return None if self._task is None else self._task.id

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended, or no episode has begun yet."""
        return self._over

    @property
    def is_pending(self) -> bool:
        """Whether a step has begun and not ended."""
        return bool(self._pending)

    def restart_order(self) -> None:
        """Restart the order of tasks, as for a new seed."""
        self._order.restart()

    def begin(self, rng: np.random.Generator, start: Task | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            rng: The random generator that draws the task.
            start: The task; None to draw one.
        """
        self.abandon()
        self._task = start or self._order.draw(rng)
        self._turns, self._turn, self._over, self._shown = [], 0, False, {}
        self.observation = self._prompt
        return self.observation, self.common_info()

    def answers(self, action: Any, rng: np.random.Generator) -> list[tuple[Task, str]]:
        """The answers in an action, each with the task that it answers.

        Args:
            action: Text, or a tuple of `samples_per_step` texts.
            rng: The random generator that draws the tests, if `tests_per_step` is set.

        Raises:
            ResetNeeded: If the episode is over.
            TypeError: If the action is not text, or has a wrong number of texts.
        """
        if self._task is None or self._over:
            raise ResetNeeded("this episode is over, or none has begun; call reset() before step()")
        self._responses = check_action(action, self._rules.samples_per_step)
        task, count = self._task, self._rules.tests_per_step
        self._drawn = None if count is None else draw_tests(task, count, rng)
        judged = task if self._drawn is None else self._drawn.task
        extract = self._rules.extract
        codes = [extract_code(text, task.language, extract, task.entry_point) for text in self._responses]
        return [(judged, code) for code in codes]

    def start(self, pending: Sequence[PendingVerdict]) -> None:
        """Start the step with the verdicts that its answers will get."""
        self._pending = list(pending)

    def wait(self, until: float | None = None) -> bool:
        """Wait for the verdicts of this step; returns whether all have arrived."""
        return all(one.wait(until) is not None for one in self._pending)

    def abandon(self) -> None:
        """Abandon a step that has begun, because its verdicts are not needed."""
        for one in self._pending:
            one.cancel()
        self._pending = []

    def conclude(self) -> Outcome:
        """End the step after its verdicts have arrived."""
        task, rules = self._of_episode(), self._rules
        verdicts = tuple(map(self._verdict, self._pending, self._responses))
        timing = _timing(self._pending)
        self._pending = []
        valid = any(verdict.valid for verdict in verdicts)
        passed = any(verdict.passed for verdict in verdicts)
        self._turn += 1
        if rules.samples_per_step == 1 and rules.max_turns > 1:
            self._note(feedback(task, verdicts[0]))
        terminated = valid and self._ends_with(passed)
        truncated = not valid
        self._over = terminated or truncated
        info = self.common_info() | _outcome_info(verdicts, valid, passed, timing)
        self._shown = info  # Reward wrappers add to it, and `render` shows what they added.
        return Outcome(self.observation, terminated, truncated, info)

    def common_info(self) -> dict[str, Any]:
        """What the info of every reset and step holds."""
        task, max_turns = self._of_episode(), self._rules.max_turns
        return {
            "task_id": task.id,
            "turn": self._turn,
            "turns_left": max_turns - self._turn,
            "messages": messages(self._prompt, self._turns),
            "isolation": self._isolation,
            "pending": False,
        }

    def pending_info(self) -> dict[str, Any]:
        """The info of an environment whose verdict has not arrived when the vector environment's step ends."""
        return self.common_info() | {"pending": True, "reward_terms": {}, "reward_raw": {}}

    def note_reward(self, name: str, value: float, added: float) -> None:
        """Make `render` show what a reward term has added to the last step."""
        self._shown["reward_raw"][name], self._shown["reward_terms"][name] = value, added

    def render(self) -> str:
        """The last step as text; before the first step, the prompt.

        Raises:
            ResetNeeded: If no episode has begun.
        """
        if self._task is None:
            raise ResetNeeded("there is nothing to render; call reset() first")
        from .rendering import render_step  # rich takes long to import, and few users render.

        return render_step(self._task, self._shown)

    @property
    def _prompt(self) -> str:
        """What the policy is shown at the beginning of the episode."""
        return self._of_episode().prompt

    def _ends_with(self, passed: bool) -> bool:
        """Whether the episode ends with an answer that has a verdict."""
        return passed or self._turn >= self._rules.max_turns

    def _note(self, told: str, kind: TurnKind = "answer") -> None:
        """Make the turn that has just ended a part of what the policy is shown."""
        self._turns.append(Turn(_encodable(self._responses[0]), told, kind))
        self._show()

    def _show(self) -> None:
        """Show the policy the episode so far."""
        left = self._rules.max_turns - self._turn
        self.observation = transcript(self._prompt, self._turns, left, self._rules.observation_space.max_length)

    def _of_episode(self) -> Task:
        if self._task is None:
            raise ResetNeeded("no episode has begun; call reset() first")
        return self._task

    def _verdict(self, pending: PendingVerdict, response: str) -> Verdict:
        """The verdict, which several answers may share, changed to refer to this response and to the whole task."""
        verdict = pending.verdict
        if verdict is None:
            raise RuntimeError("a step has no verdict yet")
        cases = verdict.cases
        if self._drawn is not None:
            tests = self._drawn.tests
            cases = tuple(dataclasses.replace(case, test=tests[case.test]) for case in cases)
        return dataclasses.replace(verdict, response=response, cases=cases)


def check_action(action: Any, samples: int) -> list[str]:
    """The texts in an action.

    Raises:
        TypeError: If the action is not text, or not a tuple of `samples` texts.
    """
    if samples == 1:
        if not isinstance(action, str):
            of_message = "; of a chat message give its content" if isinstance(action, Mapping) else ""
            raise TypeError(f"an action is text (str); got {type(action).__name__}{of_message}")
        return [str(action)]
    texts = isinstance(action, tuple | list) and all(isinstance(one, str) for one in action)
    if not texts or len(action) != samples:
        got = f"{len(action)} items" if isinstance(action, tuple | list) else type(action).__name__
        raise TypeError(f"an action is a tuple of {samples} texts (samples_per_step); got {got}")
    return [str(one) for one in action]


def _outcome_info(verdicts: tuple[Verdict, ...], valid: bool, passed: bool, timing: StepTiming) -> dict[str, Any]:
    first = verdicts[0]
    fractions = [verdict.fraction for verdict in verdicts if verdict.fraction is not None]
    return {
        "verdicts": verdicts,
        "valid": valid,
        "samples_valid": len(fractions),
        "passed": passed,
        "score": sum(fractions) / len(fractions) if fractions else 0.0,
        "outcome": str(first.outcome),
        "status": str(first.execution.status),
        "tests_passed": sum(verdict.tests_passed for verdict in verdicts),
        "tests_total": sum(verdict.tests_total for verdict in verdicts),
        "timing": timing,
        "reward_terms": {},
        "reward_raw": {},
    }


def _timing(pending: Sequence[PendingVerdict]) -> StepTiming:
    timings = [StepTiming.of(one.verdict) for one in pending if one.verdict is not None and one.is_fresh]
    return max(timings, key=lambda timing: timing.queue_s + timing.start_s + timing.run_s, default=StepTiming())


def _encodable(text: str) -> str:
    """The text as the policy wrote it, with `?` for lone surrogates, which no tokenizer accepts."""
    return text.encode("utf-8", "replace").decode()
