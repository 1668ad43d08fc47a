"""A finite, indexable sequence of tasks, and the order in which an environment draws them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, overload

import numpy as np

from code_env import html
from code_env.checks import meant, require_choice, require_whole
from code_env.errors import TaskError, TaskNotFound
from code_env.executors.limits import Limits
from code_env.requirements import normal_requirements

from .examples import with_examples
from .task import Task
from .trainer_rows import Trainer, dataset_of, trainer_rows

Order = Literal["shuffle", "sequential", "random"]
"""`shuffle`: each task once per epoch, in random order; `sequential`: in order, repeatedly; `random`: any task each
time."""


class TaskSuite(Sequence[Task]):
    """A named sequence of tasks with unique ids.

    Args:
        name: The suite's name.
        tasks: The tasks, in order.

    Raises:
        TaskError: If there are no tasks, two tasks have the same id, or something is not a task.

    Example:
        >>> from code_env import load_suite
        >>> suite = load_suite("starter")
        >>> easy = suite.filter(lambda task: task.metadata["difficulty"] == "very easy")
        >>> 0 < len(easy) < len(suite)
        True
    """

    def __init__(self, name: str, tasks: Iterable[Task]) -> None:
        if not isinstance(name, str):
            raise TaskError(f"the name of a suite is text, as in TaskSuite('mine', tasks); got {type(name).__name__}")
        if not isinstance(tasks, Iterable):
            raise TaskError(f"suite {name!r} takes a list of tasks; got {type(tasks).__name__}")
        self.name = name
        self._tasks = tuple(tasks)
        self._by_id: dict[str, Task] = {}
        for index, task in enumerate(self._tasks):
            if not isinstance(task, Task):
                raise TaskError(
                    f"suite {name!r}: tasks[{index}] must be a Task; got {type(task).__name__}; load_suite(rows) makes "
                    "a suite of rows"
                )
            if task.id in self._by_id:
                raise TaskError(f"suite {name!r} has two tasks with id {task.id!r}")
            self._by_id[task.id] = task
        if not self._tasks:
            raise TaskError(f"suite {name!r} has no tasks")

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> TaskSuite: ...
    def __getitem__(self, index: int | slice) -> Task | TaskSuite:
        if isinstance(index, slice):
            return TaskSuite(self.name, self._tasks[index])
        return self._tasks[index]

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskSuite) and (self.name, self._tasks) == (other.name, other._tasks)

    def __deepcopy__(self, memo: object) -> TaskSuite:
        return self  # A suite never changes, so a copy would only cost time.

    __hash__ = None  # type: ignore[assignment]  # Tasks hold mappings.

    def __repr__(self) -> str:
        return f"<TaskSuite {self.name!r}, {len(self)} tasks>"

    def _repr_html_(self) -> str:
        """Called by notebooks."""
        rows = [
            (task.id, task.prompt.strip().partition("\n")[0][:100], len(task.tests), task.reference is not None)
            for task in self._tasks[: html.MOST_ROWS]
        ]
        table = html.table(("task", "prompt", "tests", "has a reference"), rows, len(self))
        return html.titled(f"{self.name}: {len(self)} tasks", table)

    def task(self, task_id: str) -> Task:
        """The task with this id.

        Raises:
            TaskNotFound: If no task has this id.
        """
        try:
            return self._by_id[task_id]
        except (KeyError, TypeError):
            raise TaskNotFound(f"suite {self.name!r} has no task {task_id!r}{meant(task_id, self._by_id)}") from None

    def filter(self, keep: Callable[[Task], bool]) -> TaskSuite:
        """The tasks for which `keep` is true, in order.

        Raises:
            TaskError: If no task is left.
        """
        return TaskSuite(self.name, (task for task in self if keep(task)))

    def with_examples(self, most: int = 3) -> TaskSuite:
        """The same tasks, each with its first public tests at the end of its prompt.

        Args:
            most: The largest number of tests that a prompt shows.

        Raises:
            TaskError: If `most` is not a whole number of at least 0, or a prompt becomes too long.
        """
        require_whole("examples", most, TaskError, least=0)
        if not most:
            return self
        return TaskSuite(self.name, (with_examples(task, most) for task in self))

    def with_limits(self, limits: Mapping[str, Any] | None) -> TaskSuite:
        """The same tasks, with limits that replace their own limits.

        Args:
            limits: Fields of `Limits` and their values; fields that are not named keep their values.

        Raises:
            TaskError: If a name is unknown or a value out of range.

        Example:
            >>> from code_env import load_suite
            >>> quick = load_suite("starter").with_limits({"cpu_s": 1})
            >>> {task.limits.cpu_s for task in quick}
            {1.0}
        """
        Limits().with_values(limits)
        if not limits:
            return self
        tasks = (dataclasses.replace(task, limits=task.limits.with_values(limits)) for task in self)
        return TaskSuite(self.name, tasks)

    def with_packages(self, packages: Iterable[str] | None = None) -> TaskSuite:
        """The same tasks, all with the same packages, so that they share one environment.

        Args:
            packages: Requirements, which replace those of the tasks; none for the packages of the executor's
                interpreter. By default each task gets those of all tasks together.

        Raises:
            TaskError: If a requirement is malformed.

        Example:
            >>> from code_env import load_suite
            >>> load_suite("starter").with_packages(["NumPy == 1.26.4"])[0].packages
            ('numpy==1.26.4',)
        """
        shared = normal_requirements([one for task in self for one in task.packages] if packages is None else packages)
        return TaskSuite(self.name, (dataclasses.replace(task, packages=shared) for task in self))

    def split(self, fraction: float, seed: int = 0) -> tuple[TaskSuite, TaskSuite]:
        """Split the tasks at random into two disjoint suites; the first has about `fraction` of the tasks.

        Raises:
            TaskError: If `fraction` leaves one of the suites empty.

        Example:
            >>> from code_env import load_suite
            >>> train, held_out = load_suite("starter").split(0.8)
            >>> len(train), len(held_out)
            (32, 8)
        """
        first = round(fraction * len(self)) if 0 < fraction < 1 else 0
        if not 0 < first < len(self):
            raise TaskError(f"a fraction of {fraction} leaves one side of {len(self)} tasks empty")
        drawn = set(np.random.default_rng(seed).permutation(len(self))[:first].tolist())
        return (
            TaskSuite(f"{self.name}[train]", (task for i, task in enumerate(self) if i in drawn)),
            TaskSuite(f"{self.name}[held-out]", (task for i, task in enumerate(self) if i not in drawn)),
        )

    def to_rows(
        self, format: Trainer = "trl", *, chat: bool | None = None, split: str = "train"
    ) -> list[dict[str, Any]]:
        """A row for each task, as a trainer's data set has it. Each row contains the whole task, beside the prompt.

        Args:
            format: `trl`, `verl`, `openrlhf`, `skyrl` or `nemo_gym`; `docs/training.md` lists the fields of each.
            chat: Whether the prompt is a list with one message, or text; None for the trainer's default.
            split: The name of the data's split, for `verl`, `skyrl` and `nemo_gym`.

        Raises:
            TaskError: If the format is unknown or does not take text, or a task holds a value that JSON cannot
                represent.

        Example:
            >>> from code_env import load_suite
            >>> row = load_suite("starter").to_rows("trl")[0]
            >>> sorted(row), row["prompt"][0]["role"]
            (['prompt', 'task', 'task_id'], 'user')
        """
        return trainer_rows(self.name, self, format, chat, split)

    def to_dataset(self, format: Trainer = "trl", *, chat: bool | None = None, split: str = "train") -> Any:
        """The rows of `to_rows` as a `datasets.Dataset`, which needs the extra `trl` or `hf`.

        Args:
            format: See `to_rows`.
            chat: See `to_rows`.
            split: See `to_rows`.

        Raises:
            ImportError: If `datasets` is not installed.
            TaskError: As `to_rows`.
        """
        return dataset_of(self.to_rows(format, chat=chat, split=split))


class TaskOrder:
    """Draws tasks of a suite in one of the orders, with a random generator that the caller passes.

    Args:
        suite: The suite.
        order: One of the orders.

    Raises:
        TaskError: If there is no such order.
    """

    def __init__(self, suite: TaskSuite, order: Order) -> None:
        require_choice("order", order, get_args(Order), TaskError)
        self._suite, self._order = suite, order
        self._upcoming: list[int] = []

    def restart(self) -> None:
        """Start the order from the beginning, as for a new seed."""
        self._upcoming = []

    def draw(self, rng: np.random.Generator) -> Task:
        """The next task."""
        if self._order == "random":
            return self._suite[int(rng.integers(len(self._suite)))]
        if not self._upcoming:
            count = len(self._suite)
            order = rng.permutation(count).tolist() if self._order == "shuffle" else list(range(count))
            self._upcoming = order[::-1]
        return self._suite[self._upcoming.pop()]
