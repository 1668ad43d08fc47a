"""What eval-framework calls contexts, completions and results, as data without code."""

from __future__ import annotations

import dataclasses
import importlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from code_env.errors import TaskError
from code_env.importing import named_function

FUNCTIONS = ("snippet_merge_fn", "output_parse_fn")
"""The fields of a context that are functions."""


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
        return cls(**realtime_fields(context, ()))


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


def realtime_fields(context: Any, ignored: Sequence[str]) -> dict[str, Any]:
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
    for name in FUNCTIONS:
        given = fields.get(name)
        fields[name] = (given if callable(given) else CallableSerializer.decode(given)) if given else None
    return fields
