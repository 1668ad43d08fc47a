"""eval-framework's metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from code_env.checks import require_choice
from code_env.errors import CodeEnvError, NoVerdict
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.rewards.pass_at_k import pass_at_k
from code_env.tasks.task import JudgeMode

from .contexts import FUNCTIONS, CallableSerializer, Error, MetricResult, RealtimeCodeExectionContext, realtime_fields
from .running import Packages, execute_python_code_with_tests, require_packages


class CodeExecutionPassAtOne:
    """The metric: 1.0 for a completion that passes its tests, else 0.0.

    Args:
        executor: Where completions run: an executor, or the name of an executor.
        judge: The judge mode for tests without a parse function. The tests of BigCodeBench need `shared`: see
            `docs/task-format.md`.
        functions: `use` the functions of a context, or `ignore` them and run its tests apart from the completion. The
            contexts of eval-framework's own tasks hold pickled functions, which are never unpickled here. If these
            functions run `unittest` and search the output for its OK, nothing is lost with `ignore`.
        image: `require` the image that a context names, which the executor `container` then runs, or `ignore` it and
            run on the packages of the executor's interpreter.
        limits: Further limits, or limits that replace those of a context's `benchmark_timeout`, for example
            `{"cpu_s": 1}`; see `Limits` for their names.
        packages: `installed` for the packages of the executor's interpreter, or `prepared` for those that the context
            names for what completion and tests import; see `prepare_packages`.

    Raises:
        ValueError: If `functions`, `image` or `packages` has another value.
        TaskError: If a limit is unknown or out of range.

    Example:
        >>> from code_env.integrations.eval_framework import CodeExecutionPassAtOneContext, Completion
        >>> context = CodeExecutionPassAtOneContext(
        ...     code_prompt="Write add(a, b).", test_code="assert add(1, 2) == 3", package_downloads={}
        ... )
        >>> completion = Completion(completion="def add(a, b): return a + b", context=context)
        >>> CodeExecutionPassAtOne().calculate(completion)[0].value
        1.0
    """

    NAME = "code-execution-pass@1"
    """Name of the metric."""

    def __init__(
        self,
        executor: Executor | str | None = None,
        judge: JudgeMode = "blind",
        *,
        functions: Literal["use", "ignore"] = "use",
        image: Literal["require", "ignore"] = "require",
        limits: Mapping[str, Any] | None = None,
        packages: Packages = "installed",
    ) -> None:
        require_choice("functions", functions, ("use", "ignore"), ValueError)
        require_choice("image", image, ("require", "ignore"), ValueError)
        require_packages(packages)
        self.k = 1
        self._ignored = [*FUNCTIONS * (functions == "ignore"), *["run_env"] * (image == "ignore")]
        self.serializer = CallableSerializer()
        self._executor, self._judge, self._limits, self._packages = executor, judge, limits, packages
        Limits().with_values(limits)

    def calculate(self, response: Any) -> list[MetricResult]:
        """Judge a completion.

        Args:
            response: A `Completion`, or an object with its attributes.

        Returns:
            A list with one result. Its value is None if `response.error` is set, if the sandbox failed, or if a
            function of the context raised an exception.

        Raises:
            TaskError: If there is no context, the context lacks a field, its functions cannot be imported, or its tests
                test nothing.
            ExecutorMisconfigured: If no engine for containers runs a program in the image that the context names.
            UnsupportedProgram: If a package is missing or not prepared. Also if the context names an image, and the
                executor is another one than `container`.
        """
        if response.error is not None:
            return [MetricResult(metric_name=self.NAME, value=None, error=response.error)]
        context = RealtimeCodeExectionContext(**realtime_fields(response.context, self._ignored))
        try:
            result = execute_python_code_with_tests(
                code=response.completion,
                test_code=context.test_code,
                package_mapping=context.package_downloads,
                merge_code_fn=context.snippet_merge_fn,
                image=context.run_env,
                timeout=context.benchmark_timeout,
                parse_output_fn=context.output_parse_fn,
                executor=self._executor,
                judge=self._judge,
                limits=self._limits,
                packages=self._packages,
            )
        except NoVerdict as failed:
            return [MetricResult(metric_name=self.NAME, value=None, error=Error.of(failed))]
        except CodeEnvError:
            raise
        except Exception as failed:  # From a function of the context: not the completion's fault.
            return [MetricResult(metric_name=self.NAME, value=None, error=Error.of(failed))]
        value = estimate_pass_at_k(1, int(result.success), self.k)
        return [MetricResult(metric_name=self.NAME, value=value, code_execution_trace=result.output)]


class CodeExecutionPassAtOneWithCodebench(CodeExecutionPassAtOne):
    """The same metric for tasks of BigCodeBench, which eval-framework runs in an image that has all their packages.

    Here they find the prepared packages that the context names for what completion and tests import.

    Args:
        executor: As in `CodeExecutionPassAtOne`.
        judge: As there. The tests of BigCodeBench replace parts of libraries, so they run beside the completion.
        functions: As there.
        limits: As there.
    """

    NAME = "code-execution-pass@1-codebench"

    def __init__(
        self,
        executor: Executor | str | None = None,
        judge: JudgeMode = "shared",
        *,
        functions: Literal["use", "ignore"] = "use",
        limits: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(executor, judge, functions=functions, image="ignore", limits=limits, packages="prepared")


def estimate_pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate pass@k for one task.

    Args:
        n: The number of judged samples.
        c: How many of them passed.
        k: The number of drawn samples.

    Raises:
        ValueError: If the numbers do not fit together, for example if there are fewer than `k` samples.

    Example:
        >>> estimate_pass_at_k(5, 2, 1)
        0.4
    """
    return pass_at_k(n, c, k)
