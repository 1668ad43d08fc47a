"""`CodeExecEnv`: the prompt is the observation, a program the action, the verdict the outcome.

The env draws a task, hands the answer to the judge and reports. It gives no reward: its own is 0.0,
and reward wrappers read `info["verdicts"]` (see `code_env.wrappers`). The answer runs once per step,
however many wrappers look at it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import gymnasium as gym
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.executors.registry import DEFAULT_EXECUTOR, make_executor
from code_env.extract import Extraction, extract_code
from code_env.judging.judge import judge_many
from code_env.judging.verdict import Verdict
from code_env.report.ansi import render_step
from code_env.tasks.loading import load_suite
from code_env.tasks.suite import Order, TaskOrder, TaskSuite
from code_env.tasks.task import Task

from .code_text import CodeText
from .transcript import Turn, feedback, messages, transcript

_OPTIONS = ("task_id",)


class CodeExecEnv(gym.Env[str, Any]):
    """A Gymnasium environment whose action is a program.

    `gym.make("CodeExec-v0", rewards={...}, ...)` builds it in its reward wrappers and takes the same
    arguments; this class itself is the bare env. `docs/environment.md` lists what `info` holds.

    `terminated` is True when the task is solved or the turns are used up; `truncated` only when there
    is no verdict, for which the program is not to blame (`info["valid"]` is then False).

    Args:
        suite: Name of a suite, path of a file of tasks, or a `TaskSuite`.
        executor: Name of an executor, or an `Executor`, which stays its maker's to close, and with
            which `env.spec` does not survive JSON.
        executor_kwargs: Plain data for the executor that is built by name.
        format: Format of the file of tasks; found out if None.
        order: How tasks are drawn: `shuffle`, `sequential` or `random`.
        max_turns: Answers that an episode allows; after each but the last the policy gets feedback.
        samples_per_step: Programs in one action. With more than one the action is a tuple of them, the
            episode has one turn, and `outcome` and `status` in the info are those of the first.
        extract: `fence` finds the code in a response, `raw` takes the response as code.
        render_mode: None or `ansi`.

    Raises:
        SuiteNotFound, ExecutorNotFound: If there is no such suite or executor.
        TaskError: If a task is malformed or an argument out of range.

    Example:
        >>> env = CodeExecEnv("starter", order="sequential")
        >>> prompt, info = env.reset(seed=0)
        >>> task = env.suite.task(info["task_id"])
        >>> _, reward, terminated, truncated, info = env.step(task.reference)
        >>> reward, terminated, truncated, info["passed"]
        (0.0, True, False, True)
        >>> env.close()
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        suite: str | Path | TaskSuite = "starter",
        executor: str | Executor = DEFAULT_EXECUTOR,
        *,
        executor_kwargs: Mapping[str, Any] | None = None,
        format: str | None = None,
        order: Order = "shuffle",
        max_turns: int = 1,
        samples_per_step: int = 1,
        extract: Extraction = "fence",
        render_mode: str | None = None,
    ) -> None:
        for name, value in (("max_turns", max_turns), ("samples_per_step", samples_per_step)):
            if type(value) is not int or value < 1:
                raise TaskError(f"{name} must be a whole number of at least 1; got {value!r}")
        if samples_per_step > 1 and max_turns > 1:
            raise TaskError("samples_per_step above 1 needs max_turns=1: feedback is on one answer")
        if extract not in get_args(Extraction):
            raise TaskError(f"extract must be one of {', '.join(get_args(Extraction))}; got {extract!r}")
        if render_mode not in (None, "ansi"):
            raise TaskError(f"render_mode must be None or 'ansi'; got {render_mode!r}")
        if isinstance(executor, Executor) and executor_kwargs:
            raise TaskError("executor_kwargs are for an executor named by text; this one is made already")
        self.suite = suite if isinstance(suite, TaskSuite) else load_suite(suite, format)
        self._order = TaskOrder(self.suite, order)
        self._owns_executor = not isinstance(executor, Executor)
        self.executor = (
            executor if isinstance(executor, Executor) else make_executor(executor, **(executor_kwargs or {}))
        )
        self._isolation = self.executor.describe().level
        self._max_turns, self._samples, self._extract = max_turns, samples_per_step, extract
        self.render_mode = render_mode
        self.observation_space = CodeText()
        text = CodeText()
        self.action_space = (
            text if samples_per_step == 1 else spaces.Tuple([CodeText() for _ in range(samples_per_step)])
        )
        self._task: Task | None = None
        self._turns: list[Turn] = []
        self._turn = 0
        self._over = True
        self._shown: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode with the next task.

        Args:
            seed: Begins the order of tasks anew; the same seed gives the same tasks.
            options: `{"task_id": ...}` takes this task instead of the next.

        Raises:
            TaskNotFound: If the suite has no such task.
            TaskError: If an option is unknown.
        """
        options = options or {}
        for name in options:
            if name not in _OPTIONS:
                near = difflib.get_close_matches(str(name), _OPTIONS, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise TaskError(f"reset has no option {name!r}{hint}; known are {', '.join(_OPTIONS)}")
        chosen = self.suite.task(options["task_id"]) if "task_id" in options else None
        super().reset(seed=seed)
        if seed is not None:
            self._order.restart()
        self._task = chosen or self._order.draw(self.np_random)
        self._turns = []
        self._turn = 0
        self._over = False
        self._shown = {}
        return self._task.prompt, self._common_info(self._task)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Judge an answer, or a tuple of `samples_per_step` answers.

        Raises:
            ResetNeeded: If the episode is over.
            TypeError: If the action is not text, or not as many texts as `samples_per_step`.
        """
        if self._task is None or self._over:
            raise ResetNeeded("this episode is over, or none has begun; call reset() before step()")
        task = self._task
        responses = self._responses(action)
        answers = [(task, extract_code(response, task.language, self._extract)) for response in responses]
        verdicts = tuple(judge_many(answers, self.executor, responses=responses))
        valid = any(verdict.valid for verdict in verdicts)
        passed = any(verdict.passed for verdict in verdicts)
        self._turn += 1
        if self._samples == 1:
            self._turns.append(Turn(_encodable(responses[0]), feedback(task, verdicts[0])))
        terminated = valid and (passed or self._turn >= self._max_turns)
        truncated = not valid
        self._over = terminated or truncated
        info = self._common_info(task) | self._outcome_info(verdicts, valid, passed)
        self._shown = info  # Reward wrappers add to it, and `render` shows what they added.
        return self._observation(task), 0.0, terminated, truncated, info

    def render(self) -> str | None:
        """The last step as text: prompt, program, result, reward ledger; the prompt before a step."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a render mode: gym.make(..., render_mode="ansi")')
            return None
        if self._task is None:
            raise ResetNeeded("there is nothing to render; call reset() first")
        return render_step(self._task, self._shown)

    def close(self) -> None:
        """Close the executor, if this env made it. Idempotent."""
        if self._owns_executor:
            self.executor.close()

    def _responses(self, action: Any) -> list[str]:
        if self._samples == 1:
            if not isinstance(action, str):
                raise TypeError(f"an action is text (str); got {type(action).__name__}")
            return [str(action)]
        texts = isinstance(action, tuple | list) and all(isinstance(one, str) for one in action)
        if not texts or len(action) != self._samples:
            got = f"{len(action)} items" if isinstance(action, tuple | list) else type(action).__name__
            raise TypeError(f"an action is a tuple of {self._samples} texts (samples_per_step); got {got}")
        return [str(one) for one in action]

    def _observation(self, task: Task) -> str:
        if self._max_turns == 1:
            return task.prompt
        space = self.observation_space
        max_chars = space.max_length if isinstance(space, CodeText) else len(task.prompt)
        return transcript(task.prompt, self._turns, self._max_turns - self._turn, max_chars)

    def _common_info(self, task: Task) -> dict[str, Any]:
        return {
            "task_id": task.id,
            "turn": self._turn,
            "turns_left": self._max_turns - self._turn,
            "messages": messages(task.prompt, self._turns if self._max_turns > 1 else []),
            "isolation": self._isolation,
        }

    @staticmethod
    def _outcome_info(verdicts: tuple[Verdict, ...], valid: bool, passed: bool) -> dict[str, Any]:
        first = verdicts[0]
        fractions = [v.fraction for v in verdicts if v.fraction is not None]
        return {
            "verdicts": verdicts,
            "valid": valid,
            "passed": passed,
            "score": sum(fractions) / len(fractions) if fractions else 0.0,
            "outcome": str(first.outcome),
            "status": str(first.execution.status),
            "tests_passed": sum(verdict.tests_passed for verdict in verdicts),
            "tests_total": sum(verdict.tests_total for verdict in verdicts),
            "reward_terms": {},
            "reward_raw": {},
        }


def _encodable(text: str) -> str:
    """The text as the policy wrote it, but for lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()
