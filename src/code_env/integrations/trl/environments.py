"""Environments for TRL's `environment_factory`: the policy tries code with one tool, and hands in with another.

TRL uses each public method of an environment as a tool, except `reset` and `get_reward`, and shows its docstring to the
model. So an environment has no other public names. The model writes the arguments of a tool. For any value of these
arguments, the tool replies in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from code_env.checks import require_whole
from code_env.errors import CodeEnvError, ExecutorError, TaskError
from code_env.executors.base import Executor
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, Status
from code_env.extract import extract_code
from code_env.tasks.loading import SuiteSource, load_suite
from code_env.tasks.suite import TaskOrder, TaskSuite
from code_env.tasks.task import Task
from code_env.tasks.trainer_rows import task_from_text
from code_env.text import clip, printable

from .._common.cells import Cells, require_sessions
from .._common.runs import why_ended
from .._common.scoring import MISUSE, require_settings
from .._common.shared_executor import executor_for
from .._common.submissions import Submissions

_SHOWN_CHARS = 2000
"""The longest text of each output stream that the model is shown, in characters, because it fills the context."""

NO_TASK = (
    "the data set has no column 'task', which carries each row's task; make it with "
    "load_suite(...).to_dataset('trl'), and keep that column"
)
"""The message for a row without a task."""


@dataclass(frozen=True)
class _Settings:
    rewards: Mapping[str, Any] | None
    executor: Executor | str | None
    limits: Mapping[str, Any] | None
    max_submissions: int
    max_runs: int
    stateful: bool


class _Draws:
    """Draws tasks from a suite; all environments of a group get the same task."""

    def __init__(self, suite: TaskSuite, group_size: int, seed: int) -> None:
        self._order, self._rng = TaskOrder(suite, "shuffle"), np.random.default_rng(seed)
        self._group_size = group_size
        self._current: dict[int, Task] = {}

    def task(self, number: int) -> Task:
        """Return the next task of an environment.

        TRL resets the environments in order, so the first environment of a group draws the task for its group.
        """
        group, place = divmod(number, self._group_size)
        if place == 0 or group not in self._current:
            self._current[group] = self._order.draw(self._rng)
        return self._current[group]


class _Environment:
    """The common base: a task that a model works on, and its solutions."""

    def __init__(self, settings: _Settings, draws: _Draws | None, number: int) -> None:
        self._settings, self._draws, self._number = settings, draws, number
        self._task: Task | None = None
        self._runs = 0
        self._submissions: Submissions | None = None
        self._misuse: Exception | None = None

    def reset(self, **row: Any) -> str | None:
        """Begin a task.

        Args:
            row: The row of the data set; its column `task` holds the task. If it has no task, a task is drawn.

        Returns:
            The prompt; None if the row has both a task and a prompt.

        Raises:
            TaskError: If there is neither a task nor a suite to draw from.
        """
        self._end()
        self._runs = 0
        self._submissions = None
        if row.get("task") is not None:
            self._task = task_from_text(row["task"])
        elif self._draws is not None:
            self._task = self._draws.task(self._number)
        else:
            raise TaskError(f"{NO_TASK}; or train without a data set, with environment_factory(suite=...)")
        given = self._settings
        self._submissions = Submissions(self._task, given.max_submissions, given.rewards, given.executor, given.limits)
        return None if row.get("task") is not None and "prompt" in row else self._task.prompt

    def submit_solution(self, code: str) -> str:
        """Hand in a solution, which is then tested. Only the last solution that is handed in counts.

        Args:
            code: The whole solution.

        Returns:
            The result of the tests.
        """
        if self._submissions is None:
            return "There is no task yet."
        try:
            return self._submissions.hand_in(code)[0]
        except Exception as error:
            # TRL reports the exception to the model and goes on. `get_reward` raises it again, for the trainer.
            self._misuse = error
            raise

    def get_reward(self) -> float | None:
        """Return the reward of the last solution that was handed in.

        Returns:
            0.0 if no solution was handed in; None, which TRL leaves out, if there is no verdict on it.

        Raises:
            CodeEnvError: If a tool failed because of how this environment is set up.
        """
        self._end()  # TRL asks when nothing more comes, and keeps the environment for a later batch.
        if self._misuse is not None:
            raise self._misuse
        last = self._submissions.last if self._submissions else None
        return 0.0 if last is None else last.reward

    def _counted(self) -> Task | str:
        """Count a run; return the task, or why the model may not run anything."""
        if self._task is None:
            return "There is no task yet."
        if self._runs >= self._settings.max_runs:
            return "No runs are left. Hand in a solution."
        self._runs += 1
        return self._task

    def _end(self) -> None:
        """Free what the runs hold."""


class CodeEnvironment(_Environment):
    """A task for which a model tries whole programs; `environment_factory` makes them."""

    def run_code(self, code: str, stdin: str = "") -> str:
        """Run a program to see what it prints. No test is run, and nothing is handed in.

        Args:
            code: The program.
            stdin: What the program reads from standard input.

        Returns:
            How the program ended, and what it printed.
        """
        task = self._counted()
        if isinstance(task, str):
            return task
        if not isinstance(code, str) or not isinstance(stdin, str):
            return "The program and its input must be text."
        found = extract_code(code, task.language)
        if not found.strip():
            return f"There is no program in {task.language} in it."
        try:
            program = Program(
                found,
                language=task.language,
                stdin=stdin,
                files=task.files,
                limits=task.limits.with_values(self._settings.limits),
            )
            for text in (program.code, program.stdin):
                text.encode()
            result = executor_for(self._settings.executor).run(program)
        except UnicodeEncodeError:
            return "The program and its input must not hold lone surrogates."
        except MISUSE as error:
            self._misuse = error
            raise
        except ExecutorError:
            return "The program could not be run: the sandbox failed."
        return _shown(result)


class SessionEnvironment(_Environment):
    """A task for which a model runs cells in a session; `environment_factory(stateful=True)` makes them."""

    _cells: Cells | None = None

    def run_cell(self, code: str) -> str:
        """Run a cell in a Python interpreter, which keeps variables, imports and files for the cells after it.

        No test is run, and nothing is handed in.

        Args:
            code: The cell. If it ends with an expression, the value is shown.

        Returns:
            How the cell ended, what it printed, and the value of its last expression.
        """
        task = self._counted()
        if isinstance(task, str):
            return task
        try:
            if self._cells is None:
                if task.language != "python":
                    raise TaskError(f"cells are Python, and the task {task.id!r} wants {task.language}; leave it out")
                limits = task.limits.with_values(self._settings.limits)
                self._cells = Cells(executor_for(self._settings.executor), limits, task.files)
            return self._cells.run(code)
        except CodeEnvError as error:
            self._misuse = error
            raise

    def _end(self) -> None:
        if self._cells is not None:
            self._cells.close()
            self._cells = None


class EnvironmentFactory:
    """Makes environments for TRL; see `environment_factory`."""

    def __init__(self, settings: _Settings, draws: _Draws | None) -> None:
        self._settings, self._draws, self._made = settings, draws, 0

    def __call__(self) -> CodeEnvironment | SessionEnvironment:
        """Make another environment."""
        self._made += 1
        kind = SessionEnvironment if self._settings.stateful else CodeEnvironment
        return kind(self._settings, self._draws, self._made - 1)


def environment_factory(
    rewards: Mapping[str, Any] | None = None,
    executor: Executor | str | None = None,
    *,
    stateful: bool = False,
    suite: SuiteSource | None = None,
    max_submissions: int = 3,
    max_runs: int = 16,
    group_size: int = 8,
    seed: int = 0,
    limits: Mapping[str, Any] | None = None,
) -> EnvironmentFactory:
    """Make a value for TRL's `environment_factory`: a model tries programs, hands in a solution, and gets feedback.

    The tools are `run_code`, or `run_cell` if `stateful`, and `submit_solution`. The feedback is the same as in an
    environment with several turns: for hidden tests, it says only how many failed, and the kind of fault.

    Args:
        rewards: As for `gym.make_vec`; the default is the share of tests passed.
        executor: Where programs run: an executor, which the caller must close, the name of an executor, or None for the
            default executor, which all calls share.
        stateful: Whether the model runs cells in a session, which keeps variables and files from cell to cell, instead
            of whole programs. Each episode has a session of its own. Solutions are judged apart from it, so a
            solution has to be whole. The executor must have sessions.
        suite: The suite from which tasks are drawn, to train without a data set: a suite, or its name or path.
        max_submissions: The number of solutions with a verdict that the model may hand in.
        max_runs: The number of times that the model may call `run_code` or `run_cell`.
        group_size: TRL's `num_generations`: the number of completions for one task that TRL compares. Only used with
            `suite`. Each process draws for its own completions: with several, the completions of one process must hold
            whole groups, or one group must fill whole processes, or a group would have several tasks.
        seed: The seed for drawing tasks. Only used with `suite`.
        limits: Limits that replace the task's own limits, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Raises:
        SuiteNotFound: If the suite does not exist.
        TaskError: If an argument is out of range.
        CodeEnvError: If the rewards, the limits or the executor do not exist or do not fit.

    Example:
        >>> environment = environment_factory(suite="starter", seed=1)()
        >>> prompt = environment.reset()
        >>> print(environment.run_code("print(input() * 2)", "ab"))
        It ran without a fault.
        Output:
        abab
        >>> environment.submit_solution("def nothing(): ...").splitlines()[-1]
        'Solutions that may still be handed in: 2.'
        >>> environment.get_reward()
        0.0
        >>> environment = environment_factory(suite="starter", stateful=True)()
        >>> prompt = environment.reset()
        >>> _ = environment.run_cell("rows = [3, 1, 2]")
        >>> print(environment.run_cell("sorted(rows)"))
        It ran without a fault.
        Value:
        [1, 2, 3]
    """
    for name, value in (("max_submissions", max_submissions), ("max_runs", max_runs), ("group_size", group_size)):
        require_whole(name, value, TaskError, least=1)
    require_whole("seed", seed, TaskError, least=0)
    require_settings(rewards, executor, limits)
    if stateful:
        require_sessions(executor)
    draws = None if suite is None else _Draws(load_suite(suite), group_size, seed)
    return EnvironmentFactory(_Settings(rewards, executor, limits, max_submissions, max_runs, stateful), draws)


def _shown(result: ExecutionResult) -> str:
    if result.status is Status.SANDBOX_ERROR:
        return "The program could not be run: the sandbox failed."
    how = "It ran without a fault." if result.status is Status.OK else f"It failed: {why_ended(result)}."
    parts = [how]
    if result.stdout:
        parts.append(f"Output:\n{clip(result.stdout.rstrip(), _SHOWN_CHARS)}")
    if result.stderr:
        parts.append(f"Standard error:\n{clip(result.stderr.rstrip(), _SHOWN_CHARS)}")
    return printable("\n".join(parts))
