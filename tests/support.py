"""What several test modules share: executors at a level or by name, doubles of them, and where the data lies."""

import contextlib
import doctest
import importlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from code_env import (
    ErrorInfo,
    ExecutionResult,
    Executor,
    Isolation,
    IsolationUnavailable,
    Program,
    Status,
    make_executor,
)
from code_env.harness.process.watching import children_of, descendants
from e2b_server import LoopbackServer

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("CODE_ENV_DATA", ROOT.parent / "shared" / "data"))

PATIENCE_S = 1200.0
"""How long a test waits at the most for what must come, in seconds: long enough for any busy machine."""


class ImportedLate:
    """A module that is imported where it is first used: no worker of pytest imports torch to collect the tests."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str):
        if attribute.startswith(("_", "pytest_")):  # What pytest looks for in all that a module of tests holds.
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def examples_hold(module: str) -> bool:
    """Whether a module whose examples pytest does not collect has some, and they hold."""
    done = doctest.testmod(importlib.import_module(module))
    return done.attempted > 0 and done.failed == 0


LEVELS = ("full", "contained")

RESTRICTED = {
    "allowed_imports": ["collections", "hashlib", "itertools", "json", "math", "random", "re", "sys", "time", "typing"],
    "use_limited_builtins": False,
    "use_utility_builtins": False,  # With them, programs find names such as `math` that they have not imported.
}
"""Options of `restricted` with which ordinary programs run, and those that are wrong fail as elsewhere."""


HONEST = [
    Program(
        "import math, os\nn = int(input())\nopen('out', 'w').write('x' * n)\nprint(math.factorial(n), os.listdir())",
        stdin=str(n),
        collect=("out",),
    )
    for n in range(10)
]
"""Programs that give the same each time, whatever runs beside them."""

KEPT = "print('kept', flush=True)\n"
"""What a program that is ended begins with: its output until then is kept."""


def let_others_reach(path):
    """Open the temporary directories above a path, which pytest keeps for its own user."""
    base = Path(tempfile.gettempdir()).resolve()
    for above in path.resolve().parents:
        if base in above.parents:
            above.chmod(0o755)


def wait_until(condition, message="what was waited for did not come"):
    """Wait until `condition()` is true, however busy the machine is; what it gave."""
    deadline = time.monotonic() + PATIENCE_S
    while not (given := condition()):
        assert time.monotonic() < deadline, message
        time.sleep(0.01)
    return given


@contextlib.contextmanager
def files_of_at_most(size):
    """Let this process write no file of more than `size` bytes, as if the disk were nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def local(level, **kwargs):
    """An executor at a level, also where the machine grants a higher one."""
    executor = make_executor("local", **{"workers": 2, **kwargs}, min_isolation=level, max_isolation=level)
    try:
        executor.describe()
    except IsolationUnavailable as error:
        executor.close()
        pytest.skip(str(error))
    return executor


def somewhere(where):
    """An executor by the level of isolation of `local`, or by the name `subprocess`."""
    return make_executor("subprocess", workers=2) if where == "subprocess" else local(where)


@contextlib.contextmanager
def executor_of(name: str, cloud: LoopbackServer, **kwargs) -> Iterator[Executor]:
    """An executor by its name, `e2b` on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in cloud.environment.items() if name == "e2b" else ():
            patch.setenv(variable, value)
        with make_executor(name, **(RESTRICTED if name == "restricted" else {}), **kwargs) as executor:
            yield executor


class BrokenExecutor(Executor):
    """Its sandbox fails, always or the first few times; then another executor runs the programs."""

    def __init__(self, executor=None, failures=0):
        self._executor, self._failures = executor, failures
        self.programs = 0

    def submit(self, program):
        self.programs += 1
        if self._executor is not None and self.programs > self._failures:
            return self._executor.submit(program)
        future = Future()
        future.set_result(ExecutionResult(Status.SANDBOX_ERROR, error=ErrorInfo("SandboxError", "no luck")))
        return future

    def describe(self):
        return Isolation(level="none", peer="same_machine")

    def close(self):
        pass


WHEN = ("before its first program", "after its first program")
"""When the interpreter of an unstartable executor is taken away."""


@contextlib.contextmanager
def unstartable(directory, when):
    """A real `local` executor whose server cannot be started: its interpreter was taken away."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory / "venv")], check=True)
    python = directory / "venv" / "bin" / "python"
    with make_executor("local", python=str(python), workers=2) as executor:
        if when == WHEN[1]:
            assert executor.run(Program("print(1)")).stdout == "1\n"
        python.unlink()
        if when == WHEN[1]:
            kill_servers(executor)
        yield executor


def workers_of(executor):
    """The workers that a `local` executor has open, for programs and for peers."""
    slots = list(executor._live.slots)
    keepers = [keeper for slot in slots for keeper in list(slot._keepers.values())]
    workers = [worker for slot in slots for worker in list(slot._workers.values())]
    return [*workers, *(keeper.worker for keeper in keepers)]


def kill_servers(executor):
    """Kill all servers of an executor, and wait until their workers have ended too; how many servers that were."""
    servers = list(executor._live.servers._servers.values())
    ending = [pid for server in servers for pid in descendants(server._guardian.pid)]
    for server in servers:
        for pid in (*children_of(server._guardian.pid), server._guardian.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(is_alive(pid) for pid in ending))  # Until then a worker takes another program.
    return len(servers)


def is_alive(pid):
    """Whether a process is there and has not ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def killed_meanwhile(executor, batch):
    """What a batch gives in whose midst all servers of its executor are killed, once."""
    killed = []

    def kill():
        time.sleep(0.3)
        killed.append(kill_servers(executor))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return batch()
    finally:
        killer.join()
        assert killed[0] >= 1
