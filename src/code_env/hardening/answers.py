"""Lets answers that pass vote on inputs. Where they contradict the reference or one another, the author is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from code_env.checks import require_whole
from code_env.executors.base import Executor
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import Task
from code_env.validating import FindingKind, ValidationFinding

from .inputs import inputs_of
from .table import Outcome, run_tables, shown_input, unfit

SUSPECT_SHARE = 1 / 3
"""From this share of the votes on, a contradiction is held against the reference."""


def look_at_answers(
    suite: TaskSuite,
    passing: Mapping[str, Iterable[str]],
    executor: Executor,
    *,
    seed: int = 0,
    progress: Callable[[int], object] = lambda done: None,
) -> list[ValidationFinding]:
    """Compare answers that pass all tests with the reference, and with one another, on inputs made for the purpose.

    The inputs resemble those of the tests; see `inputs_of`. Answers that behave alike on all of them have one vote, as
    many models write the same program in other words. An answer that raises, or takes too long, does not vote.

    Args:
        suite: The tasks.
        passing: For the id of each task the code of answers that pass it.
        executor: Where answers and references run.
        seed: The same seed gives the same inputs.
        progress: Called with the number of tasks done.

    Returns:
        Of each task at most one finding of each kind, in the order of the tasks: `reference_suspect`,
        `several_answers` or `weak_tests`.

    Raises:
        ValueError: If `seed` is no whole number of at least 0.
        UnsupportedProgram: If the executor cannot do what a task asks.

    Example:
        >>> from code_env import CallTest, Task, make_executor
        >>> reference = "def is_prime(n): return all(n % d for d in range(2, n))"
        >>> tests = tuple(CallTest((n,), expected=n != 9) for n in (3, 5, 9))
        >>> task = Task("prime", "Is n prime?", tests, "is_prime", reference=reference)
        >>> answers = ["def is_prime(n): return n > 1 and all(n % d for d in range(2, n))"]
        >>> with make_executor("local") as executor:
        ...     (finding,) = look_at_answers(TaskSuite("s", [task]), {"prime": answers}, executor)
        >>> finding.kind.value, finding.problem.partition(",")[0]
        ('reference_suspect', 'for is_prime(1) the reference gives True')
    """
    require_whole("seed", seed, ValueError, least=0)
    findings: list[ValidationFinding] = []
    for number, task in enumerate(suite):
        answers = list(dict.fromkeys(passing.get(task.id, ())))
        if answers and unfit(task) is None:
            findings += _findings(task, answers, executor, seed)
        progress(number + 1)
    return findings


def _findings(task: Task, answers: Sequence[str], executor: Executor, seed: int) -> list[ValidationFinding]:
    inputs = inputs_of(task, executor, seed)
    if not inputs:
        return []
    tables = run_tables(task, [task.program(answer) for answer in answers], [one.text for one in inputs], executor)
    ways = list(dict.fromkeys(table for table in tables if table is not None))
    found: dict[FindingKind, tuple[tuple[int, int], str]] = {}
    for place, (text, right, _) in enumerate(inputs):
        votes = votes_on(ways, place)
        kind = _kind(votes, right)
        if kind is None:
            continue
        # The input on which most disagree says most, and of these the shortest.
        weight = (-(votes.total() - votes[right]), len(text))
        if kind not in found or weight < found[kind][0]:
            found[kind] = weight, _told(task, text, right, votes)
    return [ValidationFinding(task.id, kind, problem) for kind, (_, problem) in sorted(found.items())]


def votes_on(tables: Iterable[tuple[Outcome, ...]], place: int) -> Counter[Outcome]:
    """The votes on an input, by its number in the tables. What raises or takes too long does not vote."""
    return Counter(table[place] for table in tables if table[place].answers)


def _kind(votes: Counter[Outcome], right: Outcome) -> FindingKind | None:
    """What the answers to an input say of the task."""
    against = Counter({outcome: count for outcome, count in votes.items() if outcome != right})
    if not against:
        return None
    if against.total() < SUSPECT_SHARE * votes.total():
        return FindingKind.WEAK_TESTS
    (_, most), *others = against.most_common()
    # Who knows that the reference is wrong agrees on what is right.
    return FindingKind.SEVERAL_ANSWERS if others and 2 * most <= against.total() else FindingKind.REFERENCE_SUSPECT


def _told(task: Task, text: str, right: Outcome, votes: Counter[Outcome]) -> str:
    (other, count), *more = [one for one in votes.most_common() if one[0] != right]
    told = f"for {shown_input(task, text)} the reference gives {right.text}, and {count} of {votes.total()} distinct"
    rest = f", and others {len(more)} more values" if more else ""
    return f"{told} answers that pass give{'s' if count == 1 else ''} {other.text}{rest}"
