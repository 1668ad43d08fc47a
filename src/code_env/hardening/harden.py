"""Adds tests to the tasks of a suite: new inputs, with what the reference gives for them."""

from __future__ import annotations

import ast
import dataclasses
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from code_env.checks import require_whole
from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.judging.judge import judge
from code_env.tasks.comparison import Comparison
from code_env.tasks.kinds import AnyTest, CallTest, StdinTest
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import Task

from .answers import SUSPECT_SHARE, votes_on
from .inputs import TEST_CHARS, TriedInput, inputs_of
from .mutants import mutants_of
from .table import Outcome, calls, run_tables, shown_input, unfit

INPUTS = 20
"""How many tests are added to a task."""

_MUTANTS = 60
"""How many mutants of a reference choose among the inputs."""

_MOST_SHOWN = 5
"""How many doubtful inputs of a task are shown."""

_LEAST_VOTES = 2
"""How many answers must give a value for an input, for them to make it doubtful."""

_MANY_DECIMALS = re.compile(r"\.\d{8}")
"""A number in a program's output that was not rounded for a reader."""

_JUDGED = 2
"""How often the reference must pass the new tests."""


@dataclass(frozen=True)
class HardenedTask:
    """What became of a task."""

    task_id: str
    """Id of the task."""
    added: int = 0
    """How many tests it got."""
    tried: int = 0
    """How many inputs could have become tests."""
    mutants: int = 0
    """How many mutants of its reference any of its inputs tells from the reference."""
    killed_before: int = 0
    """How many of them the inputs of its own tests tell apart."""
    killed: int = 0
    """How many these and the added ones tell apart."""
    doubtful: tuple[str, ...] = ()
    """Inputs that are not used because answers contradict the reference there, with both values: the first few."""
    doubtful_count: int = 0
    """How many of them there are."""
    left_out: str | None = None
    """Why it is as it was; None if tests were added."""


@dataclass(frozen=True)
class HardenedSuite:
    """A suite with more tests."""

    suite: TaskSuite
    """All tasks, also those that got none."""
    tasks: tuple[HardenedTask, ...]
    """What became of each, in the order of the suite."""

    @property
    def added(self) -> int:
        """How many tests were added in all."""
        return sum(task.added for task in self.tasks)


def harden(
    suite: TaskSuite,
    executor: Executor,
    *,
    inputs: int = INPUTS,
    passing: Mapping[str, Iterable[str]] | None = None,
    seed: int = 0,
    progress: Callable[[int], object] = lambda done: None,
) -> HardenedSuite:
    """Add hidden tests to the tasks of a suite.

    New inputs resemble those of the tests, or keep to the condition in `metadata["requires"]`. The expected values are
    what the reference gives for them. A small number of inputs is chosen: first those on which a mutant differs from
    the reference, then inputs of various sizes and results. The old tests stay. The new ones stand after them, and
    `metadata["hardened"]["first_test"]` is the number of the first.

    Args:
        suite: The tasks. Those without a reference in Python that passes are left as they are.
        executor: Where references, mutants and answers run.
        inputs: How many tests a task gets at most.
        passing: For the id of a task the code of answers that pass its tests. They vote: an input on which a third of
            at least two distinct answers contradict the reference is reported, and not used.
        seed: The same seed gives the same tests.
        progress: Called with the number of tasks done.

    Raises:
        ValueError: If `inputs` is less than 1, or `seed` is no whole number of at least 0.
        TaskError: If a task states a domain that is no condition on its parameters.
        UnsupportedProgram: If the executor cannot do what a task asks.

    Example:
        >>> from code_env import make_executor
        >>> reference = "def larger(a, b):\\n    return a if a > b else b"
        >>> tests = (CallTest((1, 2), expected=2), CallTest((2, 3), expected=3))
        >>> weak = Task("larger", "The larger of two numbers.", tests, "larger", reference=reference)
        >>> with make_executor("local") as executor:
        ...     before = judge(weak, "def larger(a, b):\\n    return b", executor).passed
        ...     strong = harden(TaskSuite("s", [weak]), executor).suite[0]
        ...     after = judge(strong, "def larger(a, b):\\n    return b", executor).passed
        >>> before, after
        (True, False)
    """
    require_whole("inputs", inputs, ValueError, least=1)
    require_whole("seed", seed, ValueError, least=0)
    hardened = []
    for number, task in enumerate(suite):
        hardened.append(_hardened(task, executor, inputs, list((passing or {}).get(task.id, ())), seed))
        progress(number + 1)
    return HardenedSuite(TaskSuite(suite.name, (task for task, _ in hardened)), tuple(told for _, told in hardened))


