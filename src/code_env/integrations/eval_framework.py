"""eval-framework's metric `code-execution-pass@1`, judged by this package's judge.

The protocol is that of https://github.com/Aleph-Alpha-Research/eval-framework, in `src/eval_framework`:
`metrics/completion/code_execution_pass_at_one.py` and `tasks/utils.py`. A completion is a program, not a response, so
no code is extracted from it.

eval-framework merges completion and tests into one program, and a parse function searches the output of this program
for success. Here the tests run apart from the completion, unless the context has its own functions for merging and
parsing. Only in that case **success depends on what the program prints**, and a completion can print the same text.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self
from weakref import WeakKeyDictionary

from code_env.errors import CodeEnvError, NoVerdict, TaskError, UnsupportedProgram
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult as ProgramResult
from code_env.executors.result import Status
from code_env.importing import named_function
from code_env.judging.judge import judge as judge_answer
from code_env.judging.pending import ATTEMPTS
from code_env.judging.verdict import Verdict
from code_env.rewards.pass_at_k import pass_at_k
from code_env.tasks.task import JudgeMode

from ._common.misspelt import refuse_further
from ._common.runs import time_limits, why_ended, with_verdict
from ._common.shared_executor import executor_for, require_executor
from ._common.suites import assert_task

__all__ = [
    "CallableSerializer",
    "CodeExecutionBaseContext",
    "CodeExecutionPassAtOne",
    "CodeExecutionPassAtOneContext",
    "Completion",
    "Error",
    "ExecutionResult",
    "MetricResult",
    "RealtimeCodeExectionContext",
    "estimate_pass_at_k",
    "execute_python_code_with_tests",
]

_FUNCTIONS = ("snippet_merge_fn", "output_parse_fn")
"""The fields of a context that are functions."""

_MEMORY_BYTES = 1 << 30
"""The memory limit, in bytes: enough for the packages that these benchmarks import."""


class ExecutionResult(NamedTuple):
    """The result of a completion."""

    success: bool
    """Whether the completion passed."""
    output: str
    """A description of the result, or the text that a parse function returned."""


MergeFunction = Callable[[str, str], str]
"""Merges a completion and test code into one program."""

ParseFunction = Callable[[str], ExecutionResult]
"""Decides from the output of the merged program whether the completion passed."""


@dataclass(frozen=True, kw_only=True)
class CodeExecutionBaseContext:
    """The data of a task, without the completion."""

    run_env: str | None = None
    """The image that the tests run in; None for the packages of the executor's interpreter."""
    code_prompt: str
    """The prompt that the model got."""
    test_code: str
    """The tests."""
    benchmark_timeout: int = 60
    """The time limit for completion and tests together, in seconds."""
    package_downloads: Mapping[str, str | None]
    """Maps each package that completion and tests can import to the name under which it is installed; None for modules
    of Python itself."""


@dataclass(frozen=True, kw_only=True)
class CodeExecutionPassAtOneContext(CodeExecutionBaseContext):
    """A context as plain data, with import paths in place of functions."""

    snippet_merge_fn: str | None = None
    """Import path of the merge function, as `package.module:name`; None if the tests run apart from the completion."""
    output_parse_fn: str | None = None
    """Import path of the parse function, as `package.module:name`; None if the tests run apart from the completion."""


@dataclass(frozen=True, kw_only=True)
class RealtimeCodeExectionContext(CodeExecutionBaseContext):
    """A context that holds the functions themselves. The class name has the same spelling error in eval-framework."""

    snippet_merge_fn: MergeFunction | None = None
    """Merges completion and tests; None if the tests run apart from the completion."""
    output_parse_fn: ParseFunction | None = None
    """Decides from the output about success; None if the tests run apart from the completion."""

    @classmethod
    def from_context(cls, context: CodeExecutionPassAtOneContext) -> Self:
        """Import the functions of a context that is plain data.

        Raises:
            TaskError: If there is no function at an import path.
        """
        return cls(**_realtime_fields(context, ()))


