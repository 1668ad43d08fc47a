"""Limits of time and of processes: each has its status, keeps the output, and costs no neighbour anything."""

import contextlib
import os
import time
from pathlib import Path

import pytest

import code_env
from code_env import Limits, Program, Status
from code_env.harness.process.watching import descendants
from support import KEPT

CATCHES_ALL = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
IGNORES_SIGNALS = "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"

LOOPS = {
    "plain": "while True: pass",
    "catches everything": CATCHES_ALL,
    "ignores signals": IGNORES_SIGNALS + CATCHES_ALL,
    "in a regex": "import re\nre.match('(a+)+b', 'a' * 60)",
    "in a huge power": "x = 7 ** (10 ** 9)",
    "in sum": "sum(range(10 ** 12))",
    "in threads": "import threading\nfor _ in range(4): threading.Thread(target=lambda: sum(range(10**12))).start()",
    "in the traceback": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "at exit": "import atexit\natexit.register(lambda: sum(range(10**12)))",
    "in __del__": "class D:\n    def __del__(self):\n        while True: pass\nd = D()",
    "in children": "import os\nwhile True:\n    if os.fork() == 0: os._exit(sum(range(10**6)) and 0)\n    os.wait()",
}


# What ends a loop is the same at both levels; how a run with processes is ended is not.
AT_LEVELS = [("full", name) for name in LOOPS] + [
    ("contained", name) for name in ("plain", "in threads", "in children")
]


@pytest.mark.parametrize(("jail", "name"), AT_LEVELS, indirect=["jail"])
def test_a_loop_ends_with_timeout(name, jail, honest):
    allowed = Limits(cpu_s=0.5, wall_s=20, processes=2 if name == "in children" else 0)
    result = jail.run(Program(KEPT + LOOPS[name], limits=allowed))
    assert (result.status, result.stdout) == (Status.TIMEOUT, "kept\n"), result
    assert result.cpu_s < 1.5


@pytest.mark.parametrize(
    "code",
    ["import time; time.sleep(60)", "import signal; signal.pause()", "import os, signal; os.kill(0, signal.SIGSTOP)"],
)
def test_waiting_ends_with_timeout(code, jail):
    result = jail.run(Program(KEPT + code, limits=Limits(wall_s=0.5)))
    assert (result.status, result.stdout) == (Status.TIMEOUT, "kept\n"), result


SHORT_CHILDREN = """
import os, time
while sum(os.times()[:4]) < 6:
    if os.fork() == 0:
        end = time.process_time() + 0.003
        while time.process_time() < end: pass
        os._exit(0)
    WAIT
"""


UNWAITED = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.wait()"


@pytest.mark.parametrize(
    ("jail", "wait"), [("full", "os.wait()"), ("full", UNWAITED), ("contained", UNWAITED)], indirect=["jail"]
)
def test_children_that_live_shortly_are_counted(wait, jail):
    result = jail.run(Program(SHORT_CHILDREN.replace("WAIT", wait), limits=Limits(cpu_s=1, processes=2)))
    assert result.status is Status.TIMEOUT, result
    assert 1 < result.cpu_s < 2


def test_more_cpu_time_than_allowed_is_a_timeout_also_afterwards(jail):
    code = "import time\nwhile time.process_time() < 0.21: pass\nprint('done')"
    assert jail.run(Program(code, limits=Limits(cpu_s=0.2))).status is Status.TIMEOUT


def test_waiting_for_ones_own_threads_earns_no_time(jail):
    code = """
import os, threading, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def burn():
    while True: pass
for _ in range(3): threading.Thread(target=burn, daemon=True).start()
burn()
"""
    result = jail.run(Program(code, limits=Limits(cpu_s=20, wall_s=1)))
    assert result.status is Status.TIMEOUT
    assert result.cpu_s < 6, result


def test_hundreds_of_threads_are_within_the_default_limits(jail):
    code = "import threading\ne = threading.Event()\nt = [threading.Thread(target=e.wait) for _ in range(200)]\n[x.start() for x in t]\nprint(threading.active_count())\ne.set()"
    assert jail.run(Program(code)).stdout == "201\n"


@pytest.mark.parametrize(
    "start", ["os.fork()", "os.posix_spawn('/bin/true', ['true'], {})", "__import__('subprocess').run(['true'])"]
)
def test_no_process_may_be_started_unless_allowed(start, jail):
    result = jail.run(Program(f"import os\n{start}"))
    assert (result.status, result.error.name) == (Status.ERROR, "BlockingIOError"), result


COUNTS = """
import os, time
started = 0
try:
    for _ in range(10):
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        started += 1
except OSError as error:
    print(started, error.errno)
"""


@pytest.mark.parametrize("allowed", [1, 4])
def test_as_many_processes_as_allowed_may_live_at_once(allowed, jail):
    result = jail.run(Program(COUNTS, limits=Limits(processes=allowed)))
    assert (result.status, result.stdout) == (Status.OK, f"{allowed} 11\n"), result


def test_one_after_another_there_may_be_many(jail):
    code = "import subprocess, sys\nfor n in range(5): print(subprocess.run(['echo', str(n)], capture_output=True, text=True).stdout.strip())"
    result = jail.run(Program(code, limits=Limits(processes=1)))
    assert result.stdout == "0\n1\n2\n3\n4\n", result


def test_a_program_that_gets_signals_all_the_time_is_forked_for_each_test(jail):
    code = """
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def double(x):
    return 2 * x
"""
    tests = tuple(code_env.CallTest((x,), {}, 2 * x) for x in range(20))
    verdict = code_env.judge(code_env.Task("double", "p", tests, entry_point="double"), code, jail)
    assert verdict.passed, verdict


