"""Programs hear of the ends of their children, and these free their places; what children used is never forgotten."""

import os
import subprocess
import sys

import pytest

import code_env
from code_env import Limits, Program, StdinTest, Task
from code_env.executors.local.jail import linux

REAPS = """
import os, signal, subprocess, time
reaped = []
def reap(number, frame):
    try:
        while (pid := os.waitpid(-1, os.WNOHANG)[0]): reaped.append(pid)
    except ChildProcessError: pass
subprocess.run(['true'])  # It starts in this process's memory.
signal.signal(signal.SIGCHLD, reap)
for n in range(int(input())):
    if os.fork() == 0: os._exit(0)
    while len(reaped) <= n: time.sleep(0.001)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
print(len(reaped), subprocess.run(['timeout', '100', 'true']).returncode)
"""

IGNORES = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for n in range(int(input())):
    if (pid := os.fork()) == 0: os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
print(n + 1, 0)
"""

LIMITS = Limits(processes=2, cpu_s=30, wall_s=300)


@pytest.mark.parametrize("code", [REAPS, IGNORES])
def test_children_that_ended_free_their_places(code, jail):
    result = jail.run(Program(code, stdin="20\n", limits=LIMITS))
    assert (result.stdout, result.stderr) == ("20 0\n", ""), result


@pytest.mark.parametrize("code", [REAPS, IGNORES])
def test_they_do_in_tests_too(code, jail):
    tests = tuple(StdinTest(f"{n}\n", f"{n} 0\n") for n in (5, 6, 7))
    verdict = code_env.judge(Task("t", "p", tests, limits=LIMITS), code, jail)
    assert verdict.passed, verdict.cases


BESIDE_FORKS = """
import os, signal, subprocess
signal.signal(signal.SIGCHLD, lambda *_: None)
for _ in range(40):
    for _ in range(4):
        if os.fork() == 0: os._exit(0)
    for _ in range(4): os.wait()
shells = [subprocess.run(['sh', '-c', 'for i in 1 2 3 4; do : & done; wait']).returncode for _ in range(10)]
print(sum(shells))
"""


def test_ends_of_children_interrupt_no_fork(jail):
    result = jail.run(Program(BESIDE_FORKS, limits=LIMITS.with_values({"processes": 12})))
    assert (result.stdout, result.stderr) == ("0\n", ""), result


FEW_RIGHTS = """
import sys
from code_env import Limits, Program, make_executor
with make_executor("local", workers=1, max_isolation="contained") as executor:
    limits = Limits(processes=2, cpu_s=30, wall_s=300)
    print(executor.run(Program(sys.argv[1], stdin="20\\n", limits=limits)).stdout, end="")
    # The worker has become itself again, and dies with its server.
    print(executor.run(Program("print(6 * 7)")).stdout, end="")
"""


def few_rights():
    linux.prctl(linux._PR_CAPBSET_DROP, 19)  # CAP_SYS_PTRACE


def test_they_do_where_root_may_not_trace_others():
    """As in most containers."""

    if os.geteuid() != 0:
        pytest.skip("this is about root")
    command = [sys.executable, "-c", FEW_RIGHTS, REAPS]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=few_rights, timeout=300)
    assert (done.stdout, done.stderr) == ("20 0\n42\n", "")


def test_a_few_hundred_wait_for_their_program(jail):
    code = """
import os
started = 0
try:
    while started < 2000:
        if (pid := os.fork()) == 0: os._exit(0)
        started += 1
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
except BlockingIOError: pass
print(started)
"""
    result = jail.run(Program(code, limits=LIMITS))
    assert result.stdout == "258\n", result
