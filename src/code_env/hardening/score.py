"""The mutation score of a suite: the share of the mutants of its references that its tests refuse."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from code_env.checks import require_whole
from code_env.executors.base import Executor
from code_env.judging.judge import judge_each
from code_env.judging.verdict import Verdict
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import Task
from code_env.validating.calibration import calibrated

from .inputs import TriedInput, inputs_of
from .mutants import formatted, mutants_of
from .table import run_tables, shown_input, unfit

_BATCH = 8
"""How many tasks are tried together: enough to keep the workers busy."""

_IN_FLIGHT = 32


@dataclass(frozen=True)
class Survivor:
    """A mutant that passes all tests of a task, and does not behave as the reference does."""

    diff: str
    """What was changed, as a unified diff without its header."""
    input: str | None
    """An input on which it differs from the reference: a call, or a program's standard input; None if there were no
    inputs to compare them on."""
    reference: str = ""
    """What the reference gives for that input, shortened."""
    mutant: str = ""
    """What the mutant gives, shortened."""


@dataclass(frozen=True)
class TaskScore:
    """The mutants of one task. The counts leave out those that no input told apart from the reference."""

    task_id: str
    """Id of the task."""
    killed: int = 0
    """How many mutants failed a test."""
    survivors: tuple[Survivor, ...] = ()
    """The others."""
    alike: int = 0
    """How many mutants passed, and gave the same as the reference for every input; they are not counted."""
    inputs: int = 0
    """How many inputs they were compared on; 0 if no mutant passed, or no inputs could be made."""
    left_out: str | None = None
    """Why the task has no score; None if it has one."""

    @property
    def mutants(self) -> int:
        """How many mutants are counted."""
        return self.killed + len(self.survivors)

    @property
    def share(self) -> float | None:
        """The share of the mutants that the tests kill; None if there are none."""
        return self.killed / self.mutants if self.mutants else None

    @property
    def standard_error(self) -> float | None:
        """The standard error of `share`, of a binomial distribution; None if there are no mutants."""
        return None if self.share is None else math.sqrt(self.share * (1 - self.share) / self.mutants)


@dataclass(frozen=True)
class MutationScore:
    """The mutation scores of the tasks of a suite."""

    tasks: tuple[TaskScore, ...]
    """One for each task, in the order of the suite."""

    @property
    def killed(self) -> int:
        """How many mutants failed a test."""
        return sum(task.killed for task in self.tasks)

    @property
    def mutants(self) -> int:
        """How many mutants are counted."""
        return sum(task.mutants for task in self.tasks)

    @property
    def share(self) -> float | None:
        """The share of the mutants that the tests kill; None if there are none."""
        return self.killed / self.mutants if self.mutants else None

    @property
    def standard_error(self) -> float | None:
        """The standard error of `share`, with tasks as the units that were drawn; None for fewer than two tasks.

        The mutants of one task live or die together, so they are no independent draws. This is the error of a ratio
        (Cochran, "Sampling Techniques", 3rd edition, 1977, equation 6.13).

        Example:
            >>> survivor = Survivor("-a\\n+b", None)
            >>> some = MutationScore((TaskScore("one", 9, (survivor,)), TaskScore("other", 10)))
            >>> some.share, some.standard_error
            (0.95, 0.05)
        """
        scored = [task for task in self.tasks if task.mutants]
        if self.share is None or len(scored) < 2:
            return None
        apart = sum((task.killed - self.share * task.mutants) ** 2 for task in scored)
        return round(math.sqrt(apart * len(scored) / (len(scored) - 1)) / self.mutants, 6)


def mutation_score(
    suite: TaskSuite,
    executor: Executor,
    *,
    count: int = 20,
    seed: int = 0,
    progress: Callable[[int], object] = lambda done: None,
) -> MutationScore:
    """Judge mutants of each reference by the tests of its task.

    A mutant that passes is compared with the reference on inputs like those of the tests. If they differ on none, the
    mutant is taken to be the same program in other words, and is not counted.

    Args:
        suite: The tasks. Those without a reference in Python that passes are left out.
        executor: Where the mutants run.
        count: How many mutants of a reference there are at most.
        seed: The same seed gives the same mutants and inputs.
        progress: Called with the number of tasks done.

    Raises:
        ValueError: If `count` is less than 1, or `seed` is no whole number of at least 0.
        UnsupportedProgram: If the executor cannot do what a task asks.

    Example:
        >>> from code_env import CallTest, make_executor
        >>> tests = (CallTest((1, 1), expected=2),)
        >>> task = Task("add", "Add.", tests, "add", reference="def add(a, b):\\n    return a + b")
        >>> with make_executor("local") as executor:
        ...     score = mutation_score(TaskSuite("sums", [task]), executor)
        >>> score.killed, score.mutants
        (4, 4)
    """
    require_whole("count", count, ValueError, least=1)
    require_whole("seed", seed, ValueError, least=0)
    scores: list[TaskScore] = []
    for start in range(0, len(suite), _BATCH):
        tasks = suite[start : start + _BATCH]
        reasons = [unfit(task) for task in tasks]
        fit = [task for task, reason in zip(tasks, reasons, strict=True) if reason is None]
        references = iter(list(judge_each([(task, task.reference or "") for task in fit], executor)))
        tried: list[tuple[Task, list[str]]] = []
        for number, task in enumerate(tasks):
            if reasons[number] is None:
                reasons[number] = _unproven(verdict := next(references))
                if reasons[number] is None:
                    tried.append((_hurried(task, verdict), mutants_of(task, count, seed)))
        scored = _scores(tried, executor, seed)
        for task, reason in zip(tasks, reasons, strict=True):
            scores.append(next(scored) if reason is None else TaskScore(task.id, left_out=reason))
        progress(len(scores))
    return MutationScore(tuple(scores))


def _unproven(verdict: Verdict) -> str | None:
    if not verdict.valid:
        return "there is no verdict on its reference"
    return None if verdict.passed else "its reference does not pass"


def _hurried(task: Task, verdict: Verdict) -> Task:
    """The task with limits near the time of its reference, because many mutants loop for ever."""
    limits = calibrated(task.limits, verdict.execution.cpu_s, verdict.execution.wall_s)
    return dataclasses.replace(task, limits=limits)


def _scores(tried: Sequence[tuple[Task, list[str]]], executor: Executor, seed: int) -> Iterator[TaskScore]:
    answers = [(_alone(task), mutant) for task, made in tried for mutant in made]
    verdicts = judge_each(answers, executor, in_flight=_IN_FLIGHT)
    for task, made in tried:
        judged = [(mutant, next(verdicts)) for mutant in made]
        passed = [mutant for mutant, verdict in judged if verdict.valid and verdict.passed]
        killed = sum(verdict.valid and not verdict.passed for _, verdict in judged)
        inputs = inputs_of(task, executor, seed) if passed else []
        told_apart = _told_apart(task, passed, inputs, executor)
        survivors = tuple(survivor for survivor in told_apart if survivor is not None)
        yield TaskScore(task.id, killed, survivors, len(passed) - len(survivors), len(inputs))


def _alone(task: Task) -> Task:
    """The task for answers that are whole programs."""
    return dataclasses.replace(task, prefix="")


def _told_apart(
    task: Task, passed: Sequence[str], inputs: Sequence[TriedInput], executor: Executor
) -> list[Survivor | None]:
    """For each mutant that passed, how it differs from the reference; None if it does not."""
    before = formatted(task.program(task.reference or ""))
    tables = run_tables(task, passed, [one.text for one in inputs], executor) if inputs else [None] * len(passed)
    found: list[Survivor | None] = []
    for mutant, table in zip(passed, tables, strict=True):
        if table is None:
            found.append(Survivor(_diff(before, mutant), None))
            continue
        apart = [(one.text, one.outcome, own) for one, own in zip(inputs, table, strict=True) if own != one.outcome]
        if not apart:
            found.append(None)
            continue
        # The shortest input says most, and another answer says more than an exception.
        text, right, own = min(apart, key=lambda one: (not one[2].answers, len(one[0])))
        found.append(Survivor(_diff(before, mutant), shown_input(task, text), right.text, own.text or own.kind))
    return found


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return "\n".join(list(lines)[2:])
