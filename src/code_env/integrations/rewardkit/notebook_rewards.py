"""RewardKit's rewards for the results of a notebook session: values of cells, files, insights and figures.

An answer runs once, as the first cell of a notebook, in its own working directory. The expected values of the tests
never enter the answer's process. `docs/task-format.md` says what the value of a cell is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from code_env.errors import TaskError
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.extract import extract_code
from code_env.judging.judge import judge
from code_env.judging.verdict import Verdict
from code_env.rewards.terms import execution, insights, pass_fraction
from code_env.tasks.kinds import AnyTest, CellTest, FileTest, InsightTest
from code_env.tasks.task import Task

from .._common.misspelt import refuse_further
from .._common.runs import mebibytes, time_limits, with_verdict
from .._common.shared_executor import executor_for

DATASET_NAME = "dataset.csv"
"""The file name of a data set in the working directory."""


@refuse_further
def advanced_code_evaluation(
    response: str,
    test_cases: Sequence[Mapping[str, str]],
    *,
    timeout: float = 30,
    max_memory_mb: int | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> float:
    """Return the share of test cases that an answer passes: code that runs after the answer, and its expected value.

    Args:
        response: The answer.
        test_cases: Each is `{"code": ..., "expected": ...}`. They run one after the other, as cells of a notebook. The
            value of a cell is its last expression, else what it prints, else its variable `result`.
        timeout: The time limit for the answer and all cases together, in seconds.
        max_memory_mb: The largest amount of memory, in MiB; None for the package's default.
        executor: Where the program runs: an executor, or the name of an executor.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Returns:
        From 0 to 1; 0.0 if there are no cases, or if the answer itself fails.

    Raises:
        NoVerdict: If the sandbox failed.
        TaskError: If a case is malformed.
        TypeError: If a keyword is not an argument of this function.

    Example:
        >>> cases = [
        ...     {"code": "result = add_numbers(2, 3)", "expected": "5"},
        ...     {"code": "result = add_numbers(-1, 1)", "expected": "0"},
        ... ]
        >>> advanced_code_evaluation("def add_numbers(a, b):\\n    return a + b", cases)
        1.0
    """
    tests = [
        CellTest(code=_text(case, "code", where), expected=_text(case, "expected", where))
        for where, case in _each(test_cases, "test_cases")
    ]
    return _share(response, tests, time_limits(timeout, mebibytes(max_memory_mb)).with_values(limits), executor)


@refuse_further
def file_based_code_reward(
    response: str,
    file_operations: Sequence[Mapping[str, str]],
    *,
    timeout: float = 30,
    max_memory_mb: int | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> float:
    """Return the share of expected files that an answer leaves in its working directory.

    Args:
        response: The answer.
        file_operations: Each is `{"path": ..., "content": ..., "type": ...}`. The path is relative to the working
            directory. With the type `create`, the default, the file must have this content; with `exists`, it can have
            any content.
        timeout: The time limit for the answer, in seconds.
        max_memory_mb: The largest amount of memory, in MiB; None for the package's default.
        executor: Where the program runs: an executor, or the name of an executor.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Returns:
        From 0 to 1; 0.0 if there are no operations, or if the answer fails.

    Raises:
        NoVerdict: If the sandbox failed.
        TaskError: If an operation is malformed, or a path leads out of the working directory.
        TypeError: If a keyword is not an argument of this function.

    Example:
        >>> operations = [{"path": "a.txt", "content": "hello"}, {"path": "b.txt", "type": "exists"}]
        >>> file_based_code_reward("open('a.txt', 'w').write('hello')", operations)
        0.5
    """
    tests = []
    for where, operation in _each(file_operations, "file_operations"):
        kind = operation.get("type", "create")
        if kind not in ("create", "exists"):
            raise TaskError(f"{where}: type must be create or exists; got {kind!r}")
        content = _text(operation, "content", where) if kind == "create" else None
        tests.append(FileTest(_text(operation, "path", where), content))
    return _share(response, tests, time_limits(timeout, mebibytes(max_memory_mb)).with_values(limits), executor)


@refuse_further
def data_analysis_reward(
    response: str,
    dataset_path: str | Path,
    expected_insights: Sequence[str],
    *,
    find: str = "mention",
    plot_bonus: float = 0.5,
    timeout: float = 30,
    max_memory_mb: int | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> float:
    """Return the share of expected insights that an analysis mentions, with a bonus for a figure.

    Args:
        response: The answer. The data is in `dataset.csv` in its working directory.
        dataset_path: The data file.
        expected_insights: Texts that the answer's output, or its last expression, must mention.
        find: The rule by which insights are searched for; see `InsightTest`. With `rewardkit_substring`, which is
            RewardKit's search, an answer that prints enough text mentions everything.
        plot_bonus: The bonus for a matplotlib figure, in units of one found insight. Any figure gets the bonus, even an
            empty figure; 0.0 means no bonus.
        timeout: The time limit for the answer, in seconds.
        max_memory_mb: The largest amount of memory, in MiB; None for the package's default.
        executor: Where the program runs: an executor, or the name of an executor.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Returns:
        From 0 to 1; 0.0 if no insights are expected, or if the answer fails.

    Raises:
        NoVerdict: If the sandbox failed.
        TaskError: If the data cannot be read, or an insight is malformed.
        TypeError: If a keyword is not an argument of this function.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("price\\n10\\n15\\n")
        ...     file.flush()
        ...     answer = "prices = [int(x) for x in open('dataset.csv').read().split()[1:]]\\n"
        ...     answer += "print(f'The mean price is {sum(prices) / len(prices)}.')"
        ...     data_analysis_reward(answer, file.name, ["mean price is 12.5", "most expensive"])
        0.5
    """
    if isinstance(expected_insights, str) or not isinstance(expected_insights, Sequence):
        raise TaskError(f"expected_insights must be a list of texts; got {type(expected_insights).__name__}")
    try:
        files = {DATASET_NAME: Path(dataset_path).read_bytes()}
    except OSError as error:
        raise TaskError(f"dataset_path: {error}") from None
    tests = [InsightTest(insight, find=find) for insight in expected_insights]
    if not tests:
        return 0.0
    task, verdict = _judged(
        response, tests, time_limits(timeout, mebibytes(max_memory_mb)).with_values(limits), executor, files
    )
    return insights(task, verdict, plot_bonus) if execution(task, verdict) else 0.0


def _share(
    response: str,
    tests: Sequence[AnyTest],
    limits: Limits,
    executor: Executor | str | None,
) -> float:
    return pass_fraction(*_judged(response, tests, limits, executor)) if tests else 0.0


def _judged(
    response: str,
    tests: Sequence[AnyTest],
    limits: Limits,
    executor: Executor | str | None,
    files: Mapping[str, bytes] | None = None,
) -> tuple[Task, Verdict]:
    task = Task("session", "", tuple(tests), files=files or {}, limits=limits)
    return task, with_verdict(judge(task, extract_code(response), executor_for(executor), response=response))


def _each(rows: Any, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the rows of an argument, each with its name for messages."""
    if not rows:
        return []
    if isinstance(rows, str | Mapping) or not isinstance(rows, Sequence):
        raise TaskError(f"{name} must be a list of objects; got {type(rows).__name__}")
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TaskError(f"{name}[{index}] must be an object; got {type(row).__name__}")
    return [(f"{name}[{index}]", row) for index, row in enumerate(rows)]


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        got = type(value).__name__ if name in row else f"none, but {', '.join(map(str, row)) or 'nothing'}"
        hint = "; a file that may hold anything has the type 'exists'" if name == "content" else ""
        raise TaskError(f"{where}: {name} must be text; got {got}{hint}")
    return value
