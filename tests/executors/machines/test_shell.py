"""Machines behind a command, here a shell of this machine, and the executor of an example that uses them."""

import os
import runpy
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from code_env import CallTest, ExecutorMisconfigured, Isolation, Limits, Outcome, Program, Status, Task, judge
from code_env.executors.machines import ENFORCED, MachineExecutor, ShellMachines, machine_run
from code_env.testing import CHECKS, LIFE_CHECKS
from support import PATIENCE_S, ROOT, wait_until

EXAMPLE = ROOT / "examples" / "command_executor.py"
CommandExecutor = runpy.run_path(str(EXAMPLE))["CommandExecutor"]

TASK = Task("double", "Write double(x).", (CallTest((2,), expected=4),), entry_point="double")
ANSWER = "def double(x):\n    return 2 * x"

LOST = 255
"""The exit code of `ssh` if the connection fails."""


class Unreliable(MachineExecutor):
    """Over a command that fails by an exit code of its own; a shell decides when, from the text in its first argument.

    Args:
        decision: The text for the shell. `$1` is the text that the command was given.
    """

    name = "unreliable"

    def __init__(self, decision):
        super().__init__()
        self._command = ("sh", "-c", decision, "sh")

    def machines(self):
        return ShellMachines(self._command, 2, (LOST,))

    def describe(self):
        return Isolation(level="none", peer="same_machine", languages=self.languages, enforces=ENFORCED)


@pytest.fixture(scope="module")
def command():
    with CommandExecutor() as executor:
        yield executor


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The directory below which programs have their directories."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def left_over(directory):
    return [path.name for path in Path(directory).glob("code_env-*")]


# The executor of the tutorial, which differs by its command only, passes all checks in tests/test_packaging.py.
@pytest.mark.parametrize("check", [*CHECKS[::8], *LIFE_CHECKS], ids=lambda check: check.__name__)
def test_the_executor_of_an_example_conforms(check, command):
    if check in CHECKS:
        reason = check(command)
    else:
        with CommandExecutor() as executor:
            reason = check(executor)
    if check.__module__ == "code_env.testing.sessions":
        assert reason.startswith("has no sessions: CommandExecutor has no sessions")
    else:
        assert reason in (None, "does not enforce processes", "runs no notebooks", "programs reach the network")


def test_the_example_is_short():
    assert len(EXAMPLE.read_text().splitlines()) < 60


def test_a_program_leaves_no_directory(temporary, command):
    result = command.run(Program("import os; print(os.listdir('.'))"))
    assert result.stdout == "['main.py']\n"
    wait_until(lambda: not left_over(temporary))


@pytest.mark.parametrize("answer", [ANSWER, "import time; time.sleep(600)"], ids=["short", "asleep"])
def test_a_cancelled_program_leaves_nothing(answer, temporary):
    with CommandExecutor() as executor:
        futures = [executor.submit(Program(answer, limits=Limits(wall_s=900))) for _ in range(6)]
        for future in futures:
            future.cancel()
    wait_until(lambda: not left_over(temporary))


def test_a_trainer_that_is_killed_leaves_nothing(temporary):
    code = f"""
    import runpy
    from code_env import Limits, Program
    executor = runpy.run_path({str(EXAMPLE)!r})["CommandExecutor"]()
    program = "import os, time; open({str(temporary / "pid")!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    executor.run(Program(program, limits=Limits(wall_s=900)))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    pid = temporary / "pid"
    wait_until(lambda: pid.exists() and pid.read_text())
    process.kill()
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    wait_until(lambda: not os.path.exists(f"/proc/{pid.read_text()}"))
    wait_until(lambda: not left_over(temporary))


def test_a_program_that_kills_what_runs_it_is_at_fault(command):
    kill = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
    result = command.run(Program(kill))
    assert (result.status, result.error.name) == (Status.ERROR, "SandboxKilled")
    verdict = judge(TASK, f"{kill}\n{ANSWER}", command)
    assert verdict.outcome is Outcome.POLICY_ERROR


def test_a_connection_that_fails_each_time_is_no_wrong_answer():
    with Unreliable(f'case "$1" in *supervisor*) exit {LOST};; *) exec sh -c "$1";; esac') as executor:
        verdict = judge(TASK, ANSWER, executor)
    assert verdict.outcome is Outcome.NO_VERDICT
    assert "the machine failed in 3 attempts" in verdict.execution.error.message


def test_a_connection_that_breaks_once_costs_nothing(tmp_path):
    broken = tmp_path / "broken"
    decision = f"""
    case "$1" in *supervisor*) [ -e {broken} ] || {{ touch {broken}; sh -c "$1" | head -n 1; exit {LOST}; }};; esac
    exec sh -c "$1"
    """
    with Unreliable(decision) as executor:
        assert judge(TASK, ANSWER, executor).outcome is Outcome.PASS
    assert broken.exists()


def test_a_machine_without_a_temporary_directory_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    with CommandExecutor() as executor:
        result = executor.run(Program("print(1)"))
    assert result.status is Status.SANDBOX_ERROR
    assert "mktemp" in result.error.message


def test_a_machine_without_python_is_an_error_for_this_program_and_all_others(monkeypatch):
    monkeypatch.setattr(machine_run, "COMMAND", "exec /no/such/python")
    with CommandExecutor() as executor:
        for _ in range(2):
            with pytest.raises(ExecutorMisconfigured, match=r"(?s)exit code 127 .*Python 3.11 or newer as python3"):
                executor.run(Program("print(1)"))
