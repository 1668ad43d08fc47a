"""What passes, what does not, and what the verdict says, over all kinds of test."""

import asyncio
from concurrent.futures import Future

import pytest

import code_env
from code_env import (
    AssertTest,
    CallTest,
    ExecutionResult,
    Limits,
    Outcome,
    OutputTest,
    Program,
    Status,
    StdinTest,
    ajudge,
    ajudge_many,
    judge,
    judge_each,
    judge_many,
)
from judging.answers import ADD, HONEST, WRONG, asserts, task


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_answer_passes_in_full(name, executor):
    problem, answer = HONEST[name]
    verdict = judge(problem, answer, executor)
    assert verdict.outcome is Outcome.PASS, (verdict.cases, verdict.execution)
    assert verdict.fraction == 1.0
    assert verdict.execution.status is Status.OK
    assert verdict.judge == problem.judge


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_gets_what_it_deserves_and_is_told_why(name, executor):
    problem, answer, fraction, outcome, status, words = WRONG[name]
    verdict = judge(problem, answer, executor)
    first = next(case for case in verdict.cases if not case.passed)
    got = (verdict.fraction, verdict.outcome, verdict.execution.status)
    assert got == (pytest.approx(fraction), outcome, status), (verdict.cases, verdict.execution)
    assert words in first.message
    assert len(verdict.cases) == sum(test.cases for test in problem.tests)


def test_all_kinds_of_test_go_into_one_verdict(executor):
    problem = task(
        CallTest((1,), {}, 1), StdinTest("3", "3"), AssertTest("assert f(1) == 1\nassert f(2) == 5"),
        CallTest((2,), {}, 2), OutputTest("never", weight=4),
    )  # fmt: skip
    answer = "def f(x): return x\nif __name__ == '__main__': print(f(input()))"
    verdict = judge(problem, answer, executor)
    assert [(c.test, c.case, c.passed) for c in verdict.cases] == [
        (0, 0, True), (1, 0, True), (2, 0, True), (2, 1, False), (3, 0, True), (4, 0, False),
    ]  # fmt: skip
    assert verdict.fraction == (1 + 1 + 0.5 + 1) / 8
    assert (verdict.tests_passed, verdict.tests_total) == (4, 6)
    # The first test with a fault is the last one: no input, so input() raised.
    assert verdict.execution.status is Status.ERROR
    assert verdict.execution.error.name == "EOFError"


def test_many_answers_keep_their_order_also_awaited(executor):
    answers = [(task(CallTest((n,), {}, n * n)), "def f(x): return x * x" if n % 2 else "") for n in range(6)]
    expected = [n % 2 == 1 for n in range(6)]
    assert [v.passed for v in judge_many(answers, executor)] == expected
    assert [v.passed for v in asyncio.run(ajudge_many(answers, executor))] == expected
    assert asyncio.run(ajudge(*answers[1], executor, response="said")).response == "said"


def test_the_same_answer_gets_an_equal_verdict(executor):
    for problem, answer in (HONEST["call"], WRONG["stdin, value"][:2], WRONG["assert, raises in the second"][:2]):
        assert judge(problem, answer, executor) == judge(problem, answer, executor)


def test_responses_must_match_the_answers(executor):
    with pytest.raises(ValueError, match="2 responses"):
        judge_many([(ADD, "x")], executor, responses=["a", "b"])
    with pytest.raises(TypeError, match="an answer is text"):
        judge(ADD, None, executor)


@pytest.mark.parametrize(
    ("misused", "words"),
    [
        (lambda executor: judge(ADD, "x", "local"), r"got str; .*make_executor\('local'\)"),
        (lambda executor: judge(ADD, "", None), "executor must be an Executor; got NoneType"),
        (lambda executor: judge({"id": "add"}, "x", executor), "a Task is needed.* got dict; load_suite"),
        (lambda executor: judge_many([ADD], executor), r"pairs .* \[\(task, code\), ...\]; got Task"),
        (lambda executor: judge_many(["ab"], executor), "pairs .* got str"),
        (lambda executor: list(judge_each([(ADD, "x", "y")], executor)), "pairs .* got tuple"),
        (lambda executor: asyncio.run(ajudge(ADD, "x", "local")), "executor must be an Executor; got str"),
    ],
)
def test_an_argument_of_another_type_gets_a_clear_error(misused, words, executor):
    with pytest.raises(TypeError, match=words):
        misused(executor)


class NoPeers(code_env.Executor):
    def describe(self):
        return code_env.Isolation(level="none", peer="none")

    def submit(self, program):
        raise AssertionError("nothing must be run")

    def close(self):
        pass


def test_an_executor_without_peers_is_refused_before_anything_runs():
    with pytest.raises(code_env.UnsupportedProgram, match=r"NoPeers cannot judge answers.*such as 'local'"):
        judge(ADD, "x", NoPeers())
    with pytest.raises(code_env.UnsupportedProgram, match="NoPeers cannot judge answers"):
        asyncio.run(ajudge(ADD, "x", NoPeers()))
    assert judge(ADD, "", NoPeers()).outcome is Outcome.POLICY_ERROR


