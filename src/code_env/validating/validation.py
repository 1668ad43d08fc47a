"""Proves a suite before use.

Each reference is judged several times and must pass each time; trivial answers must not pass. The proof also reports
which judge mode a reference needs, and how much of its time limits it uses. The judge mode is chosen from references
only, never from a policy's answer.

All judging runs in the executor, like any other answer. The tasks take turns, so that each repetition of a reference
runs in a different process, and usually with a different judge.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, get_args

from code_env.checks import require_whole
from code_env.executors.base import Executor
from code_env.executors.limits import MAX_SECONDS
from code_env.executors.result import Status
from code_env.harness.process.limits import WHOLE_RUN
from code_env.judging.judge import judge_each
from code_env.judging.verdict import CaseResult, Verdict
from code_env.tasks.kinds import AssertTest, HarborTest
from code_env.tasks.suite import TaskSuite
from code_env.tasks.task import JudgeMode, Task

from .calibration import FACTOR, calibrated, taken
from .copies import looks_at_copies
from .findings import FindingKind, Validation, ValidationFinding
from .phrases import denied_answers
from .trivial import trivial_answers

REPETITIONS = 3
"""How often each reference is judged."""

MAX_SOLUTIONS = 10
"""The largest number of other solutions of a task that are judged; some data sets have hundreds."""

_BATCH = 16
"""How many tasks take turns: enough to keep the runs of one task apart, and few enough to report progress often."""

_IN_FLIGHT = 64
"""How many answers are being judged at the same time."""

_SHOWN = 8
"""The largest number of cases that a message names."""

_SLOW = 0.5
"""A reference that uses more than this share of a time limit counts as slow."""


def validate(
    suite: TaskSuite,
    executor: Executor,
    *,
    repetitions: int = REPETITIONS,
    calibrate: bool = False,
    progress: Callable[[int], object] = lambda done: None,
) -> Validation:
    """Prove that references pass each time and that trivial answers do not.

    Args:
        suite: The tasks.
        executor: The executor that runs answers.
        repetitions: How often each reference is judged.
        calibrate: Whether to set time limits from the time that references take on this host, see `calibrated`, and to
            record time and memory in the tasks' metadata, see `cpu_economy`.
        progress: Called with the number of tasks done.

    Raises:
        TypeError: If `suite` is not a `TaskSuite`.
        ValueError: If `repetitions` is not a whole number of at least 1.
        UnsupportedProgram: If the executor cannot do what a task asks.

    Example:
        >>> from code_env import load_suite, make_executor
        >>> with make_executor("local") as executor:
        ...     validate(load_suite("starter")[:2], executor).sound
        True
    """
    if not isinstance(suite, TaskSuite):
        raise TypeError(f"suite must be a TaskSuite; got {type(suite).__name__}; load_suite makes one")
    require_whole("repetitions", repetitions, ValueError, least=1)
    proven: list[Task] = []
    findings: list[ValidationFinding] = []
    for start in range(0, len(suite), _BATCH):
        proofs = [_Proof(task, calibrate) for task in suite[start : start + _BATCH]]
        _prove_references(proofs, executor, repetitions)
        _try_others(proofs, executor)
        for proof in proofs:
            proof.look_at_statement()
            proof.look_at_tests()
            proven.append(proof.task)
            findings += proof.findings
        progress(len(proven))
    return Validation(TaskSuite(suite.name, proven), tuple(findings))


def _prove_references(proofs: Sequence[_Proof], executor: Executor, repetitions: int) -> None:
    """Judge references in turns: first as the task states; then, if a reference never passes, in other ways."""
    waiting = [(proof, proof.ways()) for proof in proofs if proof.task.reference is not None]
    while waiting:
        tried = [(proof, task) for proof, ways in waiting if (task := next(ways, None)) is not None]
        runs: dict[int, list[Verdict]] = {id(proof): [] for proof, _ in tried}
        order = [pair for _ in range(repetitions) for pair in tried]
        verdicts = judge_each([(task, task.reference or "") for _, task in order], executor, in_flight=_IN_FLIGHT)
        for (proof, _), verdict in zip(order, verdicts, strict=True):
            runs[id(proof)].append(verdict)
        for proof, task in tried:
            proof.take(task, runs[id(proof)])
        waiting = [(proof, ways) for proof, ways in waiting if id(proof) in runs and not proof.settled]
    for proof in proofs:
        proof.conclude()


def _try_others(proofs: Sequence[_Proof], executor: Executor) -> None:
    """Judge the answers that should not pass, and the other solutions, which should."""
    tried = [(proof, what, answer) for proof in proofs for what, answer in proof.others()]
    verdicts = judge_each([(proof.task, answer) for proof, _, answer in tried], executor, in_flight=_IN_FLIGHT)
    outcomes: dict[int, list[tuple[str | int, Verdict]]] = {id(proof): [] for proof in proofs}
    for (proof, what, _), verdict in zip(tried, verdicts, strict=True):
        outcomes[id(proof)].append((what, _slim(verdict)))
    for proof in proofs:
        proof.look_at_others(outcomes[id(proof)])


class _Proof:
    """The proof of one task. At its end `task` is the task with what the proof changed."""

    def __init__(self, task: Task, calibrate: bool) -> None:
        self.task = self._stated = task
        # A folder says itself how long its agent may take, and a trial measures neither CPU time nor memory.
        self._calibrate = calibrate and not isinstance(task.tests[0], HarborTest)
        self.settled = False
        self.findings: list[ValidationFinding] = []
        self._verdicts: list[Verdict] = []
        self._as_stated: list[Verdict] = []

    def ways(self) -> Iterator[Task]:
        """The task as stated, then variants with more time or another judge mode."""
        task = self._stated
        yield task
        if self._needs_time:
            limits = task.limits
            more = {name: min(MAX_SECONDS, FACTOR * getattr(limits, name)) for name in ("cpu_s", "wall_s")}
            yield dataclasses.replace(task, limits=dataclasses.replace(limits, **more))
        # The judge modes differ in the objects that test code gets. Only `assert` tests have test code.
        if any(isinstance(test, AssertTest) for test in task.tests):
            modes: tuple[JudgeMode, ...] = get_args(JudgeMode)
            for mode in modes[modes.index(task.judge) + 1 :]:
                yield dataclasses.replace(task, judge=mode)

    def take(self, task: Task, verdicts: list[Verdict]) -> None:
        """Take the verdicts on the reference, together with the variant of the task that was judged."""
        first = not self._as_stated
        if first:
            self._as_stated = verdicts
        if first and self._needs_time:
            return
        # If verdicts differ, or the sandbox fails, another variant of the task would not help.
        self.settled = any(v.passed or not v.valid for v in verdicts) or bool(_changed(verdicts))
        if self.settled:
            self.task, self._verdicts = task, verdicts

    @property
    def _needs_time(self) -> bool:
        return self._calibrate and _timed_out(self._as_stated)

    def conclude(self) -> None:
        """Add findings from the reference's verdicts, and set the judge mode and the limits accordingly."""
        if self._stated.reference is None:
            self._find(FindingKind.NO_REFERENCE, "it has no reference to prove it with")
            return
        verdicts = self._verdicts if self.settled else self._as_stated
        unjudged = next((verdict for verdict in verdicts if not verdict.valid), None)
        if unjudged is not None:
            self._find(FindingKind.NO_VERDICT, f"there is no verdict on its reference: {_why(unjudged)}")
        judged = [verdict for verdict in verdicts if verdict.valid]
        if not all(verdict.passed for verdict in judged):
            self._conclude_failure(judged)
            return
        if unjudged is not None:
            self.task = self._stated
            return
        if self.task.judge != self._stated.judge:
            self._find(
                FindingKind.JUDGE_MODE,
                f"its reference passes as {self.task.judge!r}, not as {self._stated.judge!r}: "
                f"{_why(self._as_stated[0])}",
            )
        self._look_at_times(judged)

    def _conclude_failure(self, judged: list[Verdict]) -> None:
        changed = _changed(judged)
        if changed:
            passed = sum(verdict.passed for verdict in judged)
            failure = next(case for v in judged for case in v.cases if _key(case) == changed[0] and not case.passed)
            self._find(
                FindingKind.FLAKY,
                f"its reference passes {passed} of {len(judged)} times; {_named(self.task, changed)} changed: "
                f"test {failure.test}: {failure.message}",
            )
        else:
            hint = "; calibration finds the time it needs" if _timed_out(judged) and not self._calibrate else ""
            self._find(FindingKind.REFERENCE_FAILS, f"its reference does not pass: {_why(judged[0])}{hint}")
        self.task = self._stated

    def _look_at_times(self, verdicts: list[Verdict]) -> None:
        # Wall time also grows when the machine is busy; the smallest wall time is what the reference really needs.
        cpu_s, wall_s = statistics.median(map(_cpu_s, verdicts)), min(map(_wall_s, verdicts))
        stated = self._stated.limits
        took = f"{cpu_s:.3g} s of CPU time and {wall_s:.3g} s on the clock"
        allowed = f"{stated.cpu_s:g} s and {stated.wall_s:g} s"
        suffice = self.task.limits == stated
        if self._calibrate:
            limits = calibrated(stated, cpu_s, wall_s, suffice=suffice)
            metadata = {**self.task.metadata, **taken([verdict.execution for verdict in verdicts])}
            self.task = dataclasses.replace(self.task, limits=limits, metadata=metadata)
        limits = self.task.limits
        if not suffice:
            self._find(FindingKind.LIMITS, f"its reference takes {took}; the limits are {allowed}")
        elif cpu_s > _SLOW * limits.cpu_s or wall_s > _SLOW * limits.wall_s:
            self._find(FindingKind.SLOW, f"its reference takes {took}, more than half of a limit; these are {allowed}")

    def others(self) -> Iterator[tuple[str | int, str]]:
        """The answers other than the reference: an empty one, the trivial ones, and other solutions by their number."""
        yield "", ""
        yield from trivial_answers(self.task).items()
        if self._is_proven:
            yield from enumerate(_solutions(self.task))

    @property
    def _is_proven(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)

    def look_at_others(self, outcomes: Iterable[tuple[str | int, Verdict]]) -> None:
        """Add findings from the verdicts on the answers of `others`."""
        trivial: dict[str, Verdict] = {}
        solutions: list[Verdict] = []
        for what, verdict in outcomes:
            if not verdict.valid:
                # If the reference has no verdict either, that finding exists already.
                if not any(finding.kind is FindingKind.NO_VERDICT for finding in self.findings):
                    name = f"an answer that {what}" if isinstance(what, str) else "a further solution"
                    self._find(FindingKind.NO_VERDICT, f"there is no verdict on {name}: {_why(verdict)}")
            elif isinstance(what, int):
                solutions.append(verdict)
            elif not what:
                if verdict.fraction:
                    self._find(FindingKind.EMPTY_SCORES, f"an empty answer scores {verdict.fraction:.3g}")
            elif verdict.fraction:
                trivial[what] = verdict
        self._look_at_trivial(trivial)
        failed = [verdict for verdict in solutions if not verdict.passed]
        if failed:
            self._find(
                FindingKind.SOLUTION_FAILS,
                f"of {len(solutions)} further solutions {len(failed)} do not pass: {_why(failed[0])}",
            )

    def _look_at_trivial(self, trivial: dict[str, Verdict]) -> None:
        passing = [what for what, verdict in trivial.items() if verdict.passed]
        if passing:
            self._find(FindingKind.TRIVIAL_PASSES, f"an answer passes that {' or '.join(passing)}")
        alike: dict[str, list[str]] = {}
        for what, verdict in trivial.items():
            if not verdict.passed:
                alike.setdefault(f"{verdict.fraction:.2f} ({self._passed_by(verdict)})", []).append(what)
        if alike:
            scores = [f"{score} if it {' or '.join(answers)}" for score, answers in alike.items()]
            most = max(verdict.fraction or 0.0 for verdict in trivial.values() if not verdict.passed)
            self._find(FindingKind.TRIVIAL_SCORES, f"an answer scores {'; '.join(scores)}", most)

    def _passed_by(self, verdict: Verdict) -> str:
        """The cases that an answer passed: the hidden ones by name, the public ones as a count."""
        parts = []
        hidden = [_key(case) for case in verdict.cases if case.passed and case.hidden]
        if hidden:
            parts.append(_named(self.task, hidden))
        public = [case.passed for case in verdict.cases if not case.hidden]
        if any(public):
            parts.append(f"{sum(public)} of {len(public)} public cases")
        return ", ".join(parts)

    def look_at_statement(self) -> None:
        """Add findings where the statement allows answers that the tests reject."""
        for phrase, words, tests in denied_answers(self.task):
            cases = [(test, 0) for test in tests]
            self._find(
                FindingKind.SEVERAL_ANSWERS,
                f'the statement says "{words}", which allows {phrase.name}; one is right in {_named(self.task, cases)}',
            )

    def look_at_tests(self) -> None:
        """Add findings for tests that look at copies."""
        for test, statement in looks_at_copies(self.task):
            self._find(
                FindingKind.COPIES,
                f"test {test} looks at data after the call that took or gave it ({statement}); what crosses is a "
                'copy, so a wrong answer may pass: judge="shared" shows it',
            )

    def _find(self, kind: FindingKind, problem: str, score: float | None = None) -> None:
        self.findings.append(ValidationFinding(self.task.id, kind, problem, score))