def _hardened(
    task: Task, executor: Executor, count: int, answers: Sequence[str], seed: int
) -> tuple[Task, HardenedTask]:
    reason = unfit(task) or (None if judge(task, task.reference or "", executor).passed else "its reference fails")
    if reason is not None:
        return task, HardenedTask(task.id, left_out=reason)
    candidates = Candidates.of(task, executor, seed)
    return candidates.voted(answers, executor).hardened(count, executor, seed)


@dataclass(frozen=True)
class Candidates:
    """The inputs of a task that can become tests, and what is known of each."""

    task: Task
    pool: Sequence[TriedInput]
    """All inputs, those of the task's tests too."""
    tests: Mapping[int, AnyTest]
    """For the number of an input in the pool the test that it becomes."""
    kills: Mapping[int, frozenset[int]]
    """For the number of each input in the pool the mutants that it tells from the reference."""
    doubtful: Mapping[int, str]
    """For the number of an input the answers' contradiction."""

    @classmethod
    def of(cls, task: Task, executor: Executor, seed: int) -> Candidates:
        """Make inputs for a task that has a reference, and find out which mutants they kill."""
        pool = inputs_of(task, executor, seed, shown_chars=TEST_CHARS)
        made = mutants_of(task, _MUTANTS, seed) if pool else []
        tables = run_tables(task, made, [one.text for one in pool], executor)
        kills = {
            place: frozenset(number for number, table in enumerate(tables) if table and table[place] != one.outcome)
            for place, one in enumerate(pool)
        }
        return cls(task, pool, _tests(task, pool), kills, {})

    def voted(self, answers: Iterable[str], executor: Executor) -> Candidates:
        """The same without the inputs that answers make doubtful."""
        programs = [self.task.program(answer) for answer in dict.fromkeys(answers)] if self.pool else []
        tables = run_tables(self.task, programs, [one.text for one in self.pool], executor)
        doubtful = _doubtful(self.task, self.pool, [table for table in tables if table is not None])
        tests = {place: test for place, test in self.tests.items() if place not in doubtful}
        return dataclasses.replace(self, tests=tests, doubtful=doubtful)

    def hardened(self, count: int, executor: Executor, seed: int) -> tuple[Task, HardenedTask]:
        """The task with some of them as tests, which its reference passes, and what is reported of it."""
        task, chosen = self.task, self._chosen(count, random.Random(f"{seed} {self.task.id}"))
        told = self._told(chosen)
        if not chosen:
            why = "no new input was found for which it gives a value that a test can hold"
            return task, dataclasses.replace(told, left_out=why)
        new = _confirmed(_with_tests(task, [test for _, test in chosen], seed), len(task.tests), executor)
        added = len(new.tests) - len(task.tests)
        failed = None if added else "its reference fails the new tests"
        return new, dataclasses.replace(told, added=added, left_out=failed)

    def _chosen(self, count: int, draw: random.Random) -> list[tuple[int, AnyTest]]:
        """The inputs that become tests: those that kill mutants first, then different ones."""
        left = sorted(self.tests, key=lambda place: (len(self.pool[place].text), place))
        alive = self._all_kills() - self._kills_of_tests()
        weak = self._all_kills()
        taken: list[int] = []
        while left and len(taken) < count:
            best = max(left, key=lambda place: (len(self.kills[place] & alive), len(self.kills[place] & weak)))
            if not self.kills[best] & weak:
                break
            taken.append(best)
            left.remove(best)
            alive, weak = alive - self.kills[best], weak - self.kills[best]
        taken += _spread([*left], self.pool, count - len(taken), draw)
        return [(place, self.tests[place]) for place in sorted(taken)]

    def _told(self, chosen: Sequence[tuple[int, AnyTest]]) -> HardenedTask:
        """What is reported of the task."""
        before, by_chosen = self._kills_of_tests(), frozenset().union(*(self.kills[place] for place, _ in chosen))
        return HardenedTask(
            self.task.id,
            tried=len(self.tests),
            mutants=len(self._all_kills()),
            killed_before=len(before),
            killed=len(before | by_chosen),
            doubtful=tuple(list(self.doubtful.values())[:_MOST_SHOWN]),
            doubtful_count=len(self.doubtful),
        )

    def _all_kills(self) -> frozenset[int]:
        return frozenset().union(*self.kills.values())

    def _kills_of_tests(self) -> frozenset[int]:
        return frozenset().union(*(self.kills[place] for place, one in enumerate(self.pool) if one.of_tests))


