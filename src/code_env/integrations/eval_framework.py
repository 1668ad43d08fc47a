"""eval-framework's metric `code-execution-pass@1`, judged by this package's judge.

The protocol is that of https://github.com/Aleph-Alpha-Research/eval-framework, in `src/eval_framework`:
`metrics/completion/code_execution_pass_at_one.py` and `tasks/utils.py`. A completion is a program, not a response:
nothing is extracted from it.

There, completion and tests are merged into one program, and a function looks for success in what it prints. Here the
tests run apart from the completion unless a context brings such functions of its own; then, and only then, **success
rests on what the program prints**, which a completion can print too.
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
"""Room for the packages that such benchmarks import."""


class ExecutionResult(NamedTuple):
    """How a completion did."""

    success: bool
    """Whether it passed."""
    output: str
    """What was found, in words, or what a parse function made of the output."""


MergeFunction = Callable[[str, str], str]
"""Makes one program of a completion and test code."""

ParseFunction = Callable[[str], ExecutionResult]
"""Tells from what that program printed whether the completion passed."""


@dataclass(frozen=True, kw_only=True)
class CodeExecutionBaseContext:
    """What is known of a task beside the completion."""

    run_env: str | None = None
    """Image that the tests run in; None for the packages of the executor's interpreter."""
    code_prompt: str
    """What the model was asked."""
    test_code: str
    """The tests."""
    benchmark_timeout: int = 60
    """The most time that all of it may take, in seconds."""
    package_downloads: Mapping[str, str | None]
    """For each package that completion and tests may import the name to install it by; None for Python's own."""


@dataclass(frozen=True, kw_only=True)
class CodeExecutionPassAtOneContext(CodeExecutionBaseContext):
    """A context as plain data."""

    snippet_merge_fn: str | None = None
    """Import path of the merge function, as `package.module:name`; None to have the tests judged apart."""
    output_parse_fn: str | None = None
    """Import path of the parse function, likewise."""


@dataclass(frozen=True, kw_only=True)
class RealtimeCodeExectionContext(CodeExecutionBaseContext):
    """A context with the functions themselves. The name is spelt as in the original."""

    snippet_merge_fn: MergeFunction | None = None
    """Merges completion and tests; None to have the tests judged apart."""
    output_parse_fn: ParseFunction | None = None
    """Tells success from what was printed; None to have the tests judged apart."""

    @classmethod
    def from_context(cls, context: CodeExecutionPassAtOneContext) -> Self:
        """The context with its functions imported.

        Raises:
            TaskError: If an import path leads to no function.
        """
        return cls(**_realtime_fields(context, ()))


@dataclass(frozen=True)
class Error:
    """What kept a completion from being judged."""

    error_class: str
    """Name of the exception's class."""
    message: str
    """Its text."""
    traceback: str = ""
    """Where it came from."""

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """An exception as data."""
        return cls(type(error).__name__, str(error), "".join(traceback.format_exception(error)))