def test_orphans_count(jail):
    code = """
import os, time
for _ in range(10):
    if os.fork() == 0:
        try:
            if os.fork() == 0:
                open('orphans', 'a').write('x')
                time.sleep(10)
        finally:
            os._exit(0)
    os.wait()
time.sleep(0.1)
print(open('orphans').read())
"""
    # Each leaves one, for which there must be room for two.
    result = jail.run(Program(code, limits=Limits(processes=4)))
    assert result.stdout == "xxx\n", result


BOMB = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_a_fork_bomb_starves_no_neighbour(jail):
    bomb = jail.submit(Program(BOMB, limits=Limits(cpu_s=20, wall_s=60, processes=4)))
    time.sleep(0.3)
    neighbour = jail.run(Program(COUNTS, limits=Limits(processes=4)))
    assert not bomb.done()
    assert neighbour.stdout == "4 11\n", neighbour
    assert bomb.cancel()
    alone = jail.run(Program(BOMB, limits=Limits(cpu_s=1, wall_s=3, processes=4)))
    assert alone.status is Status.TIMEOUT
    assert jail.run(Program(COUNTS, limits=Limits(processes=4))).stdout == "4 11\n"


FORKS = """
import os
for _ in range(400):
    child = os.fork()
    if not child: os._exit(0)
    os.waitpid(child, 0)
"""


def test_the_time_that_allowed_forks_take_is_the_programs(jail):
    jail.run(Program(FORKS, limits=Limits(processes=4)))  # Its servers have started.
    before = used_by_all()
    result = jail.run(Program(FORKS, limits=Limits(cpu_s=60, wall_s=600, processes=4)))
    assert result.status is Status.OK, result
    assert result.cpu_s > 0.6 * (used_by_all() - before)


def used_by_all():
    """The CPU time of all processes of the executors, and of those that they have waited for, in seconds."""
    ticks = 0
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


REFUSED = """
import os, threading, time
threading.stack_size(65536)
for _ in range(400): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
child = os.fork()
if child == 0:
    time.sleep(1000)
    os._exit(0)
while True:
    try: os.fork()
    except OSError: pass
"""


def test_the_time_that_refused_forks_take_is_the_programs(jail):
    """Its own process sleeps meanwhile: somebody else has to look who lives, among hundreds of threads."""
    limits = Limits(cpu_s=0.4, wall_s=1000, processes=1)
    results = jail.run_many([Program(REFUSED, limits=limits)])
    assert [result.status for result in results] == [Status.TIMEOUT], results
    assert results[0].cpu_s > 0.36
    tests = (code_env.StdinTest("", ""), code_env.StdinTest("", "right"))
    task = code_env.Task(id="t", prompt="", tests=tests, limits=limits)
    verdict = code_env.judge(task, REFUSED, jail)
    assert [case.status for case in verdict.cases] == [Status.TIMEOUT] * 2, verdict


def test_a_few_refused_forks_cost_next_to_nothing(jail):
    code = """
import os, time
child = os.fork()
if child == 0:
    time.sleep(0.2)
    os._exit(0)
refused = 0
for _ in range(20):
    try: os.fork()
    except BlockingIOError: refused += 1
os.waitpid(child, 0)
if os.fork() == 0: os._exit(0)
os.wait()
print(refused)
"""
    result = jail.run(Program(code, limits=Limits(cpu_s=1, processes=1)))
    assert (result.status, result.stdout) == (Status.OK, "20\n"), result


def test_threads_are_not_processes(jail):
    code = "import threading\nt = [threading.Thread(target=print, args=(n,)) for n in range(16)]\n[x.start() for x in t]\n[x.join() for x in t]"
    result = jail.run(Program(code))
    assert sorted(map(int, result.stdout.split())) == list(range(16)), result


def test_a_sleeper_that_waits_for_a_core_is_given_its_time(jail):
    """Busy neighbours do not use up the wall time of a program that is ready to run."""
    busy = [jail.submit(Program("while True: pass", limits=Limits(cpu_s=0.5, wall_s=30))) for _ in range(2)]
    result = jail.run(Program("x = 0\nfor i in range(10**6): x += i\nprint(x > 0)", limits=Limits(wall_s=2.5)))
    assert result.stdout == "True\n", result
    assert {future.result().status for future in busy} == {Status.TIMEOUT}


def test_a_call_that_uses_too_much_ends_alone(jail):
    """What comes after it is tested, and each is told what it was ended for."""
    code = """import os, signal, time
def f(what):
    if what == "sleep": time.sleep(60)
    if what == "loop":
        while True: pass
    if what == "memory":
        held = b"x" * (200 << 20)
        time.sleep(60)
    if what == "signal": os.kill(os.getpid(), signal.SIGKILL)
    return what
"""
    order = ["sleep", "fine", "memory", "signal", "loop", "sleep", "fine"]
    task = code_env.Task(
        id="t",
        prompt="",
        tests=tuple(code_env.CallTest((what,), expected=what) for what in order),
        entry_point="f",
        limits=Limits(cpu_s=0.5, wall_s=2, memory_bytes=100 << 20),
    )
    verdict = code_env.judge_many([(task, code)], jail)[0]
    expected = {"sleep": "timeout", "fine": "ok", "memory": "memory", "signal": "signal", "loop": "timeout"}
    assert [str(case.status) for case in verdict.cases] == [expected[what] for what in order], verdict
    assert [case.passed for case in verdict.cases] == [what == "fine" for what in order]