@dataclass(frozen=True)
class Error:
    """An error that prevented a value for a completion."""

    error_class: str
    """Name of the exception's class."""
    message: str
    """Text of the exception."""
    traceback: str = ""
    """The formatted traceback."""

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Convert an exception to data."""
        return cls(type(error).__name__, str(error), "".join(traceback.format_exception(error)))


@dataclass(frozen=True, kw_only=True)
class MetricResult:
    """The result of a metric."""

    metric_name: str
    """Name of the metric."""
    value: float | None
    """The measured value; None if there is none."""
    higher_is_better: bool = True
    """Whether a higher value is better."""
    error: Error | None = None
    """The reason why there is no value."""
    code_execution_trace: str | None = None
    """A description of the result."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A completion and its context. The metric accepts any object with these three attributes."""

    completion: str
    """The program that a model wrote."""
    context: CodeExecutionPassAtOneContext | RealtimeCodeExectionContext | None = None
    """The context with the tests for the completion."""
    error: Error | None = None
    """The reason why there is no completion; None if there is one."""


class CallableSerializer:
    """Converts functions to import paths and back. An import path, unlike a pickled function, contains no code.

    Example:
        >>> from textwrap import dedent
        >>> CallableSerializer.encode(dedent)
        'textwrap:dedent'
        >>> CallableSerializer.decode("textwrap:dedent") is dedent
        True
    """

    @staticmethod
    def encode(fn: Callable[..., Any]) -> str:
        """Return the import path of a function.

        Raises:
            TaskError: If it has no import path, for example because it is a lambda or a function inside a function.
        """
        module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "")
        found = getattr(importlib.import_module(module), name, None) if module and name.isidentifier() else None
        if found is not fn:
            raise TaskError(f"{fn!r} cannot be imported by a name; define it at the top level of a module")
        return f"{module}:{name}"

    @staticmethod
    def decode(fn_str: str) -> Callable[..., Any]:
        """Return the function at an import path.

        Raises:
            TaskError: If there is no function at this path. Also if the text is a pickled function, which is never
                unpickled.
        """
        if not isinstance(fn_str, str) or ":" not in fn_str:
            raise TaskError(
                "an import path as package.module:name was expected, and this looks like a pickled function: "
                f"{fn_str!r:.60}. Nothing is unpickled here, as that runs what the text says; define the function at "
                "the top level of a module and name it, pass it in a RealtimeCodeExectionContext, or have the tests "
                "judged apart by CodeExecutionPassAtOne(functions='ignore')"
            )
        try:
            return named_function(fn_str)
        except LookupError as error:
            raise TaskError(str(error)) from None


class CodeExecutionPassAtOne:
    """The metric: 1.0 for a completion that passes its tests, else 0.0.

    Args:
        executor: Where completions run: an executor, or the name of an executor.
        judge: The judge mode for tests without a parse function. The tests of BigCodeBench need `shared`: see
            `docs/task-format.md`.
        functions: `use` the functions of a context, or `ignore` them and run its tests apart from the completion. The
            contexts of eval-framework's own tasks hold pickled functions, which are never unpickled here. If these
            functions run `unittest` and search the output for its OK, nothing is lost with `ignore`.
        image: `require` the image that a context names, or `ignore` it and run on the packages of the executor's
            interpreter.
        limits: Further limits, or limits that replace those of a context's `benchmark_timeout`, for example
            `{"cpu_s": 1}`; see `Limits` for their names.

    Raises:
        ValueError: If `functions` or `image` has another value.
        TaskError: If a limit is unknown or out of range.

    Example:
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
    ) -> None:
        for name, value, other in (("functions", functions, "use"), ("image", image, "require")):
            if value not in (other, "ignore"):
                raise ValueError(f"{name} must be {other!r} or 'ignore'; got {value!r}")
        self.k = 1
        self._ignored = [*_FUNCTIONS * (functions == "ignore"), *["run_env"] * (image == "ignore")]
        self.serializer = CallableSerializer()
        self._executor, self._judge, self._limits = executor, judge, limits
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
            ExecutorNotFound: If the context names an image, and there is no executor `container`.
            UnsupportedProgram: If a package is missing, or the context names an image and there is an executor
                `container`.
        """
        if response.error is not None:
            return [MetricResult(metric_name=self.NAME, value=None, error=response.error)]
        context = RealtimeCodeExectionContext(**_realtime_fields(response.context, self._ignored))
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
            )
        except NoVerdict as failed:
            return [MetricResult(metric_name=self.NAME, value=None, error=Error.of(failed))]
        except CodeEnvError:
            raise
        except Exception as failed:  # From a function of the context: not the completion's fault.
            return [MetricResult(metric_name=self.NAME, value=None, error=Error.of(failed))]
        value = estimate_pass_at_k(1, int(result.success), self.k)
        return [MetricResult(metric_name=self.NAME, value=value, code_execution_trace=result.output)]


