"""Results do not depend on what else the machine does: CPU time counts, and sleepers are in nobody's way."""

import contextlib
import os
import subprocess
import sys
import threading

import pytest

from code_env import AssertTest, CallTest, Limits, Program, Status, StdinTest, Task, judge_many
from code_env.executors.local.server import Server
from code_env.harness.process.watching import children_of
from support import LEVELS, PATIENCE_S, local, wait_until

BURN = "import time\nwhile time.process_time() < {}: pass\nprint('done')"
SLEEP = "import time\ntime.sleep(60)"
PATIENT = Limits(wall_s=120)


@pytest.fixture
def busy():
    """Processes that leave no core idle, each in a session of its own: Linux shares cores out among sessions."""
    loop = [sys.executable, "-S", "-c", "while True: pass"]
    loops = [subprocess.Popen(loop, start_new_session=True) for _ in range(os.cpu_count() or 1)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_a_loop_has_its_time_and_little_more(jail):
    """By the process's own clock, from its fork on.

    Whoever looks at that clock needs a core for it, which a busy machine may give him late: so of a few runs the best.
    """
    limits = Limits(cpu_s=0.5)
    for code in ["while True: pass", "sum(range(10**12))", "import re\nre.match('(a+)+b', 'a' * 60)"]:
        results = [jail.run(Program(code, limits=limits))]
        while results[-1].cpu_s > 0.55 and len(results) < 5:
            results.append(jail.run(Program(code, limits=limits)))
        assert {result.status for result in results} == {Status.TIMEOUT}
        spent = [result.cpu_s for result in results]
        assert min(spent) >= 0.5
        assert spent[-1] <= 0.55, spent


def test_results_are_the_same_beside_busy_processes(jail, busy):
    """With a part of a core: what takes four fifths of its time passes, what takes more does not."""
    limits = Limits(cpu_s=0.5, wall_s=1)
    codes = [BURN.format(0.4), "while True: pass", BURN.format(0.25), "import time; time.sleep(0.5); print('done')"]
    results = jail.run_many([Program(code, limits=limits) for code in codes])
    assert [result.status for result in results] == ["ok", "timeout", "ok", "ok"], results
    assert [result.stdout for result in results] == ["done\n", "", "done\n", "done\n"]


def test_verdicts_are_the_same_beside_busy_processes(jail, busy):
    slow = "import time\ndef f(n):\n    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n"
    tests = {
        "assert": AssertTest("assert f(3) == 3"),
        "call": CallTest((3,), expected=3),
        "stdin": StdinTest("3\n", "3\n"),
    }
    if jail.describe().level != "full":  # Nothing in them differs between the levels.
        del tests["assert"], tests["stdin"]
    answers = []
    for name, test in tests.items():
        task = Task(id=name, prompt="", tests=(test,), entry_point="f", limits=Limits(cpu_s=0.35, wall_s=1.5))
        main = "\nif __name__ == '__main__': print(f(int(input())))" if name == "stdin" else ""
        answers += [(task, slow + f"    return n{tail}{main}") for tail in ("", " + 1")]
        answers.append((task, f"def f(n):\n    while True: pass{main}"))
    verdicts = judge_many(answers, jail)
    assert [verdict.outcome for verdict in verdicts] == ["pass", "fail", "fail"] * len(tests), verdicts
    assert [str(verdict.execution.status) for verdict in verdicts] == ["ok", "ok", "timeout"] * len(tests)


@pytest.mark.parametrize("level", LEVELS)
def test_a_sleeping_program_holds_no_core(level):
    with local(level, workers=1) as executor:
        sleepers = [executor.submit(Program(SLEEP, limits=PATIENT)) for _ in range(5)]
        assert executor.run(Program("print('ran')")).stdout == "ran\n"
        assert not any(sleeper.done() for sleeper in sleepers)
        for sleeper in sleepers:
            sleeper.cancel()
        assert executor.run(Program("print('ran')")).stdout == "ran\n"


def test_a_sleeping_answer_holds_no_core():
    task = Task(id="t", prompt="", tests=(AssertTest("assert f(1) == 1"),), entry_point="f", limits=PATIENT)
    with local("full", workers=1) as executor:
        judging = threading.Thread(
            target=judge_many, args=([(task, "import time\ndef f(n):\n    time.sleep(14)\n    return n")], executor)
        )
        judging.start()
        wait_until(lambda: executor._live.slots)
        verdicts = judge_many([(task, f"def f(n): return {n}") for n in range(3)], executor)
        assert [verdict.passed for verdict in verdicts] == [False, True, False]
        assert judging.is_alive()
        judging.join()


@pytest.mark.parametrize(
    "code",
    [BURN.format(2), "x = bytearray(b'x') * (100 << 20)\nimport time\ntime.sleep(2)\nprint('done')"],
    ids=["runs", "holds much memory"],
)
def test_who_does_not_sleep_or_holds_much_keeps_its_place(code):
    with local("full", workers=1) as executor:
        first = executor.submit(Program(code, limits=PATIENT))
        assert executor.run(Program("print('ran')")).stdout == "ran\n"
        assert first.done()
        assert first.result().stdout == "done\n"


def test_one_that_is_killed_before_it_began_is_run_again(monkeypatch):
    """Whoever kills it, it had no part in it."""
    fresh = []
    with local("full", workers=1) as executor:
        executor.run(Program("print(1)"))
        start = Server.open_worker
        monkeypatch.setattr(Server, "open_worker", lambda server: fresh.append(server) or start(server))
        worker = next(iter(executor._live.slots[0]._workers.values())).pid
        for _ in range(200):
            future = executor.submit(Program("print('ran')"))
            while not (children := children_of(worker)) and not future.done():
                pass
            for child in children:
                with contextlib.suppress(ProcessLookupError):  # It may have ended meanwhile.
                    os.kill(child, 9)
            result = future.result(PATIENCE_S)
            assert (result.status, result.stdout) in [("ok", "ran\n"), ("signal", ""), ("signal", "ran\n")], result
            if fresh:
                return
    pytest.fail("none was killed before it began")
