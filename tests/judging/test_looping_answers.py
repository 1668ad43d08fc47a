"""An answer that loops is bounded as a whole, and one that is slow has its time in each test."""

import dataclasses

import pytest

from code_env import AssertTest, CallTest, CellTest, Limits, Program, Status, StdinTest, Task, judge, judge_many
from support import somewhere

LIMITS, SHORT = Limits(cpu_s=0.4, wall_s=200), Limits(cpu_s=0.3, wall_s=200)
UNRUN = "not run: after a test that timed out, the tests share CPU time, and it is used up"
UNRUN_OF_ALL = UNRUN.replace("timed out,", "timed out, or with total_cpu_s,")
BURN = "import time\ndef burn(s):\n    until = time.process_time() + s\n    while time.process_time() < until: pass\n"
SLOWER = 2
"""The factor for all times of answers in JavaScript: Node's start takes up to 0.15 s of CPU time."""
JS_BURN = (
    "function used() { const { user, system } = process.cpuUsage(); return (user + system) / 1e6; }\n"
    f"function burn(s) {{ const until = used() + {SLOWER} * s; while (used() < until); }}\n"
)


@pytest.fixture(scope="module", params=["full", "subprocess"])
def executor(request):
    with somewhere(request.param) as made:
        yield made


def stdin_task(language="python", count=7):
    tests = tuple(StdinTest(f"{n}\n", f"{n}\n", hidden=n > 2) for n in range(count))
    return Task(f"stdin {language}", "", tests, limits=LIMITS, language=language)


def call_task(language="python", count=7):
    tests = tuple(CallTest(args=(n,), expected=n, hidden=n > 2) for n in range(count))
    return Task(f"call {language}", "", tests, entry_point="f", limits=LIMITS, language=language)


def answers(body, js_body, count=7, limits=SHORT):
    """The same answer to each task: as a program and as a function, in Python and in JavaScript."""
    python = body.replace("\n", "\n    ")
    tasks = [
        (stdin_task(count=count), f"{BURN}def f(n):\n    {python}\nprint(f(int(input())))"),
        (call_task(count=count), f"{BURN}def f(n):\n    {python}"),
        (
            stdin_task("javascript", count),
            f"{JS_BURN}function f(n) {{ {js_body} }}\nconsole.log(f(parseInt(require('fs').readFileSync(0, 'utf8'))));",
        ),
        (call_task("javascript", count), f"{JS_BURN}function f(n) {{ {js_body} }}"),
    ]
    js_limits = dataclasses.replace(
        limits, cpu_s=SLOWER * limits.cpu_s, total_cpu_s=limits.total_cpu_s and SLOWER * limits.total_cpu_s
    )
    limits_of = {"python": limits, "javascript": js_limits}
    return [(dataclasses.replace(task, limits=limits_of[task.language]), code) for task, code in tasks]


def on(executor, jobs):
    """All on the best executor, and two of them on the other: the judge is the same."""
    return jobs if executor.describe().level == "full" else jobs[::3]


def test_after_the_first_that_loops_the_tests_share_the_time_of_one(executor):
    loops = on(executor, answers("while True: pass", "while (true);"))
    for (task, _), verdict in zip(loops, judge_many(loops, executor), strict=True):
        assert [(case.status, case.passed) for case in verdict.cases] == [(Status.TIMEOUT, False)] * 7, verdict
        assert all(UNRUN in case.message for case in verdict.cases[2:]), verdict
        assert sum(case.cpu_s or 0.0 for case in verdict.cases) < 4 * task.limits.cpu_s
        assert not verdict.passed


def test_what_is_left_is_there_for_tests_that_end(executor):
    loops = "if n in (1, 4):\n    while True: pass\nreturn n", "if (n == 1 || n == 4) while (true); return n;"
    asked = on(executor, answers(*loops, limits=LIMITS))
    for (task, _), verdict in zip(asked, judge_many(asked, executor), strict=True):
        passed = [case.passed for case in verdict.cases]
        assert passed == [True, False, True, True, False, False, False], verdict
        assert f"the time limit was reached ({task.limits.cpu_s:g} s of CPU time)" in verdict.cases[1].message
        assert "the time limit was reached" in verdict.cases[4].message
        assert UNRUN in verdict.cases[5].message


def test_tests_that_stay_below_the_limit_have_their_time_each(executor):
    slow = answers("burn(0.15)\nreturn n", "burn(0.15); return n;", count=3)
    for verdict in judge_many(on(executor, slow), executor):
        assert verdict.passed, verdict


