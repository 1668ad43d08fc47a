"""evaluate's metric `code_eval`, and its variant with RestrictedPython, judged by this package's judge.

`compute` is the metric as a function. The folder that `metric_path` returns is the same metric for `evaluate.load`,
which needs the extra `hf`. Neither needs HF_ALLOW_CODE_EVAL, because answers run in a sandbox.

The protocol is that of https://huggingface.co/spaces/evaluate-metric/code_eval; its variant is
https://huggingface.co/spaces/guydav/restrictedpython_code_eval. Answers are programs, not responses, so no code is
extracted from them. The asserts of the references run apart from the answers, so an answer cannot make them pass.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from code_env.executors.base import Executor
from code_env.executors.program import Program
from code_env.executors.result import ExecutionResult, Status
from code_env.harness.wire.shown import brief
from code_env.judging.judge import judge_each
from code_env.judging.verdict import Verdict
from code_env.rewards.pass_at_k import DEFAULT_KS, mean_pass_at_k

from ._common.misspelt import refuse_further
from ._common.runs import time_limits, why_ended, why_no_verdict
from ._common.shared_executor import executor_for, lent_executor
from ._common.suites import assert_task

__all__ = ["compute", "metric_path"]

Results = defaultdict[int, list[tuple[int, dict[str, Any]]]]
"""Maps the number of each task to a list with the number and the result of each of its candidates."""


@refuse_further
def compute(
    predictions: Sequence[Sequence[str]],
    references: Sequence[str],
    k: Sequence[int] = DEFAULT_KS,
    num_workers: int = 4,
    timeout: float = 3.0,
    use_safe_builtins: bool | None = None,
    use_limited_builtins: bool | None = None,
    use_utility_builtins: bool | None = None,
    additional_globals: Mapping[str, Any] | None = None,
    additional_locals: Mapping[str, Any] | None = None,
    allowed_imports: Sequence[str] | None = None,
    allow_str_format: bool | None = None,
    allow_underscore_variable_names: bool | None = None,
    return_output: bool = False,
    output_variable: str = "output",
    *,
    policy: str | None = None,
    executor: Executor | str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> tuple[dict[str, float], Results]:
    """Compute pass@k of candidate programs. Each candidate is judged by the asserts of its task.

    The options from `use_safe_builtins` to `policy` are those of the executor `restricted`, with its defaults. If none
    of them is given, answers may use all of Python, except with `executor="restricted"`, which uses its defaults. The
    executor that is made for the options is kept for later calls with the same options.

    Args:
        predictions: The candidates of each task.
        references: The tests of each task: code with asserts that calls the candidate's functions by their names.
        k: The values of k for which pass@k is estimated. A value is left out if a task has fewer candidates than that.
        num_workers: How many candidates are judged at once, if the executor has as many workers. An executor that is
            made for the options of `restricted` has at most this number of workers.
        timeout: The time limit for a candidate and its tests together, in seconds.
        use_safe_builtins: Whether candidates may use RestrictedPython's safe builtins.
        use_limited_builtins: Whether they may use its limited `range`, `list` and `tuple`.
        use_utility_builtins: Whether they may use its utilities: `string`, `math`, `random` and others.
        additional_globals: Further globals.
        additional_locals: Further locals.
        allowed_imports: The modules that candidates may import.
        allow_str_format: Whether candidates may use `str.format`.
        allow_underscore_variable_names: Whether names may begin with an underscore.
        return_output: Whether each result includes the value of a variable of the candidate.
        output_variable: The name of this variable. Without `return_output` it has no effect, as in the original metric.
        policy: Your own policy, as `file.py:Name` or `package.module:Name`.
        executor: Where candidates run: an executor, or the name of an executor.
        limits: Further limits, or limits that replace those of `timeout`, for example `{"memory_bytes": 1 << 30}`; see
            `Limits`.

    Returns:
        pass@k for each `k`, as `{"pass@1": 0.5}`, and the results. The results map the number of each task to a list of
        pairs: the number of a candidate and its result. A result has `task_id`, `completion_id`, `passed`, and
        `result`, which is `passed`, `timed out` or `failed: ...`. With `return_output` it also has `output`: the value
        of the variable if JSON can hold it, otherwise its text, or None if there is no variable. If the sandbox
        failed, there is no verdict: then `passed` is None, `result` is `no verdict: ...`, and pass@k leaves the
        candidate out.

    Raises:
        TaskError: If a reference is not Python or tests nothing, or if a limit is unknown or out of range.
        ValueError: If the numbers of references and predictions differ, a `k` or `num_workers` is below 1, or options
            of `restricted` are given together with another executor.
        TypeError: If a keyword is not an argument of this function, if `predictions`, one of them, `references` or `k`
            is no list, or if a prediction holds something other than text.
        ExecutorError: If an option is out of range, or the extra `restricted` is not installed.

    Example:
        >>> candidates = [["def add(a, b): return a + b", "def add(a, b): return a * b"]]
        >>> pass_at_k, results = compute(candidates, ["assert add(2, 3) == 5"], k=[1, 2])
        >>> pass_at_k
        {'pass@1': 0.5, 'pass@2': 1.0}
        >>> [result["result"] for _, result in results[0]]
        ['passed', 'failed: assert add(2, 3) == 5: left is 6, right is 5']
    """
    restrictions = {
        "use_safe_builtins": use_safe_builtins,
        "use_limited_builtins": use_limited_builtins,
        "use_utility_builtins": use_utility_builtins,
        "additional_globals": additional_globals,
        "additional_locals": additional_locals,
        "allowed_imports": allowed_imports,
        "allow_str_format": allow_str_format,
        "allow_underscore_variable_names": allow_underscore_variable_names,
        "policy": policy,
        **({"return_output": True, "output_variable": output_variable} if return_output else {}),
    }
    restrictions = {name: value for name, value in restrictions.items() if value is not None}
    _check(predictions, references, k, num_workers)
    limits_each = time_limits(timeout).with_values(limits)
    tasks = [assert_task(code, limits_each, f"references[{index}]") for index, code in enumerate(references)]
    answers = [(task, str(code)) for task, codes in zip(tasks, predictions, strict=True) for code in codes]
    with ExitStack() as stack:
        if restrictions:
            if executor not in (None, "restricted"):
                raise ValueError(
                    f"{', '.join(restrictions)} are options of the executor 'restricted'; got {executor!r}"
                )
            workers = min(num_workers, len(os.sched_getaffinity(0)))
            options = {"workers": workers, **restrictions}
            runs_on = stack.enter_context(lent_executor("restricted", options, _text_of(policy)))
        else:
            runs_on = executor_for(executor)
        verdicts = list(judge_each(answers, runs_on, in_flight=num_workers))
        outputs: list[Any] | None = None
        if return_output:
            # A separate run: in the run of the tests, the program has no end at which the variable could be read.
            ran = runs_on.run_many([Program(code, limits=limits_each) for _, code in answers])
            outputs = [_output(result) for result in ran]
    return _figures([len(codes) for codes in predictions], verdicts, k, outputs)


def metric_path() -> str:
    """Return the folder of the metric, for `evaluate.load`.

    Example:
        >>> Path(metric_path()).name
        'code_eval'
    """
    return str(Path(__file__).parent / "metrics" / "code_eval")


def _text_of(policy: str | None) -> str | None:
    """Return the text of the file that holds a policy, so that an edited file gets a new executor."""
    path = Path(policy.rpartition(":")[0]) if isinstance(policy, str) else None
    return path.read_text(errors="replace") if path is not None and path.is_file() else None


def _check(predictions: Sequence[Sequence[str]], references: Sequence[str], k: Sequence[int], num_workers: int) -> None:
    _check_list("predictions", predictions, "lists of programs, one list for each task")
    _check_list("references", references, "tests as text, one text for each task")
    _check_list("k", k, "whole numbers")
    if len(predictions) != len(references):
        raise ValueError(f"each task needs one reference; got {len(predictions)} tasks and {len(references)} of these")
    for index, candidates in enumerate(predictions):
        _check_list(f"predictions[{index}]", candidates, "programs as text")
        if not all(isinstance(code, str) for code in candidates):
            raise TypeError(f"predictions[{index}] must be a list of programs as text; got {brief(candidates)}")
    for name, values in (("k", k), ("num_workers", [num_workers])):
        if not all(type(value) is int and value >= 1 for value in values):
            raise ValueError(f"{name}: whole numbers of at least 1 were expected; got {list(values)}")


def _check_list(name: str, value: Any, what: str) -> None:
    """Check that a value is a list or similar: not a text, which has letters, and no iterator, which is read once."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        raise TypeError(f"{name} must be a list of {what}; got {brief(value)}")


