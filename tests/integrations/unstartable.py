"""A real `local` executor whose server cannot be started: its interpreter was taken away."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from code_env import Program, make_executor
from code_env.harness.watching import children_of

WHEN = ("before its first program", "after its first program")


@contextlib.contextmanager
def unstartable(directory, when):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory / "venv")], check=True)
    python = directory / "venv" / "bin" / "python"
    with make_executor("local", python=str(python), workers=2) as executor:
        if when == WHEN[1]:
            assert executor.run(Program("print(1)")).stdout == "1\n"
        python.unlink()
        if when == WHEN[1]:
            kill_servers(executor)
        yield executor


def kill_servers(executor):
    """Kill all servers of an executor; how many that were."""
    servers = list(executor._live.servers._servers.values())
    for server in servers:
        for pid in (*children_of(server._guardian.pid), server._guardian.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return len(servers)


def killed_meanwhile(executor, batch):
    """What a batch gives in whose midst all servers of its executor are killed, once."""
    killed = []

    def kill():
        deadline = time.monotonic() + 30
        while not killed and time.monotonic() < deadline:
            time.sleep(0.3)
            killed.append(kill_servers(executor))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return batch()
    finally:
        killer.join()
        assert killed[0] >= 1