def _cpu_s(verdict: Verdict) -> float:
    """The CPU time that must fit into the limit.

    It is that of the most expensive test, or one test's share of the whole run if that is larger.
    """
    tests = [case.cpu_s for case in verdict.cases if case.cpu_s is not None]
    return max([verdict.execution.cpu_s / WHOLE_RUN, *tests])


def _wall_s(verdict: Verdict) -> float:
    tests = [case.wall_s for case in verdict.cases if case.wall_s is not None]
    return max([verdict.execution.wall_s / WHOLE_RUN, *tests])


def _timed_out(verdicts: Iterable[Verdict]) -> bool:
    return any(case.status is Status.TIMEOUT for verdict in verdicts for case in verdict.cases)


def _changed(verdicts: list[Verdict]) -> list[tuple[int, int]]:
    """The cases that passed in some verdicts, but not in all."""
    alike = zip(*[verdict.cases for verdict in verdicts], strict=True)
    return [_key(cases[0]) for cases in alike if len({case.passed for case in cases}) > 1]


def _solutions(task: Task) -> list[str]:
    """Other correct solutions, if the task's file had some."""
    known: Any = task.metadata.get("solutions")
    texts = [text for text in known if isinstance(text, str)] if isinstance(known, list | tuple) else []
    return [text for text in dict.fromkeys(texts) if text != task.reference][:MAX_SOLUTIONS]


