"""What the loggers below `code_env` say of levels, starts, retries, kills and slow programs."""

import logging
import os
import signal
import subprocess
import sys
from concurrent.futures import Future

import pytest

from code_env import ErrorInfo, ExecutionResult, Executor, Isolation, Limits, Program, Status, StdinTest, Task, judge
from code_env.harness.process.watching import descendants
from support import local


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.DEBUG, logger="code_env")
    return lambda level="DEBUG": [one.getMessage() for one in caplog.records if one.levelname == level]


def test_level_and_starts(logged):
    with local("contained") as executor:
        executor.describe()
    told = logged("INFO")
    assert "programs run at level contained" in told
    assert any(line.startswith("a server started in ") and "at level contained" in line for line in told)


def test_a_fall_to_contained_says_why(no_user_namespaces, tmp_path):
    command = [*no_user_namespaces, sys.executable, "-m", "code_env.cli", "-v", "run", "starter", "-n", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "programs run at level contained, because level full is not granted: " in done.stderr
    silent = subprocess.run([one for one in command if one != "-v"], capture_output=True, text=True, cwd=tmp_path)
    assert silent.stderr == ""


def test_a_server_that_dies_is_a_warning(logged):
    with local("full", workers=1) as executor:
        running = executor.submit(Program("import time\nprint('begun', flush=True)\ntime.sleep(1)"))
        while not running.done() and not logged("WARNING"):
            for pid in descendants(os.getpid()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        running.result()
    assert any("its server died" in line or "run again, alone" in line for line in logged("WARNING"))


def test_kills_and_slow_programs(logged, executor):
    limits = Limits(cpu_s=0.4)
    executor.run(Program("while True: pass", limits=limits))
    executor.run(Program("import time\nwhile time.process_time() < 0.3: pass", limits=limits))
    judge(Task("t", "", (StdinTest("", "1"),)), "1 / 0", executor)
    told = logged()
    assert any("a program was ended (timeout): 0.4" in line for line in told)
    assert any("a program was slow: 0.3" in line for line in told)
    assert any("task t: fail (error)" in line for line in told)


class Broken(Executor):
    def submit(self, program):
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("E", "no\x1b[31m machine")))
        return future

    def describe(self):
        return Isolation(level="none", peer="isolated")

    def close(self):
        pass


def test_each_attempt_without_a_verdict_is_a_warning(logged):
    judge(Task("t", "", (StdinTest("", "1"),)), "print(1)", Broken())
    assert logged("WARNING")[0] == "task t: attempt 1 of 3 gave no verdict: no\\x1b[31m machine"
    assert len(logged("WARNING")) == 3
