"""What a judge found: the verdict, and one result for each case."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from code_env.executors.result import ExecutionResult, Status
from code_env.tasks.task import JudgeMode


class Outcome(StrEnum):
    """The verdict in a word."""

    PASS = "pass"
    """Every case passed."""
    FAIL = "fail"
    """It was tested, and not every case passed."""
    POLICY_ERROR = "policy_error"
    """The program's own fault kept it from being tested: no code, syntax, a refusal, an early death."""
    NO_VERDICT = "no_verdict"
    """The sandbox or the task failed, not the program: there is nothing to reward or to punish."""


class Stage(StrEnum):
    """How far an answer got, from nothing to its first test."""

    NOTHING = "nothing"
    """There is no code in the response."""
    CODE = "code"
    """There is code, and it does not parse."""
    PARSED = "parsed"
    """It parses, and died before its first test, or does not define what the tests call."""
    TESTED = "tested"
    """It was tested."""


@dataclass(frozen=True)
class CaseResult:
    """How one case went."""

    test: int
    """Index of its test in `Task.tests`."""
    case: int
    """Index among the cases of that test."""
    passed: bool
    """Whether it passed."""
    hidden: bool
    """Whether the policy may not see its input and expected value."""
    weight: float
    """Its share of the pass fraction, relative to the other cases."""
    tested: bool
    """Whether the program got as far as this test."""
    status: Status
    """How the program did while it ran this test."""
    message: str = ""
    """Why it did not pass; shows expected values, so not for the policy unless `hidden` is false."""
    expected: str = ""
    """What was expected, shortened."""
    actual: str = ""
    """What came instead: the output (head and tail of a long one) or the value, shortened."""
    actual_chars: int = 0
    """Length of the whole output, in characters, for tests that expect one."""
    error_name: str = ""
    """Class of the exception that ended it, if one did; the program may have made the name up."""
    stderr: str = ""
    """The end of what the test's run wrote to standard error."""
    cpu_s: float | None = field(default=None, compare=False)
    """CPU time of its test, in seconds: of an `assert` test as a whole, of a `call` test that of loading the program if
    it is larger. None if unknown; for `call` tests the program may have made it up."""
    wall_s: float | None = field(default=None, compare=False)
    """The same on the clock, without loading."""


@dataclass(frozen=True)
class Verdict:
    """What a judge found. Measurements inside `execution` take no part in comparison.

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
    """One result for each case, in the order of the tests; empty where there is no verdict."""
    fraction: float | None
    """Weighted share of the cases that passed, from 0 to 1; None where there is no verdict."""
    judge: JudgeMode
    """How it was judged."""
    response: str
    """The action as it came."""
    code: str
    """The answer extracted from it."""
    execution: ExecutionResult
    """The judged run; its status is that of the first test that had a fault, else `ok`."""
    stage: Stage | None = None
    """How far the answer got; None where there is no verdict."""
    judge_s: float = field(default=0.0, compare=False)
    """How long it took to make the verdict of what had come back, in seconds."""

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
        """Whether there is a program in the answer; also true where there is no verdict."""
        return self.stage is not Stage.NOTHING

    @property
    def tests_passed(self) -> int:
        """How many cases passed."""
        return sum(case.passed for case in self.cases)

    @property
    def tests_total(self) -> int:
        """How many cases there are."""
        return len(self.cases)
