"""Judges the answers of an environment at the same time; identical answers once, and cached answers not again."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterable
from functools import partial

from code_env.executors.base import Executor
from code_env.tasks.task import Task

from .pending import PendingVerdict
from .verdict import Verdict


class VerdictCache:
    """A cache of verdicts, by task and answer. It returns a verdict only after two runs gave equal verdicts.

    Two equal runs do not prove that a program always behaves the same; they mostly exclude programs whose verdict
    changes in most runs. If two verdicts on an answer once differed, the cache never returns one for it.

    Args:
        size: How many answers it remembers; it drops the least recently used first.

    Raises:
        ValueError: If `size` is not a positive whole number.
    """

    def __init__(self, size: int) -> None:
        if type(size) is not int or size < 1:
            raise ValueError(f"the size of a cache is a whole number of at least 1; got {size!r}")
        self._size = size
        self._known: OrderedDict[tuple[int, str], _Known] = OrderedDict()

    def get(self, task: Task, code: str) -> Verdict | None:
        """The verdict on an answer; None if two equal verdicts are not known."""
        key = (id(task), code)
        known = self._known.get(key)
        if known is None:
            return None
        self._known.move_to_end(key)
        return known.verdict if known.is_certain else None

    def put(self, task: Task, code: str, verdict: Verdict) -> None:
        """Record the verdict of a run."""
        if not verdict.valid:
            return
        key = (id(task), code)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._size:
                self._known.popitem(last=False)
            self._known[key] = _Known(task, dataclasses.replace(verdict, response=code))
        elif not known.is_certain:
            known.is_certain = known.verdict == dataclasses.replace(verdict, response=code)
            known.verdict = known.verdict if known.is_certain else None

    def __len__(self) -> int:
        return len(self._known)


@dataclasses.dataclass
class _Known:
    """What the cache knows about one answer."""

    task: Task
    """Kept, so that no other task can get the same `id`."""
    verdict: Verdict | None
    """The verdict; None if runs have differed."""
    is_certain: bool = False


class SharedJudging:
    """Has answers judged by one executor; identical answers of one step are judged once.

    Args:
        executor: Where programs run.
        cache_size: How many verdicts are remembered; 0 for none.
        until_failure: Whether tests after the first that fails need not run.
    """

    def __init__(self, executor: Executor, *, cache_size: int = 0, until_failure: bool = False) -> None:
        self.executor = executor
        self.cache = VerdictCache(cache_size) if cache_size else None
        self._until_failure = until_failure

    def submit(self, answers: Iterable[tuple[Task, str]]) -> list[PendingVerdict]:
        """Submit answers; for identical answers to the same task the list holds the same object.

        Raises:
            UnsupportedProgram: If the executor cannot do what a task asks; then no program is left running.
        """
        started: dict[tuple[int, str], PendingVerdict] = {}
        pending: list[PendingVerdict] = []
        try:
            for task, code in answers:
                one = started.get((id(task), code))
                if one is None:
                    one = started[id(task), code] = self._pending(task, code)
                    one.start(self.executor)
                one.wanted_by += 1
                pending.append(one)
        except BaseException:
            for one in pending:
                one.cancel()
            raise
        return pending

    def _pending(self, task: Task, code: str) -> PendingVerdict:
        one = PendingVerdict(task, code, code, until_failure=self._until_failure)
        if self.cache is not None and one.verdict is None:
            one.verdict = self.cache.get(task, code)
            if one.verdict is None:
                one.then = partial(self.cache.put, task, code)
        return one