def test_a_limit_for_all_tests_holds_from_the_start(executor):
    limits = Limits(cpu_s=0.6, total_cpu_s=0.7, wall_s=200)
    slow = answers("burn(0.4)\nreturn n", "burn(0.4); return n;", count=4, limits=limits)
    for verdict in judge_many(on(executor, slow), executor):
        assert [case.passed for case in verdict.cases] == [True, False, False, False], verdict
        assert "share CPU time" in verdict.cases[1].message
        assert all(UNRUN_OF_ALL in case.message for case in verdict.cases[2:]), verdict
    (verdict,) = judge_many(answers("return n", "return n;", limits=limits)[:1], executor)
    assert verdict.passed


def test_a_limit_for_all_tests_is_one_for_a_suite_too(executor):
    code = f"{BURN}def f(n):\n    burn(0.3)\n    return n"
    suite = AssertTest("\n".join(f"assert f({n}) == {n}" for n in range(3)))
    verdicts = [
        judge(Task("t", "", (suite,), entry_point="f", limits=Limits(total_cpu_s=total_s)), code, executor)
        for total_s in (0.5, 20)
    ]
    assert [verdict.passed for verdict in verdicts] == [False, True]
    assert verdicts[0].execution.status is Status.TIMEOUT
    messages = [case.message for case in verdicts[0].cases if not case.passed]
    assert all("the time limit was reached (0.5 s of CPU time)" in message for message in messages), messages


@pytest.mark.parametrize("test", [CallTest((1,), expected=1), StdinTest("", "1"), AssertTest("assert f(1) == 1")])
def test_tests_that_reach_the_limit_of_all_together_say_so(executor, test):
    """Each stays below its limit; all together may take ten times as much."""
    task = Task("t", "", (test,) * 40, entry_point="f", limits=Limits(cpu_s=0.12, wall_s=200))
    code = f"{BURN}def f(n):\n    burn(0.05)\n    return n\nif __name__ == '__main__':\n    print(f(1))"
    verdict = judge(task, code, executor)
    failed = [case for case in verdict.cases if not case.passed]
    assert verdict.cases[0].passed
    assert {case.status for case in failed} == {Status.TIMEOUT}, failed
    told = {case.message.rpartition(": ")[2] for case in failed}
    assert told == {"the time limit was reached for all tests together (1.2 s of CPU time)"}
    assert verdict.execution.status is Status.TIMEOUT


def test_to_wait_too_long_leaves_the_others_their_time(executor):
    limits = Limits(cpu_s=0.5, wall_s=2)
    tests = tuple(StdinTest(str(n), str(n)) for n in range(4))
    code = f"{BURN}n = int(input())\nif n == 0: time.sleep(1000)\nburn(0.3)\nprint(n)"
    (verdict,) = judge_many([(Task("waits", "", tests, limits=limits), code)], executor)
    assert [case.passed for case in verdict.cases] == [False, True, True, True], verdict
    assert "the time limit was reached (2 s of wall time)" in verdict.cases[0].message


def test_a_function_that_cannot_report_any_more_ends_at_the_limit(executor):
    task = dataclasses.replace(call_task(count=2), limits=Limits(cpu_s=1, wall_s=2))
    cut = "import os, resource\nr, w = os.pipe()\nmost = min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    cut += "for fd in range(3, most):\n    if fd not in (r, w): os.dup2(w, fd)"
    (verdict,) = judge_many([(task, f"{cut}\ndef f(n):\n    return n")], executor)
    assert verdict.execution.status is Status.TIMEOUT, verdict
    assert "the time limit was reached" in verdict.cases[0].message
    # Its watcher was busy all the time: 8 s of CPU time, and 20 s until its peer gave up.
    assert verdict.execution.cpu_s < 1, verdict


def test_a_notebook_that_loops_is_bounded_too(executor):
    tests = (CellTest("print(1)", "1", hidden=False), CellTest("print(1)", "1"), StdinTest("", ""), StdinTest("", ""))
    (verdict,) = judge_many([(Task("notebook", "", tests, limits=SHORT), "while True: pass")], executor)
    assert not any(case.passed for case in verdict.cases), verdict
    assert sum(UNRUN in case.message for case in verdict.cases) >= 1, verdict


def test_programs_that_are_not_judged_have_their_own_time(executor):
    loops = executor.run_many([Program("while True: pass", limits=SHORT)] * 3)
    assert [result.status for result in loops] == [Status.TIMEOUT] * 3
    assert all(result.cpu_s >= 0.24 for result in loops)