@dataclass(frozen=True, kw_only=True)
class MetricResult:
    """What a metric found."""

    metric_name: str
    """Name of the metric."""
    value: float | None
    """What it measured; None if it could not."""
    higher_is_better: bool = True
    """Whether more is better."""
    error: Error | None = None
    """Why there is no value."""
    code_execution_trace: str | None = None
    """What was found, in words."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """A completion and its context; any object with these three attributes will do."""

    completion: str
    """The program that a model wrote."""
    context: CodeExecutionPassAtOneContext | RealtimeCodeExectionContext | None = None
    """What it is judged by."""
    error: Error | None = None
    """Why there is no completion, if there is none."""


class CallableSerializer:
    """Functions as text and back: as import paths, so that reading one runs nothing that the text brings along.

    Example:
        >>> from textwrap import dedent
        >>> CallableSerializer.encode(dedent)
        'textwrap:dedent'
        >>> CallableSerializer.decode("textwrap:dedent") is dedent
        True
    """

    @staticmethod
    def encode(fn: Callable[..., Any]) -> str:
        """The import path of a function.

        Raises:
            TaskError: If it has none, as lambdas and functions inside functions.
        """
        module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "")
        found = getattr(importlib.import_module(module), name, None) if module and name.isidentifier() else None
        if found is not fn:
            raise TaskError(f"{fn!r} cannot be imported by a name; define it at the top level of a module")
        return f"{module}:{name}"

    @staticmethod
    def decode(fn_str: str) -> Callable[..., Any]:
        """The function at an import path.

        Raises:
            TaskError: If there is none, or the text is a pickled function, which is never unpickled.
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
        executor: Where completions run: an executor or the name of one.
        judge: How tests are judged that no parse function decides. BigCodeBench's need `shared`: see
            `docs/task-format.md`.
        functions: `use` those of a context, or `ignore` them and judge its tests apart from the completion. Contexts of
            eval-framework's own tasks hold pickled functions, which are never unpickled here; those that run `unittest`
            and look for its OK lose nothing by that.
        image: `require` the image that a context names, or `ignore` it and run on the packages of the executor's
            interpreter.
        limits: Further limits, or others than those of a context's `benchmark_timeout`, as `{"cpu_s": 1}`; see
            `Limits` for their names.

    Raises:
        ValueError: If `functions` or `image` is neither.
        TaskError: If there is no such limit.

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
            response: A `Completion`, or what has its attributes.

        Returns:
            One result. Its value is None where there is nothing to judge, because `response.error` says so, or no
            verdict, because the sandbox failed or a function of the context did.

        Raises:
            TaskError: If there is no context or one without a field, its functions cannot be imported, or its tests
                test nothing.
            ExecutorNotFound: If it asks for an image.
            UnsupportedProgram: If a package is missing.
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
        except Exception as failed:  # Of a function of the context; it says nothing about the completion.
            return [MetricResult(metric_name=self.NAME, value=None, error=Error.of(failed))]
        value = estimate_pass_at_k(1, int(result.success), self.k)
        return [MetricResult(metric_name=self.NAME, value=value, code_execution_trace=result.output)]


def _realtime_fields(context: Any, ignored: Sequence[str]) -> dict[str, Any]:
    """The fields of any object that has those of a context, with the functions themselves; but for the ignored ones."""
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
    """Estimate of pass@k for one task.

    Args:
        n: Samples judged.
        c: How many of them passed.
        k: Samples drawn.

    Raises:
        ValueError: If the numbers do not fit together, as with fewer samples than `k`.

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
        package_mapping: For each package that either may import the name to install it by; None for Python's own.
        merge_code_fn: Makes one program of both. One behind the other, if only `parse_output_fn` is given.
        image: An image to run in.
        timeout: The most time that program and tests may take, in seconds.
        parse_output_fn: Tells from what that program wrote, standard error first, whether it passed. **The program
            itself can write that.** Without it the tests run apart from the program and are judged by what they find.
        dockerfile: A recipe for an image to run in.
        executor: Where the program runs: an executor, or the name of an executor.
        judge: How it is judged without a parse function.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Raises:
        NoVerdict: If the sandbox failed.
        TaskError: If the tests are not Python or test nothing, there is a merge function and no parse function, or
            there is no such limit.
        ExecutorNotFound: If an image is asked for, and there is no executor `container`.
        UnsupportedProgram: If a package that is imported is missing; names what to install.
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
    """The result of a program, tried again while the sandbox fails.

    Raises:
        NoVerdict: If it fails each time.
    """
    for _ in range(ATTEMPTS):
        result = executor.run(program)
        if result.status is not Status.SANDBOX_ERROR:
            return result
    raise NoVerdict(f"the sandbox failed {ATTEMPTS} times: {why_ended(result)}")


_known_imports: WeakKeyDictionary[Executor, dict[str, bool]] = WeakKeyDictionary()
"""For each executor the packages that were looked for, and whether they are there."""

_LOOK = "import importlib.util, json\nprint(json.dumps([importlib.util.find_spec(name) is not None for name in NAMES]))"


def _require_packages(executor: Executor, text: str, mapping: Mapping[str, str | None]) -> None:
    """See to it that packages which are imported somewhere in a text can be imported where programs run.

    Raises:
        UnsupportedProgram: If one cannot.
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
