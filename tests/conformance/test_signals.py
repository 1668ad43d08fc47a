"""A program's signals are those of a shell's foreground job, whatever the trainer has made of its own.

A shell has what it starts in the background ignore SIGINT, and `nohup` has it ignore SIGHUP. Both are inherited.
"""

import subprocess
import sys

import pytest

LOOK = """
import os, signal
print(sorted(int(n) for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN), end=" ")
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted", flush=True)
os.kill(os.getpid(), signal.SIGHUP)
"""

TRAINER = """
import signal
from code_env import Program, StdinTest, Task, judge, make_executor
for number in signal.valid_signals() - {{signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33}}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGINT, signal.SIGHUP, signal.SIGALRM}})
level = {{}} if {executor!r} == "subprocess" else {{"max_isolation": {executor!r}}}
with make_executor("local" if level else "subprocess", workers=1, **level) as executor:
    result = executor.run(Program({look!r}))
    print(int(result.signal), result.stdout, end="")
    test = StdinTest("", result.stdout)
    print(judge(Task("t", "p", (test,)), {look!r}.rpartition("os.kill")[0], executor).passed)
"""


@pytest.mark.parametrize("executor", ["full", "contained", "subprocess"])
def test_signals_that_the_trainer_ignores_or_blocks_reach_a_program(executor):
    code = TRAINER.format(executor=executor, look=LOOK)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    # SIGPIPE and SIGXFSZ are what every Python process ignores; SIGHUP is 1.
    assert (done.stdout, done.stderr) == ("1 [13, 25] set()\ninterrupted\nTrue\n", "")