class Flaky(code_env.Executor):
    """Fails a number of times, as a provider does, then works."""

    def __init__(self, inner, failures):
        self._inner, self._left = inner, failures

    def submit(self, program):
        if self._left == 0:
            return self._inner.submit(program)
        self._left -= 1
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR, error=code_env.ErrorInfo("SandboxError", "no luck")))
        return future

    def describe(self):
        return self._inner.describe()

    def close(self):
        pass


def test_a_failing_sandbox_is_tried_again_and_is_then_no_verdict(executor):
    problem, answer = HONEST["call"]
    assert judge(problem, answer, Flaky(executor, 2)).passed
    verdict = judge(problem, answer, Flaky(executor, 3))
    assert (verdict.outcome, verdict.fraction, verdict.cases, verdict.valid) == (Outcome.NO_VERDICT, None, (), False)
    assert verdict.execution.error.message == "no luck"
    assert asyncio.run(ajudge(problem, answer, Flaky(executor, 3))).outcome is Outcome.NO_VERDICT


@pytest.mark.parametrize(
    ("setup", "code"), [("import no_such_module", "assert f(1) == 1"), ("1 / 0", "assert f(1) == 1")]
)
def test_tests_that_fail_by_themselves_are_no_verdict(setup, code, executor):
    verdict = judge(asserts(code, setup=setup), "def f(x): return x", executor)
    assert verdict.outcome is Outcome.NO_VERDICT
    assert verdict.execution.error.name in ("ModuleNotFoundError", "ZeroDivisionError")


def test_the_interpreter_that_is_missing_is_no_verdict():
    with code_env.make_executor("subprocess", python="/bin/false") as broken:
        assert judge(*HONEST["call"], broken).outcome is Outcome.NO_VERDICT
        assert broken.run(Program("print(1)")).status is Status.SANDBOX_ERROR


def test_tests_that_take_long_to_set_up_hear_of_code_that_does_not_compile(executor):
    problem = asserts("assert f(1) == 1", setup="import time\ntime.sleep(1.5)")
    assert judge(problem, "def f(:", executor).outcome is Outcome.POLICY_ERROR


def test_each_test_has_a_directory_of_its_own(executor):
    answer = "import os\ndef f(x):\n    os.mkdir('d')\n    return sorted(os.listdir())"
    listing = ["d", "given", "main.py"]
    problem = task(CallTest((1,), {}, listing), CallTest((2,), {}, listing), files={"given": b""})
    assert judge(problem, answer, executor).passed
    answer = "import os\nos.mkdir('d')\nprint(os.path.samefile(os.environ['HOME'], '.'), open('given').read())"
    problem = task(StdinTest("", "True x"), StdinTest("1", "True x"), files={"given": b"x"})
    assert judge(problem, answer, executor).passed


def test_each_test_has_what_the_task_gives_whatever_kind_came_before(executor):
    code = "import os\ndef f(x):\n    open('data', 'w').write('changed')\n    return x\n"
    code += "if __name__ == '__main__': print(open('data').read(), sorted(os.listdir('.')))"
    fresh = "first ['data', 'main.py']"
    mixed = (
        code_env.StdinTest("", fresh),
        code_env.CallTest((1,), expected=1),
        code_env.OutputTest(fresh),
        code_env.AssertTest("assert f(2) == 2"),
        code_env.StdinTest("", fresh),
    )
    answered = code_env.judge(
        code_env.Task(id="t", prompt="", entry_point="f", files={"data": b"first"}, tests=mixed), code, executor
    )
    assert answered.passed, answered


def test_many_long_outputs_fit_into_one_report(executor):
    problem = task(*[StdinTest(str(n), "é" * 9000 + "\n") for n in range(150)])
    assert judge(problem, "print('é' * 9000)", executor).passed
    assert judge(problem, "print('é' * 9001)", executor).tests_total == 150


def test_an_object_costs_its_own_test_only(executor):
    problem = task(CallTest((0,), {}, [1, 2]), CallTest((1,), {}, 1), CallTest((2,), {}, 2))
    answer = "import numpy\nclass C: pass\ndef f(i): return [numpy.array([1, 2]), C(), 2][i]"
    assert [case.passed for case in judge(problem, answer, executor).cases] == [True, False, True]


@pytest.mark.parametrize("limits", [{"memory_bytes": 1 << 50}, {"cpu_s": 1e6, "wall_s": 1e6}, {"file_bytes": 1 << 50}])
def test_the_largest_limits_work(limits, executor):
    assert judge(task(OutputTest("1"), limits=Limits(**limits)), "print(1)", executor).passed


def test_answers_are_judged_one_after_another_and_the_rest_is_cancelled(executor):
    slow = (task(OutputTest("x"), limits=Limits(wall_s=5)), "import time; time.sleep(60)")
    verdicts = code_env.judge_each([(*HONEST["call"],), slow, slow, slow], executor)
    assert next(verdicts).passed
    verdicts.close()
    assert judge(*HONEST["call"], executor).passed