def _slim(verdict: Verdict) -> Verdict:
    """A verdict without the outputs, because the outputs of many verdicts would need much memory."""
    execution = dataclasses.replace(verdict.execution, stdout="", stderr="", files={}, results=())
    cases = tuple(dataclasses.replace(case, actual="", stderr="") for case in verdict.cases)
    return dataclasses.replace(verdict, cases=cases, execution=execution)


def _key(case: CaseResult) -> tuple[int, int]:
    return case.test, case.case


def _why(verdict: Verdict) -> str:
    failed = next((case for case in verdict.cases if not case.passed), None)
    if failed is not None:
        return f"test {failed.test}: {failed.message}"
    error = verdict.execution.error
    return error.message if error else str(verdict.execution.status)


def _named(task: Task, cases: list[tuple[int, int]]) -> str:
    """The names of cases, grouped by test, as in `test 0 cases 1, 4, test 2 and 3 more`."""
    by_test: dict[int, list[int]] = {}
    for test, case in cases[:_SHOWN]:
        by_test.setdefault(test, []).append(case)
    names = []
    for test, numbers in by_test.items():
        word = "" if task.tests[test].cases == 1 else " case " if len(numbers) == 1 else " cases "
        names.append(f"test {test}{word}{', '.join(map(str, numbers)) if word else ''}")
    more = len(cases) - _SHOWN
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