def _output(result: ExecutionResult) -> Any:
    """Return the value of the output variable: as data if JSON can hold it, otherwise as text; None without a value."""
    for shown in result.results:
        if "application/json" in shown:
            try:
                return json.loads(shown["application/json"])
            except (ValueError, RecursionError):  # The program can write anything.
                return shown.get("text/plain")
        return shown.get("text/plain")
    return None


def _figures(
    sizes: list[int], verdicts: list[Verdict], ks: Sequence[int], outputs: list[Any] | None
) -> tuple[dict[str, float], Results]:
    results: Results = defaultdict(list)
    counts = []
    remaining = iter(verdicts)
    for task_id, size in enumerate(sizes):
        judged = correct = 0
        for completion_id in range(size):
            verdict = next(remaining)
            passed = verdict.passed if verdict.valid else None
            judged, correct = judged + verdict.valid, correct + verdict.passed
            result = {"task_id": task_id, "passed": passed, "result": _words(verdict), "completion_id": completion_id}
            if outputs is not None:
                result["output"] = outputs.pop(0)
            results[task_id].append((completion_id, result))
        counts.append((judged, correct, size - judged))
    estimates = {k: mean_pass_at_k(counts, k) for k in ks if sizes and min(sizes) >= k}
    return {f"pass@{k}": estimate.value for k, estimate in estimates.items() if estimate is not None}, results


def _words(verdict: Verdict) -> str:
    if not verdict.valid:
        return f"no verdict: {why_no_verdict(verdict)}"
    if verdict.passed:
        return "passed"
    if verdict.execution.status is Status.TIMEOUT:
        return "timed out"
    failed = next((case.message for case in verdict.cases if not case.passed and case.message), "")
    return f"failed: {failed or why_ended(verdict.execution)}"