def _realtime_fields(context: Any, ignored: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a context, or of an object with its attributes, with imported functions.

    The ignored fields are None.
    """
    names = [one.name for one in dataclasses.fields(RealtimeCodeExectionContext)]
    fields = {name: getattr(context, name) for name in names if hasattr(context, name)}
    missing = [name for name in ("code_prompt", "test_code", "package_downloads") if name not in fields]
    if missing:
        raise TaskError(
            f"context must have the fields of a CodeExecutionPassAtOneContext; got {type(context).__name__} without "
            f"{', '.join(missing)}"
        )
    fields |= dict.fromkeys(ignored)
    for name in _FUNCTIONS:
        given = fields.get(name)
        fields[name] = (given if callable(given) else CallableSerializer.decode(given)) if given else None
    return fields


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


@refuse_further
def execute_python_code_with_tests(
    code: str,
    test_code: str,
    package_mapping: Mapping[str, str | None],
    merge_code_fn: MergeFunction | None = None,
    image: str | None = None,
    timeout: int = 60,
    parse_output_fn: ParseFunction | None = None,
    *,
    dockerfile: str | None = None,
    executor: Executor | str | None = None,
    judge: JudgeMode = "blind",
    limits: Mapping[str, Any] | None = None,
) -> ExecutionResult:
    """Run a program against tests.

    Args:
        code: The program.
        test_code: The tests: asserts, or `unittest` classes.
        package_mapping: Maps each package that program and tests can import to the name under which it is installed;
            None for modules of Python itself.
        merge_code_fn: Merges program and tests into one program. If only `parse_output_fn` is given, the tests are
            appended to the program.
        image: An image to run in.
        timeout: The time limit for program and tests together, in seconds.
        parse_output_fn: Decides from the output of the merged program, standard error first, whether it passed. **The
            program itself can write this output.** Without this function the tests run apart from the program, and the
            judge decides.
        dockerfile: A recipe for an image to run in.
        executor: Where the program runs: an executor, or the name of an executor.
        judge: The judge mode if there is no parse function.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Raises:
        NoVerdict: If the sandbox failed.
        TaskError: If the tests are not Python or test nothing, if there is a merge function and no parse function, or
            if a limit is unknown or out of range.
        ExecutorNotFound: If an image is asked for, and there is no executor `container`.
        UnsupportedProgram: If an imported package is missing; the message names the package to install. Also if an
            image is asked for, and there is an executor `container`.
        TypeError: If a keyword is not an argument of this function.

    Example:
        >>> execute_python_code_with_tests("def f(): return 1", "assert f() == 2", {})
        ExecutionResult(success=False, output='0 of 1 tests passed\\nassert f() == 2: left is 1, right is 2')
    """
    if image or dockerfile:
        require_executor(
            "container",
            f"the image {image or dockerfile!r}",
            "Give None, or CodeExecutionPassAtOne(image='ignore'), to run on the packages here",
        )
        raise UnsupportedProgram(
            "images are not handed to the executor 'container' yet; run_env and image must be None"
        )
    if merge_code_fn is not None and parse_output_fn is None:
        raise TaskError(
            "merge_code_fn makes one program of answer and tests, and without parse_output_fn nothing tells how that "
            "did; give both, or neither to have the tests judged apart"
        )
    runs_on = executor_for(executor)
    each = time_limits(timeout, _MEMORY_BYTES).with_values(limits)
    _require_packages(runs_on, f"{code}\n{test_code}", package_mapping)
    if parse_output_fn is None:
        task = assert_task(test_code, each, "test_code", judge)
        return _described(with_verdict(judge_answer(task, code, runs_on)))
    merged = (merge_code_fn or _one_behind_the_other)(code, test_code)
    result = _run(runs_on, Program(merged, limits=each))
    if result.status not in (Status.OK, Status.ERROR):
        return ExecutionResult(False, f"{why_ended(result)}\n{result.stderr}{result.stdout}".strip())
    success, output = parse_output_fn(f"{result.stderr}{result.stdout}".strip())
    return ExecutionResult(bool(success), str(output))


def _one_behind_the_other(code: str, test_code: str) -> str:
    return f"{code}\n\n{test_code}"


def _described(verdict: Verdict) -> ExecutionResult:
    lines = [f"{verdict.tests_passed} of {verdict.tests_total} tests passed"]
    lines += [case.message or "not reached" for case in verdict.cases if not case.passed]
    return ExecutionResult(verdict.passed, "\n".join(lines))


def _run(executor: Executor, program: Program) -> ProgramResult:
    """Run a program, up to `ATTEMPTS` times if the sandbox fails, and return its result.

    Raises:
        NoVerdict: If the sandbox fails every time.
    """
    for _ in range(ATTEMPTS):
        result = executor.run(program)
        if result.status is not Status.SANDBOX_ERROR:
            return result
    raise NoVerdict(f"the sandbox failed {ATTEMPTS} times: {why_ended(result)}")


_known_imports: WeakKeyDictionary[Executor, dict[str, bool]] = WeakKeyDictionary()
"""For each executor, the packages that this module has looked for, and whether they can be imported."""

_LOOK = "import importlib.util, json\nprint(json.dumps([importlib.util.find_spec(name) is not None for name in NAMES]))"


def _require_packages(executor: Executor, text: str, mapping: Mapping[str, str | None]) -> None:
    """Check that programs can import the packages that a text imports.

    Raises:
        UnsupportedProgram: If a package cannot be imported.
    """
    lines = re.findall(r"^[ \t]*(?:import|from)[ \t]([^\n]*)", text, re.MULTILINE)
    words = set(re.findall(r"\w+", "\n".join(lines)))
    wanted = [name for name, package in mapping.items() if package is not None and name in words]
    missing = [name for name, there in _importable(executor, wanted).items() if not there]
    if missing:
        packages = " ".join(str(mapping[name]) for name in missing)
        raise UnsupportedProgram(
            f"{', '.join(missing)} cannot be imported where programs run; install {packages} into the environment of "
            "the executor's interpreter, or give an executor that has it"
        )


def _importable(executor: Executor, names: Sequence[str]) -> dict[str, bool]:
    known = _known_imports.setdefault(executor, {})
    unknown = [name for name in names if name not in known]
    if unknown:
        result = _run(executor, Program(_LOOK.replace("NAMES", repr(unknown)), limits=Limits(cpu_s=20, wall_s=60)))
        if result.status is not Status.OK:
            raise NoVerdict(f"packages could not be looked for: {why_ended(result)}")
        known.update(zip(unknown, json.loads(result.stdout), strict=True))
    return {name: known[name] for name in names}