def _doubtful(task: Task, pool: Sequence[TriedInput], tables: Sequence[tuple[Outcome, ...]]) -> dict[int, str]:
    """What answers say of the inputs on which a third of them contradict the reference. One alone proves nothing."""
    found = {}
    for place, one in enumerate(pool):
        votes = votes_on(tables, place)
        against = votes.total() - votes[one.outcome]
        if votes.total() >= _LEAST_VOTES and against >= SUSPECT_SHARE * votes.total():
            other = next(outcome for outcome, _ in votes.most_common() if outcome != one.outcome)
            told = f"for {shown_input(task, one.text)} the reference gives {one.outcome.text}"
            found[place] = f"{told}, and {against} of {votes.total()} distinct answers other values, as {other.text}"
    return found


def _tests(task: Task, pool: Sequence[TriedInput]) -> dict[int, AnyTest]:
    """The inputs that can become tests, by their number in the pool."""
    make = _call_test if calls(task) else _stdin_test
    compare = _comparison(task)
    types = {type(value) for one in pool if one.of_tests for value in _value(one.outcome)}
    found: dict[int, AnyTest] = {}
    for place, one in enumerate(pool):
        if one.of_tests or len(one.text) > TEST_CHARS or len(one.outcome.text) >= TEST_CHARS:
            continue
        test = make(one, compare, types)
        if test is not None:
            found[place] = test
    return found


def _value(outcome: Outcome) -> tuple[Any, ...]:
    """What the reference returned, in a tuple; an empty one if a literal cannot express it."""
    if outcome.kind != "returns":
        return ()
    try:
        return (ast.literal_eval(outcome.text),)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()


def _call_test(one: TriedInput, compare: Comparison | None, types: set[type]) -> CallTest | None:
    args, kwargs = ast.literal_eval(one.text)
    for value in _value(one.outcome):
        # Another type than the tests show is more often a mistake of the reference than what a statement asks for.
        if type(value) in types or not types:
            rule = compare or Comparison("equal")
            if rule.rule == "equal" and _has_float(value):
                rule = Comparison("close")  # A right answer may round in another way.
            try:
                return CallTest(args, kwargs, expected=value, compare=rule)
            except TaskError:  # A value that no test can hold.
                return None
    return None


def _stdin_test(one: TriedInput, compare: Comparison | None, types: set[type]) -> StdinTest | None:
    if not one.outcome.text.strip():
        return None
    rule = compare or Comparison("lines")
    if rule.rule == "lines" and _MANY_DECIMALS.search(one.outcome.text):
        rule = Comparison("numbers")  # A right answer may round in another way.
    return StdinTest(one.text, one.outcome.text + "\n", compare=rule)


def _comparison(task: Task) -> Comparison | None:
    """The rule that most tests of a task have; None if its tests have none, as assert statements."""
    compared = (getattr(test, "compare", None) for test in task.tests)
    rules = Counter(one for one in compared if isinstance(one, Comparison))
    return rules.most_common(1)[0][0] if rules else None


def _has_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_float, (*value.keys(), *value.values())))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_has_float, value))
    return isinstance(value, float | complex)


def _spread(left: list[int], pool: Sequence[TriedInput], count: int, draw: random.Random) -> list[int]:
    """Some inputs of all sizes and results: one of each size and result in turn, drawn at random."""
    groups: dict[tuple[int, str], list[int]] = {}
    for place in draw.sample(left, len(left)):
        one = pool[place]
        groups.setdefault((len(one.text).bit_length(), one.outcome.digest), []).append(place)
    taken: list[int] = []
    rare_first = sorted(groups.values(), key=len)
    while len(taken) < count and any(rare_first):
        for group in rare_first:
            if group and len(taken) < count:
                taken.append(group.pop())
    return taken


def _with_tests(task: Task, tests: Sequence[AnyTest], seed: int) -> Task:
    origin = {"first_test": len(task.tests), "seed": seed}
    return dataclasses.replace(task, tests=(*task.tests, *tests), metadata={**task.metadata, "hardened": origin})


def _confirmed(task: Task, first: int, executor: Executor) -> Task:
    """The task with those new tests that its reference passes each time."""
    for _ in range(_JUDGED):
        verdict = judge(task, task.reference or "", executor)
        if not verdict.passed:
            failed = {case.test for case in verdict.cases if not case.passed} if verdict.valid else set()
            kept = [test for number, test in enumerate(task.tests) if number < first or number not in failed]
            if not failed or min(failed) < first:
                return dataclasses.replace(task, tests=task.tests[:first])
            task = dataclasses.replace(task, tests=tuple(kept))
    return task
