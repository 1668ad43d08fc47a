"""Judged runs: the program in a sandbox, its peer in the jail of this machine."""

import asyncio

import pytest

from code_env import (
    AssertTest,
    CallTest,
    CellTest,
    CheckerTest,
    Limits,
    Outcome,
    OutputTest,
    StdinTest,
    Task,
    judge,
    judge_many,
)
from code_env.executors.machines import machine_run

pytestmark = pytest.mark.usefixtures("one_host")

SHORT = Limits(cpu_s=0.5, wall_s=3)

CHECKER = "def check(stdin, output, answer):\n    return int(output) ** 2 == int(stdin)\n"

SUITE = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n"

TASKS = {
    "stdin": (Task("t", "", (StdinTest("3", "6\n"), StdinTest("4", "8"))), "print(2 * int(input()))", "print(6)"),
    "output": (Task("t", "", (OutputTest("7"),)), "print(7)", "print(8)"),
    "call": (
        Task("t", "", (CallTest((2,), {}, 4), CallTest((3,), {}, 6)), entry_point="double"),
        "def double(x): return 2 * x",
        "def double(x): return 4",
    ),
    "assert": (
        Task("t", "", (AssertTest(SUITE),), entry_point="double"),
        "def double(x): return 2 * x",
        "def double(x): return 4",
    ),
    "two suites": (
        Task("t", "", (AssertTest(SUITE), AssertTest("assert double(5) == 10")), entry_point="double"),
        "def double(x): return 2 * x",
        "def double(x): return 4",
    ),
    "cell": (Task("t", "", (CellTest("x * 2", "6"), CellTest("x", "3"))), "x = 3", "x = 4"),
    "javascript": (
        Task("t", "", (CallTest((2,), {}, 4), CallTest((3,), {}, 6)), entry_point="double", language="javascript"),
        "function double(x) { return 2 * x; }",
        "function double(x) { return 4; }",
    ),
    "javascript stdin": (
        Task("t", "", (StdinTest("3", "6\n"),), language="javascript"),
        "console.log(2 * Number(require('fs').readFileSync(0)))",
        "console.log(7)",
    ),
}


@pytest.mark.parametrize("kind", TASKS)
def test_every_kind_of_test_is_judged(kind, executor, e2b):
    task, right, wrong = TASKS[kind]
    verdict = judge(task, right, executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.PASS, 1.0), verdict
    verdict = judge(task, wrong, executor)
    assert verdict.outcome is Outcome.FAIL, verdict
    assert verdict.fraction < 1.0


def test_a_checker_looks_at_the_output(executor):
    test = CheckerTest(
        stdin="49", checker="def check(stdin, stdout, answer):\n    return int(stdout) ** 2 == int(stdin)"
    )
    task = Task("t", "", (test,))
    assert judge(task, "print(-7)", executor).passed
    assert judge(task, "print(8)", executor).outcome is Outcome.FAIL


def test_large_inputs_and_outputs_pass_through(executor):
    text = "".join(f"{n} " for n in range(200_000))
    task = Task("t", "", (StdinTest(text, text[::-1]), StdinTest("ab", "ba")))
    assert judge(task, "import sys; sys.stdout.write(sys.stdin.read()[::-1])", executor).passed
    values = list(range(100_000))
    suite = (
        f"def check(f):\n    for n in range(20): assert f(list(range({len(values)}))) == list(range({len(values)}))\n"
    )
    task = Task("t", "", (AssertTest(suite),), entry_point="same")
    assert judge(task, "def same(x): return x", executor).passed


def test_time_on_the_line_is_not_the_programs(executor, monkeypatch):
    """Each line takes a second: the answer has the time that it waits for them, and no other."""
    send = machine_run.Run.send

    async def send_slowly(run, line):
        await asyncio.sleep(1.0)
        await send(run, line)

    monkeypatch.setattr(machine_run.Run, "send", send_slowly)
    suite = "def check(f):\n    for n in range(6): assert f(n) == n"
    task = Task("t", "", (AssertTest(suite),), entry_point="f", limits=Limits(wall_s=4))
    verdicts = judge_many([(task, code) for code in ("def f(n): return n", ASLEEP)], executor)
    assert [str(verdict.execution.status) for verdict in verdicts] == ["ok", "timeout"], verdicts
    assert [verdict.passed for verdict in verdicts] == [True, False]


ASLEEP = "import time\ndef f(n):\n    if n == 3: time.sleep(600)\n    return n"


def test_faults_of_the_program_are_its_own(executor):
    suite = Task("t", "", (AssertTest(SUITE),), entry_point="double", limits=SHORT)
    calls = Task("t", "", (CallTest((2,), {}, 4), CallTest((3,), {}, 6)), entry_point="double", limits=SHORT)
    loops = "def double(x):\n    if x != 2:\n        while True: pass\n    return 4"
    verdict = judge(suite, loops, executor)
    assert (verdict.outcome, verdict.fraction, verdict.execution.status) == (Outcome.FAIL, 0.5, "timeout")
    verdict = judge(calls, loops, executor)
    assert (verdict.outcome, verdict.fraction, verdict.execution.status) == (Outcome.FAIL, 0.5, "timeout")
    assert judge(suite, "while True: pass", executor).outcome is Outcome.POLICY_ERROR
    assert judge(suite, "def double(:", executor).outcome is Outcome.POLICY_ERROR
    assert judge(calls, "import os; os._exit(0)", executor).outcome is Outcome.POLICY_ERROR


@pytest.mark.parametrize("test", [AssertTest(SUITE), CallTest((2,), {}, 4)], ids=["suite", "calls"])
def test_who_kills_the_supervisor_gets_no_second_chance_for_ever(test, executor):
    task = Task("t", "", (test,), entry_point="double", limits=SHORT)
    kill = """
import os, time
def parents(pid):
    while pid > 1:
        pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
        yield pid
for pid in parents(os.getpid()):
    if b"supervisor.py" in open(f"/proc/{pid}/cmdline", "rb").read():
        os.kill(pid, 9)
        time.sleep(30)
"""
    verdict = judge(task, kill, executor)
    assert (verdict.outcome, verdict.fraction) == (Outcome.POLICY_ERROR, 0.0)
    assert verdict.execution.error.name == "SandboxKilled"


def test_no_expected_value_enters_a_sandbox(executor):
    """A program looks through the memory of what runs it."""
    secret = "an expected value that nobody knows"
    code = """
import os
def answer(x):
    found, needle = [], " ".join(["that", "nobody", "knows"]).encode()
    for line in open(f"/proc/{os.getppid()}/maps"):
        start, _, end = line.split()[0].partition("-")
        if "rw" in line.split()[1]:
            try:
                with open(f"/proc/{os.getppid()}/mem", "rb") as memory:
                    memory.seek(int(start, 16))
                    found.append(needle in memory.read(int(end, 16) - int(start, 16)))
            except (OSError, ValueError, OverflowError):
                pass
    return [any(found), len(found) > 5]
"""
    suite = f"def check(f):\n    assert f(1) == {secret!r}\n    assert f(1)[1]\n    assert not f(1)[0]\n"
    verdict = judge(Task("t", "", (AssertTest(suite),), entry_point="answer"), code, executor)
    assert [case.passed for case in verdict.cases] == [False, True, True], verdict.cases


def test_one_judge_serves_many_answers(executor):
    task, right, wrong = TASKS["assert"]
    verdicts = judge_many([(task, f"{right}  # {n}") for n in range(5)] + [(task, wrong)], executor)
    assert [verdict.passed for verdict in verdicts] == [True] * 5 + [False]
