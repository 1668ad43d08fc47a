"""eval-framework's metric `Code Completion Accuracy`, for HumanEval and MBPP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_env.errors import NoVerdict
from code_env.executors.base import Executor
from code_env.executors.program import Program
from code_env.executors.result import Status
from code_env.judging.judge import judge as judge_answer
from code_env.tasks.task import JudgeMode

from .._common.runs import time_limits, why_ended, with_verdict
from .._common.shared_executor import executor_for
from .._common.suites import assert_task
from .contexts import Error, ExecutionResult, MetricResult
from .running import described, run

_TIMEOUT_S = 60
_MEMORY_BYTES = 512 << 20


class CodeCompletionAssertion:
    """The metric: 1.0 for a completion that passes its tests, else 0.0.

    A completion is a program that eval-framework has put together: the model's code, the tests, and a line that prints
    True if they hold. If the response has the context of HumanEval or MBPP, the tests are known. Then they are cut off
    the program and run apart from it. Else the program runs as it is, and **its last printed word decides**, which the
    model's code can print itself.

    Args:
        executor: Where completions run: an executor, or the name of an executor.
        judge: The judge mode for tests that are known.
        limits: Limits in place of 60 seconds and 512 MiB, for example `{"cpu_s": 1}`; see `Limits` for their names.

    Raises:
        TaskError: If a limit is unknown or out of range.

    Example:
        >>> from types import SimpleNamespace
        >>> tests = "def check(candidate):\\n    assert candidate(2) == 4\\n"
        >>> end = "try:\\n  check(double)\\n  print(True)\\nexcept Exception as e:\\n  print(False)\\n"
        >>> context = SimpleNamespace(prompt="", test=tests, entry_point="double")
        >>> code = "def double(n): return 2 * n"
        >>> response = SimpleNamespace(completion=f"{code}\\n{tests}\\n{end}", context=context, error=None)
        >>> CodeCompletionAssertion().calculate(response)[0].value
        1.0
    """

    NAME = "Code Completion Accuracy"
    """Name of the metric."""

    def __init__(
        self,
        executor: Executor | str | None = None,
        judge: JudgeMode = "blind",
        *,
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        self._executor, self._judge = executor, judge
        self._limits = time_limits(_TIMEOUT_S, _MEMORY_BYTES).with_values(limits)

    def calculate(self, response: Any) -> list[MetricResult]:
        """Judge a completion.

        Args:
            response: A `Completion`, or an object with its attributes.

        Returns:
            A list with one result. Its value is None if `response.error` is set, or if the sandbox failed.

        Raises:
            TaskError: If the tests of the context are not Python or test nothing.
        """
        if response.error is not None:
            return [MetricResult(metric_name=self.NAME, value=None, error=response.error)]
        try:
            success, output = self._run(response)
        except NoVerdict as failed:
            return [MetricResult(metric_name=self.NAME, value=None, error=Error.of(failed))]
        return [MetricResult(metric_name=self.NAME, value=float(success), code_execution_trace=output)]

    def _run(self, response: Any) -> ExecutionResult:
        executor = executor_for(self._executor)
        apart = _apart(response.completion, getattr(response, "context", None))
        if apart is not None:
            code, tests = apart
            task = assert_task(tests, self._limits, "the tests of the context", self._judge)
            return described(with_verdict(judge_answer(task, code, executor)))
        result = run(executor, Program(response.completion, limits=self._limits))
        if result.status not in (Status.OK, Status.ERROR):
            return ExecutionResult(False, f"{why_ended(result)}\n{result.stderr}{result.stdout}".strip())
        return ExecutionResult(result.stdout.split()[-1:] == ["True"], result.stdout)


def _apart(completion: str, context: Any) -> tuple[str, str] | None:
    """The model's code and the tests; None if the context does not say where in a completion the tests begin.

    The model's code can hold the same text, so the last place counts, which eval-framework has written.
    """
    if hasattr(context, "test") and hasattr(context, "entry_point"):
        code, found, end = completion.rpartition(context.test)
        call = f"check({context.entry_point})"
        return (code, f"{context.test}\n{call}\n") if found and call in end else None
    if hasattr(context, "tests_code"):
        code, found, end = completion.rpartition("try:\n    ")
        first = context.tests_code.partition("\n")[0]
        return (code, context.tests_code) if found and end.startswith(first) else None
    return None
