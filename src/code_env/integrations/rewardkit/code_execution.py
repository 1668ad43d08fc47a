"""RewardKit's rewards for a program's output or test cases, over any executor: on this machine or in E2B's cloud."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, overload

from code_env.errors import ExecutorError, TaskError
from code_env.executors.base import Executor
from code_env.executors.limits import Limits
from code_env.extract import extract_code
from code_env.judging.judge import judge
from code_env.judging.verdict import Verdict
from code_env.languages import canonical_name
from code_env.rewards.similarity import Measure, similarity
from code_env.rewards.terms import execution, output_similarity, pass_fraction
from code_env.tasks.formats.input_output_cases import as_tests
from code_env.tasks.task import Task
from code_env.text import clip, printable

from .._common.conversations import Messages, answer_of, stated_output
from .._common.misspelt import refuse_further
from .._common.runs import mebibytes, output_task, time_limits, why_ended, with_verdict
from .._common.shared_executor import executor_for
from .reward_outputs import MetricRewardOutput, RewardOutput

_REASON_CHARS = 10_000
"""The longest reason of a metric, in characters; a longer text is cut."""


def calculate_output_similarity(actual: str, expected: str) -> float:
    """Return the share of the expected words that occur in an output; order and case do not matter.

    **It can be cheated**: an output that contains all words scores 1.0. So the rewards here use it only with
    `measure="rewardkit_words"`. If the expected output is empty, only an empty output scores 1.0.

    Example:
        >>> calculate_output_similarity("Hello there", "hello world")
        0.5
    """
    return similarity(expected, actual, "rewardkit_words")


class _Options(TypedDict, total=False):
    expected_output: str | None
    language: str
    timeout: float
    api_key: str | None
    ground_truth: str | None
    max_memory_mb: int | None
    measure: Measure
    executor: Executor | str | None
    limits: Mapping[str, Any] | None


@overload
def local_code_execution_reward(
    messages: str, original_messages: str | None = None, **options: Unpack[_Options]
) -> float: ...


@overload
def local_code_execution_reward(*, response: str, **options: Unpack[_Options]) -> float: ...


@overload
def local_code_execution_reward(
    messages: Messages, original_messages: Messages | None = None, **options: Unpack[_Options]
) -> RewardOutput: ...


@refuse_further
def local_code_execution_reward(
    messages: Messages | str | None = None,
    original_messages: Messages | str | None = None,
    expected_output: str | None = None,
    language: str = "python",
    timeout: float = 30,
    api_key: str | None = None,
    *,
    response: str | None = None,
    ground_truth: str | None = None,
    max_memory_mb: int | None = None,
    measure: Measure = "tokens",
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> float | RewardOutput:
    """Return the similarity of a program's output and the expected output.

    With text, as in `(response, expected_output)`, it returns a float. With messages it returns a `RewardOutput` whose
    metrics are `extracted_code`, `expected_output`, `execution_result` and `output_match`.

    Args:
        messages: The conversation, which ends with the answer; or the answer as text.
        original_messages: A conversation whose prompt can state the expected output, as in `Expected output: 15`. The
            assistant's messages in it are ignored. If the answer is text, this argument is the expected output.
        expected_output: The text that the program must print. If it is missing and the messages do not state it either,
            a program that runs without a fault scores 1.0.
        language: The program's language, if the executor has it; `py` and `js` are short for `python` and `javascript`.
        timeout: The time limit for the program, in seconds.
        api_key: Not used. It exists so that both rewards can be called in the same way.
        response: The answer as text, if it is passed by name.
        ground_truth: Another name for `expected_output`, as in RewardKit 0.4.
        max_memory_mb: The largest amount of memory, in MiB; None for the package's default.
        measure: The measure for an output that does not agree with the expected output; see `similarity`.
        executor: Where the program runs: an executor, or the name of an executor.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Raises:
        NoVerdict: If the sandbox failed.
        TaskError: If there is no answer, or an answer as text without an expected output.
        TypeError: If a keyword is not an argument of this function.
        UnsupportedProgram: If the executor does not have the language.

    Example:
        >>> local_code_execution_reward("print(6 * 7)", "42")
        1.0
        >>> prompt = {"role": "user", "content": "Sum [1, 2, 3, 4, 5]. Expected output: 15"}
        >>> answer = {"role": "assistant", "content": "print(sum(range(6)))"}
        >>> output = local_code_execution_reward([prompt, answer], original_messages=[prompt])
        >>> output.score, sorted(output.metrics)
        (1.0, ['execution_result', 'expected_output', 'extracted_code', 'output_match'])
    """
    asked = _asked(messages, original_messages, expected_output, response, ground_truth)
    each = _limits(timeout, max_memory_mb, limits)
    output = _output_reward(asked, language, each, measure, executor_for(executor))
    return output.score if asked.as_text else output


@overload
def e2b_code_execution_reward(
    messages: str, original_messages: str | None = None, **options: Unpack[_Options]
) -> float: ...


@overload
def e2b_code_execution_reward(*, response: str, **options: Unpack[_Options]) -> float: ...


@overload
def e2b_code_execution_reward(
    messages: Messages, original_messages: Messages | None = None, **options: Unpack[_Options]
) -> RewardOutput: ...


@refuse_further
def e2b_code_execution_reward(
    messages: Messages | str | None = None,
    original_messages: Messages | str | None = None,
    expected_output: str | None = None,
    language: str = "python",
    timeout: float = 30,
    api_key: str | None = None,
    *,
    response: str | None = None,
    ground_truth: str | None = None,
    max_memory_mb: int | None = None,
    measure: Measure = "tokens",
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> float | RewardOutput:
    """Return the same as `local_code_execution_reward`, but run the program in E2B's cloud.

    The program never runs on this machine unless `executor` says so. To fall back to this machine, call
    `local_code_execution_reward`.

    Args:
        messages: See `local_code_execution_reward`.
        original_messages: See `local_code_execution_reward`.
        expected_output: See `local_code_execution_reward`.
        language: See `local_code_execution_reward`.
        timeout: See `local_code_execution_reward`.
        api_key: E2B's key; if None, the environment variable E2B_API_KEY. If there is no key, messages get a score of
            0.0 with a metric `error` that says so, and an answer as text raises an exception.
        response: See `local_code_execution_reward`.
        ground_truth: See `local_code_execution_reward`.
        max_memory_mb: See `local_code_execution_reward`.
        measure: See `local_code_execution_reward`.
        executor: Where the program runs instead of E2B's cloud; then no key is needed.
        limits: See `local_code_execution_reward`.

    Raises:
        ExecutorError: If there is no key and the answer is text, if E2B refuses the key, or if its SDK is not
            installed.
        NoVerdict: If the sandbox failed.
        TaskError: See `local_code_execution_reward`.
        TypeError: See `local_code_execution_reward`.

    Example:
        >>> e2b_code_execution_reward("print(6 * 7)", "42", executor="local")
        1.0
    """
    asked = _asked(messages, original_messages, expected_output, response, ground_truth)
    runs_on = _in_cloud(api_key) if executor is None else executor_for(executor)
    if runs_on is None:
        if asked.as_text:
            raise ExecutorError(_NO_KEY)
        return _error(_NO_KEY)
    output = _output_reward(asked, language, _limits(timeout, max_memory_mb, limits), measure, runs_on)
    return output.score if asked.as_text else output


@refuse_further
def fractional_code_reward(
    messages: Messages | str,
    ground_truth: str | Sequence[Mapping[str, Any]] | None,
    language: str = "python",
    timeout: float = 30,
    environment: str = "local",
    api_key: str | None = None,
    function_to_call: str | None = None,
    *,
    max_memory_mb: int | None = None,
    measure: Measure | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> RewardOutput:
    """Return the share of test cases that an answer passes.

    Args:
        messages: The conversation, which ends with the answer; or the answer as text.
        ground_truth: Test cases, each `{"input": ..., "expected_output": ...}`: the text that the program reads and the
            text that it must print, or with `function_to_call` the function's arguments and its return value. If it is
            a text, it is the expected output, and the score is that of `local_code_execution_reward`. If it is None, a
            program that runs without a fault scores 1.0.
        language: The program's language, if the executor has it.
        timeout: The time limit for each case, in seconds.
        environment: `local`, or `e2b` for E2B's cloud.
        api_key: E2B's key; if None, the environment variable E2B_API_KEY.
        function_to_call: Name of the function that the cases test.
        max_memory_mb: The largest amount of memory, in MiB; None for the package's default.
        measure: The measure of similarity if `ground_truth` is a text; `tokens` if None.
        executor: Where the program runs: an executor, or the name of an executor. It overrides `environment`.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"cpu_s": 1}`; see `Limits` for
            their names.

    Returns:
        A score, and the metrics `extracted_code`, `test_results` (a JSON list with the result of each case) and
        `pass_rate`. If there are no cases, the score is 0.0, with a metric `error`.

    Raises:
        ExecutorError: If `environment` is `e2b`, and its SDK is not installed or E2B refuses the key.
        NoVerdict: If the sandbox failed.
        TaskError: If there is no answer, a case is malformed, `environment` has another value, or `function_to_call` or
            `measure` is given although it has no meaning for this `ground_truth`.
        TypeError: If a keyword is not an argument of this function.

    Example:
        >>> cases = [{"input": "2 3", "expected_output": "5"}, {"input": "2 2", "expected_output": "5"}]
        >>> output = fractional_code_reward("def add(a, b): return a + b", cases, function_to_call="add")
        >>> output.score, output.metrics["pass_rate"].reason
        (0.5, '1/2 tests passed (50.00%)')
    """
    if environment not in ("local", "e2b"):
        raise TaskError(f"environment must be local or e2b; got {environment!r}")
    runs_on: Executor | None = None
    if executor is None and environment == "e2b":
        runs_on = _in_cloud(api_key)
        if runs_on is None:
            return _error(_NO_KEY)
    runs_on = runs_on or executor_for(executor)
    response = messages if isinstance(messages, str) else answer_of(messages)
    each = _limits(timeout, max_memory_mb, limits)
    if ground_truth is None or isinstance(ground_truth, str):
        if function_to_call is not None:
            raise TaskError("function_to_call is for test cases; got a text, or None, as ground_truth")
        asked = _Asked(response, ground_truth, as_text=False)
        return _output_reward(asked, language, each, measure or "tokens", runs_on)
    if measure is not None:
        raise TaskError("measure is for a text as ground_truth; got test cases, which a program passes or fails")
    if not ground_truth:
        return _error("there are no test cases")
    language = canonical_name(language.lower())
    task = Task("cases", "", as_tests(ground_truth, function_to_call), language=language, limits=each)
    code = extract_code(response, language, entry_point=function_to_call)
    verdict = with_verdict(judge(task, code, runs_on, response=response))
    score = pass_fraction(task, verdict)
    rate = f"{verdict.tests_passed}/{verdict.tests_total} tests passed"
    metrics = {
        "extracted_code": _metric(bool(code.strip()), code or "There is no code in the answer."),
        "test_results": MetricRewardOutput(score, json.dumps(_case_rows(ground_truth, verdict), indent=2)),
        "pass_rate": MetricRewardOutput(score, f"{rate} ({score:.2%})"),
    }
    return RewardOutput(score, metrics, f"{rate}.")


@dataclass(frozen=True)
class _Asked:
    """The arguments of a reward: a response, and the output that its program must print."""

    response: str
    expected: str | None
    as_text: bool
    """Whether the response was passed as text, so that the reward returns a number."""


def _asked(
    messages: Messages | str | None,
    original_messages: Messages | str | None,
    expected_output: str | None,
    response: str | None,
    ground_truth: str | None,
) -> _Asked:
    if (messages is None) == (response is None):
        raise TaskError(
            "an answer was expected, as messages or as response; got " + ("none" if messages is None else "both")
        )
    text = messages if isinstance(messages, str) else response
    if isinstance(original_messages, str):
        if text is None:
            raise TaskError("original_messages must be a list of messages; got text, which only follows text")
        given = [original_messages, expected_output, ground_truth]
    else:
        given = [expected_output, ground_truth]
    given = [one for one in given if one is not None]
    if not all(isinstance(one, str) for one in given):
        raise TaskError(f"expected_output must be text; got {', '.join(type(one).__name__ for one in given)}")
    if len(set(given)) > 1:
        raise TaskError(f"one expected output was expected; got {' and '.join(map(repr, given))}")
    stated = given[0] if given else None
    if stated is None and original_messages is not None and not isinstance(original_messages, str):
        stated = stated_output(original_messages)
    if text is not None:
        if stated is None:
            raise TaskError("expected_output is missing: what must the program print?")
        return _Asked(text, stated, as_text=True)
    return _Asked(answer_of(messages or ()), stated, as_text=False)  # type: ignore[arg-type]


def _limits(timeout: float, max_memory_mb: int | None, limits: Mapping[str, Any] | None) -> Limits:
    return time_limits(timeout, mebibytes(max_memory_mb)).with_values(limits)


def _output_reward(asked: _Asked, language: str, limits: Limits, measure: Measure, executor: Executor) -> RewardOutput:
    language = canonical_name(language.lower())
    task = output_task(asked.expected or "", limits, language)
    code = extract_code(asked.response, language)
    verdict = with_verdict(judge(task, code, executor, response=asked.response))
    ran = execution(task, verdict)
    printed = verdict.execution.stdout
    metrics = {"extracted_code": _metric(bool(code.strip()), code or "There is no code in the answer.")}
    if asked.expected is not None:
        metrics["expected_output"] = _metric(True, asked.expected)
    how = f"It ran without a fault and printed:\n{printed}" if ran else f"It failed: {why_ended(verdict.execution)}"
    metrics["execution_result"] = _metric(ran, how)
    if asked.expected is None:
        return RewardOutput(ran, metrics, "There is no expected output; the score is for running without a fault.")
    score = output_similarity(task, verdict, measure) if ran else 0.0
    match = f"Alike by {score:.2f}.\nExpected:\n{asked.expected}\nPrinted:\n{printed}"
    metrics["output_match"] = _metric(score, match)
    return RewardOutput(score, metrics, f"The outputs are alike by {score:.2f}." if ran else how)


def _case_rows(cases: Sequence[Mapping[str, Any]], verdict: Verdict) -> list[dict[str, Any]]:
    return [
        {
            "test_number": number,
            "input": case.get("input", ""),
            "expected_output": case["expected_output"],
            "passed": result.passed,
            "details": result.message,
        }
        for number, (case, result) in enumerate(zip(cases, verdict.cases, strict=True), start=1)
    ]


def _metric(score: float, reason: str) -> MetricRewardOutput:
    return MetricRewardOutput(float(score), printable(clip(reason, _REASON_CHARS)))


def _error(message: str) -> RewardOutput:
    return RewardOutput(0.0, {"error": MetricRewardOutput(0.0, message)}, message)


_NO_KEY = (
    "E2B needs a key: set the environment variable E2B_API_KEY, pass api_key, or name another executor; "
    "local_code_execution_reward runs answers on this machine"
)


def _in_cloud(api_key: str | None) -> Executor | None:
    """Return the executor `e2b`, or None if there is no key for it."""
    key = api_key or os.environ.get("E2B_API_KEY")
    if not key:
        return None
    return executor_for("e2b", api_key=key)
