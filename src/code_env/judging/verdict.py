"""What judging an answer gives: the verdict, with one result for each case."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from code_env import html
from code_env.executors.result import ExecutionResult, Status
from code_env.tasks.task import JudgeMode


class Outcome(StrEnum):
    """The verdict in a word; docs/environment.md has a table of the values."""

    PASS = "pass"
    """Every case passed."""
    FAIL = "fail"
    """The answer was tested, and at least one case did not pass."""
    POLICY_ERROR = "policy_error"
    """The program could not be tested, by its own fault: no code, a syntax error, a refusal, or an early end."""
    NO_VERDICT = "no_verdict"
    """The sandbox or the task failed, not the program: the answer must be neither rewarded nor punished."""


class Stage(StrEnum):
    """How far an answer got: `nothing`, `code`, `parsed` or `tested`; docs/evaluating.md explains them."""

    NOTHING = "nothing"
    """There is no code in the response."""
    CODE = "code"
    """There is code, but it does not parse."""
    PARSED = "parsed"
    """The code parses, but it ended before its first test, or does not define what the tests call."""
    TESTED = "tested"
    """The code was tested."""


@dataclass(frozen=True)
class CaseResult:
    """How one case went."""

    test: int
    """Index of the case's test in `Task.tests`."""
    case: int
    """Index among the cases of that test."""
    passed: bool
    """Whether the case passed."""
    hidden: bool
    """Whether the case's input and expected value must not be shown to the policy."""
    weight: float
    """How much the case counts in the pass fraction, relative to the other cases."""
    tested: bool
    """Whether the program got as far as this test."""
    status: Status
    """How the program ended while it ran this test."""
    message: str = ""
    """Why the case did not pass. It shows expected values, so the policy may see it only if `hidden` is false."""
    expected: str = ""
    """What was expected, shortened."""
    actual: str = ""
    """What the program gave: the output (head and tail if it is long) or the value, shortened."""
    actual_chars: int = 0
    """Length of the whole output, in characters, for tests that expect one."""
    error_name: str = ""
    """Class name of the exception that ended the case, if there was one; the program may have invented the name."""
    stderr: str = ""
    """The end of what the test's run wrote to standard error."""
    share: float | None = None
    """How much of the case was earned, from 0 to 1, if its test says so; None for all or nothing."""
    cpu_s: float | None = field(default=None, compare=False)
    """CPU time of the case's test, in seconds: for an `assert` test the time of the whole test; for a `call` test the
    larger of the call's time and the time to load the program. None if unknown; for `call` tests the program may have
    invented the number."""
    wall_s: float | None = field(default=None, compare=False)
    """Wall time of the case's test, in seconds, without the time to load the program."""

    @property
    def earned(self) -> float:
        """How much of the case was earned, from 0 to 1."""
        return float(self.passed) if self.share is None else self.share


@dataclass(frozen=True)
class Verdict:
    """The result of judging one answer. The measurements in `execution` are ignored when verdicts are compared.

    Example:
        >>> from code_env import CallTest, Task, judge, make_executor
        >>> task = Task("add", "Write add(a, b).", (CallTest(args=(1, 2), expected=3),), entry_point="add")
        >>> with make_executor("local") as executor:
        ...     verdict = judge(task, "def add(a, b): return a + b", executor)
        >>> verdict.passed, verdict.fraction, verdict.judge
        (True, 1.0, 'blind')
    """

    outcome: Outcome
    """The verdict in a word."""
    cases: tuple[CaseResult, ...]
    """One result for each case, in the order of the tests; empty if there is no verdict."""
    fraction: float | None
    """Weighted share of the cases that passed, from 0 to 1; None if there is no verdict."""
    judge: JudgeMode
    """The judge mode that was used."""
    response: str
    """The action, unchanged."""
    code: str
    """The answer that was extracted from the response."""
    execution: ExecutionResult
    """The judged run; its status is that of the first test whose status is not `ok`, otherwise `ok`."""
    stage: Stage | None = None
    """How far the answer got; None if there is no verdict."""
    judge_s: float = field(default=0.0, compare=False)
    """How long it took to make the verdict from the results of the run, in seconds."""

    def _repr_html_(self) -> str:
        """Called by notebooks."""
        failed = [case for case in self.cases if not case.passed]
        rows = [(f"{c.test}.{c.case}", c.status, c.message, c.expected, c.actual) for c in failed[: html.MOST_ROWS]]
        title = f"{self.outcome}: {self.tests_passed} of {self.tests_total} cases passed, judged {self.judge}"
        columns = ("test.case", "status", "why not", "expected", "actual")
        cases = html.table(columns, rows, len(failed)) if failed else ""
        error = self.execution.error
        reason = html.block(f"{error.name}: {error.message}") if error is not None and not failed else ""
        return html.titled(title, html.block(self.code), cases, reason)

    @property
    def passed(self) -> bool:
        """Whether every case passed."""
        return self.outcome is Outcome.PASS

    @property
    def valid(self) -> bool:
        """Whether there is a verdict at all."""
        return self.outcome is not Outcome.NO_VERDICT

    @property
    def has_code(self) -> bool:
        """Whether there is a program in the answer; also true if there is no verdict."""
        return self.stage is not Stage.NOTHING

    @property
    def tests_passed(self) -> int:
        """How many cases passed."""
        return sum(case.passed for case in self.cases)

    @property
    def tests_total(self) -> int:
        """How many cases there are."""
        return len(self.cases)
